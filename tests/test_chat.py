"""The chat as Python sees it: turns, handles, results, settings, blocking, and its widget."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest
import traitlets

import nbtools as nb
from nbtools.errors import OverloadedError
from nbtools.events import Event
from nbtools.face.turns import CallHandle
from nbtools.messages import File, Notice, Text, ToolCall, Usage
from nbtools.providers import Demo
from nbtools.testing import call, fault, hold, say, usage
from nbtools.tools import ToolContext
from tests.page_copy import PageCopy
from tests.stage import RecordingComm, Strict, comms, texts, tools_that_ran

__all__ = ["comms"]


def chat_of(*replies: Any, **settings: Any) -> nb.Chat:
    return nb.Chat(Strict(*replies), **settings)


def notices(chat: nb.Chat) -> list[str]:
    return [part.text for m in chat.messages for part in m.parts if isinstance(part, Notice)]


@nb.tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


# --- a turn -------------------------------------------------------------------------------------


async def test_a_turn_gives_text_calls_status_error_and_usage():
    first = [say("Let me see. "), call("double", {"n": 2}, id="k-1"), usage(input=10, output=3)]
    chat = chat_of(first, [say("It is 4."), usage(input=15, output=4)], tools=[double])
    turn = await chat.send("Twice two?")
    assert turn.text == "Let me see. \n\nIt is 4."
    assert [known.id for known in turn.calls] == ["k-1"]
    assert (turn.status, turn.error, turn.done) == ("ready", None, True)
    assert (turn.usage.input, turn.usage.output, turn.usage.cached) == (25, 7, None)
    assert repr(turn) == "<Turn ready: 'Let me see. \\n\\nIt is 4.', 1 calls>"


async def test_a_turn_holds_what_came_since_its_action():
    chat = chat_of("One.", "Two.")
    first = await chat.send("First")
    second = await chat.send("Second")
    assert (first.text, second.text) == ("One.\n\nTwo.", "Two.")
    assert chat.usage == Usage()


async def test_the_effect_starts_without_awaiting():
    asked = threading.Event()

    def answer(_request: object) -> str:
        asked.set()
        return "Hello."

    chat = chat_of(answer)
    turn = chat.send("Hi")
    assert await asyncio.to_thread(asked.wait, 10)
    assert (await turn).text == "Hello."


async def test_awaiting_returns_when_a_person_is_needed_and_never_waits_for_a_click():
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Done.", tools=tools_that_ran(ran))
    turn = await chat.send("Wipe")
    assert (turn.status, turn.calls.pending[0].id, ran) == ("waiting", "k-1", [])


async def test_awaiting_raises_the_providers_error_after_it_was_put_in_the_chat():
    chat = chat_of([fault(OverloadedError("Busy.", hint="Wait a little."))], "Hello.")
    turn = chat.send("Hi")
    with pytest.raises(OverloadedError, match=r"Busy\. Wait a little\."):
        await turn
    assert (chat.status, turn.error and turn.error.text) == ("error", "Busy.")
    assert (await chat.resume()).text == "Hello."
    assert turn.error is None


async def test_cancelling_the_wait_stops_the_chat_and_no_other_wait_breaks():
    gate, asked = asyncio.Event(), threading.Event()

    def answer(_request: object) -> list[Any]:
        asked.set()
        return [say("Well"), hold(gate)]

    chat = chat_of(answer)
    turn = chat.send("Hi")
    waiting = [asyncio.ensure_future(asyncio.wait_for(turn, 60)) for _ in range(2)]
    await asyncio.to_thread(asked.wait, 10)
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    assert (await waiting[1]).status == "ready"
    assert chat.messages[-1].finish == "stopped"
    assert (await turn) is turn


async def test_send_while_the_chat_answers_raises():
    gate = asyncio.Event()
    chat = chat_of([hold(gate), say("Hello.")])
    turn = chat.send("Hi")
    for action in (lambda: chat.send("And?"), chat.resume, lambda: setattr(chat, "system", "x")):
        with pytest.raises(nb.ChatBusy, match="The chat is answering"):
            action()
    gate.set()
    assert (await turn).text == "Hello."
    assert texts(chat.messages) == ["Hi", "Hello."]


async def test_a_stream_gives_every_event_until_the_rest():
    chat = chat_of([say("Hel"), call("double", {"n": 1})], "Done.", tools=[double])
    events: list[Event] = [event async for event in chat.stream("Hi")]
    kinds = [event.type for event in events]
    assert kinds[0] == "message-added"
    assert kinds[-1] == "status-changed"
    assert kinds.count("message-started") == kinds.count("message-ended") == 2
    assert {"call-started", "call-ended", "part-added"} <= set(kinds)
    assert chat.status == "ready"


async def test_who_hears_of_the_rest_hears_of_it_after_what_ended_the_turn():
    asked = threading.Event()

    def answer(_request: object) -> list[Any]:
        asked.set()
        return [say("Well"), hold(asyncio.Event())]

    chat = chat_of(answer, "And now?")
    turns: list[Any] = []
    first = chat.send("Hi")
    first.rested.add_done_callback(lambda _: turns.append(chat.send("Next")))
    await asyncio.to_thread(asked.wait, 10)
    chat.clear()
    await asyncio.wrap_future(first.rested)
    await turns[0]
    assert texts(chat.messages) == ["Next", "And now?"]


async def test_a_stream_that_a_clear_ends_tells_of_that_too():
    chat = chat_of([say("Well"), hold(asyncio.Event())])
    kinds: list[str] = []
    async for event in chat.stream("Hi"):
        kinds.append(event.type)
        if event.type == "part-added" and "text-delta" not in kinds:
            chat.clear()
    assert kinds[-1] == "messages-removed"


@pytest.mark.parametrize(
    "error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, ValueError]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_what_a_callback_raises_at_the_rest_takes_nothing_from_others(error: Any):
    gate = asyncio.Event()
    chat = chat_of([hold(gate), say("Hello.")], "Again.")
    turn = chat.send("Hi")

    def fail(_: object) -> None:
        raise error

    turn.rested.add_done_callback(fail)
    other = chat._session.engine.do(chat._session.rested)
    gate.set()
    await asyncio.wait_for(asyncio.wrap_future(other), 10)
    assert (await chat.send("And?")).text == "Again."


async def test_a_stream_raises_the_providers_error_at_its_end():
    chat = chat_of([say("Hel"), fault(OverloadedError("Busy."))])
    kinds: list[str] = []

    async def listen() -> None:
        async for event in chat.stream("Hi"):
            kinds.append(event.type)  # noqa: PERF401 - what came before the error

    with pytest.raises(OverloadedError):
        await listen()
    assert "request-failed" in kinds


async def test_a_stream_of_a_busy_chat_raises_at_once():
    gate = asyncio.Event()
    chat = chat_of([hold(gate), say("Hello.")])
    turn = chat.send("Hi")
    with pytest.raises(nb.ChatBusy):
        await anext(chat.stream("And?"))
    gate.set()
    await turn


def test_a_stream_whose_loop_has_gone_says_nothing(caplog: pytest.LogCaptureFixture):
    gate = threading.Event()
    chat = chat_of([say("Hel"), hold(gate), say("lo.")])

    stream = chat.stream("Hi")

    async def listen() -> None:
        await anext(stream)

    asyncio.run(listen())
    gate.set()
    chat._session.engine.submit(chat._session.rest()).result(20)
    assert (chat.status, caplog.records) == ("ready", [])
    assert [part.text for part in chat.messages[1].parts if isinstance(part, Text)] == ["Hello."]


async def test_a_message_may_hold_texts_and_files(tmp_path: Path):
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"\x89PNG")
    model = Strict("A cat.", "The same cat.")
    chat = nb.Chat(model)
    await chat.send(["What is", picture, "this?"])
    asked = chat.messages[0]
    assert [part.type for part in asked.parts] == ["text", "file"]
    text, file = asked.parts
    assert isinstance(text, Text)
    assert isinstance(file, File)
    assert (text.text, file.mime, file.name) == ("What is\n\nthis?", "image/png", "cat.png")
    await chat.send([file])
    assert (model.refused, len(chat.messages)) == ([], 4)


@pytest.mark.parametrize(
    ("said", "error", "says"),
    [("", ValueError, "cannot be empty"), (" \n", ValueError, "cannot be empty"),
     ([], ValueError, "cannot be empty"), (7, TypeError, "not 7"), (None, TypeError, "not None"),
     ([7], TypeError, "not 7"), (b"hi", TypeError, "not b'hi'"), ({"a": 1}, TypeError, "not {'a'"),
     (pd.DataFrame({"a": [1]}), TypeError, "texts and files, not")],
)  # fmt: skip
def test_what_cannot_be_sent_is_quoted(said: Any, error: type[Exception], says: str):
    chat = chat_of()
    with pytest.raises(error, match=says):
        chat.send(said)
    assert chat.messages == ()


# --- handles ------------------------------------------------------------------------------------


async def test_calls_are_found_in_order_and_by_id():
    chat = chat_of(
        [call("double", {"n": 1}, id="k-1"), call("double", {"n": 2}, id="k-2")],
        "So.",
        tools=[double],
    )
    await chat.send("Go")
    assert [known.id for known in chat.calls] == ["k-1", "k-2"]
    assert (chat.calls[0].id, chat.calls[-1].id, chat.calls["k-2"].args) == ("k-1", "k-2", {"n": 2})
    assert [known.id for known in chat.calls[1:]] == ["k-2"]
    with pytest.raises(KeyError, match=r"There is no call 'k-9'; there are: k-1, k-2\."):
        chat.calls["k-9"]
    assert repr(chat.calls[0]) == "<call 'k-1' double({'n': 1}) result ok>"


async def test_a_handle_is_live():
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Done.", tools=tools_that_ran(ran))
    await chat.send("Wipe")
    handle = chat.calls["k-1"]
    assert (handle.state, handle.waiting, handle.args) == ("pending", "approval", {"force": False})
    await handle.approve()
    assert (handle.state, handle.outcome, handle.result) == ("result", "ok", "wiped")
    assert (handle.told, handle.error) == ("wiped", "")


async def test_a_late_or_second_decision_from_python_raises():
    ran: list[str] = []
    wipe = [call("wipe_cache", id="k-1")]
    chat = chat_of(wipe, "Done.", tools=tools_that_ran(ran))
    await chat.send("Wipe")
    handle = chat.calls["k-1"]
    turn = handle.decline("not today")
    for late in (handle.approve, handle.decline, handle.cancel):
        with pytest.raises(nb.AlreadyDecided, match="over already \\(declined\\)"):
            late()
    await turn
    assert (ran, handle.error) == ([], "not today")


async def test_python_approves_with_edited_arguments():
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Done.", tools=tools_that_ran(ran))
    await chat.send("Wipe")
    with pytest.raises(nb.InvalidArguments, match="forced"):
        chat.approve("k-1", {"forced": True})
    await chat.approve("k-1", {"force": True})
    known = chat.calls["k-1"].call
    assert (ran, known.proposed) == (["wipe_cache True"], {"force": False})
    assert known.decision is not None
    assert known.decision.by == "python"


@pytest.mark.parametrize("threaded", [False, True])
async def test_a_tool_that_awaits_a_turn_of_its_own_chat_is_told_so_and_the_effect_stands(
    threaded: bool,
):
    async def approve_other() -> None:
        await chat.calls["k-2"].approve()

    @nb.tool(name="approver")
    async def approver() -> None:
        """Approve what waits."""
        await approve_other()

    @nb.tool(name="approver")
    def threaded_approver() -> None:
        """Approve what waits, from a loop of its own."""
        asyncio.run(approve_other())

    ran: list[str] = []
    tools = [threaded_approver if threaded else approver, *tools_that_ran(ran)]
    replies = [call("wipe_cache", id="k-2"), call("approver", id="k-1")]
    chat = chat_of(replies, "Done.", tools=tools)
    async with asyncio.timeout(20):
        turn = await chat.send("Go")
    assert (turn.calls["k-1"].outcome, turn.calls["k-2"].outcome) == ("failed", "ok")
    assert turn.calls["k-1"].error.endswith(
        "This turn waits for the tool that awaits it ('approver'); do not await it here. "
        "What it was to do is done."
    )


async def test_a_tool_that_ends_its_own_call_leaves_the_turn_going_on():
    @nb.tool
    async def give_up() -> None:
        """End itself."""
        await chat.calls["k-1"].cancel()

    chat = chat_of([call("give_up", id="k-1")], "Then not.", tools=[give_up])
    async with asyncio.timeout(20):
        turn = await chat.send("Go")
    assert (turn.calls["k-1"].outcome, turn.text) == ("cancelled", "Then not.")


async def test_a_tool_awaits_a_turn_of_another_chat():
    other = chat_of("From the other.")

    @nb.tool
    async def consult() -> str:
        """Ask another chat."""
        return (await other.send("What do you say?")).text

    chat = chat_of([call("consult", id="k-1")], "Done.", tools=[consult])
    async with asyncio.timeout(20):
        turn = await chat.send("Go")
    assert turn.calls["k-1"].result == "From the other."


async def test_the_result_of_a_call_that_waits_for_one_is_given_from_python():
    ask = nb.Tool("ask", "Ask.", {"type": "object", "properties": {}})
    model = Strict([call("ask", id="k-1"), call("ask", id="k-2")], "Thanks.")
    chat = nb.Chat(model, tools=[ask])
    await chat.send("Ask")
    turn = await chat.add_tool_result("k-1", result=None)
    assert turn.status == "waiting"
    assert (await chat.add_tool_result("k-2", error="nobody is in")).text == "Thanks."
    assert model.told == ["null", "The tool failed: nobody is in"]
    with pytest.raises(nb.AlreadyDecided, match="over already \\(ok\\)"):
        chat.add_tool_result("k-1", result=1)


async def test_pending_is_no_result_of_a_call_that_waits_for_one():
    ask = nb.Tool("ask", "Ask.", {"type": "object", "properties": {}})
    chat = nb.Chat(Strict([call("ask", id="k-1")], "Thanks."), tools=[ask])
    await chat.send("Ask")
    with pytest.raises(ValueError, match=r"'k-1' is nbtools.PENDING, expected the value itself"):
        chat.add_tool_result("k-1", result=nb.PENDING)
    assert chat.calls["k-1"].state == "pending"
    assert (await chat.add_tool_result("k-1", result=7)).text == "Thanks."


async def test_a_result_that_does_not_fit_the_state_names_what_to_use():
    started, gate = threading.Event(), threading.Event()

    @nb.tool
    def slow() -> None:
        """Wait."""
        started.set()
        gate.wait(30)

    chat = chat_of(
        [call("wipe_cache", id="k-1"), call("slow", id="k-2")],
        "Done.",
        tools=[slow, *tools_that_ran([])],
    )
    turn = chat.send("Go")
    assert await asyncio.to_thread(started.wait, 10)
    with pytest.raises(nb.AlreadyDecided, match="use approve or decline"):
        chat.add_tool_result("k-1", result=1)
    with pytest.raises(nb.AlreadyDecided, match="runs already: it is too late to decide"):
        chat.add_tool_result("k-2", result=1)
    with pytest.raises(TypeError, match="either result=… or error=…"):
        chat.add_tool_result("k-1")
    with pytest.raises(TypeError, match="either result=… or error=…"):
        chat.add_tool_result("k-1", result=1, error="x")
    chat.stop()
    gate.set()
    await turn


async def test_results_are_withheld_and_sent_with_resume():
    model = Strict([call("double", {"n": 2}, id="k-1")], "Four.")
    chat = nb.Chat(model, tools=[double], auto_send_tool_results=False)
    turn = await chat.send("Twice two?")
    assert (turn.status, chat.results["k-1"], len(model.requests)) == ("waiting", 4, 1)
    assert (await chat.resume()).text == "Four."
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], tools=tools_that_ran(ran))
    await chat.send("Wipe")
    with pytest.raises(nb.ChatWaiting, match=r"wipe_cache \(k-1\)"):
        chat.resume()


async def test_results_are_kept_by_call_and_by_tool():
    value = object()

    @nb.tool
    def make() -> object:
        """Make."""
        return value

    chat = chat_of(
        [call("make", id="k-1"), call("double", {"n": 1}, id="k-2")],
        [call("double", {"n": 3}, id="k-3")],
        "So.",
        tools=[make, double],
    )
    await chat.send("Go")
    results = chat.results
    assert (results["make"], results["k-1"], results["double"], results["k-2"]) == (
        value,
        value,
        6,
        2,
    )
    del results["make"]
    assert "k-1" not in results
    with pytest.raises(KeyError, match="There is no result of 'make'; there are: double, k-2, k-3"):
        results["make"]
    assert repr(results) == "Results(double: int)"
    chat.clear()
    assert len(results) == 0


async def test_a_call_is_run_again_from_python():
    chat = chat_of([call("double", {"n": 2}, id="k-1")], "Four.", tools=[double])
    await chat.send("Go")
    turn = await chat.calls["k-1"].rerun({"n": 5})
    (again,) = turn.calls
    assert (again.call.again, again.result, chat.results["k-1"]) == ("k-1", 10, 4)


# --- settings -----------------------------------------------------------------------------------


def test_without_a_model_the_chat_is_the_demo():
    chat = nb.Chat()
    assert isinstance(chat.model, Demo)
    assert chat.snapshot()["model"] == {"label": "demo", "host": "", "demo": True}


@pytest.mark.parametrize("value", [-1, 1.0, "5", True, None])
def test_the_number_of_rounds_is_a_whole_number(value: Any):
    with pytest.raises(ValueError, match=r"max_roundtrips .* expected a whole number of 0"):
        nb.Chat(max_roundtrips=value)


MISTAKEN: list[tuple[dict[str, Any], str]] = [
    ({"context_limit": "a"}, "context_limit is 'a'; expected a whole number of tokens of 1"),
    ({"context_limit": -1}, "context_limit is -1; expected a whole number of tokens of 1"),
    ({"context_turns": 1.5}, "context_turns is 1.5; expected a whole number of 0 or more, or None"),
    (
        {"on_trim": "summarise"},
        "on_trim is 'summarise'; expected 'drop': the oldest turns are left",
    ),
    (
        {"on_trim": None},
        "on_trim is None; expected 'drop': the oldest turns are left out. There is",
    ),
    ({"approval_timeout": float("nan")}, "approval_timeout is nan; expected a number of seconds"),
    ({"on_tool_call": 3}, "on_tool_call is 3; expected a function of the call and its context"),
    ({"system": 3}, "system is 3; expected a text, or None."),
    ({"approval": "yes"}, "approval is 'yes'; expected True, False, None or a function of the"),
    ({"approval": 1}, "approval is 1; expected True, False, None or a function of the call."),
    ({"max_parallel": 0}, "max_parallel is 0; expected a whole number of 1 or more."),
    ({"limits": 5}, "limits is 5; expected nbtools.Limits, or None."),
    ({"on_act": "f"}, "on_act is 'f'; expected a function of the call and the changes, or None."),
    ({"redact": "args"}, "redact is 'args'; expected a function of a row of the audit, or None."),
    ({"autosave": 3}, "autosave is 3; expected the path of a file."),
    ({"tools": None}, "tools is None; expected a list of tools and functions."),
    ({"tools": "look"}, "tools is 'look'; expected a list of tools and functions."),
    ({"tools": nb.tool(len)}, "tools is <Tool len(obj)>; expected a list of tools and functions."),
    ({"auto_send_tool_results": "no"}, "auto_send_tool_results is 'no'; expected True or False."),
    ({"conversation": {}}, "conversation is {}; expected what another chat's `conversation` gives"),
]


@pytest.mark.parametrize(("given", "text"), MISTAKEN)
def test_an_argument_that_cannot_be_meant_is_named_at_once(given: dict[str, Any], text: str):
    with pytest.raises(ValueError, match="expected") as caught:
        nb.Chat(**given)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["autosave", "audit"])
def test_a_folder_is_no_file_to_write_to(name: str, tmp_path: Path):
    with pytest.raises(ValueError, match=rf"{name} is the folder .*; expected a file\."):
        nb.Chat(**{name: tmp_path})  # type: ignore[arg-type]


def test_instructions_that_are_no_text_change_nothing():
    chat = chat_of("Hello.", system="Be brief.")
    with pytest.raises(ValueError, match="system is 3; expected a text"):
        chat.system = 3  # type: ignore[assignment]
    assert chat.system == "Be brief."


def test_a_model_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="'nonsense'"):
        nb.Chat("nonsense")


async def test_model_tools_and_system_change_at_rest_with_a_notice():
    chat = chat_of("One.", system="Be brief.")
    await chat.send("Hi")
    other = Strict([call("double", {"n": 4}, id="k-1")], "Eight.", label="another")
    chat.model = other
    chat.tools = [double]
    chat.system = "Be long."
    assert notices(chat) == [
        "The model is now another.",
        "The tools are now: double.",
        "The instructions were changed.",
    ]
    assert list(chat.tools) == ["double"]
    assert (await chat.send("Twice four?")).text == "Eight."
    assert (other.requests[0].system, other.requests[0].tools[0].name) == ("Be long.", "double")
    assert other.refused == []
    assert chat.snapshot()["model"]["label"] == "another"


async def test_a_call_that_waits_ends_when_its_tool_goes_or_changes():
    ran: list[str] = []
    wipe = [call("wipe_cache", id="k-1")]
    chat = chat_of(wipe, "Then not.", tools=tools_that_ran(ran))
    await chat.send("Wipe")

    @nb.tool
    async def wipe_cache(path: str = "/") -> None:
        """Wipe another cache."""
        ran.append(path)

    chat.tools = [wipe_cache]
    known = chat.calls["k-1"]
    assert (known.outcome, ran) == ("unknown", [])
    assert known.error == "'wipe_cache' is not among the tools any more, or has changed."


async def test_clear_closes_what_is_open_and_empties_the_chat():
    ran: list[str] = []
    seen: list[ToolCall] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Hello.", tools=tools_that_ran(ran))
    await chat.send("Wipe")
    chat._session.subscribe(
        lambda event, now: seen.extend(
            part for m in now.messages for part in m.parts if isinstance(part, ToolCall)
        )
    )
    chat.clear()
    assert (chat.messages, chat.status, len(chat.calls)) == ((), "ready", 0)
    assert seen[-1].outcome == "cancelled"
    assert (await chat.send("Hi")).text == "Hello."


async def test_a_handle_of_a_call_that_was_cleared_says_so():
    chat = chat_of([call("wipe_cache", id="k-1")], tools=tools_that_ran([]))
    turn = await chat.send("Wipe it")
    calls, known = turn.calls, turn.calls[0]
    chat.clear()
    assert (repr(known), repr(calls)) == ("<call 'k-1' cleared>", "[<call 'k-1' cleared>]")
    assert len(calls.pending) == 0
    for use in (lambda: known.state, known.approve, known.cancel, known.rerun, calls.approve):
        with pytest.raises(nb.NbtoolsError, match=r"^The call 'k-1' was cleared from the chat\.$"):
            use()


async def test_the_conversation_cannot_be_changed_in_place():
    """F-07: every way in is read-only, so nothing is lost in silence."""
    chat = chat_of([call("double", {"n": 2}, id="k-1")], "Four.", tools=[double])
    await chat.send("Go")
    (known,) = (part for part in chat.messages[1].parts if isinstance(part, ToolCall))
    with pytest.raises(AttributeError):
        known.state = "error"  # type: ignore[misc]
    with pytest.raises(TypeError, match="change a copy"):
        known.args["n"] = 9  # type: ignore[index]
    with pytest.raises(TypeError):
        chat.messages[0] = chat.messages[1]  # type: ignore[index]
    with pytest.raises(AttributeError):
        chat.messages = ()  # type: ignore[misc]


# --- blocking -----------------------------------------------------------------------------------


def test_ask_blocks_and_gives_the_finished_turn():
    """L-01: from a plain script."""
    chat = chat_of([call("double", {"n": 2})], "Four.", "Hello.", tools=[double])
    assert chat.ask("Twice two?").text == "Four."
    assert chat.ask("Hi").text == "Hello."


async def test_ask_works_where_a_loop_runs_and_leaves_it_as_it_was():
    """L-01: in a cell; the background task goes on afterwards."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    background = asyncio.ensure_future(tick())
    chat = chat_of("One.", "Two.")
    assert chat.ask("Hi").text == "One."
    assert (await chat.send("And?")).text == "Two."
    before = ticks
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ticks > before
    background.cancel()


