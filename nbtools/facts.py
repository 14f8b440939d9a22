"""What is asked about a message again and again, worked out once for each.

Every event makes a new conversation, in which all messages but one are the same objects as before:
what a question about the whole of it costs must not grow with their parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from nbtools.messages import FINAL, Job, Limit, Message, Notice, ToolCall


@dataclass(frozen=True, slots=True)
class Facts:
    """What follows from one message alone."""

    ids: frozenset[str]
    """The ids of its parts."""
    calls: tuple[ToolCall, ...]
    """Its tool calls, in their order."""
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


def facts(message: Message) -> Facts:
    """Give what follows from one message alone."""
    try:
        return message.facts  # type: ignore[no-any-return]
    except AttributeError:
        found = _find(message)
        object.__setattr__(message, "facts", found)
        return found


def _find(message: Message) -> Facts:
    parts = message.parts
    calls = tuple([part for part in parts if type(part) is ToolCall])
    notices = [part for part in parts if type(part) is Notice]
    return Facts(
        ids=frozenset([part.id for part in parts]),
        calls=calls,
        opened=tuple([call for call in calls if call.state not in FINAL]),
        failed=tuple([call for call in calls if call.state == "error"]),
        question=message.role == "user"
        and any(not isinstance(part, ToolCall | Job | Notice) for part in parts),
        limit=next((note.limit for note in notices if note.limit), ""),
        about=next((note.about for note in notices if note.asks), ""),
    )
