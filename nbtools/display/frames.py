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
