"""What is remarked of tools that a model may misread, and the hook that reads arguments first."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import nbtools as nb
from nbtools.testing import call
from tests.stage import Page, Strict


class Box(BaseModel):
    """A box with a lid."""

    width: Annotated[float, Field(description="Outer width in centimetres.")]
    lid: str
    inner: list[Box] = Field([], description="The boxes that stand in it.")


def remarks(*tools: Any) -> list[str]:
    return [repr(remark) for remark in nb.check_tools(tools)]


def test_a_tool_that_says_what_it_does_and_takes_gives_no_remark():
    def refund(order: str, amount: float = 0.0) -> str:
        """Pay money back to the customer of an order.

        Args:
            order: The id as the shop prints it, such as "A-17".
            amount: Euros; 0 pays everything back.
        """
        return order

    assert remarks(refund) == []


def test_what_is_missing_is_named_with_its_place():
    def plot(box: Box, how) -> None:
        """"""

    assert remarks(plot) == [
        "plot: its description is missing.",
        "plot(box.lid): its description is missing.",
        "plot(how): its description is missing.",
        "plot(how): it has no type, so the model may send anything.",
    ]


@pytest.mark.parametrize("hint", [Box | None, list[Box], dict[str, Box], list[list[Box] | None]])
def test_what_is_missing_is_found_in_whatever_holds_it(hint: Any):
    def plot(box: Any) -> None:
        """Draw one or more boxes.

        Args:
            box: Which to draw.
        """

    plot.__annotations__["box"] = hint
    assert remarks(plot) == ["plot(box.lid): its description is missing."]


def test_what_is_missing_is_found_in_an_object_that_is_written_by_hand():
    size = {"type": "object", "description": "How large.", "properties": {"w": {"type": "number"}}}
    schema = {"type": "object", "properties": {"size": size}}
    assert remarks(nb.Tool("plot", "Draw a box.", schema)) == [
        "plot(size.w): its description is missing."
    ]


@pytest.mark.parametrize("text", ["Get orders.", "The orders", "TODO", "orders data"])
def test_a_description_that_repeats_the_name_is_vague(text: str):
    tool = nb.Tool("get_orders", text, {"type": "object", "properties": {}})
    assert remarks(tool) == [f"get_orders: its description says no more than the name ({text!r})."]


def test_two_tools_in_the_same_words_cannot_be_told_apart():
    schema = {"type": "object", "properties": {}}
    one, two = (nb.Tool(name, "Read the stock.", schema) for name in ("first", "second"))
    assert remarks(one, two) == ["second: its description is that of 'first' too."]


def test_a_remark_names_tool_and_parameter_for_a_program():
    def look(where: str) -> None:
        """Look around in a room."""

    (remark,) = nb.check_tools([look])
    assert (remark.tool, remark.parameter) == ("look", "where")


# --- the hook that reads arguments first ----------------------------------------------------------


def cents(args: dict[str, Any]) -> dict[str, Any] | None:
    if args.get("currency") == "USD":
        raise nb.InvalidArguments("Only euros are paid.", field="currency")
    if isinstance(args.get("amount"), str):
        return {**args, "amount": args["amount"].removesuffix(" EUR")}
    return None


def payment() -> nb.Tool:
    @nb.tool(parse=cents)
    async def pay(amount: float, currency: str = "EUR") -> str:
        """Pay."""
        return f"{amount:.2f} {currency}"

    return pay


async def test_what_parse_gives_is_checked_shown_and_run():
    model = Strict([call("pay", {"amount": "3 EUR"}), call("pay", {"amount": 4})], "Paid.")
    page = Page(model, [payment()])
    await page.say("Pay")
    assert [known.args for known in page.calls] == [
        {"amount": 3.0, "currency": "EUR"},
        {"amount": 4.0, "currency": "EUR"},
    ]
    assert model.told == ["3.00 EUR", "4.00 EUR"]


async def test_what_parse_refuses_is_told_in_its_own_words():
    model = Strict([call("pay", {"amount": 3, "currency": "USD"})], "Euros then.")
    page = Page(model, [payment()])
    await page.say("Pay")
    assert [(known.outcome, known.error) for known in page.calls] == [
        ("invalid", "Only euros are paid.")
    ]


def test_parse_may_not_fail_in_silence_nor_give_anything_else_than_arguments():
    def broken(args: dict[str, Any]) -> Any:
        return [args]

    def failing(args: dict[str, Any]) -> Any:
        raise KeyError("currency")

    with pytest.raises(nb.InvalidArguments, match=r"parse of 'f' gave list, expected an object"):
        nb.tool(lambda n: n, name="f", parse=broken).check({"n": 1})
    with pytest.raises(nb.InvalidArguments, match=r"could not be read: KeyError: 'currency'"):
        nb.tool(lambda n: n, name="f", parse=failing).check({"n": 1})


def test_parse_gets_arguments_of_its_own_and_may_change_them():
    def in_order(args: dict[str, Any]) -> dict[str, Any]:
        args["names"].sort()
        return args

    given = {"names": ["two", "one"]}
    made = nb.tool(lambda names: names, name="f", parse=in_order)
    assert made.check(given) == {"names": ["one", "two"]}
    assert given == {"names": ["two", "one"]}


def test_parse_that_does_not_leave_alone_what_it_made_runs_nothing():
    """P-04: an amount that a person edits would not be the one that is paid."""

    def in_cents(args: dict[str, Any]) -> dict[str, Any]:
        return {**args, "amount": args["amount"] * 100}

    made = nb.tool(lambda amount: amount, name="pay", parse=in_cents)
    with pytest.raises(nb.InvalidArguments, match=r'parse makes of {"amount":300} something else'):
        made.check({"amount": 3})


def test_one_tool_alone_is_looked_at_too():
    def get_stock(item):
        """Get the stock."""

    made = nb.tool(get_stock)
    assert nb.check_tools(made) == nb.check_tools(get_stock) == nb.check_tools([made])
    assert nb.check_tools(made)


def test_what_is_never_filled_in_is_named():
    def join_texts(*args):
        """Join several texts with blanks between them."""

    assert remarks(nb.tool(join_texts)) == ["join_texts: its *args is never filled in."]
