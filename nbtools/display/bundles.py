"""The face of a value for the person: a MIME bundle that a notebook can draw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nbtools.display.frames import frame_of
from nbtools.display.mime import PICTURE, finish, is_bundle, pictures_in, together
from nbtools.display.pages import show_frame, show_records
from nbtools.display.pictures import draw_png, figure_of
from nbtools.display.routing import Collected, capture, shell
from nbtools.display.text import cut, raised, safe_repr
from nbtools.messages import Json
from nbtools.plain import plain
from nbtools.sight import picture_type

Shown = dict[str, object]

_FEW = 50
"""Things in a list that are shown one by one where a picture is among them."""
_DRAWN = ("_repr_mimebundle_", "_repr_png_", "_repr_jpeg_")

_METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}
"""Scripts (`_repr_javascript_`) are left out: a value is looked at, not run."""


def bundle(value: object, *, limit: int = 65_536) -> dict[str, Json]:
    """Show a value to the person; never raises, whatever the value's own code does.

    Text stays text: only objects with a rich form of their own, and mappings of MIME types to
    data, become anything that is drawn.

    Args:
        value: Anything.
        limit: Characters of plain text and JSON; richer forms may take 16 times that.

    Returns:
        MIME types and data, as JSON; text/plain is always there.
    """
    if type(value) is str:
        return {"text/plain": cut(value, limit)}
    try:
        if items := items_of(value):
            return dict(together([bundle(item, limit=limit) for item in items]) or {})
        shown = finish(_shown(value, limit), limit=limit)
    except Exception as error:  # noqa: BLE001 - the value's own code raised
        shown = {"text/plain": f"{safe_repr(value)} (could not be shown: it {raised(error)})"}
    if not shown.get("text/plain"):
        shown["text/plain"] = safe_repr(value) if value != "" else ""
    return shown


def items_of(value: object) -> list[object]:
    """Take a list or tuple apart that holds pictures, for each thing in it to be shown by itself.

    Args:
        value: Anything.

    Returns:
        What it holds, a figure once however many of its parts there are; nothing for one thing.
    """
    if not (isinstance(value, list | tuple) and type(value) in (list, tuple)):
        return []
    if len(value) > _FEW or not any(map(_is_picture, value)):
        return []
    kept = list(_each_once(value))
    return kept if len(kept) > 1 else []


def may_have_picture(value: object) -> bool:
    """Say whether it is worth drawing a value to see whether it is a picture."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bool(_picture_type(memoryview(value)))
    if is_bundle(value) or figure_of(value) is not None:
        return True
    # The class is asked: proxies and mocks answer to every name.
    return not isinstance(value, type) and any(hasattr(type(value), name) for name in _DRAWN)


def _is_picture(value: object) -> bool:
    if figure_of(value) is not None:
        return True
    return may_have_picture(value) and bool(pictures_in(bundle(value)))


def _each_once(values: Iterable[object]) -> Iterator[object]:
    known: list[object] = []
    for value in values:
        figure = figure_of(value)
        if figure is None or not any(figure is each for each in known):
            known.append(figure)
            yield value


def _shown(value: object, limit: int) -> Shown:
    if isinstance(value, str):
        return {"text/plain": value}
    if isinstance(value, bytes | bytearray | memoryview):
        return _show_bytes(memoryview(value))
    if (figure := figure_of(value)) is not None:
        return {"image/png": draw_png(figure), "text/plain": repr(figure)}
    if (frame := frame_of(value)) is not None:
        return show_frame(frame)
    if is_bundle(value):
        return dict(value)
    if not _is_builtin(value) and (rich := _rich(value)):
        return rich
    return _show_plain(value, limit)


def _is_builtin(value: object) -> bool:
    return type(value).__module__ == "builtins"


def _show_bytes(content: memoryview) -> Shown:
    size = f"{content.nbytes:,} bytes"
    mime = _picture_type(content) if content.nbytes <= PICTURE else ""
    if not mime:
        return {"text/plain": f"<{size}>"}
    return {mime: content.tobytes(), "text/plain": f"<{mime} of {size}>"}


def _picture_type(content: memoryview) -> str:
    return picture_type(content[:16].tobytes())


def _show_plain(value: object, limit: int) -> Shown:
    """Show what has no rich form: containers and records as JSON, all else as its repr."""
    if type(value).__module__.partition(".")[0] == "numpy":
        return {"text/plain": safe_repr(value, limit=limit)}
    data = plain(value, limit=limit)
    if not isinstance(data, dict | list):
        return {"text/plain": safe_repr(value, limit=limit)}
    return {
        **show_records(data),
        "application/json": data,
        "text/plain": json.dumps(data, ensure_ascii=False, indent=2),
    }


def _rich(value: Any) -> Shown:
    """Ask the value itself, and then IPython's printers, for rich forms."""
    if (method := _method(value, "_repr_mimebundle_")) is not None:
        shown = _data(method(include=None, exclude=None))
        if shown:
            return dict(shown)
    if (method := _method(value, "_ipython_display_")) is not None:
        return _displayed(method)
    shown, problems = {}, []
    for mime, draw in _drawers(value):
        try:
            data = _data(draw())
        except Exception as error:  # noqa: BLE001 - the next form may do
            problems.append(f"(its {mime} form {raised(error)})")
        else:
            if data is not None:
                shown[mime] = data
    if problems:
        shown["text/plain"] = "\n".join([safe_repr(value), *problems])
    return shown


def _displayed(display: Callable[[], object]) -> Shown:
    """Let a value that displays itself do so, and take what it displays."""
    collected = Collected()
    with capture(collected):
        display()
    if collected.shown:
        return dict(collected.shown[-1])
    return {"text/plain": collected.text} if collected.text else {}


def _drawers(value: object) -> Iterator[tuple[str, Callable[[], object]]]:
    formatters: Mapping[str, Any] = getattr(
        getattr(shell(), "display_formatter", None), "formatters", {}
    )
    for mime, name in _METHODS.items():
        if (printer := _registered(formatters.get(mime), value)) is not None:
            yield mime, printer
        elif (method := _method(value, name)) is not None:
            yield mime, method


def _registered(formatter: Any, value: object) -> Callable[[], object] | None:
    """Find the printer that the user registered with IPython for this type."""
    try:
        printer = formatter.lookup(value)
    except (AttributeError, KeyError):
        return None
    return lambda: printer(value)


def _method(value: object, name: str) -> Callable[..., Any] | None:
    # The class is asked first: proxies and mocks answer to every name.
    if isinstance(value, type) or not hasattr(type(value), name):
        return None
    method = getattr(value, name)
    return method if callable(method) else None


def _data(given: Any) -> Any:
    """Leave out the metadata that may come with what was drawn."""
    return given[0] if isinstance(given, tuple) and len(given) == 2 else given