def test_ask_works_from_a_worker_thread():
    """L-01: from a thread."""
    chat = chat_of("Hello.")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(chat.ask, "Hi").result(30).text == "Hello."


def test_ask_raises_the_providers_error():
    chat = chat_of([fault(OverloadedError("Busy."))])
    with pytest.raises(OverloadedError, match=r"Busy\."):
        chat.ask("Hi")
    assert chat.status == "error"


def test_ask_from_the_chats_own_thread_names_what_to_use():
    """L-01: never a hang."""
    chats: list[nb.Chat] = []

    @nb.tool
    async def nested() -> str:
        """Ask within."""
        return chats[0].ask("Hi").text

    chats.append(chat_of([call("nested", id="k-1")], "So.", tools=[nested]))
    chats[0].ask("Go")
    assert "use `await chat.send(…)`" in chats[0].calls["k-1"].error


@pytest.mark.parametrize(
    ("said", "runs"), [(True, True), (1, False), ("yes", False), (None, False)]
)
def test_ask_lets_a_policy_decide_and_only_true_approves(said: object, runs: bool):
    ran: list[str] = []
    seen: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "So.", tools=tools_that_ran(ran))

    def decide(known: CallHandle) -> object:
        seen.append(f"{known.tool} {known.args}")
        return said

    assert chat.ask("Wipe", approve=decide).text == "So."
    assert seen == ["wipe_cache {'force': False}"]
    assert ran == (["wipe_cache False"] if runs else [])


