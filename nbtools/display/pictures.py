"""Figures of matplotlib, which is looked at only if somebody else imported it."""

from __future__ import annotations

import io
import sys
from typing import Any


def figure_of(value: object) -> Any:
    """Find the figure that a value is or belongs to.

    Args:
        value: A figure, an Axes or another artist, a seaborn grid, or what `plt.subplots` and
            `df.hist` give: a tuple, list or array that begins with one of these.

    Returns:
        The matplotlib figure, or None.
    """
    matplotlib = sys.modules.get("matplotlib.figure")
    if matplotlib is None:
        return None
    for _ in range(4):
        if isinstance(value, matplotlib.Figure):
            return value
        value = _closer(value)
    return None


def _closer(value: Any) -> object:
    if type(value) in (list, tuple):
        return value[0] if value else None
    if type(value).__name__ == "ndarray" and value.dtype == object:
        return value.flat[0] if value.size else None
    if type(value).__module__.partition(".")[0] in ("matplotlib", "seaborn"):
        return getattr(value, "figure", None)
    return None


def draw_png(figure: Any) -> bytes:
    """Draw a figure of matplotlib as a PNG picture, on any thread and without a window."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def pixels(figure: Any) -> str:
    """Give the size of a figure in words."""
    width, height = (round(float(inches) * figure.dpi) for inches in figure.get_size_inches())
    return f"{width} × {height} pixels"  # noqa: RUF001 - the sign is meant
