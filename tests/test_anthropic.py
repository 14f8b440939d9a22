"""The Messages wire: what is made of an answer, and what a request looks like."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import nbtools as nb
from nbtools import codec, errors
from nbtools.events import (
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import (
    Conversation,
    File,
    Message,
    Part,
    Reasoning,
    Request,
    Source,
    Text,
    ToolCall,
    ToolSpec,
    Usage,
)
from nbtools.providers.anthropic import Anthropic, Decoder
from nbtools.settings import Settings
from nbtools.testing import decode
from tests.anthropic_wire import (
    block,
    ending,
    error,
    message_start,
    problem,
    reply,
    stream,
    text,
    thinking,
    tool_use,
)
from tests.servers import Answer, Fault, ModelServer
from tests.stage import Page, until

SIGNATURE = "c2lnLTE="
SPEC = ToolSpec(name="tide_at", description="Tell the tide.", parameters={"type": "object"})
ARO = '{"port":"Aro"}'


def events_of(body: str, size: int | None = None) -> list[ModelEvent]:
    data = body.encode()
    size = size or max(len(data), 1)
    decoder = Decoder()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def texts_of(events: list[ModelEvent], kind: Any = ModelText) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def user(*parts: Part) -> Message:
    return Message(id="m-u", role="user", parts=parts)


def answer(*parts: Part, finish: Any = "calls") -> Message:
    return Message(id="m-a", role="assistant", parts=parts, finish=finish)


def said(words: str) -> Text:
    return Text(id="p", text=words)


def done(call: str, tool: str, told: str = "low", **fields: Any) -> ToolCall:
    state: Any = {"state": "result", "outcome": "ok", "args": {}, **fields}
    return ToolCall(id=call, tool=tool, told=told, **state)


def sealed(words: str, signature: str = SIGNATURE) -> Reasoning:
    return Reasoning(id="r", text=words, sealed={"wire": "anthropic", "signature": signature})


def body_of(*messages: Message, tools: Any = (SPEC,), **options: Any) -> dict[str, Any]:
    request = Request(messages=messages, tools=tools)
    body = Anthropic("claude-sonnet-5", **options).encode(request)
    assert problem(body) == ""
    return body


def blocks_of(message: dict[str, Any]) -> list[tuple[str, Any]]:
    """Give type and content of each block."""
    said_by = {"text": "text", "thinking": "signature", "tool_use": "id", "tool_result": "content"}
    content = message["content"]
    return [(each["type"], each.get(said_by.get(each["type"], ""))) for each in content]


# What an answer says


def test_a_text_is_read_with_its_usage_and_its_finish():
    events = events_of(reply(text(0, "Tide ", "is low.")))
    assert events == [
        ModelText("Tide is low."),
        ModelUsage(Usage(input=9, output=12)),
        ModelFinish("stop", "end_turn"),
    ]


def test_calls_are_announced_before_their_arguments_and_may_be_parallel():
    body = reply(
        text(0, "Both."),
        tool_use(1, "tu-1", "tide_at", '{"port":', '"Aro"}'),
        tool_use(2, "tu-2", "tide_at", '{"port":"Moss"}'),
        reason="tool_use",
    )
    calls = decode("anthropic", 200, {}, body.encode(), chunk=1)["tool_calls"]
    assert [(c["id"], c["name"], c["arguments"]) for c in calls] == [
        ("tu-1", "tide_at", {"port": "Aro"}),
        ("tu-2", "tide_at", {"port": "Moss"}),
    ]
    kinds = [type(event) for event in events_of(body, 7)]
    assert kinds.index(ModelCall) < len(kinds) - 1
    assert events_of(body)[-1] == ModelFinish("calls", "tool_use")


def test_calls_whose_deltas_are_interleaved_are_told_apart_by_index():
    """W-04: on this wire."""
    one, two = (tool_use(i, f"tu-{i}", "tide_at", f'{{"n":{i}}}') for i in (0, 1))
    mixed = [one[0], two[0], one[1], two[1], one[2], two[2]]
    calls = decode("anthropic", 200, {}, reply(mixed, reason="tool_use").encode())["tool_calls"]
    assert [call["arguments"] for call in calls] == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize("pieces", [(), ("",)])
def test_a_call_without_arguments_is_a_call_with_none(pieces: tuple[str, ...]):
    """W-02: on this wire."""
    body = reply(tool_use(0, "tu-1", "moon_phase", *pieces), reason="tool_use")
    (call,) = decode("anthropic", 200, {}, body.encode())["tool_calls"]
    assert (call["arguments"], call["arguments_raw"]) == ({}, None)


def test_arguments_that_come_whole_are_not_joined_to_their_own_deltas():
    """W-03: a gateway gives the object and its text."""
    content = {"type": "tool_use", "id": "tu-1", "name": "tide_at", "input": {"port": "Aro"}}
    delta = {"type": "input_json_delta", "partial_json": ARO}
    (call,) = decode("anthropic", 200, {}, reply(block(0, content, delta)).encode())["tool_calls"]
    assert call["arguments"] == {"port": "Aro"}


def test_a_reply_that_called_and_says_end_turn_has_called():
    """W-06: the calls count, not the word."""
    assert events_of(reply(tool_use(0, "tu-1", "tide_at", ARO)))[-1].finish == "calls"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filter"),
        ("pause_turn", "other"),
        ("a_new_one", "other"),
    ],
)
def test_the_word_for_the_end_is_kept_beside_ours(reason: str, finish: Any):
    assert events_of(reply(text(0, "Hi"), reason=reason))[-1] == ModelFinish(finish, reason)


def test_pings_comments_and_empty_events_say_nothing():
    """W-08: on this wire."""
    noise = ": still thinking\n\nretry: 1500\n\nevent: ping\ndata:\n\n"
    ping = 'event: ping\ndata: {"type": "ping"}\n\n'
    body = noise + ping + reply(text(0, "Tide is low.")).replace("\n", "\r\n")
    assert texts_of(events_of(body, 1)) == "Tide is low."


def test_an_overload_inside_a_good_answer_is_an_error_with_its_words():
    """W-09: form 1."""
    body = stream(
        message_start(), *text(0, "The answ", stop=False), error("overloaded_error", "busy")
    )
    *before, fault = events_of(body)
    assert texts_of(before) == "The answ"
    assert isinstance(fault, ModelFault)
    assert type(fault.error) is errors.OverloadedError
    assert fault.error.text == "The provider reported an error (overloaded_error): busy"
    assert fault.error.status is None


@pytest.mark.usefixtures("quick")
async def test_an_overload_as_the_very_first_event_is_tried_again():
    """W-09: form 2, nothing was shown; the count of tokens is nothing to show."""
    first = stream(message_start(), error("overloaded_error", "busy"))
    async with ModelServer([first], [reply(text(0, "Now."))], judge=problem) as server:
        provider = Anthropic("m", base_url=server.url, api_key="k")
        waits: list[str] = []
        request = Request(messages=[user(said("Hi"))])
        heard = provider.stream(request, on_wait=lambda _, why: waits.append(why))
        events = [event async for said_now in heard for event in said_now]
        await provider.close()
    assert texts_of(events) == "Now."
    assert waits == ["The provider reported an error (overloaded_error): busy"]


async def test_a_call_before_an_error_is_not_run():
    """W-09: variant."""
    ran: list[str] = []

    @nb.tool
    def tide_at(port: str) -> str:
        """Tell the tide."""
        ran.append(port)
        return "low"

    whole = tool_use(0, "tu-1", "tide_at", ARO)
    body = stream(message_start(), *whole, error("overloaded_error", "busy"))
    async with ModelServer([body], [reply(text(0, "Fine."))], judge=problem) as server:
        page = Page(Anthropic("m", base_url=server.url, api_key="k"), [tide_at])
        await page.say("Tide?")
        assert (ran, page.calls[0].outcome, page.shown["status"]) == ([], "incomplete", "error")
        await page.say("go on")
        await page.session.settings.provider.close()
    assert (page.texts[-1], server.refused) == ("Fine.", [])


def test_a_json_error_in_a_good_answer_is_an_error():
    """W-09: variant, no stream at all."""
    body = '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
    (fault,) = events_of(body)
    assert isinstance(fault, ModelFault)
    assert fault.error.kind == "overloaded_error"


@pytest.mark.parametrize("events", [text(0, "The sum is 4"), tool_use(0, "t", "rm", '{"a":1}')])
def test_a_stream_that_breaks_off_has_no_finish(events: list[dict[str, Any]]):
    """W-11: a call whose block was closed is not run either."""
    heard = events_of(stream(message_start(), *events))
    assert not [event for event in heard if isinstance(event, ModelFinish)]
    assert heard[-1] == ModelUsage(Usage(input=9, output=1))


def test_cached_tokens_stand_beside_the_input():
    usage = {"cache_read_input_tokens": 80, "cache_creation_input_tokens": 5}
    body = stream(message_start(**usage), *text(0, "Hi"), *ending("end_turn"))
    used = [event.usage for event in events_of(body) if isinstance(event, ModelUsage)]
    assert used == [Usage(input=9, output=12, cached=80, written=5)]


def test_what_a_text_cites_is_a_source_at_the_end():
    citation = {"type": "web_search_result_location", "url": "https://a.example/x", "title": "X"}
    delta = {"type": "citations_delta", "citation": citation}
    words = [{"type": "text_delta", "text": "So "}, {"type": "text_delta", "text": "it is."}]
    events = events_of(reply(block(0, {"type": "text", "text": ""}, words[0], delta, words[1])))
    assert texts_of(events) == "So it is."
    sources = [event.part for event in events if isinstance(event, ModelPart)]
    assert sources == [Source(id="", url="https://a.example/x", title="X")]


SEARCH = {"type": "server_tool_use", "id": "srv-1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv-1",
    "content": [
        {"type": "web_search_result", "url": "https://a.example", "encrypted_content": "x"}
    ],
}


def searched(result: dict[str, Any]) -> list[ModelEvent]:
    query = {"type": "input_json_delta", "partial_json": '{"query":"tides"}'}
    return events_of(reply(block(0, SEARCH, query), block(1, result), text(2, "Low.")))


def test_what_the_provider_ran_is_a_call_of_its_own():
    (call,) = [e.part for e in searched(FOUND) if isinstance(e, ModelPart)]
    assert isinstance(call, ToolCall)
    assert (call.id, call.tool, call.origin, call.state) == (
        "srv-1",
        "web_search",
        "provider",
        "result",
    )
    assert call.args == {"query": "tides"}
    assert call.value == [{"type": "web_search_result", "url": "https://a.example"}]


def test_what_the_provider_failed_to_run_says_why():
    problem_block = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    failed = {**FOUND, "content": problem_block}
    (call,) = [e.part for e in searched(failed) if isinstance(e, ModelPart)]
    assert isinstance(call, ToolCall)
    assert (call.state, call.outcome, call.error) == ("error", "failed", "max_uses_exceeded")


@pytest.mark.parametrize("deep", ["[" * 800 + "]" * 800, '{"a":' * 800 + "1" + "}" * 800])
def test_a_result_nested_beyond_all_measure_is_no_trouble(deep: str):
    found = {**FOUND, "content": "DEEP"}
    body = stream(*block(0, found)).replace('"DEEP"', deep)
    (event,) = events_of(body)
    assert isinstance(event, ModelPart)
    assert isinstance(event.part, ToolCall)
    assert event.part.state == "result"


@pytest.mark.parametrize("size", [None, 1])
def test_no_odd_block_raises(size: int | None):
    odd: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        {"type": "content_block_start", "content_block": None},
        {"type": "content_block_start", "index": "x", "content_block": {"type": 7}},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": []},
        {"type": "content_block_stop"},
        {"type": "message_delta", "delta": None, "usage": {"input_tokens": "many"}},
        {"type": "a_new_event"},
    ]
    assert events_of(stream(message_start(), *odd), size)[-1] == ModelUsage(
        Usage(input=9, output=1)
    )


# Thinking, and its way back

TIDE_REPLY = reply(
    thinking(0, "Need the tide.", SIGNATURE),
    tool_use(1, "tu-1", "tide_at", ARO),
    reason="tool_use",
)


@nb.tool(name="tide_at")
def tide(port: str) -> str:
    """Tell the tide.

    Args:
        port: The port.
    """
    return f"low at {port}"


async def second_request(first: str, **options: Any) -> list[dict[str, Any]]:
    """Let a chat answer, run the call, and give the messages of its second request."""
    async with ModelServer([first], [reply(text(0, "Low."))], judge=problem) as server:
        page = Page(Anthropic("m", base_url=server.url, api_key="k", **options), [tide])
        await page.say("Tide?")
        await page.session.settings.provider.close()
    assert (server.refused, page.texts[-1]) == ([], "Low.")
    messages: list[dict[str, Any]] = server.requests[1]["messages"]
    return messages


async def test_signed_thinking_goes_back_before_its_call_and_the_result_after_it():
    """W-12: each once, in this order."""
    assert (await second_request(TIDE_REPLY))[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Need the tide.", "signature": SIGNATURE},
                {"type": "tool_use", "id": "tu-1", "name": "tide_at", "input": {"port": "Aro"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "tu-1", "content": "low at Aro"},
            ],
        },
    ]


async def test_two_calls_after_one_thought_have_their_results_in_one_message():
    """W-12: variant."""
    messages = await second_request(
        reply(
            thinking(0, "Two.", SIGNATURE),
            tool_use(1, "tu-1", "tide_at", ARO),
            tool_use(2, "tu-2", "tide_at", '{"port":"Moss"}'),
            reason="tool_use",
        )
    )
    assert [blocks_of(message) for message in messages[1:]] == [
        [("thinking", SIGNATURE), ("tool_use", "tu-1"), ("tool_use", "tu-2")],
        [("tool_result", "low at Aro"), ("tool_result", "low at Moss")],
    ]


async def test_redacted_thinking_goes_back_as_it_came():
    """W-12: variant."""
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    first = reply(block(0, redacted), tool_use(1, "tu-1", "tide_at", ARO), reason="tool_use")
    assert (await second_request(first))[1]["content"][0] == redacted


async def test_signed_thinking_without_a_text_goes_back():
    """W-12: variant, only an empty signature makes a block unsendable."""
    first = reply(
        thinking(0, "", SIGNATURE), tool_use(1, "tu-1", "tide_at", ARO), reason="tool_use"
    )
    assert (await second_request(first))[1]["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": SIGNATURE,
    }


def test_a_signature_survives_a_file_byte_for_byte():
    """W-12: save and reload."""
    kept = Conversation(messages=(user(said("Hi")), answer(sealed("Hm."), done("t", "tide_at"))))
    again = codec.decode_conversation(codec.encode(kept, saved=True))
    assert body_of(*again.messages)["messages"][1]["content"][0]["signature"] == SIGNATURE


def test_the_seal_of_another_wire_is_not_sent():
    """W-12: variant, the conversation began elsewhere."""
    foreign = Reasoning(id="r", text="Hm.", sealed={"wire": "gemini", "signature": SIGNATURE})
    body = body_of(
        user(said("Hi")), answer(foreign, said("Hello."), finish="stop"), user(said("!"))
    )
    assert blocks_of(body["messages"][1]) == [("text", "Hello.")]


async def test_an_empty_text_block_and_an_empty_result_are_not_sent():
    """W-15: and a blank message is not sent at all."""

    @nb.tool
    def clear_log() -> str:
        """Clear the log."""
        return ""

    first = reply(text(0), tool_use(1, "tu-1", "clear_log"), reason="tool_use")
    async with ModelServer([first], [reply(text(0, "Done."))], judge=problem) as server:
        page = Page(Anthropic("m", base_url=server.url, api_key="k"), [clear_log])
        await page.say("Clear")
        refused = page.command("send", text="   ")
        await page.session.settings.provider.close()
    assert (server.refused, page.texts, refused["ok"]) == ([], ["Clear", "Done."], False)
    _, asked, told = server.requests[1]["messages"]
    assert blocks_of(asked) == [("tool_use", "tu-1")]
    (result,) = told["content"]
    assert result["content"].strip()


def test_a_reply_of_nothing_but_blanks_leaves_no_message():
    """W-15: variant."""
    body = body_of(user(said("Hi")), answer(said(" \n"), finish="stop"), user(said("Again")))
    assert [blocks_of(m) for m in body["messages"]] == [[("text", "Hi"), ("text", "Again")]]


@pytest.mark.parametrize("signed", [False, True])
async def test_stopping_a_thought_leaves_a_chat_that_goes_on(signed: bool):
    """W-16: an unsigned thought is not sent, a signed one is sent unchanged."""
    begun = stream(
        message_start(),
        *thinking(0, "First I", SIGNATURE if signed else "", stop=False),
    )
    gate = threading.Event()
    async with ModelServer([begun, gate], [reply(text(0, "Here."))], judge=problem) as server:
        page = Page(Anthropic("m", base_url=server.url, api_key="k"))
        page.command("send", text="Think")
        await until(page, lambda: _thought(page, signed=signed))
        page.command("stop")
        gate.set()
        await page.session.rest()
        await page.say("go on")
        await page.session.settings.provider.close()
    assert (server.refused, page.texts[-1]) == ([], "Here.")
    sent = [b["type"] for m in server.requests[1]["messages"] for b in m["content"]]
    assert sent == (["text", "thinking", "text"] if signed else ["text", "text"])


def _thought(page: Page, *, signed: bool) -> bool:
    thoughts = [
        part
        for message in page.session.conversation.messages
        for part in message.parts
        if isinstance(part, Reasoning) and part.text
    ]
    return any(part.sealed is not None or not signed for part in thoughts)


def test_of_two_thoughts_only_the_signed_one_is_sent():
    """W-16: variant; the texts are not mixed."""
    body = reply(thinking(0, "First."), thinking(1, "Second.", SIGNATURE), text(2, "Hi"))
    seals = [(e.text, e.sealed) for e in events_of(body) if isinstance(e, ModelReasoning)]
    assert seals == [
        ("First.", None),
        ("", {"wire": "anthropic"}),
        ("Second.", None),
        ("", {"wire": "anthropic", "signature": SIGNATURE}),
    ]


def test_a_dropped_connection_in_a_thought_leaves_nothing_to_send():
    """W-16: variant."""
    cut = Reasoning(id="r", text="First I")
    body = body_of(user(said("Think")), answer(cut, finish="cut"), user(said("go on")))
    assert [blocks_of(m) for m in body["messages"]] == [[("text", "Think"), ("text", "go on")]]


def test_what_the_provider_ran_goes_back_in_its_place():
    parts = [e for e in searched(FOUND) if not isinstance(e, ModelUsage | ModelFinish)]
    history = answer(
        *(
            e.part
            if isinstance(e, ModelPart)
            else Reasoning(id="r", sealed=e.sealed)
            if isinstance(e, ModelReasoning)
            else said(e.text)
            for e in parts
            if isinstance(e, ModelPart | ModelReasoning | ModelText)
        ),
        finish="stop",
    )
    (_, sent, _) = body_of(user(said("Tide?")), history, user(said("Sure?")))["messages"]
    assert sent["content"] == [
        {**SEARCH, "input": {"query": "tides"}},
        FOUND,
        {"type": "text", "text": "Low."},
    ]


def test_a_provider_call_that_was_cut_off_from_its_result_is_not_sent():
    use = Reasoning(id="r", sealed={"wire": "anthropic", "block": SEARCH})
    body = body_of(user(said("Hi")), answer(use, said("Let"), finish="cut"), user(said("go on")))
    assert blocks_of(body["messages"][1]) == [("text", "Let")]


async def test_a_reply_that_pauses_is_asked_to_go_on_and_stays_one():
    first = stream(
        message_start(),
        *text(0, "I look it up. "),
        *block(1, SEARCH, {"type": "input_json_delta", "partial_json": '{"query":"tides"}'}),
        *ending("pause_turn"),
    )
    rest = reply(block(0, FOUND), text(1, "Low."))
    async with ModelServer([first], [rest], judge=lambda _: "") as server:
        tools = [{"type": "web_search_20250305", "name": "web_search"}]
        page = Page(Anthropic("m", base_url=server.url, api_key="k", extra={"tools": tools}))
        await page.say("Tide?")
        await page.session.settings.provider.close()
    (_, answered) = page.session.conversation.messages
    assert (page.texts[1:], answered.finish) == (["I look it up. ", "Low."], "stop")
    assert answered.usage == Usage(input=18, output=24)
    assert [call.state for call in page.calls] == ["result"]
    assert server.requests[1]["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look it up. "},
                {**SEARCH, "input": {"query": "tides"}},
            ],
        }
    ]


# What a request looks like


def test_a_request_has_what_the_wire_wants():
    body = Anthropic("claude-sonnet-5").encode(
        Request(messages=[user(said("Hi"))], system="Be brief.", tools=[SPEC])
    )
    assert body == {
        "model": "claude-sonnet-5",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [
            {
                "name": "tide_at",
                "description": "Tell the tide.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "max_tokens": 8192,
        "stream": True,
    }


def test_results_come_first_in_the_message_that_follows_the_calls():
    """W-14: neighbours of one role are merged."""
    failed = done("tu-2", "tide_at", "No such port.", state="error", outcome="failed")
    body = body_of(
        user(said("Hi")), answer(said("Look."), done("tu-1", "tide_at"), failed), user(said("?"))
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "tu-1", "content": "low"},
        {
            "type": "tool_result",
            "tool_use_id": "tu-2",
            "content": "No such port.",
            "is_error": True,
        },
        {"type": "text", "text": "?"},
    ]


@pytest.mark.parametrize("name", ["files.read all()", "x" * 90, "", "<img>"])
def test_a_name_that_the_wire_forbids_is_mapped_in_replay(name: str):
    """W-13: on this wire."""
    body = body_of(user(said("Hi")), answer(done("tu-1", name)), user(said("go on")))
    assert len(body["messages"]) == 3


def test_an_id_that_the_wire_forbids_is_mapped_in_call_and_result():
    """W-01: an id of another wire."""
    messages = body_of(user(said("Hi")), answer(done("f.rows:0", "rows"), done("f.rows.0", "rows")))
    asked, told = messages["messages"][1:]
    assert [each["id"] for each in asked["content"]] == ["f_rows_0", "f_rows_0_2"]
    assert [each["tool_use_id"] for each in told["content"]] == ["f_rows_0", "f_rows_0_2"]


def test_pictures_documents_and_texts_are_sent_each_in_its_form():
    files = [
        File(id="a", mime="image/png", data="AAAA"),
        File(id="b", mime="application/pdf", data="BBBB"),
        File(id="c", mime="text/csv", name="a.csv", data="YSxi"),
        File(id="d", mime="audio/wav", name="d.wav", data="CCCC"),
    ]
    content = body_of(user(said("See"), *files))["messages"][0]["content"]
    assert [each["type"] for each in content] == ["text", "image", "document", "text", "text"]
    assert content[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert content[3]["text"] == "a.csv:\na,b"
    assert content[4]["text"] == "(Here is a file that cannot be read: d.wav, audio/wav.)"


def test_the_cache_is_marked_after_what_stays_and_after_what_grows():
    request = Request(messages=[user(said("Hi"))], system="Be brief.", tools=[SPEC])
    body = Anthropic("m", cache="1h").encode(request)
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert body["system"][-1]["cache_control"] == mark
    assert body["messages"][-1]["content"][-1]["cache_control"] == mark
    assert "cache_control" not in body["tools"][-1]


def test_a_thought_is_never_marked_for_the_cache():
    """A reply that paused is the last message then, and its thoughts have to go back unchanged."""
    sealed = {"wire": "anthropic", "signature": SIGNATURE}
    thought = Reasoning(id="r", text="Hm.", sealed=sealed)
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    hidden = Reasoning(id="s", sealed={"wire": "anthropic", "block": redacted})
    paused = Message(id="m", role="assistant", parts=(said("So"), thought, hidden), finish="other")
    body = Anthropic("m", cache="5m").encode(Request(messages=[user(said("Hi")), paused]))
    assert ["cache_control" in block for block in body["messages"][-1]["content"]] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(tool_choice="required"), {"type": "any"}),
        (Settings(tool_choice="tide_at"), {"type": "tool", "name": "tide_at"}),
        (Settings(tool_choice="none"), {"type": "none"}),
        (Settings(parallel_calls=False), {"type": "auto", "disable_parallel_tool_use": True}),
        (Settings(), None),
    ],
)
def test_the_choice_of_tools_is_said_in_its_words(settings: Settings, expected: Any):
    request = Request(messages=[user(said("Hi"))], tools=[SPEC], settings=settings)
    assert Anthropic("m").encode(request).get("tool_choice") == expected


def test_thinking_is_asked_for_by_a_word_or_by_a_number():
    later = body_of(user(said("Hi")), reasoning="high")
    assert (later["thinking"], later["output_config"]) == (
        {"type": "adaptive"},
        {"effort": "high"},
    )
    number = body_of(user(said("Hi")), reasoning=2000)
    assert number["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert number["max_tokens"] == 10_192
    earlier = Anthropic("claude-sonnet-4-5", reasoning="low").encode(Request(messages=[]))
    assert earlier["thinking"] == {"type": "enabled", "budget_tokens": 4096}


@pytest.mark.parametrize(("most", "budget"), [(2_000, 1_999), (1_025, 1_024), (1_024, None)])
@pytest.mark.parametrize("reasoning", ["high", 5_000])
def test_thinking_leaves_room_in_the_most_tokens_of_a_reply(
    reasoning: Any, most: int, budget: int | None
):
    """The server refuses a budget that is not below them, or below the least that it takes."""
    provider = Anthropic("claude-sonnet-4-5", reasoning=reasoning, max_tokens=most)
    body = provider.encode(Request(messages=[user(said("Hi"))]))
    assert body["max_tokens"] == most
    assert body.get("thinking", {}).get("budget_tokens") == budget


def test_the_shape_of_an_answer_is_sent_as_a_closed_schema():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    body = body_of(user(said("Hi")), output=schema)
    assert body["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "additionalProperties": False,
        },
    }


def test_tools_of_the_provider_stand_after_ours():
    search = {"type": "web_search_20250305", "name": "web_search"}
    body = body_of(user(said("Hi")), extra={"tools": [search]})
    assert [tool["name"] for tool in body["tools"]] == ["tide_at", "web_search"]


# Addresses and keys


@pytest.mark.parametrize("ending_of_address", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1_or_not(ending_of_address: str):
    paths: list[str] = []

    def note(_: Any) -> Answer:
        paths.append("asked")
        return Answer(pieces=[reply(text(0, "Hi"))])

    async with ModelServer(note, judge=problem) as server:
        address = f"http://{server.host}{ending_of_address}"
        provider = Anthropic("m", base_url=address, api_key="sk-ant-hushhush")
        stream_of = provider.stream(Request(messages=[user(said("Hi"))]))
        events = [event async for now in stream_of for event in now]
        await provider.close()
    assert texts_of(events) == "Hi"
    (headers,) = server.headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (
        "sk-ant-hushhush",
        "2023-06-01",
    )
    assert "authorization" not in headers


async def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(errors.AuthenticationError, match="ANTHROPIC_API_KEY"):
        async for _ in Anthropic("m", base_url=None).stream(Request(messages=[user(said("Hi"))])):
            pass


async def test_a_refused_key_is_in_no_text():
    """X-01: on this wire."""
    body = {
        "type": "error",
        "error": {"type": "authentication_error", "message": "bad sk-hushhush-key"},
    }
    async with ModelServer(Fault(401, body), judge=problem) as server:
        provider = Anthropic("m", base_url=server.url, api_key="sk-hushhush-key")
        with pytest.raises(errors.AuthenticationError) as caught:
            async for _ in provider.stream(Request(messages=[user(said("Hi"))])):
                pass
        await provider.close()
    assert "hushhush" not in f"{caught.value} {caught.value!r} {provider!r}"


async def test_a_model_that_is_not_there_is_answered_with_those_that_are():
    body = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-sonet"}}
    models = ["claude-sonnet-5", "claude-opus-5"]
    async with ModelServer(Fault(404, body), models=models, judge=problem) as server:
        provider = Anthropic("claude-sonet", base_url=server.url, api_key="k")
        with pytest.raises(errors.NotFoundError) as caught:
            async for _ in provider.stream(Request(messages=[user(said("Hi"))])):
                pass
        await provider.close()
    assert caught.value.hint == "It has: claude-sonnet-5, claude-opus-5."
