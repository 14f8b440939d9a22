"""What to do next: pure answers about a conversation. Nothing here starts anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from nbtools import budget as spent
from nbtools.budget import Budget
from nbtools.facts import survey
from nbtools.messages import (
    ENDED_WELL,
    FINAL,
    Conversation,
    Decision,
    Message,
    Notice,
    Status,
    ToolCall,
)
from nbtools.reducer import calls_of, is_question


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
    conversation: Conversation, budget: Budget, *, auto_send: bool = True
) -> tuple[Step, ...]:
    """List what has to be done now.

    Args:
        conversation: The state.
        budget: What the answer to one message may spend.
        auto_send: Whether results go to the model by themselves.

    Returns:
        Steps that may all start at once; empty when the conversation rests.
    """
    known = survey(conversation)
    calls = _call_steps(conversation, known.opened, budget)
    if known.opened or conversation.error or known.writing:
        return calls
    if not _needs_answer(conversation, auto_send=auto_send):
        return ()
    return question(conversation)


def question(conversation: Conversation) -> tuple[Ask] | tuple[()]:
    """Say how the model may be asked: with tools, once more without them, or not any more."""
    if spent.closed(conversation):
        return ()
    return (Ask(tools=not spent.noted(conversation)),)


def status(conversation: Conversation, budget: Budget, *, auto_send: bool = True) -> Status:
    """Say whether the conversation runs, waits, failed or is ready."""
    if survey(conversation).writing or next_steps(conversation, budget, auto_send=auto_send):
        return "running"
    held = bool(unsent(conversation)) and not auto_send
    if open_calls(conversation) or (held and question(conversation)):
        return "waiting"
    return "error" if conversation.error else "ready"


def is_open(message: Message) -> bool:
    """Say whether the model still writes this message."""
    return message.role == "assistant" and not message.finish


def open_calls(conversation: Conversation) -> tuple[ToolCall, ...]:
    """Return every call that is not final, in order."""
    return tuple([call for _, call in survey(conversation).opened])


def unsent(conversation: Conversation) -> tuple[ToolCall, ...]:
    """Return the final calls of the last reply, which the model has not heard of yet."""
    last = last_said(conversation)
    if last is None or last.role != "assistant" or last.finish not in ENDED_WELL:
        return ()
    calls = tuple(call for call in calls_of(last) if call.origin == "model")
    return calls if all(call.state in FINAL for call in calls) else ()


def _call_steps(
    conversation: Conversation, opened: Sequence[tuple[Message, ToolCall]], budget: Budget
) -> tuple[Step, ...]:
    movable = [
        (message, call)
        for message, call in opened
        if call.state != "pending"
        and call.question is None
        and (message.role == "user" or message.finish in ENDED_WELL)
    ]
    if not movable:
        return ()
    limit = spent.noted(conversation)
    if not limit:
        return tuple([_next(call) for _, call in movable])
    beyond = spent.beyond(conversation, budget.limits.calls) if limit == "calls" else None
    reason = budget.reason(limit)
    return tuple(
        Refuse(call.id, reason) if _is_over(message, call, beyond) else _next(call)
        for message, call in movable
    )


def _is_over(message: Message, call: ToolCall, beyond: frozenset[str] | None) -> bool:
    if call.state != "streaming" or message.role != "assistant":
        return False
    return beyond is None or call.id in beyond


def _next(call: ToolCall) -> Step:
    return Run(call.id) if call.state == "running" else Prepare(call.id)


def _needs_answer(conversation: Conversation, *, auto_send: bool) -> bool:
    last = last_said(conversation)
    if last is None or last.role == "user":
        return last is not None
    return (bool(unsent(conversation)) and auto_send) or _is_asked_by_program(conversation)


def _is_asked_by_program(conversation: Conversation) -> bool:
    """Say whether a notice since the last reply or question wants an answer."""
    since = takewhile(lambda message: not _says(message), reversed(conversation.messages))
    return any(
        isinstance(part, Notice) and part.asks for message in since for part in message.parts
    )


def last_said(conversation: Conversation) -> Message | None:
    """Return the last reply or question, whatever notices and direct calls came after it."""
    return survey(conversation).last


def _says(message: Message) -> bool:
    return message.role == "assistant" or is_question(message)
