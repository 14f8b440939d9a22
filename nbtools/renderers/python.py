"""Renderers written in Python: a function of the call that returns anything a notebook shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.display import Collected, bundle, capture, figures
from nbtools.display.text import raised
from nbtools.messages import Json, ToolCall

ERROR = "nbt/error"
"""Stands in a drawing that failed: the page then draws the built-in card with this note."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """What a renderer made of one state of a call."""

    bundle: Mapping[str, Json] | None
    """A MIME bundle; None leaves the call to the built-in card."""
    error: str = ""
    """Why there is no drawing."""
    source: object = None
    """What was drawn; whoever shows a widget has to keep it, else it may be closed."""


def draw(render: Callable[[ToolCall], object], call: ToolCall) -> Drawing:
    """Draw one state of a call; never raises.

    Args:
        render: The renderer. What it returns is shown; if that is None, what it displayed, or
            the figure that it left open. The same widget gives the same drawing, so that the
            page keeps it mounted.
        call: The call as it is now.

    Returns:
        The drawing, or the error in its place.
    """
    said = Collected()
    try:
        with capture(said), figures() as opened:
            value = render(call)
            left_open = opened.collect(shown=value)
            shown = bundle(value) if value is not None else _last(said, left_open)
    except BaseException as error:  # noqa: BLE001 - the user's code may even try to exit
        text = f"The renderer {_name(render)!r} {raised(error)}"
        return Drawing(bundle={ERROR: text, "text/plain": text}, error=text)
    return Drawing(bundle=shown, source=value)


def _last(said: Collected, left_open: list[dict[str, Json]]) -> Mapping[str, Json] | None:
    shown: list[Mapping[str, Json]] = [*said.shown, *left_open]
    if shown:
        return shown[-1]
    return bundle(said.text) if said.text else None


def _name(render: Any) -> str:
    return str(getattr(render, "__qualname__", type(render).__name__))
