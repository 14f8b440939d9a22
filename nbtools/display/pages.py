"""What a card shows of a value that is too large for it, and how more of it is reached.

Tables are shown as pages, at most twenty rows and twenty columns at a time: data frames, lists of
records, long lists of numbers and texts.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtools.display.frames import counts, dated, dated_labels, frame_of, size
from nbtools.display.mime import TABLE
from nbtools.display.text import head, kept
from nbtools.jsontext import dumps
from nbtools.messages import Json
from nbtools.plain import plain, plain_and_whole
from nbtools.protocol import TablePage

NOTE = "application/vnd.nbtools.note+json"
"""What of the text or the data beside it is left out, in words."""

ROWS = 20
COLUMNS = 20
CELL = 500
"""Characters of one cell."""
PAGE = 40_000
"""Characters of all cells of a page, which share them."""
PROBED = 200
"""Items of a list that are looked at to tell what it holds."""
LONG = 1_000
"""Items up to which a list of numbers or texts is shown as data, not as a table."""


def page_of(value: object, *, start: int = 0, column: int = 0, call: str = "") -> TablePage | None:
    """Give some rows and columns of a table.

    Args:
        value: Anything.
        start: How many rows stand before the page; beyond the end it is the last page.
        column: How many columns stand before it.
        call: The call by whose id `chat.results` has the value, if any.

    Returns:
        The page, or None where the value is no table.
    """
    window = _window(value, start, column)
    return None if window is None else _page(window, call)


def reachable(
    shown: Mapping[str, Json], value: object, call: str, *, limit: int = 65_536
) -> dict[str, Json]:
    """Let the display of a value lead to what it leaves out.

    Args:
        shown: What `bundle` gave for the value.
        value: The value.
        call: The call by whose id `chat.results` has it.
        limit: As for `bundle`.

    Returns:
        The display with a table whose other pages can be asked for, or with a note.
    """
    if isinstance(value, str):
        return _reachable_text(shown, value, call, limit)
    if (TABLE in shown or "application/json" in shown) and (page := page_of(value, call=call)):
        return {**shown, TABLE: page}
    data = shown.get("application/json")
    if data is None or len(dumps(data)) < limit // 2 or plain_and_whole(value, limit=limit)[1]:
        return dict(shown)
    return {**shown, NOTE: f"The page has a part of this value. {where_all_is(call)}"}


def where_all_is(call: str) -> str:
    """Say how to get the whole value of a call in Python."""
    return f"All of it is in Python: chat.results[{dumps(call)}]"


def show_frame(frame: Any) -> dict[str, object]:
    """Show the first page of a frame as a table and as text, with the frame's size."""
    page, table = frame.iloc[:ROWS, :COLUMNS], _page(_of_frame(frame))
    return {
        TABLE: table,
        "text/html": f"{page.to_html(border=0)}\n<p>{html.escape(table['note'])}</p>",
        "text/plain": f"{page.to_string(max_colwidth=200)}\n\n[{table['note']}]",
    }


def show_records(data: Json) -> dict[str, object]:
    """Show a list of flat objects as a table, unless it has columns that would not be seen."""
    if not isinstance(data, list) or not data or not all(map(_is_record, data)):
        return {}
    window = _of_records(data)
    return {TABLE: _page(window)} if window.shape[1] <= COLUMNS else {}


def preview_frame(frame: Any) -> dict[str, Json]:
    """Give the first page of a frame as JSON; the index is a column unless it only counts."""
    page = _page(_of_frame(frame))
    return {"shape": page["shape"], "columns": page["columns"], "rows": page["rows"]}


def _window(value: object, start: int, column: int) -> _Window | None:
    frame = frame_of(value)
    if frame is not None:
        return _of_frame(frame, start, column)
    if not isinstance(value, list | tuple) or type(value) not in (list, tuple) or not value:
        return None
    probe = [plain(item, limit=2_000) for item in value[:PROBED]]
    if all(map(_is_record, probe)):
        return _of_records(value, start, column)
    if len(value) > LONG and not any(isinstance(item, dict | list) for item in probe):
        return _of_items(value, start)
    return None


