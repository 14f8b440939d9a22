"""Ending one call now or in a while, and what is said of a function that runs on."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import nbtools as nb
from nbtools.executors import elsewhere, workers
from nbtools.messages import Notice
from nbtools.testing import Scripted, call
from tests.stage import Page, Strict, run_jumping, until


def said_of(page: Page, call_id: str) -> list[str]:
    messages = page.session.conversation.messages
    notices = [part for message in messages for part in message.parts if isinstance(part, Notice)]
    return [notice.text for notice in notices if notice.about == call_id]


@nb.tool
async def sleep(seconds: float) -> float:
    """Sleep."""
    await asyncio.sleep(seconds)
    return seconds


# --- a call that may take a while longer ----------------------------------------------------------


def test_a_running_call_ends_when_the_time_that_it_was_given_is_up():
    async def story() -> tuple[Page, Strict]:
        model = Strict(
            [call("sleep", {"seconds": 60}, id="k-1"), call("sleep", {"seconds": 30})], "So."
        )
        page = Page(model, [sleep])
        page.command("send", text="Go")
        await until(page, lambda: [known.state for known in page.calls] == ["running"] * 2)
        assert page.command("cancel", call="k-1", after=10)["ok"]
        assert page.calls[0].state == "running"
        await page.session.rest()
        return page, model

    page, model = run_jumping(story())
    assert [known.outcome for known in page.calls] == ["timeout", "ok"]
    assert said_of(page, "k-1") == ["It will be ended in 10 s."]
    assert model.told[0] == (
        "The tool was ended: It was given 10 s. It may have done part of its work."
    )


def test_a_call_that_ended_before_is_left_as_it_is():
    async def story() -> Page:
        page = Page(Strict([call("sleep", {"seconds": 5}, id="k-1")], "So."), [sleep])
        page.command("send", text="Go")
        await until(page, lambda: page.calls and page.calls[0].state == "running")
        page.command("cancel", call="k-1", after=10)
        await page.session.rest()
        await asyncio.sleep(20)
        return page

    assert run_jumping(story()).calls[0].outcome == "ok"


@pytest.mark.parametrize("after", [0, -1, "soon", True, float("nan")])
def test_a_time_that_is_none_is_refused(after: Any):
    async def story() -> dict[str, Any]:
        page = Page(Strict([call("sleep", {"seconds": 5}, id="k-1")], "So."), [sleep])
        page.command("send", text="Go")
        await until(page, lambda: page.calls and page.calls[0].state == "running")
        answer = page.command("cancel", call="k-1", after=after)
        await page.session.rest()
        assert page.calls[0].outcome == "ok"
        return answer

    answer = run_jumping(story())
    assert (answer["ok"], answer["error"]) == (False, "invalid")
    assert "after" in answer["text"]


async def test_a_call_is_ended_from_python_now_or_in_a_while():
    gate = asyncio.Event()

    @nb.tool
    async def wait(n: int) -> int:
        """Wait."""
        await gate.wait()
        return n

    chat = nb.Chat(Scripted([call("wait", {"n": 1}), call("wait", {"n": 2})], "So."), tools=[wait])
    turn = chat.send("Go")
    while [each.state for each in turn.calls] != ["running"] * 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    turn.calls[0].cancel()
    await turn.calls[1].cancel(after=0.05)
    assert [each.outcome for each in turn.calls] == ["cancelled", "timeout"]
    assert turn.text == "So."
    chat.close()


# --- a function that runs on ----------------------------------------------------------------------


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "GRACE", 0.0)
    monkeypatch.setattr(elsewhere, "GRACE", 0.0)


class Gate(threading.Event):
    """What a function waits at that nothing else ends."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()


def stubborn(gate: Gate, given: object, **settings: Any) -> nb.Tool:
    @nb.tool(**settings)
    def work() -> object:
        """Work, whatever happens."""
        gate.reached.set()
        gate.wait()
        if isinstance(given, Exception):
            raise given
        return given

    return work


async def left_behind(gate: Gate, given: object, **settings: Any) -> Page:
    page = Page(Strict([call("work", {}, id="k-1")], "So."), [stubborn(gate, given, **settings)])
    gate.reached.clear()
    page.command("send", text="Go")
    await asyncio.to_thread(gate.reached.wait)
    page.command("cancel", call="k-1")
    await until(page, lambda: said_of(page, "k-1"))
    return page


@pytest.mark.usefixtures("no_grace")
async def test_a_late_value_is_recorded_and_continues_nothing():
    gate = Gate()
    page = await left_behind(gate, {"n": 1})
    assert said_of(page, "k-1") == ["Its function still runs; what it returns is not used."]
    await page.session.rest()
    ended = page.calls[0]
    gate.set()
    await until(page, lambda: len(said_of(page, "k-1")) == 2)
    assert said_of(page, "k-1")[1] == (
        "A late result (dict) was not used; chat.results['k-1'] has it."
    )
    assert page.session.results["k-1"] == {"n": 1}
    assert "work" not in page.session.results
    assert (page.calls[0], page.texts[-1]) == (ended, "So.")


@pytest.mark.usefixtures("no_grace")
async def test_a_late_exception_is_recorded_too():
    gate = Gate()
    page = await left_behind(gate, ValueError("late"))
    gate.set()
    await until(page, lambda: len(said_of(page, "k-1")) == 2)
    assert said_of(page, "k-1")[1] == (
        "It raised after its end, which changes nothing: ValueError: late"
    )


@pytest.mark.usefixtures("no_grace")
async def test_functions_that_run_on_are_counted_on_the_card():
    gate = Gate()
    await left_behind(gate, 1)
    page = await left_behind(gate, 2)
    assert said_of(page, "k-1") == [
        "Its function still runs; what it returns is not used. 2 functions run on in this kernel."
    ]
    gate.set()
    await until(page, lambda: len(said_of(page, "k-1")) == 2)


@pytest.mark.usefixtures("no_grace")
async def test_a_function_in_an_executor_is_left_behind_in_the_same_way():
    gate = Gate()
    with ThreadPoolExecutor(1) as pool:
        page = await left_behind(gate, 5, executor=pool)
        gate.set()
        await until(page, lambda: len(said_of(page, "k-1")) == 2)
    assert page.session.results["k-1"] == 5


async def test_a_function_that_hears_of_the_end_and_returns_is_not_spoken_of():
    entered, heard = threading.Event(), threading.Event()

    @nb.tool
    def work(ctx: nb.ToolContext[None]) -> None:
        """Work until nobody wants it any more."""
        entered.set()
        while not ctx.cancelled:
            heard.wait(0.01)
        heard.set()

    page = Page(Strict([call("work", {}, id="k-1")], "So."), [work])
    page.command("send", text="Go")
    await asyncio.to_thread(entered.wait)
    page.command("cancel", call="k-1")
    await page.session.rest()
    await asyncio.to_thread(heard.wait)
    assert said_of(page, "k-1") == []
