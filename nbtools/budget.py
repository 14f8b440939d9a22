"""What the answer to one message has spent, and which limit that reaches: pure answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from nbtools.cost import prices
from nbtools.facts import facts, has_failed, survey
from nbtools.limits import Limits
from nbtools.messages import ENDED_WELL, Conversation, Job, Limit, Message, ToolCall
from nbtools.reducer import is_question


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What the answer to one message may spend."""

    roundtrips: int = 5
    limits: Limits = field(default_factory=Limits)

    def reason(self, limit: Limit) -> str:
        """Say what was reached, in words for the person and the model."""
        limits = self.limits
        texts = {
            "roundtrips": f"{_count(self.roundtrips, 'round')} of tool calls in answer to one message.",
            "calls": f"{_count(limits.calls, 'tool call')} in answer to one message.",
            "repeats": f"a call that failed {limits.repeats} times in the same way.",
            "seconds": f"{limits.seconds or 0:g} s of work on one message.",
            "tokens": f"{limits.tokens} tokens for one message.",
            "cost": f"a cost of {limits.cost} for one message.",
        }
        return texts[limit]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def turn(conversation: Conversation) -> tuple[Message, ...]:
    """Return what one message of the user has set going, as far as it is the newest.

    That is what came since the last question; where a job's end made the model go on, it is what
    came since the question that started the job, without what other questions led to.
    """
    known = survey(conversation)
    return _rooted(conversation) if known.asked else known.since


def _rooted(conversation: Conversation) -> tuple[Message, ...]:
    """Follow each message to the question that led to it; keep those of the newest one's."""
    roots: dict[str, str] = {}
    jobs: dict[str, str] = {}
    root = ""
    for message in conversation.messages:
        if is_question(message):
            root = message.id
        elif about := _asks(message):
            root = jobs.get(about, root)
        roots[message.id] = root
        jobs |= {part.id: root for part in message.parts if isinstance(part, Job)}
    return tuple(
        message
        for message in conversation.messages
        if roots[message.id] == root and not is_question(message)
    )


def _asks(message: Message) -> str:
    """Return the job whose end this message tells and wants an answer to, or ""."""
    return facts(message).about


def noted(conversation: Conversation) -> Limit:
    """Return the limit that the turn has reached and that the chat has said, or ""."""
    known = survey(conversation)
    if not known.asked:
        return known.limit
    return next((limit for each in _rooted(conversation) if (limit := facts(each).limit)), "")


def closed(conversation: Conversation) -> bool:
    """Say whether the model has answered once more after a limit was reached."""
    if not noted(conversation):
        return False
    messages = turn(conversation)
    places = [place for place, message in enumerate(messages) if facts(message).limit]
    after = messages[places[0] + 1 :] if places else ()
    return any(message.role == "assistant" and message.finish in ENDED_WELL for message in after)


def beyond(conversation: Conversation, most: int) -> frozenset[str]:
    """Return the ids of the calls of the turn that are more than `most`, in their order."""
    calls = [call.id for message in turn(conversation) for call in facts(message).asked]
    return frozenset(calls[most:])


def reached(conversation: Conversation, budget: Budget) -> Limit:
    """Return the limit that the turn has reached by what its messages say, or ""."""
    limits = budget.limits
    rounds, calls = _asked(conversation)
    if rounds > budget.roundtrips:
        return "roundtrips"
    if calls > limits.calls:
        return "calls"
    if limits.tokens is not None and _tokens(turn(conversation)) >= limits.tokens:
        return "tokens"
    if limits.cost is not None and _costs(turn(conversation), limits.cost):
        return "cost"
    return ""


def _asked(conversation: Conversation) -> tuple[int, int]:
    """Count the replies of the turn that have calls, and these calls."""
    known = survey(conversation)
    if not known.asked:
        return known.rounds, known.calls
    calls = [len(facts(message).asked) for message in _rooted(conversation)]
    return sum(map(bool, calls)), sum(calls)


def _tokens(messages: Sequence[Message]) -> int:
    """Add up the tokens of a turn, as far as the provider counted them."""
    used = [message.usage for message in messages if message.usage is not None]
    return sum(
        usage.total if usage.total is not None else (usage.input or 0) + (usage.output or 0)
        for usage in used
    )


def repeated(conversation: Conversation, call: ToolCall, digest: str, repeats: int) -> str:
    """Return the failure that this call has met `repeats` times in this turn, else ""."""
    if not has_failed(conversation):
        return ""
    errors = [
        known.error
        for message in turn(conversation)
        for known in facts(message).failed
        if known.tool == call.tool and known.digest == digest
    ]
    last = errors[-1] if errors else ""
    same = len(list(takewhile(lambda error: error == last, reversed(errors))))
    return last if same >= repeats else ""


def _costs(messages: Sequence[Message], most: float) -> bool:
    """An unknown cost is never taken for nothing."""
    replies = [message for message in messages if message.finish]
    amount = prices().cost(replies).amount
    return bool(replies) and (amount is None or amount >= most)
