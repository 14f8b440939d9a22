"""How far an action takes a chat: one step, until a tool has succeeded, with some of the tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import nbtools as nb
from nbtools.errors import ChatWaiting
from nbtools.messages import Request
from nbtools.settings import Settings
from nbtools.testing import Scripted, call, fault


@nb.tool
async def look(n: int = 1) -> int:
    """Look."""
    return n


@nb.tool
async def find(what: str = "it") -> dict[str, str]:
    """Find."""
    if what == "nothing":
        raise nb.ToolError("Not found.")
    return {"found": what}


@nb.tool(approval=True)
async def wipe() -> str:
    """Wipe."""
    return "wiped"


def chat_with(*replies: Any, **settings: Any) -> tuple[nb.Chat, Scripted]:
    model = Scripted(*replies)
    return nb.Chat(model, tools=[look, find, wipe], **settings), model


# --- one step -------------------------------------------------------------------------------------


async def test_each_step_is_one_request_or_the_calls_of_one_reply():
    chat, model = chat_with([call("look", {}), call("find", {})], [call("look", {"n": 2})], "Done.")
    seen = []
    turn = await chat.step("Go")
    while True:
        seen.append((len(model.requests), [each.outcome for each in chat.calls], chat.status))
        if chat.status == "ready":
            break
        turn = await chat.step()
    assert seen == [
        (1, ["", ""], "waiting"),
        (1, ["ok", "ok"], "waiting"),
        (2, ["ok", "ok", ""], "waiting"),
        (2, ["ok", "ok", "ok"], "waiting"),
        (3, ["ok", "ok", "ok"], "ready"),
    ]
    assert turn.text == "Done."
    chat.close()


async def test_after_a_step_the_chat_goes_on_with_resume():
    chat, model = chat_with([call("look", {})], "Done.")
    await chat.step("Go")
    turn = await chat.resume()
    assert (turn.text, len(model.requests), chat.status) == ("Done.", 2, "ready")
    chat.close()


async def test_a_step_runs_what_needs_nobody_and_an_approval_takes_no_further_step():
    chat, model = chat_with([call("wipe", {}), call("look", {})], "Done.")
    await chat.step("Go")
    await chat.step()
    assert [each.outcome for each in chat.calls] == ["", "ok"]
    with pytest.raises(ChatWaiting, match="wipe"):
        chat.resume()
    await chat.calls[0].approve()
    assert ([each.outcome for each in chat.calls], len(model.requests)) == (["ok", "ok"], 1)
    assert chat.status == "waiting"
    await chat.step()
    assert (chat.status, len(model.requests)) == ("ready", 2)
    chat.close()


async def test_a_message_closes_the_calls_that_a_step_left():
    chat, model = chat_with([call("look", {})], "Never mind.")
    await chat.step("Go")
    turn = await chat.send("Forget it")
    assert (chat.calls[0].outcome, turn.text) == ("unanswered", "Never mind.")
    assert model.requests[1].messages[-1].role == "user"
    chat.close()


async def test_a_step_repeats_a_request_that_failed():
    error = nb.ProviderError("Down.")
    chat, model = chat_with([fault(error)], [call("look", {})], "Done.")
    with pytest.raises(nb.ProviderError):
        await chat.send("Go")
    await chat.step()
    assert (len(model.requests), chat.calls[0].outcome) == (2, "")
    chat.close()


async def test_a_step_with_nothing_to_do_does_nothing():
    chat, model = chat_with("Hi.")
    await chat.send("Hello")
    turn = await chat.step()
    assert (turn.messages, len(model.requests), chat.status) == ((), 1, "ready")
    chat.close()


async def test_a_direct_call_of_a_step_waits_for_the_next_one():
    chat, model = chat_with("Hi.")
    await chat.step("/look n=3")
    assert chat.status == "waiting"
    await chat.step()
    assert (chat.calls[0].result, len(model.requests), chat.status) == (3, 0, "ready")
    chat.close()


# --- until a tool has succeeded -------------------------------------------------------------------


async def test_a_message_stops_at_the_first_success_of_a_tool_and_has_its_value():
    chat, model = chat_with(
        [call("look", {}), call("find", {"what": "nothing"})],
        [call("find", {"what": "gold"})],
        "Never sent.",
    )
    turn = await chat.send("Find gold", until="find")
    assert turn.result == {"found": "gold"}
    assert [each.outcome for each in turn.calls] == ["ok", "failed", "ok"]
    assert (len(model.requests), chat.status) == (2, "waiting")
    chat.close()


async def test_what_it_stopped_before_can_be_taken_up():
    chat, _ = chat_with([call("find", {})], "There.")
    await chat.send("Find it", until="find")
    assert (await chat.resume()).text == "There."
    chat.close()


async def test_calls_beside_the_one_that_succeeded_are_run_or_wait():
    chat, model = chat_with([call("find", {}), call("wipe", {}), call("look", {})], "Never sent.")
    turn = await chat.send("Find it", until="find")
    assert [each.state for each in turn.calls] == ["result", "pending", "result"]
    await turn.calls[1].approve()
    assert (turn.calls[1].outcome, len(model.requests)) == ("ok", 1)
    chat.close()


async def test_a_turn_that_ended_without_it_has_no_result():
    chat, _ = chat_with("I would rather not.")
    turn = await chat.send("Find it", until="find")
    with pytest.raises(KeyError, match="No call of 'find' has succeeded in this turn"):
        _ = turn.result
    chat.close()


async def test_the_next_message_goes_to_its_end_again():
    chat, _ = chat_with([call("find", {})], [call("find", {})], "There.")
    await chat.send("Find it", until="find")
    assert (await chat.send("And now?")).text == "There."
    chat.close()


def test_asking_stops_there_too():
    chat, _ = chat_with([call("find", {})], "Never sent.")
    assert chat.ask("Find it", until="find").result == {"found": "it"}
    chat.close()


# --- some of the tools ----------------------------------------------------------------------------


def names(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


async def test_one_message_may_offer_some_of_the_tools():
    chat, model = chat_with([call("look", {}), call("find", {})], "So.", "All again.")
    await chat.send("Go", tools=["look"])
    await chat.send("Go on")
    assert list(map(names, model.requests)) == [["look"], ["look"], ["look", "find", "wipe"]]
    assert [each.outcome for each in chat.calls] == ["ok", "unknown"]
    assert chat.calls[1].error == "'find' is not a tool. The tools are: look."
    chat.close()


async def test_no_tools_at_all_may_be_offered_and_tools_are_named_as_they_are():
    chat, model = chat_with("One.", "Two.")
    await chat.send("Go", tools=[])
    await chat.send("Go", tools=[find], settings=Settings(tool_choice="find"))
    assert list(map(names, model.requests)) == [[], ["find"]]
    assert model.requests[1].settings == Settings(tool_choice="find")
    chat.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tools": ["loook"]}, "There is no tool 'loook'; the chat has 'look', 'find', 'wipe'."),
        ({"until": "finds"}, "There is no tool 'finds'"),
        (
            {"settings": Settings(tool_choice="finds")},
            "tool_choice is 'finds'; expected one of 'auto', 'none', 'required', 'look', 'find', 'wipe'.",
        ),
        (
            {"tools": [find], "settings": Settings(tool_choice="look")},
            "tool_choice is 'look'; expected one of 'auto', 'none', 'required', 'find'.",
        ),
        (
            {"until": "look", "tools": [find]},
            "until is 'look', and the tools offered are 'find'.",
        ),
    ],
)
async def test_a_tool_that_there_is_not_is_named_before_anything_is_sent(options: Any, text: str):
    chat, model = chat_with("Hi.")
    with pytest.raises(ValueError, match=text.replace("(", r"\(").replace(".", r"\.")):
        chat.send("Go", **options)
    assert (model.requests, chat.messages) == ([], ())
    chat.close()


async def test_a_stopped_step_leaves_nothing_open():
    gate = asyncio.Event()

    @nb.tool
    async def wait() -> None:
        """Wait."""
        await gate.wait()

    chat = nb.Chat(Scripted([call("wait", {}), call("wait", {})]), tools=[wait])
    await chat.step("Go")
    chat.stop()
    assert [each.outcome for each in chat.calls] == ["cancelled", "cancelled"]
    assert chat.status == "ready"
    chat.close()
