"""The Python values of a chat: how many are kept, and what is said of those that are not."""

from __future__ import annotations

from typing import Any

import pytest

import nbtools as nb
from nbtools.messages import ToolCall
from nbtools.results import Results
from nbtools.testing import Scripted, call


def kept(count: int, most: int, tool: str = "make") -> Results:
    """Values of so many calls of one tool."""
    results = Results(most)
    for number in range(1, count + 1):
        results.keep(ToolCall(id=f"k-{number}", tool=tool), number)
    return results


def why_not(results: Results, key: str) -> str:
    with pytest.raises(KeyError) as missing:
        results[key]
    return str(missing.value.args[0])


def test_the_newest_values_are_kept_by_call_handle_and_tool():
    results = kept(5, 3)
    assert list(results) == ["make", "k-3", "k-4", "k-5"]
    assert (results["k-5"], results["make#4"], results["make"]) == (5, 4, 5)
    assert [handle for handle, _ in results.handles()] == ["make#3", "make#4", "make#5"]


def test_a_value_that_was_let_go_is_told_from_one_that_never_was():
    results = kept(5, 3)
    let_go = "is not kept any more: the chat keeps the last 3 values (max_results)"
    there = "there are: make, k-3, k-4, k-5."
    assert why_not(results, "k-1") == f"The result of 'k-1' {let_go}; {there}"
    assert why_not(results, "make#2") == f"The result of 'make#2' {let_go}; {there}"
    assert why_not(results, "k-9") == f"There is no result of 'k-9'; {there}"
    results.keep(ToolCall(id="o-1", tool="other"), 0)
    for number in (6, 7, 8):
        results.keep(ToolCall(id=f"k-{number}", tool="make"), number)
    assert why_not(results, "other").startswith(f"The result of 'other' {let_go}; there are: ")


def test_at_most_a_few_names_are_listed():
    assert why_not(kept(200, 200), "k-0") == (
        "There is no result of 'k-0'; there are: make, k-1, k-2, k-3, k-4, k-5 and 195 more."
    )
    assert why_not(Results(), "k-0") == "There is no result of 'k-0'; there are: none yet."


def test_what_was_deleted_or_cleared_is_no_result():
    results = kept(2, 2)
    del results["k-1"]
    assert why_not(results, "k-1") == "There is no result of 'k-1'; there are: make, k-2."
    with pytest.raises(KeyError, match="There is no result of 'k-1'; there are: make, k-2"):
        del results["k-1"]
    results.clear()
    assert why_not(results, "make") == "There is no result of 'make'; there are: none yet."


def test_what_comes_late_is_bounded_too():
    results = kept(1, 2)
    for number in range(5):
        results.keep_late(f"l-{number}", number)
    assert list(results) == ["l-3", "l-4"]


async def test_how_many_values_a_chat_keeps_is_a_setting():
    @nb.tool
    def make(n: int) -> int:
        """Make a number."""
        return n

    calls = [call("make", {"n": n}, id=f"k-{n}") for n in range(3)]
    chat = nb.Chat(Scripted(calls, "Done."), tools=[make], max_results=2, max_parallel=1)
    turn = await chat.send("Go")
    assert list(chat.results) == ["make", "k-1", "k-2"]
    with pytest.raises(KeyError, match=r"the chat keeps the last 2 values \(max_results\)"):
        _ = turn.calls[0].result
    chat.close()


@pytest.mark.parametrize("given", [0, -1, 1.5, "9", True, None])
def test_how_many_values_are_kept_is_a_whole_number(given: Any):
    with pytest.raises(
        ValueError, match=r"max_results is .*; expected a whole number of 1 or more"
    ):
        nb.Chat(max_results=given)
