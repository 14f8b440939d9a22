"""What a model is told of a data frame."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nbtools.display.frames import count, counts, dated, dated_labels, size

HIDDEN = "•••"
"""Stands for a value that the model is not told."""
FEWEST = 5
"""Values that a summary needs, lest it tell those of single rows."""

ROWS_TOLD = 10
COLUMNS_TOLD = 50

_SUFFIXES = ("", "_x", "_y")
"""What pandas puts behind columns of one name that it merges."""
_STRICTEST = ("drop", "mask", "aggregate")


def tell_frame(
    frame: Any, rows: int, columns: int, policies: Mapping[str, str] | None = None
) -> str:
    """Describe a frame to the model: its size, its columns with their types, its first rows.

    Args:
        frame: The frame.
        rows: How many rows are told.
        columns: How many columns are told.
        policies: By name of a column: `drop` does not tell of it, `mask` tells its name and type,
            `aggregate` a summary besides. They hold for a row of such a name too, and where the
            values of the column have become labels of others.
    """
    bound = policies or {}
    frame = _without_dropped(frame, bound) if bound else frame
    page = dated(frame, frame.iloc[:rows, :columns])
    labels = dated_labels(frame.columns, _labels(page.columns, bound))
    kinds = ", ".join(f"{name} ({_kind(frame, place, bound)})" for place, name in enumerate(labels))
    left = frame.shape[1] - page.shape[1]
    more = f" and {left:,} more" if left else ""
    page = _masked(page, bound) if bound else page
    page.index = dated_labels(frame.index, page.index)
    page.columns = labels
    text = page.to_csv(index=not counts(page), lineterminator="\n")
    first = "" if len(page) == len(frame) else f"The first {len(page)} rows:\n"
    return f"A table of {size(*frame.shape)}.\nColumns: {kinds}{more}\n{first}{text}"


def has_column(frame: Any, names: Collection[str]) -> bool:
    """Say whether one of these columns is in a frame: as a column, a row, or as labels of others."""
    if not {str(name) for name in (*frame.index.names, *frame.columns.names)}.isdisjoint(names):
        return True
    return any(_named(label, names) for label in frame.columns) or bool(_rows(frame, names).any())


def _without_dropped(frame: Any, policies: Mapping[str, str]) -> Any:
    dropped = [name for name, policy in policies.items() if policy == "drop"]
    told = [place for place, name in enumerate(frame.columns) if _policy(name, policies) != "drop"]
    frame = frame.iloc[:, told] if len(told) < frame.shape[1] else frame
    rows = _rows(frame, dropped)
    return frame[~rows] if rows.any() else frame


def _policy(label: object, policies: Mapping[str, str]) -> str:
    """Give the strictest policy that holds for a label, be it of one level or of several; or ""."""
    found = [policies[name] for name in _named(label, policies)]
    return min(found, key=_STRICTEST.index, default="")


def _named(label: object, names: Collection[str]) -> list[str]:
    levels = (label, *label) if isinstance(label, tuple) else (label,)
    written = [str(level).removesuffix(suffix) for level in levels for suffix in _SUFFIXES]
    return [name for name in written if name in names]


def _rows(frame: Any, names: Iterable[str]) -> Any:
    """Say of each row whether its label, or one level of it, is one of these names."""
    index, wanted = frame.index, [f"{name}{suffix}" for name in names for suffix in _SUFFIXES]
    found = index.get_level_values(0).isin(wanted)
    for level in range(1, index.nlevels):
        found = found | index.get_level_values(level).isin(wanted)
    return found


def _kind(frame: Any, place: int, policies: Mapping[str, str]) -> str:
    column = frame.iloc[:, place]
    if _policy(column.name, policies) == "aggregate":
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
    columns = [place for place, name in enumerate(page.columns) if _policy(name, policies)]
    rows = _rows(page, policies)
    if any(str(name) in policies for name in page.index.names):
        page = page.reset_index(drop=True)
    page = page.astype(object)
    for place in columns:
        page.isetitem(place, HIDDEN)
    page.loc[rows] = HIDDEN
    page.columns = _labels(page.columns, policies)
    return page


def _labels(columns: Any, policies: Mapping[str, str]) -> Any:
    """Hide the labels that are values of a protected column, as a pivot makes them."""
    hidden = [place for place, name in enumerate(columns.names) if str(name) in policies]
    if not hidden or columns.nlevels == 1:
        return columns.map(lambda _: HIDDEN) if hidden else columns
    shown = [
        tuple(HIDDEN if place in hidden else each for place, each in enumerate(label))
        for label in columns
    ]
    names = [None if place in hidden else name for place, name in enumerate(columns.names)]
    return type(columns).from_tuples(shown, names=names)
