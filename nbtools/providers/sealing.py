"""What goes back only to the wire that it came from, and what a change of wire leaves behind.

Sealed material is an object whose field `wire` names that wire. Text, calls and their results go
to every wire; thoughts, and what a provider ran itself, mean something only to their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtools.messages import File, Message, Part, Reasoning, ToolCall


def sealed_by(part: Part, wire: str) -> Mapping[str, Any]:
    """Give the sealed material of a part.

    Args:
        part: Any part.
        wire: The wire that is written.

    Returns:
        The material; empty if there is none, or if it belongs to another wire.
    """
    sealed = getattr(part, "sealed", None)
    return sealed if isinstance(sealed, Mapping) and sealed.get("wire") == wire else {}


def left_behind(messages: Sequence[Message], wire: str) -> str:
    """Say what of a conversation a wire will not be sent, as the person reads it.

    Args:
        messages: The conversation.
        wire: The wire that it goes on with; "" for a provider that has none.

    Returns:
        One sentence; "" if nothing is left out.
    """
    replies = [part for each in messages if each.role == "assistant" for part in each.parts]
    thoughts = sum(_is_foreign_thought(part, wire) for part in replies)
    calls = sum(
        isinstance(part, ToolCall) and part.origin == "provider" and not sealed_by(part, wire)
        for part in replies
    )
    files = sum(isinstance(part, File) and not sealed_by(part, wire) for part in replies)
    counted = (
        _counted(thoughts, "thought"),
        _counted(calls, "call that its provider ran", "calls that its provider ran"),
        _counted(files, "file that it made", "files that it made"),
    )
    named = [text for text in counted if text]
    if not named:
        return ""
    return f"It is not sent what only the model before it can read: {', '.join(named)}."


def _is_foreign_thought(part: Part, wire: str) -> bool:
    return isinstance(part, Reasoning) and part.sealed is not None and not sealed_by(part, wire)


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}" if number else ""
