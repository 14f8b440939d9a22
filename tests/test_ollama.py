"""The wire of Ollama: what is made of an answer, and what a request looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import errors
from nbtools.events import (
    ModelCall,
    ModelFault,
    ModelFinish,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import File, Message, Reasoning, Request, Text, ToolCall, ToolSpec
from nbtools.messages import Usage as Used
from nbtools.providers import Ollama
from nbtools.providers.ollama import Decoder, ollama_address
from nbtools.providers.sse import LIMIT
from nbtools.testing import decode
from tests.replay import asked, events_of, replied
from tests.servers import Fault, ModelServer

Body = dict[str, Any]
ARO = {"port": "Aro"}
TIDE = ToolSpec(name="tide_at", description="Tell the tide.", parameters={"type": "object"})


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def said(**message: Any) -> Body:
    return {"message": {"role": "assistant", "content": "", **message}, "done": False}


def done(reason: str | None = "stop", **fields: Any) -> Body:
    return {**said(), "done": True, **({"done_reason": reason} if reason else {}), **fields}


def call(name: str = "tide_at", arguments: object = None, **fields: Any) -> Body:
    return {"function": {"name": name, "arguments": arguments}, **fields}


def calls_of(body: str) -> list[tuple[str | None, str, Any]]:
    """Give id, name and arguments of each call, and check that every cut agrees."""
    whole, bytewise = (decode("ollama", 200, {}, body.encode(), chunk=size) for size in (None, 1))
    assert whole == bytewise
    return [(found["id"], found["name"], found["arguments"]) for found in whole["tool_calls"]]


def messages_of(*messages: Message) -> list[Body]:
    body = Ollama("qwen3").encode(Request(messages=[asked("Hi"), *messages]))
    found: list[Body] = body["messages"]
    return found[1:]


# Answers


def test_text_thought_usage_and_end_are_read():
    body = lines(
        said(thinking="Hm."),
        said(content="Good "),
        said(content="day."),
        done(prompt_eval_count=9, eval_count=3),
    )
    assert events_of(Decoder(), body) == [
        ModelReasoning("Hm."),
        ModelReasoning(sealed={"wire": "ollama"}),
        ModelText("Good day."),
        ModelUsage(Used(input=9, output=3)),
        ModelFinish("stop", "stop"),
    ]


def test_a_call_without_an_id_is_one_call():
    """W-01: body C."""
    assert calls_of(lines(said(tool_calls=[call(arguments=ARO)]), done())) == [
        (None, "tide_at", ARO)
    ]


def test_parallel_calls_stay_apart_in_one_line_or_in_two():
    """W-04: neither index nor id tells them apart."""
    both = [call(arguments=ARO, id="c-1"), call(arguments=ARO)]
    body = lines(said(tool_calls=both), said(tool_calls=[call(arguments={})]), done())
    assert calls_of(body) == [
        ("c-1", "tide_at", ARO),
        (None, "tide_at", ARO),
        (None, "tide_at", {}),
    ]


@pytest.mark.parametrize("arguments", [None, {}, ""])
def test_missing_arguments_mean_none(arguments: object):
    """W-02."""
    body = lines(said(tool_calls=[call("moon_phase", arguments)]), done())
    assert calls_of(body) == [(None, "moon_phase", {})]


def test_arguments_that_are_a_text_are_read_too():
    """W-03: an object is the rule here, and some servers write its text."""
    assert calls_of(lines(said(tool_calls=[call(arguments='{"port": "Aro"}')]), done())) == [
        (None, "tide_at", ARO)
    ]


def test_text_and_calls_come_in_the_order_of_the_stream():
    """W-05: text, call, text."""
    body = lines(
        said(content="Checking. ", tool_calls=[call(arguments={})]), said(content="Then."), done()
    )
    assert [part.type for part in replied(Decoder(), body).parts] == ["text", "tool-call", "text"]


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (lines(said(content="Hi"), done()), ModelFinish("stop", "stop")),
        (lines(said(tool_calls=[call()]), done()), ModelFinish("calls", "stop")),
        (lines(said(content="Hi"), done("length")), ModelFinish("length", "length")),
        (lines(said(content="Hi"), done("unload")), ModelFinish("other", "unload")),
        (lines(said(content="Hi"), done(None)), ModelFinish("stop", "")),
    ],
)
def test_the_end_is_told_in_our_words_and_the_servers(body: str, finish: ModelFinish):
    """W-06: calls end with `stop`."""
    assert events_of(Decoder(), body)[-1] == finish


@pytest.mark.parametrize("body", [lines(said(content="So")), lines(said(content="So")).strip()])
def test_a_stream_that_is_not_done_broke_off(body: str):
    """W-11: with and without the end of its line."""
    assert events_of(Decoder(), body) == [ModelText("So")]


def test_an_error_inside_a_stream_ends_it_with_its_words():
    """W-09."""
    body = lines(said(content="The answ"), {"error": "llama runner terminated"})
    fault = events_of(Decoder(), body)[-1]
    assert isinstance(fault, ModelFault)
    assert fault.error.text == "The provider reported an error: llama runner terminated"


def test_one_value_over_several_lines_is_read_like_a_stream():
    body = json.dumps(done(message={"content": "Hi"}), indent=2)
    assert events_of(Decoder(), body) == [ModelText("Hi"), ModelFinish("stop", "stop")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "The answer is empty."),
        ("<!DOCTYPE html>\n<p>Log in", "The answer is a web page, not a model's reply."),
        ("{}\n", "The answer broke off before it began."),
    ],
)
def test_a_body_that_is_no_answer_is_a_fault(body: str, text: str):
    fault = events_of(Decoder(), body)[-1]
    assert isinstance(fault, ModelFault)
    assert fault.error.text == text


def test_blank_lines_before_the_answer_are_held_by_nobody():
    decoder = Decoder()
    for _ in range(50):
        assert decoder.feed(b" \r\n" * 100) == []
    assert len(decoder._held) < 100
    assert decoder.feed(lines(said(content="Hi")).encode()) == [ModelText("Hi")]


def test_a_line_beyond_all_measure_is_a_fault():
    decoder = Decoder()
    decoder.feed(lines(said(content="Hi")).encode())
    events = [event for _ in range(6) for event in decoder.feed(b"x" * (LIMIT // 5))]
    assert isinstance(events[-1], ModelFault)
    assert events[-1].error.text == f"One line of the answer is longer than {LIMIT:,} bytes."


FIELDS = ["message", "content", "thinking", "tool_calls", "function", "name", "arguments", "id"]
FIELDS += ["done", "done_reason", "error", "eval_count"]
NAMES = st.sampled_from(FIELDS)
SHAPED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=100)
@given(SHAPED)
def test_no_line_of_any_shape_makes_the_decoder_raise(value: Any):
    events_of(Decoder(), lines(value, {"message": value, "done": value}, said(tool_calls=[value])))
    events_of(Decoder(), json.dumps(value, indent=1))


# Requests


def test_a_request_has_history_tools_and_settings():
    provider = Ollama("qwen3:4b", temperature=0.5, max_tokens=9, seed=1, stop="END", reasoning=9)
    request = Request(messages=[asked("Hi")], system="Be brief.", tools=[TIDE])
    assert provider.encode(request) == {
        "model": "qwen3:4b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "tide_at",
                    "description": "Tell the tide.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "options": {"temperature": 0.5, "num_predict": 9, "seed": 1, "stop": ["END"]},
        "think": True,
        "stream": True,
    }


@pytest.mark.parametrize(("reasoning", "think"), [("none", False), ("max", "high"), ("low", "low")])
def test_how_much_to_think_is_said_as_ollama_takes_it(reasoning: Any, think: object):
    body = Ollama("gpt-oss", reasoning=reasoning).encode(Request(messages=[asked("Hi")]))
    assert body["think"] == think


def test_tools_that_may_not_be_called_are_not_told_of():
    """It takes no choice."""
    other = ToolSpec(name="other", description="", parameters={"type": "object"})
    request = Request(messages=[asked("Hi")], tools=[TIDE, other], choice="none")
    assert "tools" not in Ollama("m").encode(request)
    one = Ollama("m", tool_choice="other").encode(
        Request(messages=[asked("Hi")], tools=[TIDE, other])
    )
    assert [tool["function"]["name"] for tool in one["tools"]] == ["other"]


def test_results_follow_their_calls_and_thoughts_go_back():
    """W-12: the model's own thoughts are part of the reply that they led to."""
    body = lines(said(thinking="Hm."), said(tool_calls=[call(arguments=ARO)]), done())
    asking = {"function": {"name": "tide_at", "arguments": ARO}}
    assert messages_of(replied(Decoder(), body)) == [
        {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [asking]},
        {"role": "tool", "tool_name": "tide_at", "content": "low"},
    ]