def test_what_a_policy_says_too_late_changes_nothing_and_ask_waits_for_the_end():
    ran: list[str] = []
    calls = [call("wipe_cache", id="k-1"), call("wipe_cache", {"force": True}, id="k-2")]
    chat = chat_of(calls, "Too late.", tools=tools_that_ran(ran))

    def decide(known: CallHandle) -> bool:
        if known.id == "k-1":
            known.decline("Somebody clicked.")
        return True

    assert chat.ask("Wipe", approve=decide).text == "Too late."
    assert ran == ["wipe_cache True"]
    assert chat.calls["k-1"].error == "Somebody clicked."


@pytest.mark.parametrize("approve", [True, "yes", 1])
def test_ask_takes_a_function_as_its_policy_and_sends_nothing_else(approve: Any):
    chat = chat_of("Never.")
    with pytest.raises(
        ValueError, match=r"approve is .*; expected a function of the call, or None"
    ):
        chat.ask("Wipe", approve=approve)
    assert chat.messages == ()


def test_ask_declines_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nbtools.face.asking.PING_FOR", 0.25)
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Then not.", tools=tools_that_ran(ran))
    assert chat.ask("Wipe").text == "Then not."
    assert (ran, chat.calls["k-1"].outcome) == ([], "declined")
    assert chat.calls["k-1"].error == "There is nobody here who could be asked."


