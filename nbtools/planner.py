"""What to do next: pure answers about a conversation. Nothing here starts anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile

from nbtools.messages import (
    ENDED_WELL,
    FINAL,
    Conversation,
    Decision,
    Message,
    Status,
    ToolCall,
)
from nbtools.reducer import calls_of, is_question

REPEATS = 3
"""How often a call may fail in the same way before it is not run again."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Check the arguments of a call whose message is over, and ask whether it may run."""

    call: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """End a call that is over a limit."""

    call: str
    reason: str


@dataclass(frozen=True, slots=True)
class Run:
    """Execute a call that has entered `running`."""

    call: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Send the conversation to the model; without `tools` it may call none."""

    tools: bool = True


@dataclass(frozen=True, slots=True)
class Recheck:
    """Show anew what a call that waits would do; a person or a program asks for it."""

    call: str
    shown: ToolCall = field(compare=False)
    decision: Decision | None = field(compare=False)
    """The approval that holds if nothing has changed."""


Step = Prepare | Refuse | Run | Ask | Recheck


def next_steps(
    conversation: Conversation, *, max_roundtrips: int = 5, auto_send: bool = True
) -> tuple[Step, ...]:
    """List what has to be done now.

    Args:
        conversation: The state.
        max_roundtrips: Rounds of calls that one user message may cause.
        auto_send: Whether results go to the model by themselves.

    Returns:
        Steps that may all start at once; empty when the conversation rests.
    """
    opened = _open(conversation)
    calls = _call_steps(conversation, opened, max_roundtrips)
    if opened or conversation.error or any(map(is_open, conversation.messages)):
        return calls
    if not _needs_answer(conversation, auto_send=auto_send):
        return ()
    return question(conversation, max_roundtrips=max_roundtrips)


def question(conversation: Conversation, *, max_roundtrips: int) -> tuple[Ask] | tuple[()]:
    """Say how the model may be asked: with tools, once more without them, or not any more."""
    over = rounds(conversation) - max_roundtrips
    return () if over > 1 else (Ask(tools=over < 1),)


def status(
    conversation: Conversation, *, max_roundtrips: int = 5, auto_send: bool = True
) -> Status:
    """Say whether the conversation runs, waits, failed or is ready."""
    if next_steps(conversation, max_roundtrips=max_roundtrips, auto_send=auto_send) or any(
        is_open(message) for message in conversation.messages
    ):
        return "running"
    held = bool(unsent(conversation)) and not auto_send
    if open_calls(conversation) or (held and question(conversation, max_roundtrips=max_roundtrips)):
        return "waiting"
    return "error" if conversation.error else "ready"


def is_open(message: Message) -> bool:
    """Say whether the model still writes this message."""
    return message.role == "assistant" and not message.finish


def open_calls(conversation: Conversation) -> tuple[ToolCall, ...]:
    """Return every call that is not final, in order."""
    return tuple(call for _, call in _open(conversation))


def unsent(conversation: Conversation) -> tuple[ToolCall, ...]:
    """Return the final calls of the last reply, which the model has not heard of yet."""
    last = last_said(conversation)
    if last is None or last.role != "assistant" or last.finish not in ENDED_WELL:
        return ()
    calls = tuple(call for call in calls_of(last) if call.origin == "model")
    return calls if all(call.state in FINAL for call in calls) else ()


def rounds(conversation: Conversation) -> int:
    """Count the replies with calls since the last question; those that broke off do not count."""
    return sum(1 for message in _turn(conversation) if _calls_tools(message))


def repeated(conversation: Conversation, call: ToolCall, digest: str) -> str:
    """Return the failure that this call has met `REPEATS` times in this turn, else ""."""
    errors = [
        known.error
        for message in _turn(conversation)
        for known in calls_of(message)
        if known.tool == call.tool and known.digest == digest and known.state == "error"
    ]
    last = errors[-1] if errors else ""
    same = len(list(takewhile(lambda error: error == last, reversed(errors))))
    return last if same >= REPEATS else ""


def _open(conversation: Conversation) -> list[tuple[Message, ToolCall]]:
    return [
        (message, part)
        for message in conversation.messages
        for part in message.parts
        if isinstance(part, ToolCall) and part.state not in FINAL
    ]


def _call_steps(
    conversation: Conversation, opened: list[tuple[Message, ToolCall]], max_roundtrips: int
) -> tuple[Step, ...]:
    movable = [
        (message, call)
        for message, call in opened
        if call.state != "pending" and (message.role == "user" or message.finish in ENDED_WELL)
    ]
    if not movable:
        return ()
    reason = ""
    if rounds(conversation) > max_roundtrips:
        reason = f"{max_roundtrips} rounds of tool calls in answer to one message."
    return tuple(_call_step(message, call, reason) for message, call in movable)


def _call_step(message: Message, call: ToolCall, over_limit: str) -> Step:
    if call.state == "running":
        return Run(call.id)
    if message.role == "assistant" and over_limit:
        return Refuse(call.id, over_limit)
    return Prepare(call.id)


def _needs_answer(conversation: Conversation, *, auto_send: bool) -> bool:
    last = last_said(conversation)
    if last is None:
        return False
    return last.role == "user" or (bool(unsent(conversation)) and auto_send)


def last_said(conversation: Conversation) -> Message | None:
    """Return the last reply or question, whatever notices and direct calls came after it."""
    for message in reversed(conversation.messages):
        if message.role == "assistant" or is_question(message):
            return message
    return None


def _turn(conversation: Conversation) -> tuple[Message, ...]:
    """Return what came since the last question of the user."""
    tail = []
    for message in reversed(conversation.messages):
        if is_question(message):
            break
        tail.append(message)
    return tuple(reversed(tail))


def _calls_tools(message: Message) -> bool:
    return message.finish in ENDED_WELL and any(
        call.origin == "model" for call in calls_of(message)
    )
