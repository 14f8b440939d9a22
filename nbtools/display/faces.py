"""The faces of a value for the model and for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.display.frames import frame_of
from nbtools.display.mime import PICTURE, PICTURES, is_bundle
from nbtools.display.pages import preview_frame
from nbtools.display.pictures import figure_of, pixels
from nbtools.display.tables import COLUMNS_TOLD, ROWS_TOLD, tell_frame
from nbtools.display.text import cut, raised, safe_repr
from nbtools.jsontext import dumps
from nbtools.messages import Json
from nbtools.plain import plain
from nbtools.sight import beginning, picture_type, size_of

_SHOWN = " was shown to the user."
_TEXTS = ("text/plain", "text/markdown")

PREVIEW = 16_384
"""Characters of a value's JSON that the page is given."""

_ATOMS = frozenset({str, int, float, bool})
"""Types that nothing draws."""


def tell(
    value: object, *, limit: int = 8_000, rows: int = ROWS_TOLD, columns: int = COLUMNS_TOLD
) -> str:
    """Tell the model what a value is; never raises and is never empty.

    Text is told as it is, data as strict JSON, tables and arrays by size, type and first
    elements, and what was drawn for the person is named.

    Args:
        value: Anything.
        limit: The most characters; longer text is cut in its middle and says so.
        rows: Rows of a table.
        columns: Columns of a table.

    Returns:
        Valid text.
    """
    try:
        frame = None if type(value) is str else frame_of(value)
        told = _told(value, limit) if frame is None else tell_frame(frame, rows, columns)
    except Exception as error:  # noqa: BLE001 - the value's own code raised
        told = f"A {type(value).__name__} that cannot be told: it {raised(error)}"
    return cut(told, limit) if told.strip() else "(empty text)"


def name(value: object, drawn: Mapping[str, Json], *, shown: bool) -> str:
    """Name a figure or a picture to the model, in the words that go with it.

    Args:
        value: What is, or was drawn as, a picture.
        drawn: Its bundle.
        shown: Whether the person sees it.
    """
    tail = _SHOWN if shown else "."
    mime = next((mime for mime in PICTURES if mime in drawn), "")
    if (figure := figure_of(value)) is not None:
        return f"A figure ({pixels(figure)}){tail if mime else ' that cannot be drawn.'}"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"A picture ({mime}, {memoryview(value).nbytes:,} bytes){tail}"
    if _is_more(value, drawn):
        return tell(value)
    size = size_of(beginning(str(drawn[mime])))
    measured = f", {size[0]} × {size[1]} pixels" if size else ""  # noqa: RUF001 - the sign is meant
    return f"A picture ({mime}{measured}){tail}"


def _is_more(value: object, drawn: Mapping[str, Json]) -> bool:
    """Say whether a value says more in words than that it is a picture."""
    if is_bundle(value):
        return bool(words_of(value))
    return any(mime != "text/plain" and mime not in PICTURES for mime in drawn)


def words_of(shown: object) -> str:
    """Give the words that a MIME bundle has besides other forms, or ""."""
    known = shown if is_bundle(shown) else {}
    return next((text for mime in _TEXTS if isinstance(text := known.get(mime), str)), "")


def preview(value: object) -> Json:
    """Give the page a bounded JSON form of a value; never raises.

    Args:
        value: Anything.

    Returns:
        A table as its shape, columns and first rows, all else by the rule of `nbtools.plain`.
    """
    if value is None or type(value) in _ATOMS:
        return plain(value, limit=PREVIEW)
    try:
        frame = frame_of(value)
        if frame is not None:
            return preview_frame(frame)
        if figure_of(value) is not None or is_drawn(value):
            return tell(value, limit=500)
    except Exception as error:  # noqa: BLE001 - the value's own code raised
        return f"<{type(value).__name__}: {type(error).__name__}>"
    return plain(value, limit=PREVIEW)


def is_drawn(value: object) -> bool:
    """Say whether a value is there to be looked at: a widget, a chart."""
    names = ("_repr_mimebundle_", "_ipython_display_")
    return not isinstance(value, type) and any(hasattr(type(value), name) for name in names)


def _told(value: object, limit: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return _told_bytes(memoryview(value))
    if (figure := figure_of(value)) is not None:
        return f"A figure ({pixels(figure)}){_SHOWN}"
    if is_bundle(value):
        return _told_bundle(value)
    if is_drawn(value):
        return f"Shown to the user: {safe_repr(value, limit=min(limit, 500))}"
    if _is_array(value):
        return _told_array(value, limit)
    return dumps(plain(value, limit=limit))


def _told_bytes(content: memoryview) -> str:
    mime = picture_type(content[:16].tobytes())
    if not mime:
        return f"{content.nbytes:,} bytes of binary data."
    tail = _SHOWN if content.nbytes <= PICTURE else ", too large to be shown."
    return f"A picture ({mime}, {content.nbytes:,} bytes){tail}"


def _told_bundle(shown: Mapping[str, object]) -> str:
    return words_of(shown) or f"Shown to the user as {', '.join(shown)}."


def _is_array(value: Any) -> bool:
    return type(value).__name__ == "ndarray" and value.ndim > 0


def _told_array(array: Any, limit: int) -> str:
    summary = _summary(array) if array.dtype.kind in "iuf" else ""
    values = dumps(plain(array, limit=max(limit - 200, 256)))
    return f"An array of shape {array.shape} ({array.dtype}).{summary}\n{values}"


def _summary(array: Any) -> str:
    known = array[array == array]  # noqa: PLR0124 - what is not a number equals nothing
    unknown = f" {array.size - known.size:,} not a number." if known.size < array.size else ""
    if not known.size:
        return unknown
    low, mean, high = (plain(float(it)) for it in (known.min(), known.mean(), known.max()))
    return f" Least {low}, mean {mean}, greatest {high}.{unknown}"