@pytest.mark.parametrize(("typed", "runs"), [("y", True), ("yes", True), ("", False), ("n", False)])
def test_ask_asks_at_the_keyboard_where_no_click_arrives(
    monkeypatch: pytest.MonkeyPatch, typed: str, runs: bool
):
    monkeypatch.setattr("nbtools.face.asking.PING_FOR", 0.25)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or typed)
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "So.", tools=tools_that_ran(ran))
    chat.ask("Wipe")
    assert asked == ["Approve wipe_cache(force=False)? [y/N] "]
    assert bool(ran) is runs


def test_ask_waits_for_a_click_where_clicks_arrive(comms: list[RecordingComm]):
    ran: list[str] = []
    chat = chat_of([call("wipe_cache", id="k-1")], "Done.", tools=tools_that_ran(ran))
    front = Front(chat)

    def play(message: dict[str, Any]) -> None:
        if "ping" in message:
            front.post("pong", ping=message["ping"])
            front.post("approve", call="k-1", approved=True, digest=chat.calls["k-1"].call.digest)

    front.play = play
    assert chat.ask("Wipe").text == "Done."
    assert ran == ["wipe_cache False"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let an interrupt raise, as in a cell: what a shell runs in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_of_ask_stops_the_chat():
    """L-06: variant, the interrupt of a cell has the effect of Stop."""
    freed = threading.Event()

    @nb.tool
    def block() -> str:
        """Interrupt as a kernel is interrupted, then block."""
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        freed.wait(30)
        return "late"

    chat = chat_of([call("block", id="k-1")], "Hello.", tools=[block])
    with pytest.raises(KeyboardInterrupt):
        chat.ask("Go")
    assert chat.ask("Hi").text == "Hello."
    assert chat.calls["k-1"].outcome == "cancelled"
    freed.set()


# --- the widget ---------------------------------------------------------------------------------


class Front:
    """The page of a chat, at the other end of its recorded comm."""

    def __init__(self, chat: nb.Chat) -> None:
        self.chat = chat
        self.comm = chat.comm
        self.play: Any = lambda _: None
        (opened,) = [data for kind, data, _ in self.comm.traffic if kind == "comm_open"]
        self.copy = PageCopy(opened["state"]["state"])
        self._count = 0
        publish = self.comm.publish_msg

        def watch(msg_type: str, data: Any = None, **options: Any) -> None:
            publish(msg_type, data, **options)
            if data and data.get("method") == "custom":
                self.copy.receive(data["content"])
                self.play(data["content"])

        self.comm.publish_msg = watch

    def post(self, command: str, **fields: Any) -> None:
        """Send a command as the comm would deliver it."""
        self._count += 1
        state = self.chat.snapshot()
        head = {"id": f"c{self._count}", "chat": state["chat"], "boot": state["boot"]}
        self.deliver({"method": "custom", "content": {**head, "command": command, **fields}})

    def deliver(self, data: dict[str, Any]) -> None:
        self.comm.handle_msg({"content": {"data": data}, "buffers": []})


async def test_the_page_follows_through_the_comm(comms: list[RecordingComm]):
    ran: list[str] = []
    chat = chat_of(
        [say("Well. ", every=1), call("wipe_cache", id="k-1")], "Done.", tools=tools_that_ran(ran)
    )
    front, shown = Front(chat), threading.Event()

    def approve_once(_message: object) -> None:
        waiting = [c for m in front.copy.messages for c in m.get("parts", ()) if c.get("waiting")]
        if waiting and not ran:
            front.post("approve", call="k-1", approved=True, digest=waiting[0]["digest"])
        if front.copy.settings["status"] == "ready" and len(front.copy.messages) == 3:
            shown.set()

    front.play = approve_once
    front.post("send", text="Wipe")
    assert await asyncio.to_thread(shown.wait, 10)
    assert ran == ["wipe_cache False"]
    assert front.copy.state == PageCopy(chat.snapshot()).state
    json.dumps([known.traffic for known in comms], default=len)


async def test_a_new_view_gets_the_state_as_it_is(comms: list[RecordingComm]):
    chat = chat_of("Hello.")
    front = Front(chat)
    await chat.send("Hi")
    front.comm.traffic.clear()
    front.deliver({"method": "request_state"})
    (update,) = [data for _, data, _ in front.comm.traffic if data["method"] == "update"]
    snapshot = update["state"]["state"]
    front.comm.traffic.clear()
    assert PageCopy(snapshot).seq == snapshot["seq"]
    assert snapshot["widget"] == chat.model_id


async def test_the_state_is_never_sent_while_an_answer_streams(comms: list[RecordingComm]):
    chat = chat_of([say("word " * 50, every=5)])
    statuses: list[str] = []
    publish = chat.comm.publish_msg

    def watch(msg_type: str, data: Any = None, **options: Any) -> None:
        publish(msg_type, data, **options)
        if data and data.get("method") == "update" and "state" in data["state"]:
            statuses.append(chat.status)

    chat.comm.publish_msg = watch
    await chat.send("Talk")
    assert "running" not in statuses


async def test_what_changes_while_traits_are_held_reaches_the_page(comms: list[RecordingComm]):
    """F-07: variant, `hold_sync` is active."""
    chat = chat_of("Hello.")
    front, shown = Front(chat), threading.Event()
    front.play = lambda _: len(front.copy.messages) == 2 and shown.set()
    with chat.hold_sync():
        await chat.send("Hi")
        assert await asyncio.to_thread(shown.wait, 10)
    assert front.copy.messages[1]["parts"][0]["text"] == "Hello."


async def test_a_renderer_that_raises_is_replaced_by_a_note(comms: list[RecordingComm]):
    chat = chat_of([call("double", {"n": 2}, id="k-1")], "Four.", tools=[double])
    drawn = threading.Event()

    def draw(_known: ToolCall) -> str:
        raise ValueError("no picture")

    assert chat.renderer("double")(draw) is draw
    chat._session.subscribe(lambda event, _: event.type == "call-drawn" and drawn.set())
    assert (await chat.send("Go")).text == "Four."
    assert await asyncio.to_thread(drawn.wait, 10)
    shown = chat.calls["k-1"].call.drawn
    assert shown is not None
    assert "ValueError: no picture" in shown["nbt/error"]


async def test_what_a_renderer_sends_reaches_on_act_with_the_handle(comms: list[RecordingComm]):
    taken: list[tuple[str, Any]] = []
    heard = threading.Event()

    def on_act(known: CallHandle, changes: Any) -> None:
        taken.append((known.id, changes))
        heard.set()

    chat = chat_of([call("double", {"n": 2}, id="k-1")], "Four.", tools=[double], on_act=on_act)
    await chat.send("Go")
    Front(chat).post("act", call="k-1", changes={"zoom": 2})
    assert await asyncio.to_thread(heard.wait, 10)
    assert taken == [("k-1", {"zoom": 2})]


async def test_an_on_act_that_raises_is_told_in_the_chat(comms: list[RecordingComm]):
    told = threading.Event()

    def on_act(_known: CallHandle, _changes: Any) -> None:
        raise ValueError("no zoom")

    chat = chat_of(
        [call("double", {"n": 2}, id="k-1")], "Four.", "Hi.", tools=[double], on_act=on_act
    )
    await chat.send("Go")
    chat._session.subscribe(lambda *_: notices(chat) and told.set())
    Front(chat).post("act", call="k-1", changes={"zoom": 2})
    assert await asyncio.to_thread(told.wait, 10)
    assert notices(chat) == ["on_act failed. ValueError: no zoom"]
    assert (await chat.send("Hi")).text == "Hi."


class Framed(ipywidgets.DOMWidget):  # type: ignore[misc]
    """Holds widgets in traits of its own, as maps and grids do; one of them holds it, too."""

    inner = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)
    layers = traitlets.Dict().tag(sync=True, **ipywidgets.widget_serialization)
    children = traitlets.List(["no widget"]).tag(sync=True)


