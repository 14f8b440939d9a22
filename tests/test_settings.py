"""Settings that hold for every wire, and how Chat Completions says them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

import nbtools as nb
from nbtools.messages import Message, Request, Text, ToolCall, ToolSpec
from nbtools.providers import OpenAI, OpenAIResponses
from nbtools.schema.strict import strict_schema
from nbtools.settings import Settings, SettingsFields, merge
from nbtools.testing import call

SPEC = ToolSpec(name="rows", description="Count rows.", parameters={"type": "object"})
HI = Message(id="m-u", role="user", parts=(Text(id="p", text="Hi"),))


def body_of(settings: Settings, *messages: Message, **options: Any) -> dict[str, Any]:
    request = Request(messages=[HI, *messages], tools=[SPEC], settings=settings)
    return OpenAI("m", **options).encode(request)


def test_the_fields_as_keywords_are_the_fields_of_the_settings():
    names = [field.name for field in dataclasses.fields(Settings)]
    assert list(SettingsFields.__annotations__) == names


def test_settings_of_a_request_win_over_those_of_the_provider():
    general = Settings(temperature=0.5, seed=1, extra={"user": "a", "store": False})
    assert merge(general, Settings(temperature=0, extra={"user": "b"})) == Settings(
        temperature=0, seed=1, extra={"user": "b", "store": False}
    )
    assert merge(general, None) is general


def test_fields_of_a_provider_win_over_its_settings():
    provider = OpenAI("m", settings=Settings(temperature=0.5, seed=1), temperature=0.1)
    assert provider.settings == Settings(temperature=0.1, seed=1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"temperature": -1}, "temperature is -1; expected a number from 0."),
        ({"temperature": float("nan")}, "temperature is nan; expected a number from 0."),
        ({"max_tokens": 0}, "max_tokens is 0; expected a whole number from 1."),
        ({"max_tokens": True}, "max_tokens is True; expected a whole number from 1."),
        ({"seed": 1.5}, "seed is 1.5; expected a whole number."),
        ({"reasoning": "hard"}, "reasoning is 'hard'; expected a number or one of"),
        ({"tool_choice": ""}, "tool_choice is ''; expected 'auto', 'none', 'required' or a tool."),
        ({"stop": ["a", ""]}, "stop is ['a', '']; expected texts that are not empty."),
        ({"output": "json"}, "output is 'json'; expected a pydantic model or a JSON Schema."),
    ],
)
def test_a_value_that_no_wire_takes_is_named(fields: dict[str, Any], words: str):
    with pytest.raises(ValueError, match="expected") as caught:
        Settings(**fields)
    assert str(caught.value).startswith(words)


def test_an_unknown_setting_is_named():
    options: dict[str, Any] = {"temprature": 1}
    with pytest.raises(TypeError, match="'temprature'"):
        OpenAI("m", **options)


def test_one_text_to_stop_at_is_as_good_as_a_list():
    assert Settings(stop="END").stop == ("END",)


def test_every_setting_is_written_for_a_server():
    body = body_of(
        Settings(
            temperature=0,
            max_tokens=9,
            seed=7,
            stop=("END",),
            reasoning="low",
            parallel_calls=False,
            extra={"user": "me"},
        )
    )
    assert {name: body[name] for name in body if name not in {"messages", "tools"}} == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "max_completion_tokens": 9,
        "seed": 7,
        "stop": ["END"],
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "user": "me",
    }


@pytest.mark.parametrize(
    ("budget", "effort"), [(1_000, "low"), (4_000, "medium"), (20_000, "high"), ("max", "xhigh")]
)
def test_a_number_of_tokens_to_think_becomes_a_word(budget: Any, effort: str):
    assert body_of(Settings(reasoning=budget))["reasoning_effort"] == effort


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("rows", {"type": "function", "function": {"name": "rows"}}),
    ],
)
def test_the_choice_of_tools_is_written(choice: str, written: Any):
    assert body_of(Settings(tool_choice=choice)).get("tool_choice") == written


def test_a_tool_that_has_to_be_called_is_not_asked_for_again_with_its_result():
    done = ToolCall(id="k", tool="rows", state="result", outcome="ok", args={}, told="3")
    reply = Message(id="m-a", role="assistant", parts=(done,), finish="calls")
    assert "tool_choice" not in body_of(Settings(tool_choice="required"), reply)
    assert body_of(Settings(tool_choice="none"), reply)["tool_choice"] == "none"
    said = Message(id="m-b", role="assistant", parts=(Text(id="p", text="So."),), finish="stop")
    assert body_of(Settings(tool_choice="required"), reply, said)["tool_choice"] == "required"


@pytest.mark.parametrize("make", [OpenAI, OpenAIResponses])
def test_nothing_is_said_of_a_choice_where_there_are_no_tools(make: Any):
    """The server refuses it: the model may have called tools that nobody defined."""
    request = Request(messages=[HI], choice="none")
    assert "tool_choice" not in make("m").encode(request)
    searching = make("m", extra={"tools": [{"type": "web_search"}]})
    assert searching.encode(request)["tool_choice"] == "none"


def test_a_choice_that_is_no_tool_is_named():
    with pytest.raises(ValueError, match="tool_choice is 'row'; expected one of 'auto', 'none'"):
        body_of(Settings(tool_choice="row"))


class Person(BaseModel):
    name: str
    nick: str | None = None


def test_a_model_of_the_answer_is_sent_as_its_schema_word_by_word():
    written = body_of(Settings(output=Person))["response_format"]["json_schema"]
    assert (written["name"], written["strict"]) == ("Person", True)
    assert written["schema"]["required"] == ["name", "nick"]
    assert written["schema"]["additionalProperties"] is False


def test_a_shape_that_strict_mode_cannot_express_is_sent_without_the_promise():
    free = {"type": "object", "additionalProperties": {"type": "number"}, "title": "My counts"}
    written = body_of(Settings(output=free))["response_format"]["json_schema"]
    assert written == {"name": "My_counts", "schema": free}


def test_a_class_that_is_no_model_is_no_shape():
    with pytest.raises(ValueError, match="output is <class 'int'>; expected a pydantic model"):
        body_of(Settings(output=int))


# Strict mode


def test_one_tool_without_strict_mode_leaves_it_to_the_others():
    """S-01: a free dict falls back, its neighbour stays strict."""

    @nb.tool
    def tag(row: int, extra: dict[str, float] | None = None, **kw: Any) -> str:
        """Tag a row."""
        return f"{row} {extra}"

    @nb.tool
    def count(table: str, where: str | None = None) -> int:
        """Count rows."""
        return len(table)

    body = OpenAI("m").encode(Request(messages=[HI], tools=[tag.spec, count.spec]))
    loose, strict = (each["function"] for each in body["tools"])
    assert "strict" not in loose
    assert set(loose["parameters"]["properties"]) == {"row", "extra"}
    assert strict["strict"] is True
    assert strict["parameters"]["required"] == ["table", "where"]
    for arguments in ({"row": 1}, {"row": 1, "extra": None}):
        assert tag.bind(tag.check(arguments)) == {"row": 1, "extra": None}


def test_strict_mode_is_for_openai_itself_unless_it_is_asked_for():
    @nb.tool
    def count(table: str) -> int:
        """Count rows."""
        return len(table)

    request = Request(messages=[HI], tools=[count.spec])
    address = "http://localhost:1/v1"
    for options, strict in (
        ({}, True),
        ({"strict": False}, False),
        ({"base_url": address}, False),
        ({"base_url": address, "strict": True}, True),
    ):
        body = OpenAI("m", **options).encode(request)
        assert ("strict" in body["tools"][0]["function"]) is strict


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        _object(a={}),
        _object(a={"type": "object"}),
        _object(a={"type": "object", "additionalProperties": {"type": "number"}}),
        _object(a={"type": "array"}),
        _object(a={"type": ["object", "null"]}),
        _object(a={"type": "string", "minLength": 1}),
        _object(a={"type": "string", "format": "binary"}),
        _object(a={"oneOf": [{"type": "string"}]}),
        _object(a={"$ref": "https://a.example/schema"}),
        {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}},
        {"type": "object", "properties": {"a": {"type": ["integer", "null"], "default": 3}}},
        {"anyOf": [_object(a={"type": "string"})]},
        {
            **_object(a={"$ref": "#/$defs/A", "title": "A"}),
            "$defs": {"A": {"$ref": "#/$defs/A", "title": "A"}},
        },
    ],
)
def test_what_strict_mode_cannot_express_is_left_as_it_is(schema: dict[str, Any]):
    """S-01: variants."""
    assert strict_schema(schema) is None


def test_nothing_stands_beside_a_reference_in_strict_mode():
    inner = _object(n={"type": "integer"})
    schema = {**_object(a={"$ref": "#/$defs/A", "description": "An A."}), "$defs": {"A": inner}}
    assert strict_schema(schema) == {
        "type": "object",
        "properties": {"a": {**inner, "additionalProperties": False, "description": "An A."}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"A": {**inner, "additionalProperties": False}},
    }


def test_a_recursive_model_is_expressed_by_reference():
    node = _object(kids={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    schema = {**_object(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
    strict = strict_schema(schema)
    assert strict is not None
    assert strict["properties"]["root"] == {"$ref": "#/$defs/Node"}


# One message


async def test_settings_of_one_message_hold_for_its_whole_answer_and_no_longer():
    @nb.tool
    def count() -> int:
        """Count rows."""
        return 3

    model = nb.Scripted([call("count", {})], "Three.", "Hello.")
    chat = nb.Chat(model, tools=[count])
    await chat.send("How many?", settings=nb.Settings(seed=7))
    await chat.send("Hi")
    assert [request.settings for request in model.requests] == [
        Settings(seed=7),
        Settings(seed=7),
        None,
    ]
    chat.close()
