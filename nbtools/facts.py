"""What is asked about a message or a conversation again and again, worked out once for each.

Every event makes a new conversation, in which all messages but one are the same objects as before:
what a question about the whole of it costs must not grow with their parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbtools.messages import ENDED_WELL, FINAL, Conversation, Job, Limit, Message, Notice, ToolCall

_DIRECT = frozenset({ToolCall, Job, Notice})
"""Parts of a user message that ask the model nothing."""

KEPT = " facts"
"""Where a value keeps what was worked out about it: no name of a field has a space."""


@dataclass(slots=True)  # a frozen one takes twice as long to make, and each event makes one
class Facts:
    """What follows from one message alone."""

    ids: frozenset[str]
    """The ids of its parts."""
    calls: tuple[ToolCall, ...]
    """Its tool calls, in their order."""
    asked: tuple[ToolCall, ...]
    """Those of them that the model made and that may run, which none of a broken reply may."""
    opened: tuple[ToolCall, ...]
    """Those of them that are not final."""
    failed: tuple[ToolCall, ...]
    """Those of them that ended without a value."""
    question: bool
    """Whether it asks the model something: a direct call and a notice do not."""
    limit: Limit
    """The first limit that it says was reached, or ""."""
    about: str
    """The job whose end it tells and wants an answer to, or ""."""
    more: dict[str, Any] = field(default_factory=dict)
    """What other modules work out about it, each under a name of its own."""


@dataclass(slots=True)
class Survey:
    """What follows from a whole conversation."""

    opened: tuple[tuple[Message, ToolCall], ...]
    """Every call that is not final, with its message, in order."""
    writing: bool
    """Whether the model still writes a message."""
    asked: bool
    """Whether the end of a job made the model go on since the last question."""
    last: Message | None
    """The last reply or question, whatever notices and direct calls came after it."""
    since: tuple[Message, ...]
    """What came after the last question."""
    rounds: int
    """How many replies with calls are among that; those that broke off do not count."""
    calls: int
    """How many calls they have."""
    limit: Limit
    """The first limit that was said to be reached among that, or ""."""


def facts(message: Message) -> Facts:
    """Give what follows from one message alone."""
    held: dict[str, Any] = message.__dict__
    found: Facts | None = held.get(KEPT)
    if found is None:
        found = held[KEPT] = _find(message)
    return found


def survey(conversation: Conversation) -> Survey:
    """Give what follows from a whole conversation."""
    held: dict[str, Any] = conversation.__dict__
    found: Survey | None = held.get(KEPT)
    if found is None:
        found = held[KEPT] = _survey(conversation)
    return found


def has_failed(conversation: Conversation) -> bool:
    """Say whether any call ended without a value."""
    for message in conversation.messages:
        known: Facts | None = message.__dict__.get(KEPT)
        if known is not None:
            if known.failed:
                return True
        else:  # one that changes: to work out all about it would be in vain
            for part in message.parts:
                if type(part) is ToolCall and part.state == "error":
                    return True
    return False


def _find(message: Message) -> Facts:
    parts = message.parts
    calls = tuple([part for part in parts if type(part) is ToolCall])
    others = parts if len(calls) < len(parts) else ()
    notices = [part for part in others if type(part) is Notice]
    well = message.finish in ENDED_WELL
    return Facts(
        frozenset([part.id for part in parts]),
        calls,
        tuple([call for call in calls if call.origin == "model"]) if well else (),
        tuple([call for call in calls if call.state not in FINAL]),
        tuple([call for call in calls if call.state == "error"]),
        message.role == "user" and any(type(part) not in _DIRECT for part in others),
        next((note.limit for note in notices if note.limit), "") if notices else "",
        next((note.about for note in notices if note.asks), "") if notices else "",
    )


def _survey(conversation: Conversation) -> Survey:
    opened: list[tuple[Message, ToolCall]] = []
    writing = asked = False
    last: Message | None = None
    limit: Limit = ""
    first = rounds = calls = 0
    for place, message in enumerate(conversation.messages):
        known: Facts = message.__dict__.get(KEPT) or facts(message)
        if known.opened:
            opened += [(message, call) for call in known.opened]
        if message.role == "assistant":
            last = message
            writing = writing or not message.finish
            if known.asked:
                rounds += 1
                calls += len(known.asked)
        elif known.question:
            last, first = message, place + 1
            asked, limit, rounds, calls = False, "", 0, 0
        if known.about:
            asked = True
        if known.limit and not limit:
            limit = known.limit
    since = conversation.messages[first:]
    return Survey(tuple(opened), writing, asked, last, since, rounds, calls, limit)