@pytest.mark.parametrize("several", [False, True])
async def test_clicks_come_in_from_every_widget_of_a_card(
    comms: list[RecordingComm], several: bool
):
    made: list[Any] = []

    @nb.tool
    def show() -> Any:
        """Show."""
        button, field = ipywidgets.Button(), ipywidgets.Text()
        framed = Framed(inner=button, layers={"all": [field]})
        box = ipywidgets.VBox([framed])
        framed.layers = {"all": [field], "around": [box]}
        made.extend([button, field, framed, box])
        for widget in made:
            widget.comm._reply_subshell_for = "main"
        return [b"\x89PNG\r\n\x1a\n" + bytes(20), box] if several else box

    chat = chat_of([call("show", id="k-1")], "Here.", tools=[show])
    await chat.send("Show")
    assert chat.calls["k-1"].outcome == "ok"
    assert [widget.comm._reply_subshell_for for widget in made] == [None] * 4


async def test_an_on_act_may_be_async_and_may_even_exit(comms: list[RecordingComm]):
    told = threading.Event()

    async def on_act(_known: CallHandle, changes: Any) -> None:
        raise SystemExit(changes["zoom"])

    chat = chat_of(
        [call("double", {"n": 2}, id="k-1")], "Four.", "Hi.", tools=[double], on_act=on_act
    )
    await chat.send("Go")
    chat._session.subscribe(lambda *_: notices(chat) and told.set())
    Front(chat).post("act", call="k-1", changes={"zoom": 2})
    assert await asyncio.to_thread(told.wait, 10)
    assert notices(chat) == ["on_act failed. SystemExit: 2"]
    assert (await chat.send("Hi")).text == "Hi."