def _reachable_text(shown: Mapping[str, Json], text: str, call: str, limit: int) -> dict[str, Json]:
    here = kept(len(text), limit)
    if here == len(text):
        return dict(shown)
    said = f"The page has the first {here:,} of {len(text):,} characters. {where_all_is(call)}"
    return {**shown, "text/plain": head(text, limit), NOTE: said}


class _Window(NamedTuple):
    """Some rows and columns of a table, as they are."""

    names: list[Any]
    values: list[list[Any]]
    shape: tuple[int, int]
    """Rows and columns of the whole table."""
    place: tuple[int, int]
    """How many of each stand before these."""
    indexed: bool = False
    """Whether the first column is the index, which is always there and does not count."""

    @property
    def seen(self) -> tuple[int, int]:
        """How many rows and columns these are."""
        return len(self.values), len(self.names) - self.indexed


def _of_frame(frame: Any, start: int = 0, column: int = 0) -> _Window:
    rows, columns = frame.shape
    start, column = _place(start, rows, ROWS), _place(column, columns, COLUMNS)
    page = dated(frame, frame.iloc[start : start + ROWS, column : column + COLUMNS], column)
    page.index = dated_labels(frame.index, page.index)
    indexed = not counts(frame)
    columns_named = dated_labels(frame.columns, page.columns)
    names = [*([page.index.name or ""] if indexed else []), *columns_named]
    values = [list(row) for row in page.itertuples(index=indexed, name=None)]
    return _Window(names, values, (rows, columns), (start, column), indexed)


def _of_records(records: Sequence[object], start: int = 0, column: int = 0) -> _Window:
    start = _place(start, len(records), ROWS)
    page = [_fields(record) for record in records[start : start + ROWS]]
    probe = [_fields(record) for record in records[:PROBED]]
    names = list(dict.fromkeys(name for record in (*probe, *page) for name in record))
    column = _place(column, len(names), COLUMNS)
    shown = names[column : column + COLUMNS]
    values = [[record.get(name) for name in shown] for record in page]
    return _Window(shown, values, (len(records), len(names)), (start, column))


def _of_items(items: Sequence[object], start: int) -> _Window:
    start = _place(start, len(items), ROWS)
    values = [[start + at, item] for at, item in enumerate(items[start : start + ROWS])]
    return _Window(["", "value"], values, (len(items), 1), (start, 0), indexed=True)


def _page(window: _Window, call: str = "") -> TablePage:
    rows = (window.names, *window.values)
    room = min(CELL, PAGE // max(1, len(window.names) * len(rows)))
    cells = [[_cell(value, room) for value in row] for row in rows]
    left_out = window.seen != window.shape
    page = TablePage(
        columns=[cell for cell, _ in cells[0]],
        rows=[[cell for cell, _ in row] for row in cells[1:]],
        shape=list(window.shape),
        note=size(*window.shape) + (f"; shown: {size(*window.seen)}" if left_out else ""),
    )
    if window.indexed:
        page["indexed"] = True
    if any(window.place):
        page["start"], page["column"] = window.place
    if call:
        page["call"] = call
        if left_out or not all(is_whole for row in cells for _, is_whole in row):
            page["whole"] = where_all_is(call)
    return page


def _cell(value: object, room: int) -> tuple[Json, bool]:
    """Give a cell, a number as it is and all else in at most `room` characters; say if it is whole."""
    if isinstance(value, str):
        return head(value, room), len(value) <= room
    data, is_whole = plain_and_whole(value, limit=room)
    text = data if isinstance(data, str) else dumps(data)
    return (data, is_whole) if len(text) <= room else (head(text, room), False)


def _place(start: int, total: int, length: int) -> int:
    """Keep the start of a page within a table."""
    return min(start, max(total - 1, 0) // length * length)


def _fields(record: object) -> Mapping[Any, object]:
    return record if isinstance(record, dict) else {"": record}


def _is_record(item: Json) -> bool:
    scalars = (str, int, float, bool, type(None))
    return isinstance(item, dict) and all(isinstance(value, scalars) for value in item.values())
