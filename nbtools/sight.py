"""Pictures as models take them: their type and size, what they cost, and how many a request holds.

A model that takes no pictures, or is not given them all, is told so in words in their place.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nbtools.messages import File, Message, Part, Picture, Text, ToolCall

TYPES = ("image/png", "image/jpeg")
"""The types that every wire takes."""
LARGEST = 1_000_000
"""Bytes of one picture."""
MOST = 40
"""Pictures of tools in one request; the oldest are left out."""
MOST_DATA = 12_000_000
"""Characters of base64 of these pictures together."""

_STEP = 10
_HEAD = 65_536
_MOST_TOKENS = 1_600
_PIXELS_A_TOKEN = 750
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})
"""Markers of a JPEG that lie among those of frames and are none."""

_BLIND = "Pictures are not sent to this model, so you do not see it."
_OLD = "Its picture is not sent any more. Call the tool again to see it."


def picture_type(content: bytes) -> str:
    """Tell the MIME type of a picture from its first bytes, or "" if it is none."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _MAGIC.items() if content.startswith(magic)), "")


def beginning(data: str) -> bytes:
    """Read as much of base64 text as `size_of` needs; nothing where it is none."""
    try:
        return base64.b64decode(data[:_HEAD])
    except (binascii.Error, ValueError):
        return b""


def size_of(content: bytes) -> tuple[int, int] | None:
    """Read the width and height of a picture, in pixels, from its first bytes.

    Args:
        content: The picture, or its beginning.

    Returns:
        None where they do not say it, or in a way that is not known here.
    """
    kind = picture_type(content)
    if kind == "image/png" and content[12:16] == b"IHDR" and len(content) >= 24:
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if kind == "image/gif" and len(content) >= 10:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    return _jpeg_size(content) if kind == "image/jpeg" else None


def is_whole(content: bytes) -> bool:
    """Say whether a PNG or JPEG is there to its end, so that a server can read it."""
    if picture_type(content) == "image/png":
        return _is_whole_png(content)
    return _jpeg_size(content) is not None and content.rstrip(b"\0").endswith(b"\xff\xd9")


def mended(content: bytes) -> bytes:
    """Leave out what is broken of a PNG and need not be there, such as its colour profile.

    Browsers read over it, and the libraries of servers refuse the whole picture.
    """
    if picture_type(content) != "image/png":
        return content
    chunks = list(_chunks(content))
    if all(fits for _, _, fits in chunks):
        return content
    needed = (chunk for kind, chunk, fits in chunks if fits or kind[:1].isupper())
    return content[:8] + b"".join(needed)


def fits(picture: Picture) -> bool:
    """Say whether a picture, from a source that may be wrong in any way, can be sent."""
    try:
        content = base64.b64decode(picture.data, validate=True)
    except (binascii.Error, ValueError):
        return False
    known = picture.mime in TYPES and picture_type(content) == picture.mime
    size = (picture.width, picture.height)
    return known and len(content) <= LARGEST and size_of(content) == size and is_whole(content)


def tokens_of(part: Part) -> int:
    """Estimate the tokens of the pictures of a part: 750 pixels each, at most 1,600 a picture.

    Source: https://docs.claude.com/en/docs/build-with-claude/vision; others charge less.
    """
    if isinstance(part, ToolCall):
        return sum(estimate(picture.width, picture.height) for picture in part.pictures)
    if not (isinstance(part, File) and part.mime.startswith("image/")):
        return 0
    size = size_of(beginning(part.data))
    return _MOST_TOKENS if size is None else estimate(*size)


def estimate(width: int, height: int) -> int:
    """Estimate the tokens of a picture of this many pixels."""
    return max(1, min(width * height // _PIXELS_A_TOKEN, _MOST_TOKENS))


def files_of(about: str, pictures: Sequence[Picture]) -> list[File]:
    """Write the pictures of a call or job that the model did not ask for, as files beside a note."""
    return [
        File(id=f"{about}-picture-{number}", mime=each.mime, data=each.data, about=about)
        for number, each in enumerate(pictures, 1)
    ]


def unseen(messages: Sequence[Message]) -> Sequence[Message]:
    """Give a history to a model that takes no pictures: each of a tool is told in words."""
    return _without(messages, _holders(messages), _BLIND)


def bounded(messages: Sequence[Message]) -> Sequence[Message]:
    """Leave out the oldest pictures of tools where a history holds too many.

    They go in tens, so that what a server keeps of a prompt holds for longer.
    """
    holders = _holders(messages)
    gone = 0
    while not _may_go_together(holders[gone:]):
        gone += _STEP
    return _without(messages, holders[:gone], _OLD)


def _holders(messages: Sequence[Message]) -> list[ToolCall | File]:
    return [
        part
        for message in messages
        for part in message.parts
        if (type(part) is ToolCall and part.pictures) or (type(part) is File and part.about)
    ]


def _may_go_together(holders: Sequence[ToolCall | File]) -> bool:
    data = [data for holder in holders for data in _data(holder)]
    return len(data) <= MOST and sum(map(len, data)) <= MOST_DATA


def _data(holder: ToolCall | File) -> list[str]:
    if isinstance(holder, File):
        return [holder.data]
    return [picture.data for picture in holder.pictures]


def _without(
    messages: Sequence[Message], holders: Sequence[ToolCall | File], words: str
) -> Sequence[Message]:
    if not holders:
        return messages
    gone = set(map(id, holders))
    return tuple(
        replace(message, parts=tuple(_in_words(part, gone, words) for part in message.parts))
        if any(id(part) in gone for part in message.parts)
        else message
        for message in messages
    )


def _in_words(part: Part, gone: set[int], words: str) -> Part:
    if id(part) not in gone:
        return part
    if isinstance(part, ToolCall):
        return replace(part, told=f"{part.told}\n({words})", pictures=())
    return Text(id=part.id, text=f"[Note from the program: {words}]")


def _is_whole_png(content: bytes) -> bool:
    kinds = [(kind, fits) for kind, _, fits in _chunks(content)]
    return (b"IEND", True) in kinds and all(fits for _, fits in kinds) and bool(size_of(content))


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """Give the chunks of a PNG: the name of each, all of its bytes, and whether its sum fits."""
    place, kind = 8, b""
    while place + 12 <= len(content) and kind != b"IEND":
        end = place + 12 + int.from_bytes(content[place : place + 4])
        chunk, kind = content[place:end], content[place + 4 : place + 8]
        yield kind, chunk, zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:])
        place = end


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(content) and content[place] == 0xFF:
        marker = content[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = content[place + 5 : place + 7], content[place + 7 : place + 9]
            return int.from_bytes(width), int.from_bytes(height)
        place += 2 + int.from_bytes(content[place + 2 : place + 4])
    return None
