"""Data frames of pandas, which is never imported for them."""

from __future__ import annotations

import sys
from typing import Any


def frame_of(value: object) -> Any:
    """Give a value as a data frame: a DataFrame itself, a Series as one column, else None."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    if isinstance(value, pandas.Series):
        return value.to_frame()
    return value if isinstance(value, pandas.DataFrame) else None


def table_of(value: object) -> Any:
    """Give the frame that a value is, or is a view of: one of `frame_of`, an index, a grouping."""
    frame = frame_of(value)
    if frame is not None or type(value).__module__.partition(".")[0] != "pandas":
        return frame
    if hasattr(value, "to_frame"):
        return value.to_frame()
    return frame_of(getattr(value, "obj", None))


def size(rows: int, columns: int) -> str:
    """Give the size of a table in words."""
    return f"{count(rows, 'row')} and {count(columns, 'column')}"


def counts(frame: Any) -> bool:
    """Say whether the index of a frame only counts its rows, from 0."""
    index = frame.index
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def count(number: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def dated(frame: Any, page: Any, first: int = 0) -> Any:
    """Write times of a page as they are told: the day alone where a whole column is at midnight.

    Args:
        frame: The frame that the page is part of.
        page: Some of its rows and columns.
        first: How many of its columns stand before those of the page.

    Returns:
        A page of the same shape. A time with a zone stays whole, for its day alone would not tell
        the zone.
    """
    page = page.copy(deep=False)
    for place in range(page.shape[1]):
        part = page.iloc[:, place]
        if _is_time(part):
            written = _written(part, frame.iloc[:, first + place])
            page.isetitem(place, sys.modules["pandas"].Series(written, part.index, dtype=object))
    return page


def dated_labels(whole: Any, part: Any) -> Any:
    """Write the labels of rows or columns as `dated` writes values.

    Args:
        whole: The index, or the columns, of a frame.
        part: Those of a page of it.
    """
    if part.nlevels > 1:
        return _dated_levels(whole, part.remove_unused_levels())
    if not _is_time(part):
        return part
    return sys.modules["pandas"].Index(_written(part, whole), dtype=object, name=part.name)


def _dated_levels(whole: Any, part: Any) -> Any:
    for number, level in enumerate(part.levels):
        # A label that is missing would not be told as one any more among texts.
        if _is_time(level) and (part.codes[number] >= 0).all() and _are_days(whole.levels[number]):
            part = part.set_levels(_written(level, level), level=number)
    return part


def _is_time(values: Any) -> bool:
    """Say whether values are times without a zone."""
    return bool(values.dtype.type.__name__ == "datetime64")


def _written(part: Any, whole: Any) -> list[object]:
    if not (_are_days(part) and _are_days(whole)):
        return list(part.astype(object))
    days = part.to_numpy().astype("datetime64[D]")
    return [str(day) if day == day else None for day in days]  # noqa: PLR0124 - NaT is not itself


def _are_days(values: Any) -> bool:
    times = values.to_numpy()
    known = times[times == times]  # noqa: PLR0124 - as above
    return bool((known.astype("datetime64[D]") == known).all())
