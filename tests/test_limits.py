"""How much one message may set going, what happens at a limit, and how much the model is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any, assert_type

import numpy as np
import pandas as pd
import pytest

import nbtools as nb
from nbtools.messages import Notice
from nbtools.outcomes import sentence
from nbtools.testing import call, hold, usage
from tests.stage import Page, Strict, run_jumping, tools_that_ran


def limits_said(page: Page) -> list[tuple[str, str]]:
    messages = page.session.conversation.messages
    parts = [part for message in messages for part in message.parts]
    return [(part.limit, part.text) for part in parts if isinstance(part, Notice) and part.limit]


def outcomes(page: Page) -> list[str]:
    return [known.outcome for known in page.calls]


def choices(model: Strict) -> list[str]:
    return [request.choice for request in model.requests]


# --- calls ----------------------------------------------------------------------------------------


class Busy:
    """Counts how many calls are inside at a time."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0

    async def work(self, n: int) -> int:
        """Take a moment."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0.01)
        self.inside -= 1
        return n


async def fanned_out(calls: int, *, limit: int, **settings: Any) -> tuple[Page, Strict, Busy]:
    busy = Busy()
    reply = [call("work", {"n": n}, id=f"k-{n}") for n in range(calls)]
    model = Strict(reply, "Enough.")
    page = Page(model, [busy.work], limits=nb.Limits(calls=limit), **settings)
    await page.say("Go")
    return page, model, busy


def test_of_too_many_calls_the_first_run_a_few_at_a_time_and_all_are_answered_in_order():
    """L-02: 200 calls in one reply, a limit of 50, a concurrency of 8."""
    page, model, busy = run_jumping(fanned_out(200, limit=50))
    assert busy.most == 8
    assert outcomes(page) == ["ok"] * 50 + ["limit"] * 150
    assert [known.value for known in page.calls[:50]] == list(range(50))
    assert choices(model) == ["auto", "none"]
    told = model.told
    assert told[:50] == [str(n) for n in range(50)]
    assert set(told[50:]) == {sentence("limit", "50 tool calls in answer to one message.")}
    assert limits_said(page) == [
        ("calls", "A limit was reached: 50 tool calls in answer to one message.")
    ]
    assert page.texts[-1] == "Enough."
    assert model.refused == []


def test_a_limit_of_no_calls_runs_none():
    """L-02: the variant of a limit of 0."""
    page, model, busy = run_jumping(fanned_out(3, limit=0))
    assert (outcomes(page), busy.most, choices(model)) == (["limit"] * 3, 0, ["auto", "none"])


async def test_a_pending_approval_within_the_limit_can_still_be_given():
    """L-02: the limit is reached in a reply that also has a pending approval."""
    ran: list[str] = []
    reply = [
        call("wipe_cache", {}, id="k-1"),
        call("read_log", {"day": "mon"}, id="k-2"),
        call("read_log", {"day": "tue"}, id="k-3"),
    ]
    model = Strict(reply, "Done.")
    page = Page(model, tools_that_ran(ran), limits=nb.Limits(calls=2))
    await page.say("Go")
    assert outcomes(page) == ["", "ok", "limit"]
    assert len(model.requests) == 1
    page.approve("k-1")
    await page.session.rest()
    assert (outcomes(page), choices(model)) == (["ok", "ok", "limit"], ["auto", "none"])
    assert model.told[0] == "wiped"


async def test_a_model_that_calls_in_its_closing_answer_is_asked_no_more():
    ran: list[str] = []
    again = [call("read_log", {"day": "mon"}, id=""), call("read_log", {"day": "tue"}, id="")]
    model = Strict(again, again, "never sent")
    page = Page(model, tools_that_ran(ran), limits=nb.Limits(calls=1))
    await page.say("Go")
    assert outcomes(page) == ["ok", "limit", "limit", "limit"]
    assert (len(model.requests), page.session.conversation.status) == (2, "ready")


async def test_the_next_message_begins_with_a_whole_budget():
    ran: list[str] = []
    two = [call("read_log", {"day": "mon"}, id=""), call("read_log", {"day": "tue"}, id="")]
    page = Page(Strict(two, "One.", two, "Two."), tools_that_ran(ran), limits=nb.Limits(calls=1))
    await page.say("Go")
    await page.say("Go on")
    assert outcomes(page) == ["ok", "limit", "ok", "limit"]
    assert [limit for limit, _ in limits_said(page)] == ["calls", "calls"]


# --- the other limits -----------------------------------------------------------------------------


async def test_rounds_are_said_as_a_limit():
    ran: list[str] = []
    again = [call("read_log", {"day": "mon"}, id="")]
    page = Page(Strict(again, again, "So."), tools_that_ran(ran), max_roundtrips=1)
    await page.say("Go")
    assert limits_said(page) == [
        ("roundtrips", "A limit was reached: 1 round of tool calls in answer to one message.")
    ]


async def test_a_call_that_keeps_failing_is_not_repeated_and_the_model_is_asked_to_close():
    @nb.tool
    async def fetch(url: str) -> str:
        """Fetch."""
        raise nb.ToolError("No network.")

    again = [call("fetch", {"url": "a"}, id="")]
    model = Strict(again, again, again, "It fails.")
    page = Page(model, [fetch], limits=nb.Limits(repeats=2), max_roundtrips=9)
    await page.say("Fetch")
    assert outcomes(page) == ["failed", "failed", "limit"]
    assert choices(model) == ["auto", "auto", "auto", "none"]
    assert [limit for limit, _ in limits_said(page)] == ["repeats"]


async def test_tokens_are_counted_over_the_requests_of_one_message():
    ran: list[str] = []
    first = [call("read_log", {"day": "mon"}), usage(input=300, output=100, total=400)]
    second = [call("read_log", {"day": "tue"}), usage(input=500, output=100)]
    model = Strict(first, second, "Enough.")
    page = Page(model, tools_that_ran(ran), limits=nb.Limits(tokens=1_000))
    await page.say("Go")
    assert outcomes(page) == ["ok", "limit"]
    assert limits_said(page) == [("tokens", "A limit was reached: 1000 tokens for one message.")]
    assert choices(model) == ["auto", "auto", "none"]


async def test_a_cost_is_counted_by_the_prices_and_an_unknown_one_is_never_nothing():
    ran: list[str] = []
    spent = [call("read_log", {"day": "mon"}), usage(input=1_000_000, output=0)]
    nb.use_prices({"models": {"scripted:dear": {"input": 2.0, "output": 2.0}}})
    try:
        for label, cost in (("scripted:dear", 1.5), ("scripted:unknown", 100.0)):
            model = Strict(spent, "Enough.", label=label)
            page = Page(model, tools_that_ran(ran), limits=nb.Limits(cost=cost))
            await page.say("Go")
            assert outcomes(page) == ["limit"]
            assert [limit for limit, _ in limits_said(page)] == ["cost"]
    finally:
        nb.use_prices(None)


def test_when_the_time_is_up_what_runs_is_ended_and_the_model_closes():
    async def story() -> tuple[Page, Strict]:
        @nb.tool
        async def wait(seconds: float) -> float:
            """Wait."""
            await asyncio.sleep(seconds)
            return seconds

        model = Strict([call("wait", {"seconds": 1}), call("wait", {"seconds": 60})], "Late.")
        page = Page(model, [wait], limits=nb.Limits(seconds=10))
        await page.say("Go")
        return page, model

    page, model = run_jumping(story())
    assert outcomes(page) == ["ok", "limit"]
    assert model.told[1] == (
        "The call was ended, because a limit was reached: 10 s of work on one message. "
        "It may have done part of it."
    )
    assert (choices(model), page.texts[-1]) == (["auto", "none"], "Late.")


def test_a_time_of_nothing_is_up_at_once():
    async def story() -> Page:
        ran: list[str] = []
        model = Strict([call("read_log", {"day": "mon"})], "So.")
        page = Page(model, tools_that_ran(ran), limits=nb.Limits(seconds=0))
        await page.say("Go")
        assert ran == []
        return page

    page = run_jumping(story())
    assert (outcomes(page), page.texts[-1]) == (["limit"], "So.")


def test_a_call_that_is_run_again_has_a_time_of_its_own():
    async def story() -> Page:
        @nb.tool
        async def wait(seconds: float) -> float:
            """Wait."""
            await asyncio.sleep(seconds)
            return seconds

        model = Strict([call("wait", {"seconds": 6}, id="k-1")], "Done.")
        page = Page(model, [wait], limits=nb.Limits(seconds=10))
        await page.say("Go")
        page.session.rerun("k-1")
        await page.session.rest()
        return page

    page = run_jumping(story())
    assert (outcomes(page), limits_said(page)) == (["ok", "ok"], [])


def test_waiting_for_a_person_does_not_count_as_time():
    async def story() -> Page:
        ran: list[str] = []
        model = Strict([call("wipe_cache", {}, id="k-1")], "Done.")
        page = Page(model, tools_that_ran(ran), limits=nb.Limits(seconds=10))
        await page.say("Go")
        await asyncio.sleep(3_600)
        page.approve("k-1")
        await page.session.rest()
        return page

    page = run_jumping(story())
    assert (outcomes(page), limits_said(page)) == (["ok"], [])


def test_a_reply_that_streams_when_the_time_is_up_ends_well_and_its_calls_are_not_run():
    async def story() -> tuple[Page, Strict]:
        gate = asyncio.Event()
        ran: list[str] = []
        model = Strict([hold(gate), call("read_log", {"day": "mon"})], "So.")
        page = Page(model, tools_that_ran(ran), limits=nb.Limits(seconds=10))
        page.command("send", text="Go")
        await asyncio.sleep(20)
        gate.set()
        await page.session.rest()
        return page, model

    page, model = run_jumping(story())
    assert (outcomes(page), choices(model)) == (["limit"], ["auto", "none"])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"calls": -1}, "calls is -1; expected a whole number from 0."),
        ({"calls": 1.5}, "calls is 1.5; expected a whole number from 0."),
        ({"repeats": 0}, "repeats is 0; expected a whole number from 1."),
        ({"seconds": "10"}, "seconds is '10'; expected a number from 0, or None."),
        ({"told": 10}, "told is 10; expected a whole number from 256."),
    ],
)
def test_a_limit_that_cannot_be_one_is_named(settings: dict[str, Any], text: str):
    with pytest.raises(ValueError, match=text.replace(".", r"\.")):
        nb.Limits(**settings)


def test_a_chat_takes_limits_and_how_many_tools_execute_at_a_time():
    chat = nb.Chat(limits=nb.Limits(calls=3), max_parallel=2)
    settings = chat._session.settings
    assert (settings.limits.calls, settings.max_parallel) == (3, 2)
    chat.close()
    with pytest.raises(ValueError, match="max_parallel is 0; expected a whole number of 1"):
        nb.Chat(max_parallel=0)


# --- what the model is told -----------------------------------------------------------------------

BIG = pd.DataFrame(np.zeros((200_000, 12)), columns=[f"c{n}" for n in range(12)])


@nb.tool
def big() -> pd.DataFrame:
    """Give a huge table."""
    return BIG


@nb.tool
def wall() -> str:
    """Give a huge text."""
    return "x" * 20_000_000


async def told_of(*tools: nb.Tool, **limits: int) -> tuple[Page, list[str]]:
    model = Strict([call(tool.name, {}) for tool in tools], "Seen.")
    page = Page(model, tools, limits=nb.Limits(**limits))
    await page.say("Show me")
    return page, model.told


async def test_what_is_huge_is_cut_for_the_model_and_the_page_and_whole_in_python():
    """R-04: a table of 200,000 rows and a text of 20 million characters."""
    page, told = await told_of(big, wall)
    assert told[0].startswith("A table of 200,000 rows and 12 columns.\n")
    assert " of 20,000,000 characters left out)" in told[1]
    assert [len(text) <= 8_000 for text in told] == [True, True]
    results = page.session.results
    assert results[page.calls[0].id] is BIG
    assert len(str(results["wall"])) == 20_000_000
    assert max(len(json.dumps(message)) for message in page.sent) < 300_000


async def test_a_huge_cell_many_columns_and_a_long_list_are_cut_as_well():
    """R-04: the variants."""

    @nb.tool
    def cell() -> pd.DataFrame:
        """Give one huge cell."""
        return pd.DataFrame({"a": ["y" * 5_000_000, "z"]})

    @nb.tool
    def wide() -> pd.DataFrame:
        """Give many columns."""
        return pd.DataFrame(np.zeros((2, 10_000)))

    @nb.tool
    def numbers() -> list[int]:
        """Give a long list."""
        return list(range(1_000_000))

    page, told = await told_of(cell, wide, numbers)
    assert [len(text) <= 8_000 for text in told] == [True] * 3
    assert told[1].startswith("A table of 2 rows and 10,000 columns.")
    assert "and 9,950 more" in told[1]
    assert max(len(json.dumps(message)) for message in page.sent) < 300_000


async def test_how_much_the_model_is_told_is_a_setting():
    small = pd.DataFrame({"a": range(5), "b": range(5), "c": range(5)})

    @nb.tool
    def rows() -> pd.DataFrame:
        """Give a table."""
        return small

    _, told = await told_of(rows, wall, told=300, rows=2, columns=1)
    assert told[0] == (
        "A table of 5 rows and 3 columns.\nColumns: a (int64) and 2 more\n"
        "The first 2 rows:\na\n0\n1\n"
    )
    assert 290 < len(told[1]) <= 300


# --- the hidden context ---------------------------------------------------------------------------


class Database:
    def __init__(self, secret: str) -> None:
        self.secret = secret


async def test_the_context_has_its_own_type_and_reaches_nothing_but_the_tool():
    @nb.tool
    def look(ctx: nb.ToolContext[Database]) -> int:
        """Look."""
        assert_type(ctx.context, Database)
        return len(ctx.context.secret)

    model = Strict([call("look", {})], "Seen.")
    page = Page(model, [look], context=Database("sk-SECRET-hushhush"))
    await page.say("Look")
    assert page.calls[0].value == len("sk-SECRET-hushhush")
    everything = [*map(repr, model.requests), json.dumps(page.sent), repr(page.session.settings)]
    assert not any("SECRET" in text for text in everything)
