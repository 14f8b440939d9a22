"""Data frames of pandas, of which never more than a page is formatted."""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from typing import Any

from nbtools.display.mime import TABLE
from nbtools.messages import Json
from nbtools.plain import plain

HIDDEN = "•••"
"""Stands for a value that the model is not told."""
FEWEST = 5
"""Values that a summary needs, lest it tell those of single rows."""

ROWS = 20
COLUMNS = 20
ROWS_TOLD = 10
COLUMNS_TOLD = 50


def frame_of(value: object) -> Any:
    """Give a value as a data frame: a DataFrame itself, a Series as one column, else None."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    if isinstance(value, pandas.Series):
        return value.to_frame()
    return value if isinstance(value, pandas.DataFrame) else None


def shape(frame: Any) -> str:
    """Give the size of a frame in words."""
    rows, columns = frame.shape
    return f"{_count(rows, 'row')} and {_count(columns, 'column')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_frame(frame: Any) -> dict[str, object]:
    """Show the first page of a frame as a table and as text, with the frame's size."""
    page = frame.iloc[:ROWS, :COLUMNS]
    note = shape(frame) + ("" if page.shape == frame.shape else f"; shown: {shape(page)}")
    return {
        TABLE: {**preview_frame(frame), "note": note},
        "text/html": f"{page.to_html(border=0)}\n<p>{html.escape(note)}</p>",
        "text/plain": f"{page.to_string(max_colwidth=200)}\n\n[{note}]",
    }


def preview_frame(frame: Any) -> dict[str, Json]:
    """Give the first page of a frame as JSON; the index is a column unless it only counts."""
    page = frame.iloc[:ROWS, :COLUMNS]
    with_index = not _counts(page)
    names = [*([page.index.name or ""] if with_index else []), *page.columns]
    rows = [list(row) for row in page.itertuples(index=with_index, name=None)]
    return {
        "shape": list(frame.shape),
        "columns": plain(names, limit=8_000),
        "rows": plain(rows, limit=32_000),
    }


def show_records(data: Json) -> dict[str, Json]:
    """Show a list of flat objects as a table; nothing for any other JSON."""
    if not isinstance(data, list) or not data or not all(map(_is_record, data)):
        return {}
    columns = list(dict.fromkeys(name for record in data for name in record))
    if len(columns) > COLUMNS:
        return {}
    rows = [[record.get(name) for name in columns] for record in data[:ROWS]]
    note = "" if len(rows) == len(data) else f"{_count(len(data), 'row')}; shown: {len(rows)}"
    return {TABLE: {"columns": columns, "rows": rows, "note": note}}


def _is_record(item: Json) -> bool:
    scalars = (str, int, float, bool, type(None))
    return isinstance(item, dict) and all(isinstance(value, scalars) for value in item.values())


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
    text = page.to_csv(index=not _counts(page), lineterminator="\n")
    first = "" if len(page) == len(frame) else f"The first {len(page)} rows:\n"
    return f"A table of {shape(frame)}.\nColumns: {kinds}{more}\n{first}{text}"


def _kind(frame: Any, place: int, policies: Mapping[str, str]) -> str:
    column = frame.iloc[:, place]
    if policies.get(str(column.name)) == "aggregate":
        return f"{column.dtype}; {_summary(column)}"
    return str(column.dtype)


def _summary(column: Any) -> str:
    """Summarise a column so that no value of one row can be read from it."""
    known = column.dropna()
    count = _count(len(known), "value")
    if len(known) < FEWEST:
        return f"{count}, too few to be summarised"
    if column.dtype.kind not in "iuf":
        return f"{count}, {known.nunique():,} of them different"
    return f"{count}, mean {known.mean():.4g}, standard deviation {known.std():.4g}"


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


def _counts(frame: Any) -> bool:
    return type(frame.index).__name__ == "RangeIndex"