async def test_closing_a_chat_closes_its_calls_and_its_comm(comms: list[RecordingComm]):
    chat = chat_of([call("wipe_cache", id="k-1")], tools=tools_that_ran([]))
    await chat.send("Wipe")
    comm = chat.comm
    chat.close()
    chat.close()
    assert chat.calls["k-1"].outcome == "cancelled"
    assert comm.traffic[-1][0] == "comm_close"


async def test_tools_get_the_hidden_context_and_no_one_sees_it():
    seen: list[Any] = []

    @nb.tool
    def use(ctx: ToolContext[dict[str, str]]) -> str:
        """Use the context."""
        seen.append((ctx.context, ctx.call_id))
        return "used"

    model = Strict([call("use", id="k-1")], "So.")
    chat = nb.Chat(model, tools=[use], context={"user": "ann"})
    await chat.send("Go")
    assert seen == [({"user": "ann"}, "k-1")]
    assert model.requests[0].tools[0].parameters["properties"] == {}


async def test_progress_and_output_stand_on_the_card_while_the_call_runs():
    seen: list[ToolCall] = []

    @nb.tool
    def work(ctx: ToolContext[None]) -> str:
        """Work."""
        print("half way")  # noqa: T201 - what a tool prints stands on its card
        ctx.progress(0.5, "half")
        return "done"

    chat = chat_of([call("work", id="k-1")], "So.", tools=[work])
    chat._session.subscribe(
        lambda event, _: event.type == "call-progressed" and seen.append(chat.calls["k-1"].call)
    )
    await chat.send("Go")
    assert seen[-1].progress is not None
    assert (seen[-1].progress.fraction, seen[-1].progress.text) == (0.5, "half")
    assert chat.calls["k-1"].call.output == "half way\n"
    assert chat.calls["k-1"].call.progress is None


async def test_partial_results_show_before_the_last_one():
    shown: list[Any] = []

    @nb.tool
    def steps() -> Any:
        """Give values."""
        yield "one"
        yield "two"

    chat = chat_of([call("steps", id="k-1")], "So.", tools=[steps])
    chat._session.subscribe(
        lambda event, _: event.type == "call-progressed" and shown.append(event.display)
    )
    await chat.send("Go")
    assert [bundle["text/plain"] for bundle in shown] == ["one", "two"]
    assert chat.results["steps"] == "two"
