"""One conversation on its engine: rounds of calls, stop, resume, and what goes wrong."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from pydantic import BeforeValidator

import nbtools as nb
from nbtools.errors import (
    AlreadyDecided,
    BadRequestError,
    ChatBusy,
    ChatWaiting,
    IllegalMove,
    OverloadedError,
    RateLimitError,
)
from nbtools.events import (
    CallStarted,
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFinish,
    ModelText,
    PartAdded,
)
from nbtools.messages import File, Notice, Reasoning, Request, Text, ToolCall
from nbtools.outcomes import cancelled_at_work, sentence
from nbtools.providers import Provider
from nbtools.testing import call, cut, fault, finish, hold, say, think, usage
from nbtools.tools import ToolContext
from tests.servers import Answer, Fault, ModelServer, calls_reply, chunk, fragment, sse, text_reply
from tests.stage import Page, Serve, Strict, serve, texts, tools_that_ran, until

__all__ = ["serve"]

ARO = '{"port":"Aro"}'


def kinds(page: Page) -> list[str]:
    """The parts of the conversation, in order."""
    messages = page.session.conversation.messages
    return [part.type for message in messages for part in message.parts]


def notices(page: Page) -> list[str]:
    messages = page.session.conversation.messages
    return [p.text for message in messages for p in message.parts if isinstance(p, Notice)]


def sent_calls(body: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The calls in a request: id, name, arguments decoded once."""
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in body["messages"]
        for call in message.get("tool_calls") or ()
    ]


def sent_results(body: dict[str, Any]) -> dict[str, str]:
    """The results in a request, by call."""
    return {
        message["tool_call_id"]: message["content"]
        for message in body["messages"]
        if message["role"] == "tool"
    }


def tide_tool(ran: list[str]) -> nb.Tool:
    @nb.tool
    async def tide_at(port: str) -> str:
        """Say when the tide comes."""
        ran.append(port)
        return f"tide at {port}"

    return tide_at


# --- rounds of calls ----------------------------------------------------------------------------


async def test_a_call_runs_and_its_result_goes_to_the_model():
    ran: list[str] = []
    model = Strict([say("Let me look. "), call("read_log", {"day": "mon"}, id="k-1")], "Rain.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Weather?")
    assert ran == ["read_log mon"]
    assert page.texts == ["Weather?", "Let me look. ", "Rain."]
    assert model.told == ["log of mon"]
    assert (page.shown["status"], model.refused) == ("ready", [])


async def test_calls_of_one_reply_run_at_the_same_time_up_to_a_limit():
    inside, most = 0, 0

    @nb.tool
    async def count(n: int) -> int:
        """Count who is inside."""
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        await asyncio.sleep(0.01)
        inside -= 1
        return n

    calls = [call("count", {"n": n}, id=f"k-{n}") for n in range(20)]
    page = Page(Strict(calls, "Counted."), [count])
    await page.say("Count")
    assert [known.value for known in page.calls] == list(range(20))
    assert most == 8


async def test_the_next_request_waits_for_every_call_of_the_reply():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"}), call("wipe_cache", {})], "Done.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Go")
    assert (len(model.requests), page.session.conversation.status) == (1, "waiting")
    page.command("decline", call=page.calls[1].id)
    await page.session.rest()
    assert len(model.requests) == 2


async def test_after_the_last_round_the_model_is_asked_once_more_without_tools():
    ran: list[str] = []
    again = [call("read_log", {"day": "mon"}, id="")]
    model = Strict(again, again, again, again, "never sent")
    page = Page(model, tools_that_ran(ran), max_roundtrips=2)
    await page.say("Loop")
    assert [request.choice for request in model.requests] == ["auto", "auto", "auto", "none"]
    assert [known.outcome for known in page.calls] == ["ok", "ok", "limit", "limit"]
    assert all(len(request.tools) == 2 for request in model.requests)
    assert page.calls[2].told == sentence(
        "limit", "2 rounds of tool calls in answer to one message."
    )
    assert (len(ran), page.session.conversation.status) == (2, "ready")


async def test_no_round_is_allowed_with_a_limit_of_none():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"})], "Then not.")
    page = Page(model, tools_that_ran(ran), max_roundtrips=0)
    await page.say("Read")
    assert (ran, page.texts[-1]) == ([], "Then not.")
    assert [request.choice for request in model.requests] == ["auto", "none"]


async def test_a_new_question_starts_the_count_of_rounds_again_and_an_approval_does_not():
    ran: list[str] = []
    wipe = [call("wipe_cache", {}, id="")]
    model = Strict(wipe, wipe, "Enough.", wipe)
    page = Page(model, tools_that_ran(ran), max_roundtrips=1)
    await page.say("Wipe")
    page.approve(page.calls[0].id)
    await page.session.rest()
    assert [known.outcome for known in page.calls] == ["ok", "limit"]
    await page.say("Again")
    assert page.calls[2].waiting == "approval"


async def test_a_notice_between_rounds_does_not_start_the_count_again():
    ran: list[str] = []
    wipe = [call("wipe_cache", {}, id="")]
    page = Page(Strict(wipe, wipe, "Enough."), tools_that_ran(ran), max_roundtrips=1)
    await page.say("Wipe")
    page.session.notice("The instructions were changed.")
    page.approve(page.calls[0].id)
    await page.session.rest()
    assert [known.outcome for known in page.calls] == ["ok", "limit"]


async def test_a_reply_that_broke_off_does_not_count_as_a_round():
    ran: list[str] = []
    read = call("read_log", {"day": "mon"})
    model = Strict([read, cut()], [read, cut()], [read], "Rain.")
    page = Page(model, tools_that_ran(ran), max_roundtrips=1)
    await page.say("Read")
    for _ in range(2):
        page.command("resend")
        await page.session.rest()
    assert [request.choice for request in model.requests] == ["auto"] * 4
    assert (ran, page.texts[-1]) == (["read_log mon"], "Rain.")


async def test_the_same_call_with_the_same_failure_is_not_run_a_fourth_time():
    tries = []

    @nb.tool
    async def fetch(name: str) -> str:
        """Fetch."""
        tries.append(name)
        raise ValueError(f"no {name}")

    again = [call("fetch", {"name": "x"}, id="")]
    model = Strict(*[again] * 4, "I give up.")
    page = Page(model, [fetch], max_roundtrips=9)
    await page.say("Fetch")
    assert [known.outcome for known in page.calls] == ["failed", "failed", "failed", "limit"]
    assert len(tries) == 3
    assert "the same call failed before in the same way (ValueError: no x)" in page.calls[3].told


async def test_held_back_results_go_out_with_resume_and_keep_to_the_limit():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"})], [call("read_log", {"day": "tue"})], "So.")
    page = Page(model, tools_that_ran(ran), auto_send=False, max_roundtrips=1)
    await page.say("Read")
    assert (ran, page.session.conversation.status) == (["read_log mon"], "waiting")
    for _ in range(2):
        page.command("resend")
        await page.session.rest()
    assert [request.choice for request in model.requests] == ["auto", "auto", "none"]
    assert (ran, page.session.conversation.status) == (["read_log mon"], "ready")


