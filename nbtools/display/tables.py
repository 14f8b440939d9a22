"""What a model is told of a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.display.frames import count, counts, size

HIDDEN = "•••"
"""Stands for a value that the model is not told."""
FEWEST = 5
"""Values that a summary needs, lest it tell those of single rows."""

ROWS_TOLD = 10
COLUMNS_TOLD = 50


def tell_frame(
    frame: Any, rows: int, columns: int, policies: Mapping[str, str] | None = None
) -> str:
    """Describe a frame to the model: its size, its columns with their types, its first rows.

    Args:
        frame: The frame.
        rows: How many rows are told.
        columns: How many columns are told.
        policies: By name of a column: `drop` does not tell of it, `mask` tells its name and type,
            `aggregate` a summary besides.
    """
    bound = policies or {}
    told = [place for place, name in enumerate(frame.columns) if bound.get(str(name)) != "drop"]
    frame = frame.iloc[:, told] if len(told) < frame.shape[1] else frame
    page = frame.iloc[:rows, :columns]
    kinds = ", ".join(
        f"{name} ({_kind(frame, place, bound)})" for place, name in enumerate(page.columns)
    )
    left = frame.shape[1] - page.shape[1]
    more = f" and {left:,} more" if left else ""
    page = _masked(page, bound)
    text = page.to_csv(index=not counts(page), lineterminator="\n")
    first = "" if len(page) == len(frame) else f"The first {len(page)} rows:\n"
    return f"A table of {size(*frame.shape)}.\nColumns: {kinds}{more}\n{first}{text}"


def _kind(frame: Any, place: int, policies: Mapping[str, str]) -> str:
    column = frame.iloc[:, place]
    if policies.get(str(column.name)) == "aggregate":
        return f"{column.dtype}; {_summary(column)}"
    return str(column.dtype)


def _summary(column: Any) -> str:
    """Summarise a column so that no value of one row can be read from it."""
    known = column.dropna()
    found = count(len(known), "value")
    if len(known) < FEWEST:
        return f"{found}, too few to be summarised"
    if column.dtype.kind not in "iuf":
        return f"{found}, {known.nunique():,} of them different"
    return f"{found}, mean {known.mean():.4g}, standard deviation {known.std():.4g}"


def _masked(page: Any, policies: Mapping[str, str]) -> Any:
    hidden = [place for place, name in enumerate(page.columns) if str(name) in policies]
    if any(str(name) in policies for name in page.index.names):
        page = page.reset_index(drop=True)
    if not hidden:
        return page
    page = page.astype(object)
    for place in hidden:
        page.isetitem(place, HIDDEN)
    return page
