"""Values that stay in the kernel: a model names them, the function gets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from pydantic import Field

import nbtools as nb
from nbtools.codec import encode
from nbtools.jsontext import dumps
from nbtools.testing import Scripted, call
from nbtools.variables import Variables
from tests.stage import Page, Strict

ORDERS = pd.DataFrame({"customer": ["Ada", "Ben"], "total": [310, 250]})


@nb.tool
def top(table: pd.DataFrame, n: int = 1) -> pd.DataFrame:
    """Find the best rows.

    Args:
        table: What to look through.
        n: How many.
    """
    return table.nlargest(n, "total")


@nb.tool
def count(table: pd.DataFrame | pd.Series, weights: npt.NDArray[np.float64] | None = None) -> int:
    """Count the rows."""
    return len(table)


def shared(**values: Any) -> Variables:
    variables = Variables()
    variables.share((), values)
    return variables


def description(tool: nb.Tool, variables: Variables) -> Any:
    return variables.spec(tool).parameters["properties"]


# --- what a model is told -------------------------------------------------------------------------


def test_a_table_is_asked_for_by_its_name():
    assert top.parameters["properties"]["table"] == {
        "type": "string",
        "description": "What to look through. The name of a DataFrame in the notebook.",
    }
    assert count.parameters["properties"]["weights"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": None,
        "description": "The name of a ndarray in the notebook.",
    }
    assert top.parameters["required"] == ["table"]


def test_a_model_is_told_the_names_that_fit_and_nothing_else_of_the_values():
    variables = shared(orders=ORDERS, totals=ORDERS["total"], one=np.array([1.0]), other="secret")
    assert description(top, variables)["table"]["enum"] == ["orders"]
    assert description(count, variables)["table"]["enum"] == ["orders", "totals"]
    assert description(count, variables)["weights"]["anyOf"] == [
        {"type": "string", "enum": ["one"]},
        {"type": "null"},
    ]
    told = dumps(encode(variables.spec(count)))
    assert not any(word in told for word in ("Ada", "310", "customer", "total ", "secret"))


def test_where_nothing_is_shared_the_model_is_told_so():
    assert description(top, Variables())["table"] == {
        "type": "string",
        "description": (
            "What to look through. The name of a DataFrame in the notebook. "
            "There is none at the moment."
        ),
    }


def test_the_fingerprint_of_a_tool_does_not_follow_what_is_shared():
    before = top.fingerprint
    shared(orders=ORDERS).spec(top)
    assert top.fingerprint == before
    assert Variables().spec(nb.tool(lambda n: n, name="f")).parameters["properties"] == {"n": {}}


def test_of_the_notebooks_own_variables_only_those_that_fit_a_pattern_are_named():
    names = {"sales_north": ORDERS, "sales_text": "x", "_sales": ORDERS, "costs": ORDERS}
    variables = Variables(lambda: names)
    assert variables.shared == {}
    variables.share(("sales_*", "_*"), {})
    assert description(top, variables)["table"]["enum"] == ["sales_north"]
    names["sales_south"] = ORDERS
    assert description(top, variables)["table"]["enum"] == ["sales_north", "sales_south"]
    variables.unshare(("sales_*",))
    assert variables.shared == {}


def test_taking_back_what_was_not_shared_names_what_is():
    with pytest.raises(KeyError, match="'sales' is not shared; shared is 'orders'"):
        shared(orders=ORDERS).unshare(("sales",))


def test_an_annotated_parameter_keeps_what_its_author_said():
    def look(table: Annotated[pd.DataFrame, Field(description="The stock.")]) -> None: ...

    assert nb.tool(look).parameters["properties"]["table"] == {
        "type": "string",
        "description": "The stock. The name of a DataFrame in the notebook.",
    }


def test_what_mixes_tables_with_written_values_is_refused():
    def look(table: pd.DataFrame | Literal["all"]) -> None: ...

    with pytest.raises(nb.ToolDefinitionError, match="parameter 'table'"):
        nb.tool(look)


# --- what a call names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ordrs", "'table' names 'ordrs', which is not shared (did you mean 'orders'?)."),
        ("totals", "'table' names 'totals', which is a Series, expected a DataFrame."),
        ("__import__", "'table' names '__import__', which is not shared."),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_those_that_do(name: str, text: str):
    variables = shared(orders=ORDERS, totals=ORDERS["total"])
    with pytest.raises(nb.InvalidArguments) as caught:
        variables.check(top, {"table": name})
    assert caught.value.text.startswith(text)
    assert caught.value.field == "table"
    if "not shared" in text:
        assert caught.value.text.endswith("Names of a DataFrame: 'orders'.")


async def test_the_function_gets_the_object_itself():
    seen: list[object] = []

    @nb.tool
    def look(table: pd.DataFrame, other: pd.Series | None = None) -> str:
        """Look."""
        seen.extend([table, other])
        return "seen"

    model = Strict([call("look", {"table": "orders"})], "Done.")
    page = Page(model, [look], variables=shared(orders=ORDERS))
    await page.say("Look")
    assert seen[0] is ORDERS
    assert seen[1] is None
    assert page.calls[0].args == {"table": "orders", "other": None}
    assert top(ORDERS, 1)["customer"].tolist() == ["Ada"]  # it is still your function


async def test_a_result_goes_from_tool_to_tool_without_passing_through_the_model():
    model = Strict(
        [call("top", {"table": "orders", "n": 2})],
        [call("count", {"table": "top#1"}), call("count", {"table": "top"})],
        "Two.",
    )
    page = Page(model, [top, count], variables=shared(orders=ORDERS))
    await page.say("How many?")
    assert page.calls[0].handle == "top#1"
    assert page.calls[0].told.endswith(
        "(Kept as 'top#1': a tool that takes such a value accepts this name.)"
    )
    assert [known.value for known in page.calls[1:]] == [2, 2]
    enum = model.requests[1].tools[0].parameters["properties"]["table"]["enum"]
    assert enum == ["orders", "top#1"]


async def test_the_name_of_a_tool_means_its_latest_result_and_is_shown_as_that_one():
    model = Strict(
        [call("top", {"table": "orders"}), call("top", {"table": "orders"})],
        [call("count", {"table": "top"})],
        "One.",
    )
    page = Page(model, [top, count], variables=shared(orders=ORDERS))
    await page.say("Go")
    assert page.calls[2].args == {"table": "top#2", "weights": None}


async def test_a_value_that_no_tool_takes_has_no_handle_for_the_model():
    model = Strict([call("top", {"table": "orders"}), call("count", {"table": "orders"})], "Done.")
    page = Page(model, [count, top], variables=shared(orders=ORDERS))
    await page.say("Go")
    assert [known.handle for known in page.calls] == ["top#1", ""]
    assert page.session.results["count#1"] == 2
    assert page.calls[1].told == "2"


async def test_what_is_edited_is_looked_up_again_before_it_runs():
    @nb.tool(approval=True)
    def wipe(table: pd.DataFrame) -> int:
        """Wipe."""
        return len(table)

    page = Page(
        Strict([call("wipe", {"table": "orders"}, id="k-1")], "Done."),
        [wipe],
        variables=shared(orders=ORDERS, empty=ORDERS[:0]),
    )
    await page.say("Wipe")
    refused = page.approve("k-1", args={"table": "oders"})
    assert (refused["error"], refused["field"]) == ("invalid", "table")
    page.approve("k-1", args={"table": "empty"})
    await page.session.rest()
    assert page.calls[0].value == 0


async def test_a_call_that_names_a_value_taken_back_ends_as_invalid_when_it_is_approved():
    @nb.tool(approval=True)
    def wipe(table: pd.DataFrame) -> int:
        """Wipe."""
        return len(table)

    variables = shared(orders=ORDERS)
    page = Page(
        Strict([call("wipe", {"table": "orders"}, id="k-1")], "Done."), [wipe], variables=variables
    )
    await page.say("Wipe")
    variables.unshare(("orders",))
    page.approve("k-1")
    await page.session.rest()
    ended = page.calls[0]
    assert (ended.outcome, ended.started) == ("invalid", None)
    assert ended.error.startswith("'table' names 'orders', which is not shared.")
    assert ended.decision is not None


# --- after a kernel restart -----------------------------------------------------------------------


@nb.tool(approval=True)
def publish(table: pd.DataFrame) -> str:
    """Publish a table."""
    return f"{len(table)} rows"


async def saved(path: Path, named: str) -> None:
    """Save a chat in which a call waits that names a value."""
    model = Scripted(
        [call("top", {"table": "orders"})], [call("publish", {"table": named}, id="k-1")]
    )
    chat = nb.Chat(model, tools=[top, publish])
    chat.share(orders=ORDERS)
    await chat.send("Publish the best")
    assert chat.calls["k-1"].waiting == "approval"
    assert "Ada" not in json.dumps(encode(chat.calls["k-1"].call))
    chat.save(path)
    chat.close()


async def test_a_call_that_names_a_lost_result_ends_as_invalid_after_a_load(tmp_path: Path):
    await saved(tmp_path / "chat.json", "top#1")
    chat = nb.Chat.load(tmp_path / "chat.json", model=Scripted("Then not."), tools=[top, publish])
    await chat.calls["k-1"].approve()
    assert chat.calls["k-1"].outcome == "invalid"
    assert chat.calls["k-1"].error == (
        "'table' names 'top#1', a result whose value is not in the kernel any more. "
        "Names of a DataFrame: there is none."
    )
    chat.close()


async def test_a_handle_of_an_earlier_life_is_never_given_again(tmp_path: Path):
    await saved(tmp_path / "chat.json", "top#1")
    again = Scripted([call("top", {"table": "orders"})], "Done.")
    chat = nb.Chat.load(tmp_path / "chat.json", model=again, tools=[top, publish])
    chat.share(orders=ORDERS)
    await chat.send("Once more")
    assert chat.calls[-1].call.handle == "top#2"
    assert list(chat.results["top#2"]["customer"]) == ["Ada"]  # type: ignore[index]
    chat.close()


async def test_what_is_shared_again_under_its_name_can_be_approved_after_a_load(tmp_path: Path):
    await saved(tmp_path / "chat.json", "orders")
    chat = nb.Chat.load(tmp_path / "chat.json", model=Scripted("Good."), tools=[top, publish])
    chat.share(orders=ORDERS)
    await chat.calls["k-1"].approve()
    assert chat.calls["k-1"].result == "2 rows"
    chat.close()


def test_a_chat_shares_names_and_takes_them_back():
    chat = nb.Chat()
    chat.share(orders=ORDERS)
    assert list(chat.shared) == ["orders"]
    chat.unshare("orders")
    assert chat.shared == {}
    chat.close()


def test_a_value_that_is_shared_without_a_name_is_refused_with_the_way_to_do_it() -> None:
    chat = nb.Chat(nb.Demo(pace=0))
    with pytest.raises(
        TypeError, match=r"A DataFrame is shared by a name, as in chat\.share\(orders"
    ):
        chat.share(pd.DataFrame())
    with pytest.raises(ValueError, match="The pattern is empty"):
        chat.share("")
    assert dict(chat.shared) == {}
    chat.close()