async def test_the_next_message_carries_held_back_results_with_it():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"})], "Rain.")
    page = Page(model, tools_that_ran(ran), auto_send=False)
    await page.say("Read")
    await page.say("Well?")
    assert model.told == ["log of mon"]
    assert model.refused == []


async def test_resume_names_the_calls_that_are_open():
    page = Page(Strict([call("wipe_cache", {}, id="k-1")]), tools_that_ran([]))
    await page.say("Wipe")
    with pytest.raises(ChatWaiting, match=r"wipe_cache \(k-1\)"):
        page.session.resume()


async def test_resume_with_nothing_to_send_sends_nothing():
    model = Strict("Hi.")
    page = Page(model)
    await page.say("Hello")
    page.session.resume()
    assert (len(model.requests), page.session.conversation.status) == (1, "ready")


# --- None and PENDING ---------------------------------------------------------------------------


async def test_none_from_a_function_is_a_result():
    @nb.tool
    def nothing() -> None:
        """Return nothing."""

    model = Strict([call("nothing", id="k-1")], "Fine.")
    page = Page(model, [nothing])
    await page.say("Do")
    assert (page.call("k-1").outcome, page.call("k-1").value) == ("ok", None)
    assert model.told == ["null"]


async def test_none_from_a_handler_means_not_handled_and_a_result_of_none_is_one():
    async def handle(known: ToolCall, _ctx: ToolContext[Any]) -> object:
        return nb.Result(None) if known.args == {"n": 1} else None

    ask = nb.Tool("ask", "Ask.", {"type": "object", "properties": {"n": {"type": "integer"}}})
    model = Strict([call("ask", {"n": 1}, id="k-1"), call("ask", {"n": 2}, id="k-2")], "Fine.")
    page = Page(model, [ask], on_tool_call=handle)
    await page.say("Ask")
    assert (page.call("k-1").outcome, page.call("k-1").value) == ("ok", None)
    assert (page.call("k-2").state, page.call("k-2").waiting) == ("pending", "result")
    page.command("answer", call="k-2", value=None)
    await page.session.rest()
    assert (page.call("k-2").outcome, page.texts[-1]) == ("ok", "Fine.")


async def test_pending_from_a_function_waits_for_a_person():
    @nb.tool
    def ask_them() -> object:
        """Ask somebody."""
        return nb.PENDING

    model = Strict([call("ask_them", id="k-1")], "Thanks.")
    page = Page(model, [ask_them])
    await page.say("Ask")
    assert page.call("k-1").waiting == "result"
    assert page.command("answer", call="k-1", value={"choice": 2})["ok"]
    await page.session.rest()
    assert model.told == ['{"choice":2}']


async def test_a_handler_that_fails_ends_its_call_and_nothing_else():
    async def handle(known: ToolCall, _ctx: ToolContext[Any]) -> object:
        raise asyncio.CancelledError

    ask = nb.Tool("ask", "Ask.", {"type": "object", "properties": {}})
    page = Page(Strict([call("ask", id="k-1")], "Then not."), [ask], on_tool_call=handle)
    await page.say("Ask")
    assert (page.call("k-1").outcome, page.call("k-1").error) == ("failed", "CancelledError")
    assert page.texts[-1] == "Then not."


# --- the wire, through the whole session --------------------------------------------------------


async def test_a_call_without_a_usable_id_has_one_for_card_result_and_replay(serve: Serve):
    """W-01: bodies A and B; one card, one run, one id everywhere."""
    for first, later in (("", None), ("k-7", "")):
        ran: list[str] = []
        body = sse(
            fragment(1, first, "tide_at", ""),
            fragment(1, later, later, '{"port":'),
            fragment(1, later, later, '"Aro"}'),
            chunk({}, "tool_calls"),
        )
        page, server = serve(body, text_reply("High at six."), tools=[tide_tool(ran)])
        await page.say("Tide?")
        (known,) = page.calls
        assert (ran, known.outcome, known.id or None) == (["Aro"], "ok", first or known.id)
        assert sent_calls(server.requests[1]) == [(known.id, "tide_at", {"port": "Aro"})]
        assert sent_results(server.requests[1]) == {known.id: "tide at Aro"}
        assert server.refused == []


async def test_two_calls_without_ids_have_different_ones(serve: Serve):
    """W-01: variant."""
    ran: list[str] = []
    body = calls_reply(("", "tide_at", ARO), ("", "tide_at", '{"port":"Vik"}'))
    page, server = serve(body, text_reply("So."), tools=[tide_tool(ran)])
    await page.say("Tides?")
    assert sorted(ran) == ["Aro", "Vik"]
    assert len({known.id for known in page.calls}) == 2
    assert list(sent_results(server.requests[1]).values()) == ["tide at Aro", "tide at Vik"]


async def test_the_same_ids_in_every_reply_stay_apart(serve: Serve):
    """W-01: an id is unique in the conversation, not in its message alone."""
    ran: list[str] = []
    body = calls_reply(("call_0", "tide_at", ARO))
    page, server = serve(body, body, text_reply("So."), tools=[tide_tool(ran)])
    await page.say("Tides?")
    assert [known.outcome for known in page.calls] == ["ok", "ok"]
    assert len({known.id for known in page.calls}) == 2
    assert server.refused == []


@pytest.mark.parametrize("arguments", ["", None, "   ", "null", "{}"])
async def test_no_arguments_are_an_empty_object(serve: Serve, arguments: str | None):
    """W-02: the tool runs once, and the replay has `{}`."""
    ran = []

    @nb.tool
    async def moon_phase() -> str:
        """Say the phase of the moon."""
        ran.append(1)
        return "full"

    body = sse(fragment(0, "k-1", "moon_phase", arguments), chunk({}, "tool_calls"))
    page, server = serve(body, text_reply("Full."), tools=[moon_phase])
    await page.say("Moon?")
    assert (ran, page.call("k-1").args) == ([1], {})
    assert sent_calls(server.requests[1]) == [("k-1", "moon_phase", {})]


async def test_a_missing_argument_is_told_to_the_model(serve: Serve):
    """W-02: a required parameter."""
    ran: list[str] = []
    body = calls_reply(("k-1", "tide_at", ""))
    page, server = serve(body, text_reply("Which port?"), tools=[tide_tool(ran)])
    await page.say("Tide?")
    assert (ran, page.call("k-1").outcome, page.texts[-1]) == ([], "invalid", "Which port?")
    assert "'port'" in sent_results(server.requests[1])["k-1"]


@pytest.mark.parametrize("arguments", ['"{\\"rows\\": 3}"', {"rows": 3}, '{"rows": 3}'])
async def test_arguments_are_encoded_exactly_once_in_the_replay(serve: Serve, arguments: object):
    """W-03: encoded twice, or a ready object."""
    ran = []

    @nb.tool
    async def plot_rows(rows: int) -> str:
        """Plot."""
        ran.append(rows)
        return "plotted"

    body = sse(fragment(0, "k-1", "plot_rows", arguments), chunk({}, "tool_calls"))  # type: ignore[arg-type]
    page, server = serve(body, text_reply("There."), tools=[plot_rows])
    await page.say("Plot")
    assert ran == [3]
    assert sent_calls(server.requests[1]) == [("k-1", "plot_rows", {"rows": 3})]


