"""How the texts of a message are written where a wire has one text for them all."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from nbtools.messages import File, ToolCall

_EMPTY = "(an empty file)"
NOTHING = "(no output)"
"""What stands for a result that says nothing, since servers refuse an empty one."""


def join_texts(texts: Sequence[str]) -> str:
    """Join texts that a call stood between, so that their words stay apart.

    Args:
        texts: Texts, none of them empty.
    """
    joined = ""
    for text in texts:
        apart = not joined or joined[-1].isspace() or text[0].isspace()
        joined += text if apart else f"\n\n{text}"
    return joined


def introduce(call: ToolCall, name: str) -> str:
    """Say whose pictures follow, where a wire cannot hold them in the result itself.

    Args:
        call: A call with pictures.
        name: Its tool's name on the wire.
    """
    count = len(call.pictures)
    pictures = "picture" if count == 1 else f"{count} pictures"
    return f"[Note from the program: the {pictures} that {name} returned in the call {call.id}.]"


def address(mime: str, data: str) -> str:
    """Write content in base64 as an address."""
    return f"data:{mime};base64,{data}"


def written(file: File) -> str | None:
    """Write a file that holds text as a text, headed by its name.

    Args:
        file: Any file.

    Returns:
        The text, or None if the file does not hold any.
    """
    if not (file.mime.startswith("text/") or file.mime == "application/json"):
        return None
    try:
        text = base64.b64decode(f"{file.data}==").decode("utf-8", "replace")
    except ValueError:
        return unreadable(file)
    text = text if text.strip() else _EMPTY
    return f"{file.name}:\n{text}" if file.name else text


def unreadable(file: File) -> str:
    """Tell of a file that a wire has no place for."""
    return f"(Here is a file that cannot be read: {file.name or 'no name'}, {file.mime}.)"
