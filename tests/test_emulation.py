"""Tools for servers that know of none: what such a server is asked, and how its answer is read."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtools as nb
from nbtools.events import ModelArgs, ModelCall, ModelFinish, ModelText
from nbtools.messages import Message, Request, Text, ToolCall, ToolSpec
from nbtools.providers import OpenAI
from tests.replay import asked, events_of
from tests.servers import ModelServer, chunk, sse

TIDE = ToolSpec(
    name="tide_at",
    description="Tell the tide.",
    parameters={
        "type": "object",
        "properties": {"port": {"$ref": "#/$defs/Port"}},
        "required": ["port"],
        "$defs": {"Port": {"type": "string", "description": "The port."}},
    },
)
ASK = ToolSpec(name="größe", description="Measure.", parameters={"type": "object"})


def provider(**fields: Any) -> OpenAI:
    return OpenAI("m", base_url="http://localhost:1/v1", tools="emulated", **fields)


def body_of(*messages: Message, tools: Any = (TIDE,), choice: Any = "auto", **fields: Any) -> Any:
    request = Request(messages=[asked("Hi"), *messages], tools=tools, choice=choice)
    return provider(**fields).encode(request)


def schema_of(body: Any) -> Any:
    return body["response_format"]["json_schema"]["schema"]


def fits(answer: Any, schema: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(answer))


def answered(text: str, size: int | None = None, tools: Any = (TIDE, ASK)) -> list[Any]:
    """What is made of an answer whose text comes in pieces of a size."""
    size = size or max(len(text), 1)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    body = sse(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"))
    decoder = provider().decoder(Request(messages=[asked("Hi")], tools=tools))
    return events_of(decoder, body, 1 if size == 1 else None)


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, ModelText))


def call_of(events: list[Any]) -> tuple[list[str], str]:
    names = [event.name for event in events if isinstance(event, ModelCall)]
    return names, "".join(event.text for event in events if isinstance(event, ModelArgs))


# What is asked


def test_the_shape_of_the_answer_has_an_arm_for_each_tool_and_one_for_a_reply():
    body = body_of(tools=[TIDE, ASK])
    assert "tools" not in body
    schema = schema_of(body)
    assert fits({"tool": "tide_at", "arguments": {"port": "Aro"}}, schema)
    assert fits({"tool": "gr__e", "arguments": {}}, schema)
    assert fits({"reply": "Hello."}, schema)
    assert not fits({"tool": "tide_at", "arguments": {"port": 3}}, schema)
    assert not fits({"tool": "other", "arguments": {}}, schema)


def test_the_model_is_told_of_the_tools_in_words():
    system = body_of()["messages"][0]
    assert system["role"] == "system"
    assert system["content"].endswith("The tools are:\n- tide_at: Tell the tide. Arguments: port.")


@pytest.mark.parametrize(
    ("fields", "call", "reply"),
    [
        ({}, True, True),
        ({"tool_choice": "required"}, True, False),
        ({"tool_choice": "tide_at"}, True, False),
        ({"tool_choice": "none"}, False, True),
        ({"choice": "none"}, False, True),
    ],
)
def test_the_choice_of_tools_is_a_choice_of_arms(fields: Any, call: bool, reply: bool):
    schema = schema_of(body_of(**fields))
    assert fits({"tool": "tide_at", "arguments": {"port": "Aro"}}, schema) is call
    assert fits({"reply": "Hello."}, schema) is reply


def test_an_output_that_has_a_shape_is_the_reply():
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    schema = schema_of(body_of(output=shape))
    assert fits({"reply": {"n": 3}}, schema)
    assert not fits({"reply": "Hello."}, schema)


def test_calls_and_results_of_the_past_are_written_as_texts():
    call = ToolCall(
        id="k-1", tool="tide_at", state="result", outcome="ok", args={"port": "Aro"}, told="low"
    )
    reply = Message(id="m-a", role="assistant", parts=(Text(id="p", text="I look."), call))
    messages = body_of(reply)["messages"]
    assert [(message["role"], message["content"]) for message in messages[2:]] == [
        (
            "assistant",
            '{"reply":"I look."}\n\n{"tool":"tide_at","arguments":{"port":"Aro"}}',
        ),
        ("user", "Result of tide_at: low"),
    ]


def test_a_question_without_tools_is_asked_as_it_is():
    assert "response_format" not in body_of(tools=())


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="tools is 'magic'; expected 'native' or 'emulated'"):
        OpenAI("m", tools="magic")  # type: ignore[arg-type]


# What is answered

SIZES = [None, 5, 1]


@pytest.mark.parametrize("size", SIZES)
def test_a_reply_streams_as_text(size: int | None):
    events = answered('{ "reply" : "Say \\"hi\\" \\u00e9\\n\\ud83d\\ude00 \\\\" }', size)
    assert text_of(events) == 'Say "hi" é\n😀 \\'
    assert events[-1] == ModelFinish("stop", "stop")


@pytest.mark.parametrize("size", SIZES)
def test_a_call_streams_its_arguments(size: int | None):
    arguments = '{"port": "A\\"}\\\\", "more": [{"a": 1}]}'
    events = answered(f'{{"tool": "tide_at", "arguments": {arguments}}}', size)
    assert call_of(events) == (["tide_at"], arguments)
    assert text_of(events) == ""


def test_arguments_are_given_as_they_come():
    events = answered('{"tool":"tide_at","arguments":{"port":"Aro"}}', 1)
    assert len([event for event in events if isinstance(event, ModelArgs)]) > 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("value", ['{"n": [1, "}"]}', "[1, 2]", "42", "null"])
def test_a_reply_of_another_shape_is_its_json(value: str, size: int | None):
    assert text_of(answered(f'{{"reply": {value}}}', size)) == value


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", ["Just words.", '{"other": 1}', "{", '{"tool": "x"}', ""])
def test_what_has_no_such_shape_is_plain_text(text: str, size: int | None):
    """The server keeps to no schema."""
    assert text_of(answered(text, size)) == text


@pytest.mark.parametrize("size", [None, 3])
def test_a_call_that_was_cut_is_one_that_has_begun(size: int | None):
    """W-11: half of the arguments; the end of the message says that it was cut."""
    begun = '{"tool": "tide_at", "arguments": {"port": "A'
    body = sse(chunk({"content": begun}), done=False)
    decoder = provider().decoder(Request(messages=[asked("Hi")], tools=[TIDE]))
    events = events_of(decoder, body, size)
    assert call_of(events) == (["tide_at"], '{"port": "A')
    assert not [event for event in events if isinstance(event, ModelFinish)]


@settings(deadline=None, max_examples=100)
@given(st.text(), st.integers(min_value=1, max_value=9))
def test_every_text_survives_as_a_reply(text: str, size: int):
    written = json.dumps({"reply": text})
    said = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert text_of(answered(written, size)) == said


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet='{}[]":,\\ utolreplyargmns0', max_size=60), st.integers(1, 9))
def test_no_text_makes_the_decoder_raise(text: str, size: int):
    answered(text, size)
    answered('{"reply": "' + text, size)
    answered('{"tool": "tide_at", "arguments": {' + text, size)


async def test_a_chat_runs_the_tool_and_goes_on():
    @nb.tool
    def tide_at(port: str) -> str:
        """Tell the tide."""
        return f"low at {port}"

    def said(text: str) -> str:
        return sse(chunk({"content": text}), chunk({}, "stop"))

    asking = json.dumps({"tool": "tide_at", "arguments": {"port": "Aro"}})
    with ModelServer(said(asking), said(json.dumps({"reply": "It is low."}))) as server:
        model = OpenAI("m", base_url=server.url, api_key="", tools="emulated")
        turn = await nb.Chat(model, tools=[tide_at]).send("How is the tide at Aro?")
    assert (turn.text, turn.calls[0].result) == ("It is low.", "low at Aro")
    assert server.requests[1]["messages"][-1]["content"] == "Result of tide_at: low at Aro"