async def test_a_text_that_looks_like_json_stays_a_text():
    """W-03: variant."""
    ran = []

    @nb.tool
    async def note(text: str) -> None:
        """Note."""
        ran.append(text)

    page = Page(Strict([call("note", {"text": '{"rows": 3}'})], "Noted."), [note])
    await page.say("Note")
    assert ran == ['{"rows": 3}']


async def test_parallel_calls_on_one_index_are_two_runs_with_two_results(serve: Serve):
    """W-04: form 1."""
    ran: list[str] = []
    body = sse(
        fragment(0, "k-1", "tide_at", '{"port":"Bergen"}'),
        fragment(0, "k-2", "tide_at", '{"port":"Oslo"}'),
        chunk({}, "tool_calls"),
    )
    page, server = serve(body, text_reply("So."), tools=[tide_tool(ran)])
    await page.say("Tides?")
    assert sorted(ran) == ["Bergen", "Oslo"]
    assert sent_results(server.requests[1]) == {"k-1": "tide at Bergen", "k-2": "tide at Oslo"}


async def test_two_objects_in_one_call_are_never_run_as_one(serve: Serve):
    """W-04: form 3."""
    ran: list[str] = []
    glued = '{"port":"Bergen"}{"port":"Oslo"}'
    page, server = serve(
        calls_reply(("k-1", "tide_at", glued)), text_reply("Sorry."), tools=[tide_tool(ran)]
    )
    await page.say("Tides?")
    assert (ran, page.call("k-1").outcome) == ([], "invalid")
    assert glued[17:30] in page.call("k-1").error
    assert (server.refused, page.texts[-1]) == ([], "Sorry.")
    page.command("rerun", call="k-1")
    await page.session.rest()
    assert (ran, page.calls[1].outcome) == ([], "invalid")


async def test_text_a_call_and_more_text_keep_their_order_on_the_page_and_in_replay(serve: Serve):
    """W-05: while it streams, after its end, after a snapshot, and in the next request."""
    ran: list[str] = []
    gate = threading.Event()
    body = sse(
        chunk({"role": "assistant", "content": "Checking. "}),
        fragment(0, "k-1", "tide_at", ARO),
        chunk({"content": "Then I'll sum it up."}),
        done=False,
    )
    page, server = serve(
        [body, gate, sse(chunk({}, "tool_calls"))], text_reply("Six."), tools=[tide_tool(ran)]
    )
    page.command("send", text="Tide?")
    streamed = asyncio.Event()
    page.session.subscribe(lambda *_: kinds(page)[1:] == order and streamed.set())
    order = ["text", "tool-call", "text"]
    await streamed.wait()
    page.session.flush()
    assert [part["type"] for part in page.shown["messages"][1]["parts"]] == order
    gate.set()
    await page.session.rest()
    first = page.shown["messages"][1]
    assert [part["type"] for part in first["parts"]] == order
    assert [first["parts"][n]["text"] for n in (0, 2)] == ["Checking. ", "Then I'll sum it up."]
    page.command("sync")
    assert page.shown["messages"][1] == first
    asked = json.dumps(server.requests[1]["messages"])
    assert "Checking. " in asked
    assert "Then I'll sum it up." in asked
    assert sent_calls(server.requests[1]) == [("k-1", "tide_at", {"port": "Aro"})]


async def test_two_calls_with_text_between_keep_their_order():
    """W-05: variant."""
    ran: list[str] = []
    log = call("read_log", {"day": "mon"})
    page = Page(
        Strict([log, say("and"), call("read_log", {"day": "tue"})], "."), tools_that_ran(ran)
    )
    await page.say("Read")
    assert kinds(page) == ["text", "tool-call", "text", "tool-call", "text"]


async def test_calls_that_end_with_stop_run(serve: Serve):
    """W-06: body B."""
    ran: list[str] = []
    body = sse(fragment(0, "k-1", "tide_at", ARO), chunk({}, "stop"))
    page, server = serve(body, text_reply("Six."), tools=[tide_tool(ran)])
    await page.say("Tide?")
    assert (ran, len(server.requests), page.texts[-1]) == (["Aro"], 2, "Six.")


async def test_tool_calls_without_a_call_end_the_turn(serve: Serve):
    """W-06: body C."""
    page, server = serve(sse(chunk({"content": "All set."}), chunk({}, "tool_calls")))
    await page.say("Ready?")
    assert (len(server.requests), page.texts[-1]) == (1, "All set.")
    assert page.session.conversation.status == "ready"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_call_in_a_reply_that_was_not_whole_is_not_run(serve: Serve, reason: str):
    """W-06: `length` and a filter are never turned into success, complete arguments or not."""
    ran: list[str] = []
    body = sse(fragment(0, "k-1", "tide_at", ARO), chunk({}, reason))
    page, server = serve(body, text_reply("Hello."), tools=[tide_tool(ran)])
    await page.say("Tide?")
    assert (ran, page.call("k-1").outcome, len(server.requests)) == ([], "incomplete", 1)
    assert len(notices(page)) == 1
    await page.say("Go on")
    assert (server.refused, page.texts[-1]) == ([], "Hello.")


@pytest.mark.parametrize("reason", ["eos", None])
async def test_an_odd_end_with_done_is_an_end(serve: Serve, reason: str | None):
    """W-06: an unknown word, and none with `[DONE]`."""
    ran: list[str] = []
    body = sse(fragment(0, "k-1", "tide_at", ARO), chunk({}, reason))
    page, _ = serve(body, text_reply("Six."), tools=[tide_tool(ran)])
    await page.say("Tide?")
    assert (ran, page.texts[-1]) == (["Aro"], "Six.")


