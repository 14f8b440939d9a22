"""What a tool of an MCP server gave, as the faces of a value: for Python, the model, the person."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtools.display import bundle, tell, together
from nbtools.messages import Json
from nbtools.sight import picture_type
from nbtools.tools import Result

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

_LEFT_OUT = "(A picture that came with it is left out.)"

Hide = Callable[[str], str]
"""Takes secrets out of a text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """One block of a result."""

    value: object
    told: object
    """A text, or the bytes of a picture."""
    shown: object
    """What is drawn: text, bytes or a MIME bundle."""
    audience: frozenset[str] = frozenset({"user", "assistant"})


def read_result(result: CallToolResult, hide: Hide) -> Result:
    """Give the value of a call that went well.

    Args:
        result: What the server answered.
        hide: Takes secrets out of text.

    Returns:
        For Python the structured value where there is one, else the text, the bytes of a picture,
        or a list of these; for the model text and pictures; for the person these, and data.
    """
    pieces = [_read(block, hide) for block in result.content]
    structured = _hidden(result.structured_content, hide)
    told = _told(pieces)
    if not told and structured is not None:
        told = tell(structured)
    shown = _for("user", pieces, lambda piece: bundle(piece.shown))
    if structured is not None and (not shown or _repeats(pieces, structured)):
        shown = [bundle(structured)]
    elif isinstance(structured, dict) and structured.keys() == {"result"}:
        structured = structured["result"]  # what is no object is sent in one
    return Result(
        _value(pieces) if structured is None else structured,
        model=told or "(no output)",
        display=together(shown),
    )


def read_failure(result: CallToolResult, hide: Hide) -> str:
    """Give the words of a call that failed, for the model and the person."""
    pieces = [_read(block, hide) for block in result.content]
    told = [piece.told if isinstance(piece.told, str) else _LEFT_OUT for piece in pieces]
    said = "\n\n".join(filter(None, told))
    if not said and result.structured_content is not None:
        said = tell(_hidden(result.structured_content, hide))
    return said or "The tool failed without saying why."


def _told(pieces: list[_Piece]) -> object:
    """Give what is meant for the model: one text, or a list where a picture is among it."""
    told = _for("assistant", pieces, lambda piece: piece.told)
    if all(isinstance(each, str) for each in told):
        return "\n\n".join(told)
    kept = [each for each in told if each]
    return kept if len(kept) > 1 else kept[0]


def _hidden(value: Json, hide: Hide) -> Json:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {name: _hidden(each, hide) for name, each in value.items()}
    return [_hidden(each, hide) for each in value] if isinstance(value, list) else value


def _for(reader: str, pieces: Iterable[_Piece], face: Callable[[_Piece], Any]) -> list[Any]:
    return [face(piece) for piece in pieces if reader in piece.audience]


def _value(pieces: list[_Piece]) -> object:
    values = [piece.value for piece in pieces]
    return values[0] if len(values) == 1 else values or None


def _repeats(pieces: list[_Piece], structured: Json) -> bool:
    """Say whether the text is the structured value once more, as servers are asked to send it."""
    if len(pieces) != 1 or not isinstance(pieces[0].value, str):
        return False
    try:
        return bool(json.loads(pieces[0].value) == structured)
    except ValueError:
        return False


def _read(block: ContentBlock, hide: Hide) -> _Piece:
    from mcp import types  # noqa: PLC0415 - the extra is imported only when it is used

    said = block.annotations.audience if block.annotations else None
    audience = frozenset(said or ("user", "assistant"))
    if isinstance(block, types.TextContent):
        text = hide(block.text)
        return _Piece(value=text, told=text, shown=text, audience=audience)
    if isinstance(block, types.ImageContent | types.AudioContent):
        return _binary(block.data, block.mime_type, audience)
    if isinstance(block, types.ResourceLink):
        text = hide(f"Resource {block.title or block.name}: {block.uri}")
        return _Piece(value=str(block.uri), told=text, shown=text, audience=audience)
    resource = block.resource
    mime = resource.mime_type or ""
    if isinstance(resource, types.BlobResourceContents):
        return _binary(resource.blob, mime, audience)
    text = hide(resource.text)
    return _Piece(value=text, told=text, shown=_document(text, mime), audience=audience)


def _document(text: str, mime: str) -> object:
    """Show the text of a resource; what could be markup of a page stays text."""
    if mime.startswith("text/markdown"):
        return {"text/markdown": text, "text/plain": text}
    if mime.startswith("application/json"):
        try:
            return {"application/json": json.loads(text), "text/plain": text}
        except ValueError:
            return text
    return text


def _binary(data: str, mime: str, audience: frozenset[str]) -> _Piece:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        text = f"Data of type {mime or 'unknown'} that cannot be read: it is no base64."
        return _Piece(value=data, told=text, shown=text, audience=audience)
    if picture_type(content):
        return _Piece(value=content, told=content, shown=content, audience=audience)
    told = f"{len(content):,} bytes of {mime}, kept for Python." if mime else tell(content)
    if mime.startswith("image/"):
        told += " You are not given this picture: models take only PNG, JPEG, GIF and WebP."
    return _Piece(value=content, told=told, shown=told, audience=audience)
