"""MIME bundles: what one is, how it becomes JSON, and how large it may be."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from nbtools.display.text import cut
from nbtools.jsontext import clean_text, dumps
from nbtools.messages import Json
from nbtools.plain import plain

RICH = 16
"""How many times the limit of plain text a chart, a table or a drawing may take."""

PICTURE = 8_000_000
"""Bytes of a picture that are shown at all."""

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of pictures that a model can be given, as they are or as another type."""

_SVG = "image/svg+xml"
_TYPE = re.compile(r"(text|image|audio|video|application|model)/[\w.+-]+")
_VEGALITE = re.compile(r"application/vnd\.vegalite\.v6[.+]json")


TABLE = "application/vnd.nbtools.table+json"
"""A page of rows that the card draws itself: `columns`, `rows`, and a `note` on what is left out."""

SEVERAL = "application/vnd.nbtools.several+json"
"""A list of bundles that are shown one below the other."""


def together(bundles: Sequence[Mapping[str, Json]]) -> Mapping[str, Json] | None:
    """Make one bundle of several, for a card that shows them one below the other.

    Args:
        bundles: In their order; one that is made of several is taken apart.

    Returns:
        None for no bundle, the only one as it is, else one whose text is that of all.
    """
    if len(bundles) < 2:
        return next(iter(bundles), None)
    text = "\n".join(str(shown.get("text/plain", "")) for shown in bundles)
    return {SEVERAL: [one for shown in bundles for one in apart(shown)], "text/plain": text}


def apart(shown: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Take apart what `together` made; a bundle that is one stays one."""
    several = shown.get(SEVERAL)
    if not isinstance(several, list):
        return [shown]
    return [one for one in several if isinstance(one, Mapping)]


def pictures_in(shown: Mapping[str, Json]) -> list[str]:
    """Give the pictures of a bundle in the types that a model may be given, as base64 text."""
    return [data for mime in PICTURES if isinstance(data := shown.get(mime), str)]


def is_bundle(value: object) -> TypeGuard[Mapping[str, object]]:
    """Say whether a value is a MIME bundle: a mapping whose keys are all MIME types."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(key, str) and _TYPE.fullmatch(key) for key in value)
    )


def finish(shown: Mapping[str, object], *, limit: int) -> dict[str, Json]:
    """Turn a bundle as Python objects give it into strict JSON of bounded size.

    Args:
        shown: MIME types and data; a picture may be bytes or base64 text.
        limit: Characters of plain text and JSON; richer types may take `RICH` times that.

    Returns:
        The bundle; what is too large or no picture is left out, which its text/plain says.
    """
    finished: dict[str, Json] = {}
    notes: list[str] = []
    for mime, data in shown.items():
        if data is None:  # an object that has no such form may say so
            continue
        try:
            finished[_known_name(mime)] = _content(mime, data, limit)
        except _LeftOut as why:
            notes.append(f"({mime} {why}.)")
    if notes:
        text = str(finished.get("text/plain", ""))
        finished["text/plain"] = "\n".join([text, *notes]).strip()
    return finished


def picture_bytes(mime: str, content: str) -> bytes | None:
    """Give the content of a picture that a bundle holds as text; None where it is no base64."""
    if mime == _SVG:
        return clean_text(content).encode()
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except ValueError:
        return None


class _LeftOut(Exception):  # noqa: N818 - says why, as the end of a sentence
    """A form of a value cannot be shown."""


def _expect_room(size: int, room: int) -> None:
    if size > room:
        raise _LeftOut("is too large to be shown")


def _content(mime: str, data: object, limit: int) -> Json:
    if isinstance(data, bytes | bytearray | memoryview):
        if not (mime.startswith("text/") or mime == _SVG):
            _expect_room(len(data), PICTURE)
            return base64.b64encode(data).decode()
        data = bytes(data).decode("utf-8", "replace")
    if mime == "text/plain":
        return cut(data if isinstance(data, str) else str(data), limit)
    if mime.startswith("image/"):
        return _picture(mime, data)
    room = limit if mime == "application/json" and not isinstance(data, str) else limit * RICH
    if isinstance(data, str):
        _expect_room(len(data), room)
        return clean_text(data)
    # Half a chart is no chart: a little more than the room shows whether it was cut.
    content = plain(data, limit=2 * room, depth=100)
    _expect_room(len(dumps(content)), room)
    return content


def _picture(mime: str, data: object) -> str:
    if not isinstance(data, str):
        raise _LeftOut(f"is {type(data).__name__}, which is no picture")
    _expect_room(len(data), PICTURE * 4 // 3 + 4)
    if picture_bytes(mime, data) is None:
        raise _LeftOut("is no base64 text, which a picture has to be")
    return clean_text(data)


def _known_name(mime: str) -> str:
    # JupyterLab 4 draws Vega-Lite 6 well, under the name of version 5 only.
    return "application/vnd.vegalite.v5+json" if _VEGALITE.fullmatch(mime) else mime