async def test_odd_chunks_leave_one_text_and_the_last_usage(serve: Serve):
    """W-07: through the session; usage is taken, not summed."""
    counted = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
    body = sse(
        {"id": "c-1", "choices": [], "prompt_filter_results": []},
        {"id": "c-1", "choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        chunk({"role": "assistant", "content": None}),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        {"choices": [], "usage": counted},
        {"choices": None, "usage": counted},
    )
    page, _ = serve(body)
    await page.say("Hello")
    reply = page.session.conversation.messages[-1]
    assert [part.text for part in reply.parts if isinstance(part, Text)] == ["Hi"]
    assert len(reply.parts) == 1
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (11, 2)


CUT_TEXT = sse(chunk({"content": "The sum is 4"}), done=False)
CUT_CALL = sse(fragment(0, "k-1", "tide_at", '{"port":"re'), done=False)
WHOLE_CALL = sse(fragment(0, "k-1", "tide_at", ARO), done=False)


@pytest.mark.parametrize("body", [CUT_TEXT, CUT_CALL, WHOLE_CALL])
@pytest.mark.parametrize("end", ["whole", "cut"])
async def test_a_reply_that_broke_off_runs_nothing_and_the_next_message_works(
    serve: Serve, body: str, end: Any
):
    """W-11: bodies A and B, arguments that happen to be whole, a clean close and a broken one."""
    ran: list[str] = []
    page, server = serve(
        Answer(pieces=[body], end=end), text_reply("Hello."), tools=[tide_tool(ran)]
    )
    await page.say("Tide?")
    reply = page.session.conversation.messages[-1]
    assert reply.finish in ("cut", "failed")
    assert (ran, page.session.conversation.status) == ([], "error")
    failure = page.session.conversation.error
    assert failure is not None
    assert (failure.kind, failure.retry) in [("StreamError", True), ("ConnectionError", True)]
    if body is CUT_TEXT:
        assert page.texts[-1] == "The sum is 4"
    else:
        assert (page.call("k-1").state, page.call("k-1").outcome) == ("error", "incomplete")
    await page.say("Go on")
    assert (server.refused, page.texts[-1], ran) == ([], "Hello.", [])


async def test_a_reply_that_never_says_why_it_ends_is_whole(serve: Serve):
    """W-11: body C, no warning."""
    page, _ = serve(sse(chunk({"content": "Done."}), chunk({})))
    await page.say("Well?")
    assert (page.texts[-1], notices(page)) == ("Done.", [])
    assert page.session.conversation.status == "ready"


async def test_half_read_arguments_are_not_run_by_running_the_call_again():
    """W-11: neither repaired nor half of them, whoever asks."""
    ran: list[str] = []

    @nb.tool
    async def remove_file(path: str = "", force: bool = False) -> str:
        """Remove a file."""
        ran.append(path)
        return "gone"

    half = [call("remove_file", '{"path":"report.csv","force":tr', id="k-1"), cut()]
    page = Page(Strict(half), [remove_file])
    await page.say("Remove")
    assert page.call("k-1").args == {"path": "report.csv"}
    page.command("rerun", call="k-1")
    await page.session.rest()
    assert (ran, page.calls[1].outcome) == ([], "invalid")


@pytest.mark.parametrize("name", ["files.read all()", "x" * 90, "", "<img src=x>", "Tide_At"])
async def test_a_tool_that_does_not_exist_is_named_and_the_chat_goes_on(serve: Serve, name: str):
    """W-13: odd characters, 90 of them, an empty name, markup, another case."""
    ran: list[str] = []
    body = sse(fragment(0, "k-1", name, ARO), chunk({}, "tool_calls"))
    page, server = serve(body, text_reply("Sorry."), text_reply("Gone on."), tools=[tide_tool(ran)])
    await page.say("Tide?")
    (known,) = page.calls
    assert (known.tool, known.outcome, ran) == (name, "unknown", [])
    assert "The tools are: tide_at." in known.told
    await page.say("go on")
    assert (server.refused, page.texts[-1]) == ([], "Gone on.")


async def test_a_tool_that_does_not_exist_counts_against_the_limit():
    """W-13: the loop goes on and counts it."""
    model = Strict([call("nope", id="")], [call("nope", id="")], "Enough.")
    page = Page(model, tools_that_ran([]), max_roundtrips=1)
    await page.say("Go")
    assert [known.outcome for known in page.calls] == ["unknown", "limit"]
    assert [request.choice for request in model.requests] == ["auto", "auto", "none"]


# --- values -------------------------------------------------------------------------------------


def strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


async def test_numbers_that_json_has_not_arrive_as_text_on_both_ways(
    serve: Serve, recwarn: pytest.WarningsRecorder
):
    """R-01: what goes to the provider and over the comm is strict; the object stays in reach."""
    itself: dict[str, Any] = {"n": 1}
    itself["self"] = itself
    value = {
        "mean": float("nan"), "hi": float("inf"), "n": np.int64(3), "row": np.arange(3),
        "at": datetime(2024, 5, 1, tzinfo=UTC), ("a", 1): {2, 1}, "cost": Decimal("1.20"),
        "who": UUID(int=1), "na": pd.NA, "nat": pd.NaT, "itself": itself,
    }  # fmt: skip

    @nb.tool
    def stats() -> object:
        """Give numbers."""
        return value

    page, server = serve(calls_reply(("k-1", "stats", "{}")), text_reply("So."), tools=[stats])
    await page.say("Stats?")
    told = strict_json(sent_results(server.requests[1])["k-1"])
    assert (told["mean"], told["hi"]) == ("NaN", "Infinity")
    assert (told["n"], told["row"], told['["a", 1]']) == (3, [0, 1, 2], [1, 2])
    assert (told["at"], told["cost"]) == ("2024-05-01T00:00:00+00:00", "1.20")
    for message in page.sent:
        strict_json(json.dumps(message))
    assert page.session.results["stats"] is value
    assert list(recwarn) == []


async def test_nan_in_the_arguments_of_the_model_is_refused_or_text(serve: Serve):
    """R-01: variant."""
    ran: list[str] = []
    body = calls_reply(("k-1", "tide_at", '{"port": NaN}'))
    page, server = serve(body, text_reply("Sorry."), tools=[tide_tool(ran)])
    await page.say("Tide?")
    assert (page.call("k-1").outcome, ran, page.texts[-1]) == ("invalid", [], "Sorry.")
    assert server.refused == []


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_bytes_are_a_picture_or_a_note(serve: Serve, kind: Callable[[bytes], object]):
    """R-02: neither noise nor an exception; 10 MB of them as well."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)

    @nb.tool
    def thumb(size: int) -> object:
        """Draw."""
        return kind(png if size == 0 else b"\xff\x00" * size)

    @nb.tool
    def pack() -> dict[str, object]:
        """Pack."""
        return {"blob": kind(b"\xff\x00"), "n": 2}

    calls = calls_reply(
        ("k-1", "thumb", '{"size":0}'), ("k-2", "pack", "{}"), ("k-3", "thumb", '{"size":5000000}')
    )
    page, server = serve(calls, text_reply("So."), text_reply("Yes."), tools=[thumb, pack])
    await page.say("Draw")
    results = sent_results(server.requests[1])
    assert all(len(text) < 500 for text in results.values())
    assert "b'" not in "".join(results.values())
    assert strict_json(results["k-2"]) == {"blob": "<2 bytes>", "n": 2}
    await page.say("And?")
    assert (server.refused, page.texts[-1]) == ([], "Yes.")


class Odd(BaseException):
    """An exception outside `Exception`."""


class Silent(Exception):  # noqa: N818 - a sentence about it
    def __str__(self) -> str:
        raise RuntimeError("no text")


async def test_five_parallel_calls_of_which_four_raise_have_five_results(serve: Serve):
    """R-03: every kind of exception is one result; siblings and the turn go on."""

    @nb.tool
    def a() -> None:
        """Raise."""
        raise ValueError

    @nb.tool
    def b() -> None:
        """Raise."""
        raise KeyError("x")

    @nb.tool
    def c() -> None:
        """Raise."""
        raise Odd

    @nb.tool
    def d() -> None:
        """Raise."""
        raise RuntimeError("\ud800 lone surrogate")

    @nb.tool
    async def ok() -> str:
        """Return."""
        return "fine"

    calls = calls_reply(*((f"k-{name}", name, "{}") for name in ("a", "b", "c", "d", "ok")))
    page, server = serve(calls, text_reply("Four failed."), tools=[a, b, c, d, ok])
    await page.say("Try")
    results = sent_results(server.requests[1])
    assert results == {
        "k-a": "The tool failed: ValueError",
        "k-b": "The tool failed: KeyError: 'x'",
        "k-c": "The tool failed: Odd",
        "k-d": "The tool failed: RuntimeError: \ufffd lone surrogate",
        "k-ok": "fine",
    }
    assert [known.outcome for known in page.calls] == ["failed"] * 4 + ["ok"]
    assert all("raise" in known.trace for known in page.calls[:4])
    assert "Traceback" not in json.dumps(server.requests[1])
    assert page.texts[-1] == "Four failed."


@pytest.mark.parametrize(
    ("raised", "outcome", "error"),
    [
        (Silent(), "failed", "Silent"),
        (ExceptionGroup("two", [ValueError("x"), KeyError("y")]), "failed",
         "ExceptionGroup: two (2 sub-exceptions); ValueError: x; KeyError: 'y'"),
        (nb.ToolError("The door is shut."), "failed", "The door is shut."),
        (KeyboardInterrupt(), "cancelled", "It was interrupted."),
        (SystemExit(3), "failed", "SystemExit: 3"),
        (GeneratorExit(), "failed", "GeneratorExit"),
        (TimeoutError(), "failed", "TimeoutError"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_tool_raises_is_the_end_of_its_call_alone(
    raised: BaseException, outcome: str, error: str, is_async: bool
):
    """R-03: variants."""

    async def later() -> None:
        raise raised

    def now() -> None:
        raise raised

    tool = nb.Tool("boom", "Raise.", function=later if is_async else now)
    ran: list[str] = []
    model = Strict([call("boom", id="k-1"), call("read_log", {"day": "mon"}, id="k-2")], "So.")
    page = Page(model, [tool, *tools_that_ran(ran)])
    await page.say("Try")
    assert page.call("k-1").outcome == outcome
    assert error in page.call("k-1").error
    assert (page.call("k-2").outcome, page.texts[-1]) == ("ok", "So.")
    if isinstance(raised, nb.ToolError):
        assert model.told[0] == "The door is shut."


async def test_an_unserialisable_value_is_described_and_kept():
    class Handle:
        def __repr__(self) -> str:
            return "<handle>"

    handle = Handle()

    @nb.tool
    def open_it() -> object:
        """Open."""
        return handle

    model = Strict([call("open_it", id="k-1")], "Open.")
    page = Page(model, [open_it])
    await page.say("Open")
    assert model.told == ['"<handle>"']
    assert page.session.results["k-1"] is handle
    json.dumps(page.shown)


async def test_a_tool_may_change_its_arguments_and_the_card_shows_what_it_was_given():
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}}

    def add(rows: list[int]) -> list[int]:
        rows.append(4)
        return rows

    model = Strict([call("add", {"rows": [1]}, id="k-1")], "Added.")
    page = Page(model, [nb.Tool("add", "Add.", schema, add)])
    await page.say("Add")
    assert (page.call("k-1").args, page.call("k-1").value) == ({"rows": [1]}, [1, 4])


# --- stop and cancel ----------------------------------------------------------------------------


async def test_stop_cancels_what_runs_at_once_and_what_comes_late_changes_nothing():
    """L-06: an async tool is cancelled, a blocking one is left behind; `hi` is accepted."""
    hits: list[int] = []
    three, release, ended = asyncio.Event(), threading.Event(), threading.Event()

    @nb.tool
    async def count() -> None:
        """Count."""
        for number in range(100):
            hits.append(number)
            if len(hits) == 3:
                three.set()
            await asyncio.sleep(0.005)

    @nb.tool
    def block() -> str:
        """Block."""
        release.wait(10)
        ended.set()
        return "late"

    model = Strict([call("count", id="k-1"), call("block", id="k-2")], "Hello.")
    page = Page(model, [count, block])
    page.command("send", text="Run")
    await three.wait()
    assert page.command("stop")["ok"]
    assert [known.outcome for known in page.calls] == ["cancelled", "cancelled"]
    assert page.session.conversation.status == "ready"
    stopped = len(hits)
    release.set()
    await asyncio.to_thread(ended.wait, 10)
    assert page.command("stop")["ok"]
    await page.say("hi")
    assert len(hits) <= stopped + 1
    assert [known.outcome for known in page.calls] == ["cancelled", "cancelled"]
    assert model.told == [cancelled_at_work()] * 2
    assert (model.refused, page.texts[-1]) == ([], "Hello.")


async def test_a_tool_that_swallows_its_cancellation_holds_up_nobody():
    """L-06: variant; it is given up."""
    started, freed = asyncio.Event(), asyncio.Event()

    @nb.tool
    async def stubborn() -> str:
        """Go on."""
        started.set()
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    page = Page(Strict([call("stubborn", id="k-1")], "Hello."), [stubborn])
    page.command("send", text="Run")
    await started.wait()
    page.command("stop")
    await page.say("hi")
    assert (page.call("k-1").outcome, page.texts[-1]) == ("cancelled", "Hello.")
    freed.set()
    await asyncio.sleep(0)
    assert page.call("k-1").outcome == "cancelled"


async def test_one_running_call_is_cancelled_and_the_rest_of_the_turn_goes_on():
    started = asyncio.Event()

    @nb.tool
    async def wait_long() -> None:
        """Wait."""
        started.set()
        await asyncio.Event().wait()

    ran: list[str] = []
    model = Strict([call("wait_long", id="k-1"), call("read_log", {"day": "mon"}, id="k-2")], "So.")
    page = Page(model, [wait_long, *tools_that_ran(ran)])
    page.command("send", text="Run")
    await started.wait()
    assert page.command("cancel", call="k-1")["ok"]
    await page.session.rest()
    assert model.told == [cancelled_at_work(), "log of mon"]
    assert page.command("cancel", call="k-1")["error"] == "late"


async def test_stop_before_the_first_word_asks_nothing_more():
    model = Strict("Hello.")
    page = Page(model)
    page.command("send", text="Hi")
    page.command("stop")
    await page.session.rest()
    assert (page.session.conversation.status, model.requests) == ("ready", [])
    await page.say("Again")
    assert page.texts == ["Hi", "Again", "Hello."]


async def test_a_stopped_answer_keeps_what_it_said_and_says_that_it_was_stopped():
    gate = asyncio.Event()
    heard = asyncio.Event()
    page = Page(Strict([say("Once upon"), hold(gate)], "Hello."))
    page.session.subscribe(lambda *_: page.texts == ["Tell", "Once upon"] and heard.set())
    page.command("send", text="Tell")
    await heard.wait()
    page.command("stop")
    assert page.session.conversation.messages[-1].finish == "stopped"
    await page.say("Go on")
    assert page.texts == ["Tell", "Once upon", "Go on", "Hello."]


async def test_a_provider_that_speaks_on_after_stop_is_not_heard():
    begun, spoken, freed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Deaf(Provider):
        label = "deaf"

        async def stream(self, request: Request, **_: Any) -> AsyncGenerator[list[ModelEvent]]:
            yield [ModelText("One ")]
            if begun.is_set():
                yield [ModelFinish("stop")]
                return
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                yield [ModelText("two ")]
                yield [ModelText("three")]
            spoken.set()
            await freed.wait()
            yield [ModelFinish("stop")]

    page = Page(Deaf())
    page.command("send", text="Hi")
    await begun.wait()
    page.session.flush()
    page.command("stop")
    await spoken.wait()
    await page.say("Again")
    assert page.texts == ["Hi", "One ", "Again", "One "]
    freed.set()
    await asyncio.sleep(0)
    assert [known.finish for known in page.session.conversation.messages] == [
        "",
        "stopped",
        "",
        "stop",
    ]


async def test_a_tool_that_takes_too_long_is_ended_and_the_model_is_told():
    async def slow() -> None:
        await asyncio.Event().wait()

    model = Strict([call("slow", id="k-1")], "Too slow.")
    page = Page(model, [nb.Tool("slow", "Wait.", function=slow, timeout=0.01)])
    await page.say("Wait")
    assert (page.call("k-1").outcome, page.call("k-1").error) == (
        "timeout",
        "It took over 0.01 s.",
    )
    assert model.told == [sentence("timeout", "It took over 0.01 s.")]


# --- what the model's side does wrong -----------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        Fault(400, {"error": {"message": "Bad."}}),
        Fault(404, "<html>no</html>"),
        Fault(401),
        Answer(pieces=["data: {broken\n\n"]),
        Answer(pieces=["not an event stream at all"]),
        Answer(pieces=[b"\xff\xfe\x00"]),
        Answer(),
    ],
)
async def test_a_bad_answer_is_an_error_in_the_chat_and_the_next_message_works(
    serve: Serve, answer: Answer
):
    page, server = serve(text_reply("Hello."), answer, text_reply("Back."))
    await page.say("Hi")
    await page.say("Again")
    failure = page.shown["error"]
    assert failure["text"]
    assert page.session.error is not None
    assert page.texts[:2] == ["Hi", "Hello."]
    await page.say("Once more")
    assert (page.texts[-1], page.session.conversation.error) == ("Back.", None)
    assert server.refused == []


@pytest.mark.usefixtures("quick")
async def test_a_refused_connection_is_an_error_and_can_be_tried_again(serve: Serve):
    page, server = serve(text_reply("Here."))
    down = nb.OpenAI("m-1", base_url="http://127.0.0.1:9/v1", api_key="")
    up, page.session.settings.provider = page.session.settings.provider, down
    await page.say("Hi")
    assert page.shown["error"]["kind"] == "ConnectionError"
    assert page.shown["error"]["retry"] is True
    page.session.settings.provider = up
    assert page.command("resend")["ok"]
    await page.session.rest()
    assert (page.texts, server.refused) == (["Hi", "Here."], [])
    await down.close()


@pytest.mark.parametrize(
    "raised", [RuntimeError("bug"), Odd("odd"), asyncio.CancelledError(), SystemExit(2), KeyError()]
)
@pytest.mark.parametrize("begun", [False, True])
async def test_whatever_a_provider_raises_is_an_error_and_the_next_message_works(
    raised: BaseException, begun: bool
):
    class Rude(Provider):
        label = "rude"
        polite = False

        async def stream(self, request: Request, **_: Any) -> AsyncGenerator[list[ModelEvent]]:
            if not self.polite:
                if begun:
                    yield [ModelText("Well")]
                raise raised
            yield [ModelText("Hello."), ModelFinish("stop")]

    model = Rude()
    page = Page(model)
    await page.say("Hi")
    failure = page.session.conversation.error
    assert failure is not None
    assert failure.text.startswith(f"The model's provider failed: {type(raised).__name__}")
    assert page.session.conversation.status == "error"
    model.polite = True
    await page.say("Again")
    assert page.texts[-1] == "Hello."


NO_TEXT: Any = 7


class Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("abc", "'abc', expected a list of events of nbtools.events such as [ModelText('Hello')]."),
        (None, "None, expected"),
        (7, "7, expected"),
        (["a", "b"], "['a', 'b'], expected"),
        ({"text": "a"}, "{'text': 'a'}, expected"),
        (ModelText("a"), "ModelText(text='a', sealed=None), expected"),
        (Unreadable(), "a Unreadable, expected"),
        (
            [ModelText("a"), ModelText(NO_TEXT)],
            "[ModelText(text='a', sealed=None), ModelText(text=7",
        ),
        ([ModelCall(1, "k", "a"), ModelArgs(1, NO_TEXT)], "[ModelCall(key=1, id='k', name='a'"),
    ],
    ids=[
        *("text", "none", "number", "texts", "dict", "event", "unreadable"),
        *("later-text", "later-arguments"),
    ],
)
async def test_a_provider_that_yields_nonsense_is_an_error_that_names_it(given: Any, named: str):
    class Nonsense(Provider):
        label = "nonsense"
        given: Any = None

        async def stream(self, request: Request, **_: Any) -> AsyncGenerator[Any]:
            yield self.given
            yield [ModelFinish("stop")]

    model = Nonsense()
    model.given = given
    page = Page(model)
    await page.say("Hi")
    assert page.shown["error"]["text"].startswith(f"The model's provider gave {named}")
    model.given = [ModelText("Hello.")]
    await page.say("Again")
    assert page.texts[-1] == "Hello."


async def test_a_call_that_is_held_back_goes_on_though_the_model_may_not_be_asked_any_more():
    """After a limit the turn is closed: there is nothing to resume but the call."""
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"}, id="k-1")], [call("read_log", {"day": "tue"})])
    page = Page(model, tools_that_ran(ran), limits=nb.Limits(calls=0))
    await page.say("Go")
    page.session.step()
    await page.session.rest()
    again = page.session.rerun("k-1", {"day": "wed"})
    await page.session.rest()
    page.session.resume()
    await page.session.rest()
    assert (page.session.conversation.status, page.call(again).outcome) == ("ready", "ok")
    assert ran == ["read_log wed"]


async def test_a_step_that_is_cancelled_before_it_begins_ends_the_turn():
    """Whoever cancels every task of the loop ends the answer, and the chat goes on."""

    async def slow() -> str:
        await asyncio.sleep(0.05)
        return "slow"

    page = Page(Strict([call("slow", id="k-1"), call("slow", id="k-2")], "Hello."), [nb.tool(slow)])
    started: list[Any] = []

    def cancel_all() -> None:
        for task in asyncio.all_tasks():
            if task.get_name() == "nbtools Run":
                task.cancel()

    def hear(event: Any, _: Any) -> None:
        started.append(event)
        if len(started) == 2:
            asyncio.get_running_loop().call_soon(cancel_all)

    page.session.subscribe(hear, (CallStarted,))
    await page.say("Go")
    assert page.session.conversation.status == "error"
    assert "CancelledError" in page.shown["error"]["text"]
    assert {page.call(name).outcome for name in ("k-1", "k-2")} == {"cancelled"}
    await page.say("Again")
    assert page.texts[-1] == "Hello."


DEADLY = [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]


@pytest.mark.parametrize("error", DEADLY[2:], ids=repr)
async def test_a_model_that_raises_anything_ends_the_turn(error: BaseException):
    class Broken(Strict):
        broken = True

        def fit(self, messages: Any, settings: Any = None) -> Any:
            if self.broken:
                raise error
            return messages

    model = Broken("Hello.")
    page = Page(model, [])
    session = page.session
    await page.say("Go")
    assert session.conversation.status == "error"
    assert type(error).__name__ in page.shown["error"]["text"]
    model.broken = False
    await page.say("Again")
    assert page.texts[-1] == "Hello."


@pytest.mark.parametrize("error", DEADLY, ids=repr)
async def test_a_type_that_raises_anything_makes_the_arguments_invalid(error: BaseException):
    def leave(_: object) -> int:
        raise error

    def count(number: Annotated[int, BeforeValidator(leave)]) -> int:
        return number

    page = Page(Strict([call("count", {"number": 1}, id="k-1")], "Hello."), [nb.tool(count)])
    await page.say("Go")
    assert page.call("k-1").outcome == "invalid"
    assert type(error).__name__ in page.call("k-1").error
    assert page.texts[-1] == "Hello."


def test_a_loop_that_closes_in_mid_answer_leaves_no_error_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    class Slow(Provider):
        label = model = "slow"

        async def stream(
            self, request: Request, *, on_wait: object = None
        ) -> AsyncGenerator[list[ModelEvent], None]:
            yield [ModelText("One")]
            await asyncio.sleep(9)

    broken: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", broken.append)

    async def begin() -> None:
        page = Page(Slow(), [])
        heard = asyncio.Event()
        page.session.subscribe(lambda *_: heard.set(), (PartAdded,))
        page.command("send", text="Go")
        await heard.wait()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    gc.collect()
    assert [str(each.exc_value) for each in broken] == []
    assert "failed" not in caplog.text


async def test_what_a_step_sets_in_its_context_does_not_reach_the_next():
    span: ContextVar[tuple[str, ...]] = ContextVar("span", default=())

    class Traced(Strict):
        async def stream(self, request: Request, **options: Any) -> AsyncGenerator[Any]:
            span.set((*span.get(), "model"))
            async for said in super().stream(request, **options):
                yield said

    def where() -> str:
        return " ".join(span.get()) or "nowhere"

    replies = [[call("where", id=f"k-{n}")] for n in range(3)]
    page = Page(Traced(*replies, "Done."), [nb.tool(where)])
    await page.say("Go")
    assert [page.call(f"k-{n}").value for n in range(3)] == ["nowhere"] * 3


async def test_a_fault_in_the_middle_keeps_the_text_and_closes_the_call():
    ran: list[str] = []
    broken = [
        say("Let me"),
        call("read_log", {"day": "mon"}, id="k-1"),
        fault(OverloadedError("Busy.")),
    ]
    model = Strict(broken, "Hello.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Read")
    assert page.shown["error"] == {"kind": "OverloadedError", "text": "Busy.", "retry": True}
    assert (ran, page.call("k-1").outcome) == ([], "incomplete")
    page.command("resend")
    await page.session.rest()
    assert (model.refused, page.texts[-1]) == ([], "Hello.")
    assert [len(request.messages) for request in model.requests] == [1, 1]


async def test_a_failed_request_leaves_no_empty_reply_and_is_repeated_as_it_was():
    limited = RateLimitError("Slow down.", wait=3.0, status=429)
    model = Strict([fault(limited)], "Hello.")
    page = Page(model)
    await page.say("Hi")
    assert len(page.session.conversation.messages) == 1
    assert page.session.error is limited
    page.command("resend")
    await page.session.rest()
    assert page.texts == ["Hi", "Hello."]
    assert model.requests[0].messages == model.requests[1].messages


async def test_a_direct_call_after_a_failure_does_not_ask_the_model_again():
    ran: list[str] = []
    model = Strict([fault(BadRequestError("No."))], "Hello.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Hi")
    await page.say("/read_log day=mon")
    assert (ran, len(model.requests)) == (["read_log mon"], 1)
    assert page.session.conversation.status == "error"


async def test_an_empty_answer_says_so(serve: Serve):
    page, _ = serve(sse(chunk({}, "stop")), text_reply("Hello."))
    await page.say("Hi")
    assert notices(page) == ["The model gave an empty answer."]
    await page.say("Hi?")
    assert page.texts[-1] == "Hello."


async def test_reasoning_and_usage_stand_in_the_message():
    counted = usage(input=3, output=4)
    page = Page(Strict([think("Hm, "), think("yes."), say("Yes."), counted, finish("stop", "eos")]))
    await page.say("Well?")
    reply = page.session.conversation.messages[-1]
    assert isinstance(reply.parts[0], Reasoning)
    assert reply.parts[0].text == "Hm, yes."
    assert (reply.usage and reply.usage.output, reply.reason) == (4, "eos")


async def test_a_listener_that_raises_stops_nothing(caplog: pytest.LogCaptureFixture):
    page = Page(Strict("Hello."))

    def fail(*_: object) -> None:
        raise ValueError("a bug of a listener")

    page.session.subscribe(fail)
    await page.say("Hi")
    assert page.texts == ["Hi", "Hello."]
    assert "A listener of the chat failed" in caplog.text


async def test_a_chat_that_cannot_be_saved_says_so_once_and_goes_on():
    page = Page(Strict("One.", "Two."))

    def fail(_conversation: object) -> None:
        raise OSError("No space left on device")

    page.session.save = fail
    await page.say("Hi")
    await page.say("And?")
    assert notices(page) == ["This chat could not be saved. OSError: No space left on device"]
    assert page.texts == ["Hi", "One.", "And?", "Two."]


# --- going back ---------------------------------------------------------------------------------


async def test_a_question_is_edited_and_answered_anew():
    model = Strict("One.", "Two.", "Three.")
    page = Page(model)
    await page.say("First")
    await page.say("Second")
    first = page.session.conversation.messages[0].id
    assert page.command("edit_message", message=first, text="Rather this")["ok"]
    await page.session.rest()
    assert page.texts == ["Rather this", "Three."]
    assert page.shown["messages"][0]["parts"][0]["text"] == "Rather this"
    assert texts(tuple(model.requests[-1].messages)) == ["Rather this"]


async def test_an_edited_question_keeps_its_files():
    page = Page(Strict("A cat.", "A dog."))
    picture = File(id="f1", mime="image/png", data="aGk=")
    page.session.send(page.session.user_parts("What is it?", (picture,)))
    await page.session.rest()
    page.command("edit_message", message=page.session.conversation.messages[0].id, text="And now?")
    await page.session.rest()
    asked = page.session.conversation.messages[0]
    assert [part.type for part in asked.parts] == ["text", "file"]


async def test_an_answer_is_asked_for_again_also_after_notices_and_direct_calls():
    ran: list[str] = []
    page = Page(Strict("One.", "Two."), tools_that_ran(ran))
    await page.say("First")
    await page.say("/read_log day=mon")
    page.session.notice("The model is now another one.")
    last = page.session.conversation.messages[-1].id
    assert page.command("regenerate", message=last)["ok"]
    await page.session.rest()
    assert page.texts == ["First", "Two."]
    assert len(page.session.conversation.messages) == 2


async def test_what_answers_no_question_cannot_be_asked_again():
    page = Page(Strict(), tools_that_ran([]))
    await page.say("/read_log day=mon")
    direct = page.session.conversation.messages[0].id
    answer = page.command("regenerate", message=direct)
    assert (answer["error"], len(page.calls)) == ("unknown", 1)


# --- direct calls -------------------------------------------------------------------------------


async def test_a_direct_call_runs_and_the_model_hears_of_it_with_the_next_request():
    ran: list[str] = []
    model = Strict("I see.")
    page = Page(model, tools_that_ran(ran))
    await page.say("/read_log day=mon")
    (known,) = page.calls
    assert (known.origin, known.outcome, model.requests) == ("user", "ok", [])
    await page.say("What did it say?")
    note, question = texts(tuple(model.requests[0].messages))
    assert note == (
        '[Note from the program: the user ran the tool \'read_log\' with {"day":"mon"}. log of mon]'
    )
    assert question == "What did it say?"


async def test_a_direct_call_needs_approval_all_the_same():
    ran: list[str] = []
    page = Page(Strict(), tools_that_ran(ran))
    await page.say("/wipe_cache force=true")
    assert (ran, page.calls[0].waiting) == ([], "approval")
    page.approve(page.calls[0].id)
    await page.session.rest()
    assert ran == ["wipe_cache True"]


async def test_a_slash_that_names_no_tool_is_a_message():
    page = Page(Strict("It is full indeed."), tools_that_ran([]))
    await page.say("/usr is full")
    assert page.texts == ["/usr is full", "It is full indeed."]


async def test_a_direct_call_that_cannot_be_read_is_refused_and_closes_nothing():
    page = Page(Strict([call("wipe_cache", {}, id="k-1")]), tools_that_ran([]))
    await page.say("Wipe")
    answer = page.command("send", text="/read_log mon")
    assert (answer["ok"], answer["error"]) == (False, "invalid")
    assert "'mon' of /read_log should be name=value." in answer["text"]
    assert page.call("k-1").state == "pending"


async def test_a_call_is_run_again_as_a_new_call_and_the_old_one_stays():
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"}, id="k-1")], "Rain.", "I see.")
    page = Page(model, tools_that_ran(ran))
    await page.say("Read")
    old = page.call("k-1")
    assert page.command("rerun", call="k-1")["ok"]
    await page.session.rest()
    again = page.calls[1]
    assert (ran, again.again, again.origin) == (["read_log mon"] * 2, "k-1", "user")
    assert (page.call("k-1"), len(model.requests)) == (old, 2)
    await page.say("And?")
    assert "the user ran again the tool 'read_log'" in texts(tuple(model.requests[2].messages))[2]


async def test_a_call_is_run_again_beside_another_one_and_the_turn_goes_on():
    gate, started = asyncio.Event(), asyncio.Event()
    ran: list[int] = []

    @nb.tool
    async def wait_long() -> str:
        """Wait."""
        started.set()
        await gate.wait()
        return "waited"

    @nb.tool
    async def flaky() -> str:
        """Fail the first time."""
        ran.append(len(ran))
        if len(ran) == 1:
            raise nb.ToolError("Not yet.")
        return "got it"

    model = Strict([call("flaky", id="k-1"), call("wait_long", id="k-2")], "So.", "Fine.")
    page = Page(model, [wait_long, flaky])
    page.command("send", text="Go")
    await started.wait()
    await until(page, lambda: page.call("k-1").state == "error")
    assert page.command("rerun", call="k-1")["ok"]
    await until(page, lambda: page.calls[2].state == "result")
    assert (page.call("k-2").state, len(model.requests)) == ("running", 1)
    gate.set()
    await page.session.rest()
    assert [each.outcome for each in page.calls] == ["failed", "ok", "ok"]
    assert (page.calls[2].again, page.texts[-1]) == ("k-1", "So.")
    assert len(model.requests) == 2
    assert model.refused == []


async def test_arguments_of_another_run_are_given_by_name():
    page = Page(Strict([call("read_log", {"day": "mon"}, id="k-1")], "So."), tools_that_ran([]))
    await page.say("Read")
    with pytest.raises(ValueError, match=r"args is \[1\]; expected arguments by name, or None"):
        page.session.rerun("k-1", [1])  # type: ignore[arg-type]


async def test_no_call_is_run_again_while_the_model_is_asked():
    gate = asyncio.Event()
    page = Page(Strict([call("flaky", id="k-1")], [hold(gate)], "So."), tools_that_ran([]))
    page.command("send", text="Go")
    await until(page, lambda: len(page.session.conversation.messages) == 3)
    answer = page.command("rerun", call="k-1")
    assert (answer["ok"], answer["error"]) == (False, "busy")
    gate.set()
    await page.session.rest()


async def test_a_call_with_very_long_arguments_is_run_again_with_all_of_them():
    seen: list[int] = []

    @nb.tool
    async def keep(text: str) -> None:
        """Keep."""
        seen.append(len(text))

    page = Page(Strict([call("keep", {"text": "x" * 200_000}, id="k-1")], "Kept."), [keep])
    await page.say("Keep")
    page.command("rerun", call="k-1")
    await page.session.rest()
    assert seen == [200_000, 200_000]


# --- moves that are refused ---------------------------------------------------------------------


async def test_what_python_does_wrong_raises_and_names_it():
    gate = asyncio.Event()
    page = Page(Strict([call("wipe_cache", {}, id="k-1")], [hold(gate)]), tools_that_ran([]))
    session = page.session
    await page.say("Wipe")
    with pytest.raises(AlreadyDecided, match="waits for approval: use approve or decline"):
        session.answer("k-1", value=1)
    with pytest.raises(IllegalMove, match="'k-9'"):
        session.approve("k-9", mark=None)
    session.decline("k-1")
    with pytest.raises(AlreadyDecided, match="over already \\(declined\\)"):
        session.approve("k-1", mark=None)
    for move in (lambda: session.send(session.user_parts("Hi")), session.resume):
        with pytest.raises(ChatBusy, match="is answering"):
            move()
    session.stop()
    await session.rest()


def test_the_server_of_these_tests_is_strict():
    """The checks above rest on it: it refuses a call without a result."""
    asked = {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [
                {"id": "k-1", "function": {"name": "a", "arguments": "{}"}}
            ]},
            {"role": "user", "content": "Hi"},
        ]
    }  # fmt: skip
    server = ModelServer()
    assert server.answer(asked).status == 400
    assert server.refused == ["The call 'k-1' has no result."]