def test_thoughts_of_other_models_and_blank_texts_are_not_sent():
    """W-15: nothing is left of such a reply."""
    thought = Reasoning(id="r", text="Hm.", sealed={"wire": "anthropic", "signature": "c2ln"})
    reply = Message(id="m-a", role="assistant", parts=(thought, Text(id="p", text=" ")))
    assert messages_of(reply) == []


def test_a_name_that_the_model_made_up_is_mapped_in_replay():
    """W-13: call and result agree."""
    odd = ToolCall(
        id="k", tool="files.read all()", state="error", outcome="unknown", args={}, told="No."
    )
    sent = messages_of(Message(id="m-a", role="assistant", parts=(odd,)))
    names = (sent[0]["tool_calls"][0]["function"]["name"], sent[1]["tool_name"])
    assert names == ("files_read_all__", "files_read_all__")


def test_images_stand_beside_the_text():
    files = (Text(id="p", text="See"), File(id="f", mime="image/png", data="AAAA"))
    body = Ollama("m").encode(Request(messages=[Message(id="m", role="user", parts=files)]))
    assert body["messages"] == [{"role": "user", "content": "See", "images": ["AAAA"]}]


# Where it is


@pytest.mark.parametrize(
    ("stated", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8000", "http://127.0.0.1:8000"),
        ("box", "http://box:11434"),
        ("box:8000", "http://box:8000"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("[::1]:8000", "http://[::1]:8000"),
        ('"box:8000" ', "http://box:8000"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(
    monkeypatch: pytest.MonkeyPatch, stated: str, address: str
):
    monkeypatch.setenv("OLLAMA_HOST", stated)
    assert ollama_address() == address


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/api"])
async def test_an_address_with_a_path_that_it_does_not_need_is_read(path: str):
    """Other programs want such a path for the same server."""
    async with ModelServer(lines(done()), judge=lambda _: "") as server:
        await say(Ollama("m", base_url=f"http://{server.host}{path}"))
        assert server.paths == ["/api/chat"]


async def say(provider: Ollama) -> list[Any]:
    stream = provider.stream(Request(messages=[asked("Hi")], tools=[TIDE]))
    events = [event async for events in stream for event in events]
    await provider.close()
    return events


async def test_a_model_is_asked_without_a_key(monkeypatch: pytest.MonkeyPatch):
    with ModelServer(lines(said(tool_calls=[call(arguments=ARO)]), done())) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        events = await say(Ollama("qwen3"))
    assert [event.name for event in events if isinstance(event, ModelCall)] == ["tide_at"]
    assert "authorization" not in server.headers[0]
    assert server.paths == ["/api/chat"]


@pytest.mark.usefixtures("quick")
async def test_where_nothing_answers_it_says_how_to_start_it():
    with ModelServer() as server:
        host = server.host
    with pytest.raises(errors.ConnectionError) as caught:
        await say(Ollama("qwen3", base_url=f"http://{host}"))
    assert caught.value.text == f"Nothing answers at {host}."
    assert caught.value.hint == "Start it with `ollama serve`, or say where it is: OLLAMA_HOST."


async def test_a_model_that_is_not_there_can_be_pulled():
    missing = Fault(404, {"error": "model 'qwen3' not found"})
    with (
        ModelServer(missing, models=["llama3:8b"]) as server,
        pytest.raises(errors.NotFoundError) as caught,
    ):
        await say(Ollama("qwen3", base_url=server.url))
    assert caught.value.hint == "Get it with `ollama pull qwen3`. It has: llama3:8b."
