"""Pages of a table on a card: what the first one says, and what the page gets when it asks for others."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nbtools as nb
from nbtools.display import bundle, reachable
from nbtools.display.pages import page_of
from nbtools.messages import Conversation, Message, ToolCall
from nbtools.testing import call
from nbtools.transcript import to_html
from tests.stage import Page, Strict

TABLE = "application/vnd.nbtools.table+json"
NOTE = "application/vnd.nbtools.note+json"
LIMIT = 65_536


def kept(value: Any) -> Any:
    """The display of a value that `chat.results` keeps under the id k-1."""
    return reachable(bundle(value), value, "k-1")


def numbers(rows: int, columns: int = 2) -> pd.DataFrame:
    return pd.DataFrame({f"c{at}": np.arange(rows) * 10 + at for at in range(columns)})


async def showing(value: Any, *, calls: int = 1) -> Page:
    """A page on which the calls k-0, k-1, … gave this value."""

    @nb.tool
    def look() -> Any:
        """Look something up."""
        return value

    page = Page(Strict([call("look", {}, id=f"k-{at}") for at in range(calls)], "So."), [look])
    await page.say("Look")
    return page


async def ask(page: Page, **fields: Any) -> dict[str, Any]:
    """Ask for rows; wait for the answer, which a thread works out."""
    before = len(page.sent)
    page.command("rows", **{"call": "k-0", **fields})
    while not (answers := [ack for sent in page.sent[before:] for ack in sent.get("acks", ())]):
        await page.session.engine.loop.run_in_executor(None, lambda: None)
        page.flush()
    answer: dict[str, Any] = answers[-1]
    return answer


def shown(page: Page) -> dict[str, Any]:
    display: dict[str, Any] = page.shown["messages"][1]["parts"][0]["display"]
    return display


# --- the first page ------------------------------------------------------------------------------


async def test_a_long_table_names_its_size_its_call_and_where_all_of_it_is() -> None:
    """R-04: first rows, and the full object in Python by call id."""
    frame = numbers(200_000, 12)
    page = await showing(frame)
    table = shown(page)[TABLE]
    assert table["shape"] == [200_000, 12]
    assert len(table["rows"]) == 20
    assert table["note"] == "200,000 rows and 12 columns; shown: 20 rows and 12 columns"
    assert table["call"] == "k-0"
    assert table["whole"] == 'All of it is in Python: chat.results["k-0"]'
    assert page.session.results["k-0"] is frame
    assert len(json.dumps(page.sent)) < 4 * LIMIT


async def test_a_table_that_is_whole_on_the_page_says_no_more_than_its_size() -> None:
    table = shown(await showing(numbers(3)))[TABLE]
    assert table["note"] == "3 rows and 2 columns"
    assert "whole" not in table


def test_a_huge_cell_is_cut_and_takes_no_room_from_the_others() -> None:
    """R-04: one cell of 5 MB in a small table."""
    frame = pd.DataFrame({"id": [1, 2, 3], "text": ["a" * 5_000_000, "b", "c" * 501]})
    table = kept(frame)[TABLE]
    (one, long), *others = table["rows"]
    assert one == 1
    assert re.fullmatch(r"a{400,}… \(4,999,\d{3} more characters\)", long)
    assert len(long) <= 500
    assert others == [[2, "b"], [3, "c" * 477 + "… (24 more characters)"]]
    assert table["whole"] == 'All of it is in Python: chat.results["k-1"]'


def test_a_page_of_long_cells_is_bounded_and_keeps_every_row() -> None:
    frame = pd.DataFrame({f"c{at}": ["\\x" * 3_000] * 50 for at in range(40)})
    table = kept(frame)[TABLE]
    assert [len(row) for row in table["rows"]] == [20] * 20
    assert len(json.dumps(table)) < LIMIT


def test_containers_in_cells_are_bounded_too() -> None:
    frame = pd.DataFrame({"a": [{"deep": list(range(10_000))}, [1, 2], None]})
    rows: Any = page_of(frame)["rows"]  # type: ignore[index]
    assert rows[1:] == [[[1, 2]], [None]]
    assert rows[0][0]["deep"][-1] == "… 9,920 more"


def test_ten_thousand_columns_are_shown_twenty_at_a_time() -> None:
    """R-04: ten thousand columns."""
    frame = pd.DataFrame(np.zeros((3, 10_000)), index=pd.Index(["x", "y", "z"], name="key"))
    page: Any = page_of(frame, column=9_990)
    assert page["columns"] == ["key", *range(9_980, 10_000)]
    assert page["column"] == 9_980
    assert page["rows"][2][0] == "z"


async def test_a_long_list_of_numbers_is_a_table_of_places_and_values() -> None:
    """R-04: a list of a million ints."""
    page = await showing(list(range(0, 3_000_000, 3)))
    table = shown(page)[TABLE]
    assert table["columns"] == ["", "value"]
    assert table["rows"][19] == [19, 57]
    assert table["note"] == "1,000,000 rows and 1 column; shown: 20 rows and 1 column"
    assert len(json.dumps(page.sent)) < 4 * LIMIT
    answer = await ask(page, start=999_980)
    assert answer["value"]["rows"][-1] == [999_999, 2_999_997]


def test_a_short_list_of_numbers_stays_data() -> None:
    assert TABLE not in kept(list(range(1_000)))


async def test_a_long_list_of_records_is_paged_with_the_columns_of_its_pages() -> None:
    records: list[Any] = [{"id": at, "name": f"n{at}"} for at in range(50_000)]
    records[49_999] = {"id": 49_999, "left": True}
    page = await showing(records)
    assert shown(page)[TABLE]["note"] == "50,000 rows and 2 columns; shown: 20 rows and 2 columns"
    value = (await ask(page, start=49_980))["value"]
    assert value["columns"] == ["id", "name", "left"]
    assert value["rows"][-1] == [49_999, None, True]


async def test_only_the_table_of_the_kept_value_names_its_call() -> None:
    page = await showing(nb.Result("kept", display=numbers(50)))
    assert "call" not in shown(page)[TABLE]


async def test_the_table_of_a_job_names_its_call() -> None:
    frame = numbers(50)

    @nb.tool(background=True)
    def count() -> Any:
        """Count."""
        return frame

    page = Page(Strict([call("count", {}, id="k-0")], "Begun.", "Done."), [count])
    await page.say("Count")
    while page.session.results.get("k-0") is not frame:
        await page.session.engine.loop.run_in_executor(None, lambda: None)
    assert (await ask(page, start=40))["value"]["rows"][0] == [400, 401]


# --- other pages ---------------------------------------------------------------------------------


async def test_another_page_comes_in_the_answer_sorted_as_the_object_is() -> None:
    frame = numbers(105).sort_values("c0", ascending=False)
    page = await showing(frame)
    answer = await ask(page, start=100)
    assert answer["ok"]
    assert answer["value"]["columns"] == ["", "c0", "c1"]  # its index says something now
    assert answer["value"]["rows"] == [[at, at * 10, at * 10 + 1] for at in (4, 3, 2, 1, 0)]
    assert (answer["value"]["start"], answer["value"]["shape"]) == (100, [105, 2])


async def test_two_views_may_look_at_different_pages_and_pythons_state_knows_of_none() -> None:
    page = await showing(numbers(105))
    before = page.session.conversation
    first, second = await ask(page, start=20), await ask(page, start=40)
    assert [answer["value"]["start"] for answer in (first, second)] == [20, 40]
    assert page.session.conversation is before


async def test_a_place_beyond_the_end_gives_the_last_page() -> None:
    page = await showing(numbers(105, 30))
    value = (await ask(page, start=10**30, column=10**30))["value"]
    assert (value["start"], value["column"]) == (100, 20)
    assert len(value["rows"]) == 5


@pytest.mark.parametrize("field", ["start", "column"])
async def test_a_place_before_the_beginning_is_refused(field: str) -> None:
    answer = await ask(await showing(numbers(105)), **{field: -1})
    assert (answer["ok"], answer["error"], answer["field"]) == (False, "invalid", field)
    assert answer["text"] == f"{field!r} counts from 0; it cannot be -1."


@pytest.mark.parametrize("value", [True, 1.5, "20", None, [20]])
async def test_a_place_that_is_no_number_is_refused(value: Any) -> None:
    answer = await ask(await showing(numbers(105)), start=value)
    assert (answer["error"], answer["field"]) == ("invalid", "start")


async def test_a_value_that_was_dropped_says_so() -> None:
    page = await showing(numbers(105))
    del page.session.results["k-0"]
    answer = await ask(page, start=20)
    assert (answer["ok"], answer["error"]) == (False, "unknown")
    assert answer["text"] == (
        "The rows are not in the kernel any more: its value was let go of. Run the call again."
    )


@pytest.mark.parametrize("name", ["look", "look#1", "k-9", ""])
async def test_rows_are_given_of_a_call_by_its_id_alone(name: str) -> None:
    answer = await ask(await showing(numbers(105)), call=name)
    assert answer["error"] == "unknown"


async def test_a_value_that_is_no_table_any_more_says_so() -> None:
    records: list[Any] = [{"id": at} for at in range(50)]
    page = await showing(records)
    records[:] = ["changed"]
    answer = await ask(page, start=20)
    assert answer["text"] == "The value of this call is no table any more."


async def test_a_command_that_the_page_repeats_is_answered_each_time() -> None:
    page = await showing(numbers(105))
    first = await ask(page, id="m1", start=20)
    assert await ask(page, id="m1", start=20) == first
    assert first["value"]["start"] == 20


# --- what else is cut ----------------------------------------------------------------------------


async def test_a_long_text_says_how_much_of_it_the_page_has_and_where_the_rest_is() -> None:
    """R-04: a text of 20 MB."""
    page = await showing("x" * 20_000_000)
    display = shown(page)
    text = display["text/plain"]
    kept = text.count("x")
    assert len(text) <= LIMIT
    assert text.endswith(f"… ({20_000_000 - kept:,} more characters)")
    assert display[NOTE] == (
        f"The page has the first {kept:,} of 20,000,000 characters."
        ' All of it is in Python: chat.results["k-0"]'
    )
    assert len(page.session.results["k-0"]) == 20_000_000  # type: ignore[arg-type]


def test_data_that_was_cut_says_so() -> None:
    whole = 'All of it is in Python: chat.results["k-1"]'
    cut = kept({"a": ["x" * 100] * 10_000})
    assert cut[NOTE] == f"The page has a part of this value. {whole}"
    assert NOTE not in kept({"a": ["x" * 100] * 400})
    assert NOTE not in kept("x" * LIMIT)


@pytest.mark.parametrize("pieces", [[70_000], [64_000, 1], [60_000, 10_000, 5]])
async def test_output_that_was_cut_says_so_once(pieces: list[int]) -> None:
    @nb.tool
    def chatter() -> None:
        """Print much."""
        for length in pieces:
            sys.stdout.write("x" * length)

    page = Page(Strict([call("chatter", {}, id="k-0")], "So."), [chatter])
    await page.say("Go")
    words = "\n… (a card keeps the first 64,000 characters that are printed)\n"
    assert page.call("k-0").output == "x" * 64_000 + words


def test_a_saved_notebook_says_what_is_left_out_and_has_no_button() -> None:
    parts = [
        ToolCall(id="k-1", tool="look", state="result", outcome="ok", display=kept(value))
        for value in (numbers(50), "x" * 70_000)
    ]
    message = Message(id="m1", role="assistant", parts=tuple(parts))
    saved = to_html(Conversation(messages=(message,)))
    assert "<p>50 rows and 2 columns; shown: 20 rows and 2 columns</p>" in saved
    assert "<p>The page has the first 65,510 of 70,000 characters. All of it is in Python:" in saved
    assert saved.count("chat.results[&quot;k-1&quot;]") == 2
    assert "<button" not in saved
