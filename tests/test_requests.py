"""Requests of every wire, held against the types of the providers' own libraries.

The conversation has two rounds of calls, parallel ones and a failed one, thoughts, a picture and
what other wires left in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from nbtools.jsontext import dumps
from nbtools.messages import File, Message, Part, Picture, Reasoning, Text, ToolCall, ToolSpec
from nbtools.providers.wires import Wire
from nbtools.testing import encode

WIRES: list[Wire] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]
TIDE = ToolSpec(
    name="tide_at",
    description="Tell the tide.",
    parameters={
        "type": "object",
        "properties": {
            "port": {"type": "string", "description": "The port."},
            "day": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["port"],
        "additionalProperties": False,
    },
)
BARE = ToolSpec(name="größe", description="", parameters={"type": "object", "properties": {}})


class Answer(BaseModel):
    port: str
    metres: float


def message(role: Any, *parts: Part, finish: Any = "") -> Message:
    number = f"m-{id(parts)}"
    return Message(id=number, role=role, parts=parts, finish=finish)


def call(name: str, tool: str = "tide_at", told: str = "low", **fields: Any) -> ToolCall:
    state: Any = {"state": "result", "outcome": "ok", "args": {"port": "Aro"}, **fields}
    return ToolCall(id=name, tool=tool, told=told, **state)


def sealed(wire: Wire, **material: Any) -> Any:
    return {"wire": wire, **material}


THOUGHTS: list[Part] = [
    Reasoning(id="r-1", text="Hm.", sealed=sealed("anthropic", signature="c2ln")),
    Reasoning(
        id="r-2",
        text="Hm.",
        sealed=sealed(
            "openai-responses",
            item={"type": "reasoning", "id": "rs-1", "encrypted_content": "b3BhcXVl"},
        ),
    ),
    Reasoning(id="r-3", text="Unsigned."),
]
CONVERSATION = [
    message(
        "user",
        Text(id="p-1", text="Tides of both, and what is this?"),
        File(id="f-1", mime="image/png", data="iVBORw0KGgo="),
        File(id="f-2", mime="text/csv", name="a.csv", data="YSxi"),
    ),
    message(
        "assistant",
        THOUGHTS[0],
        THOUGHTS[2],
        Text(id="p-2", text="I look both up."),
        call("k-1", sealed=sealed("gemini", thoughtSignature="c2ln")),
        call("k-2", told="", args={"port": "Moss", "day": None}),
        finish="calls",
    ),
    message(
        "assistant",
        THOUGHTS[1],
        call("f.x:0", "files.read all()", "No such tool.", state="error", outcome="unknown"),
        call("k-3", "größe", '{"n": 3}', args={}),
        finish="calls",
    ),
    message("assistant", Text(id="p-3", text="Aro is low."), finish="stop"),
    message("user", Text(id="p-4", text="And now?")),
]


PICTURE = Picture(mime="image/png", width=1, height=1, data="iVBORw0KGgo=")


def with_pictures(message: Message) -> Message:
    """Let the results of a message have pictures, but for that of the call that failed."""
    parts = tuple(
        replace(part, pictures=(PICTURE, PICTURE))
        if isinstance(part, ToolCall) and part.state == "result"
        else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def chat_types(body: Mapping[str, Any]) -> None:
    types = pytest.importorskip("openai.types.chat.completion_create_params")
    check(types.CompletionCreateParamsStreaming, body)


def responses_types(body: Mapping[str, Any]) -> None:
    types = pytest.importorskip("openai.types.responses.response_create_params")
    check(types.ResponseCreateParamsStreaming, body)


def messages_types(body: Mapping[str, Any]) -> None:
    types = pytest.importorskip("anthropic.types.message_create_params")
    known = {name: value for name, value in body.items() if name != "temperature"}
    check(types.MessageCreateParamsStreaming, known)


def gemini_types(body: Mapping[str, Any]) -> None:
    types = pytest.importorskip("google.genai.types")
    kinds = {
        "contents": types.Content,
        "systemInstruction": types.Content,
        "tools": types.Tool,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    assert set(body) <= set(kinds)
    for name, value in body.items():
        for each in value if isinstance(value, list) else [value]:
            check(kinds[name], each)


def ollama_types(body: Mapping[str, Any]) -> None:
    types = pytest.importorskip("ollama._types")
    assert set(body) <= set(types.ChatRequest.model_fields)
    check(types.ChatRequest, body)
    for each in body["messages"]:
        assert set(each) <= set(types.Message.model_fields)
        # The library makes the text of a picture from a value of its own.
        pictures = [types.Image(value=picture) for picture in each.get("images", ())]
        check(types.Message, {**each, "images": pictures})


TYPES: dict[Wire, Callable[[Mapping[str, Any]], None]] = {
    "openai-chat": chat_types,
    "openai-responses": responses_types,
    "anthropic": messages_types,
    "gemini": gemini_types,
    "ollama": ollama_types,
}


def check(kind: Any, value: Any) -> None:
    """Hold a value against a type, to its depths, with no field that the type does not know."""
    extra: Any = None if is_model(kind) else "forbid"
    exhaust(adapter_of(kind).validate_python(value, extra=extra))


@functools.cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def is_model(kind: Any) -> bool:
    """Whether the type says itself what it makes of unknown fields."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def exhaust(value: Any) -> None:
    """Read iterables to their end: pydantic checks their items only as they are read."""
    if isinstance(value, Mapping):
        for each in value.values():
            exhaust(each)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | BaseModel):
        for each in value:
            exhaust(each)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_a_conversation_of_two_rounds_is_a_request_of_its_library(wire: Wire, rounds: int):
    TYPES[wire](encode(wire, CONVERSATION[:rounds], [TIDE, BARE], system="Be brief."))


