"""What goes back only to the wire that it came from, and what a change of wire leaves behind.

Sealed material is an object whose field `wire` names that wire, and `origin` the server that gave
it: another of the same wire refuses a signature that is not its own. Text, calls and their results
go to every wire; thoughts, and what a provider ran itself, mean something only to their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbtools.events import ModelCall, ModelEvent, ModelPart, ModelReasoning, ModelText
from nbtools.facts import facts
from nbtools.messages import File, Message, Part, Reasoning, ToolCall

_SEALABLE = frozenset({ModelText, ModelReasoning, ModelCall, ModelPart})
_SEALED = "sealed parts"


def origin_of(host: str, model: str = "") -> str:
    """Make a mark of a server that gives its name to no saved file.

    Args:
        host: The server's host name.
        model: The model, where what one sealed means nothing to another.
    """
    return hashlib.sha256(f"{host} {model}".encode()).hexdigest()[:12]


def mark(events: Iterable[ModelEvent], origin: str) -> None:
    """Write into sealed material where it comes from."""
    for event in events:
        if type(event) in _SEALABLE:
            sealed = getattr(event.part if type(event) is ModelPart else event, "sealed", None)
            if type(sealed) is dict:
                sealed["origin"] = origin


def without_foreign(messages: Sequence[Message], origin: str) -> Sequence[Message]:
    """Leave out of a history what other servers sealed.

    Args:
        messages: The history.
        origin: The mark of the server that is asked; "" if all of it may be sent there.
    """
    sealed = [part for each in messages for part in _sealed_parts(each)]
    if not origin or not any(_is_foreign(part, origin) for part in sealed):
        return messages
    return [replace(each, parts=tuple(_opened(p, origin) for p in each.parts)) for each in messages]


def _sealed_parts(message: Message) -> tuple[Part, ...]:
    held = facts(message).more
    parts: tuple[Part, ...] | None = held.get(_SEALED)
    if parts is None:
        parts = tuple([part for part in message.parts if getattr(part, "sealed", None)])
        held[_SEALED] = parts
    return parts


def sealed_by(part: Part, wire: str, origin: str = "") -> Mapping[str, Any]:
    """Give the sealed material of a part.

    Args:
        part: Any part.
        wire: The wire that is written.
        origin: The mark of the server that is asked; "" for any.

    Returns:
        The material; empty if there is none, or if it belongs to another wire or server.
    """
    sealed = getattr(part, "sealed", None)
    if not isinstance(sealed, Mapping) or sealed.get("wire") != wire:
        return {}
    return {} if _is_foreign(part, origin) else sealed


def left_behind(messages: Sequence[Message], wire: str, origin: str = "") -> str:
    """Say what of a conversation a wire will not be sent, as the person reads it.

    Args:
        messages: The conversation.
        wire: The wire that it goes on with; "" for a provider that has none.
        origin: The mark of the server that it goes on with; "" for any.

    Returns:
        One sentence; "" if nothing is left out.
    """
    replies = [part for each in messages if each.role == "assistant" for part in each.parts]
    thoughts = sum(_is_foreign_thought(part, wire, origin) for part in replies)
    calls = sum(
        isinstance(part, ToolCall)
        and part.origin == "provider"
        and not sealed_by(part, wire, origin)
        for part in replies
    )
    files = sum(isinstance(part, File) and not sealed_by(part, wire, origin) for part in replies)
    counted = (
        _counted(thoughts, "thought"),
        _counted(calls, "call that its provider ran", "calls that its provider ran"),
        _counted(files, "file that it made", "files that it made"),
    )
    named = [text for text in counted if text]
    if not named:
        return ""
    return f"It is not sent what only the model before it can read: {', '.join(named)}."


def _is_foreign_thought(part: Part, wire: str, origin: str) -> bool:
    sealed = isinstance(part, Reasoning) and part.sealed is not None
    return sealed and not sealed_by(part, wire, origin)


def _is_foreign(part: Part, origin: str) -> bool:
    sealed = getattr(part, "sealed", None)
    return isinstance(sealed, Mapping) and bool(origin) and sealed.get("origin", origin) != origin


def _opened(part: Any, origin: str) -> Part:
    opened: Part = replace(part, sealed=None) if _is_foreign(part, origin) else part
    return opened


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}" if number else ""
