"""How two states of a conversation differ, as operations on the page's copy (`docs/wire.md`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import takewhile
from typing import Any

from nbtools.altered import altered
from nbtools.codec import encode
from nbtools.messages import (
    Conversation,
    Job,
    Json,
    Message,
    Part,
    Picture,
    Reasoning,
    Text,
    ToolCall,
)
from nbtools.protocol import Field, Op

Outsource = Callable[[Mapping[str, Json]], Mapping[str, Json]]
"""Takes a MIME bundle and gives one in which large data is replaced by references."""


def difference(before: Conversation, after: Conversation, outsource: Outsource) -> list[Op]:
    """List what a page that has `before` must do to have `after`.

    What did not change is the same object in both, so that the cost does not grow with the length
    of the conversation's texts.

    Args:
        before: What the page has.
        after: What it shall have.
        outsource: Makes MIME bundles fit for the wire.
    """
    ops: list[Op] = []
    same = sum(1 for _ in takewhile(_is_one, zip(before.messages, after.messages, strict=False)))
    known = {message.id: message for message in before.messages[same:]}
    left = {message.id for message in after.messages[same:]}
    ops += [("remove", message_id) for message_id in known if message_id not in left]
    added = False
    for message in after.messages[same:]:
        old = known.get(message.id)
        if old is not None and added:  # a new message goes to the end: what follows it goes anew
            ops.append(("remove", message.id))
            old = None
        if old is None:
            added = True
            ops.append(("message", write_message(message, outsource)))
        elif old is not message:
            ops += _message(old, message, outsource)
    return ops


def _is_one(pair: tuple[Message, Message]) -> bool:
    return pair[0] is pair[1]


def write_message(message: Message, outsource: Outsource) -> Any:
    """Write a message with its parts as the page takes it."""
    written = encode(altered(message, parts=()))
    written["parts"] = [write_part(part, outsource) for part in message.parts]
    return written


def write_part(part: Part, outsource: Outsource) -> Any:
    """Write a part as the page takes it: arguments once, as text while they stream."""
    if isinstance(part, Job):
        written = encode(altered(part, pictures=_described(part)))
        return {**written, "display": outsource(part.display)} if part.display else written
    if not isinstance(part, ToolCall):
        return encode(part)
    written = encode(altered(part, pictures=_described(part)) if part.pictures else part)
    # While they stream, the page parses `raw` itself.
    written.pop("args" if part.state == "streaming" or part.args is None else "raw", None)
    if part.preview is not None:
        written["preview"]["display"] = outsource(part.preview.display)
    for face in ("display", "drawn"):
        if written.get(face):
            written[face] = outsource(written[face])
    return written


def _described(part: ToolCall | Job) -> tuple[Picture, ...]:
    """Name the pictures that the model is given; the page has its own, in what is displayed."""
    return tuple(altered(picture, data="") for picture in part.pictures)


def _message(before: Message, after: Message, outsource: Outsource) -> list[Op]:
    ops: list[Op] = []
    known = {part.id: part for part in before.parts}
    for part in after.parts:
        old = known.get(part.id)
        if old is not part:
            ops.append(_part(after.id, old, part, outsource))
    if altered(after, parts=before.parts) != before:
        ops.append(("fields", after.id, encode(altered(after, parts=()))))
    return ops


def _part(message_id: str, before: Part | None, after: Part, outsource: Outsource) -> Op:
    grown = _growth(before, after) if before is not None else None
    if grown is not None:
        return ("append", after.id, grown[0], grown[1])
    return ("part", message_id, write_part(after, outsource))


_GROWING: tuple[tuple[type[Part], Field], ...] = (
    (Text, "text"),
    (Reasoning, "text"),
    (ToolCall, "raw"),
    (ToolCall, "output"),
    (Job, "output"),
)


def _growth(before: Part, after: Part) -> tuple[Field, str] | None:
    """Return the field that grew and by what, if that is all that changed."""
    for kind, field in _GROWING:
        if not isinstance(after, kind) or not isinstance(before, kind):
            continue
        old, new = getattr(before, field), getattr(after, field)
        if len(new) > len(old) and new.startswith(old) and _same_but(before, after, field):
            return field, new[len(old) :]
    return None


def _same_but(before: Part, after: Part, field: Field) -> bool:
    ignored = {field, "args"} if field == "raw" else {field}
    return all(
        getattr(before, known.name) is getattr(after, known.name)
        for known in fields(after)
        if known.name not in ignored
    )