@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize(
    ("wire", "model"),
    [
        ("openai-chat", "gpt-5.1"),
        ("openai-responses", "gpt-5.1"),
        ("anthropic", "claude-sonnet-5"),
        ("gemini", "gemini-3-pro-preview"),
        ("gemini", "gemini-2.5-flash"),
        ("ollama", "qwen2.5vl:7b"),
    ],
)
def test_results_with_pictures_are_a_request_of_its_library(wire: Wire, model: str, rounds: int):
    body = encode(
        wire, [with_pictures(each) for each in CONVERSATION[:rounds]], [TIDE], model=model
    )
    TYPES[wire](body)
    assert dumps(body).count(PICTURE.data) >= rounds  # of which the user sent one


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("named", ["", "a.txt"])
@pytest.mark.parametrize(
    ("mime", "data", "told"),
    [
        ("text/plain", "", "(an empty file)"),
        ("text/csv", "IAo=", "(an empty file)"),
        ("text/plain", "YSxi", "a,b"),
        ("text/plain", "YSxiYw", "a,bc"),
        ("text/plain", "YSxiY", "text/plain"),
        ("application/zip", "AAAA", "application/zip"),
    ],
)
def test_no_file_makes_a_request_that_cannot_be_written(
    wire: Wire, mime: str, data: str, told: str, named: str
):
    """W-15: no text is empty, and what the model cannot be given is told in words."""
    file = File(id="f", mime=mime, name=named, data=data)
    body = encode(wire, [message("user", file)])
    TYPES[wire](body)
    written = dumps(body)
    assert told in written
    assert '"text": ""' not in written
    assert '"text":""' not in written


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.5, "max_tokens": 100, "stop": ["END"], "seed": 7},
        {"tool_choice": "required", "parallel_calls": False},
        {"tool_choice": "tide_at", "parallel_calls": True},
        {"tool_choice": "none"},
        {"reasoning": "low"},
        {"reasoning": "none"},
        {"reasoning": 2_000},
        {"output": Answer},
        {"output": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}},
    ],
    ids=str,
)
def test_every_setting_is_a_field_of_its_library(wire: Wire, settings: dict[str, Any]):
    TYPES[wire](encode(wire, CONVERSATION, [TIDE], **settings))


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_without_anything_else_is_one_too(wire: Wire):
    TYPES[wire](encode(wire, [message("user", Text(id="p", text="Hi"))]))


def test_anthropic_takes_marks_for_its_cache():
    body = encode("anthropic", CONVERSATION, [TIDE], system="Be brief.", cache="1h")
    TYPES["anthropic"](body)


def test_the_check_looks_into_the_depths():
    body = encode("openai-chat", CONVERSATION, [TIDE])
    del body["messages"][-1]["content"]
    with pytest.raises(ValidationError):
        TYPES["openai-chat"](body)
