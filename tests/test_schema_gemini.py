"""Gemini's dialect of schemas: what is written out, what is bounded, and what is refused."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import nbtools as nb
from nbtools.errors import ToolDefinitionError
from nbtools.messages import Request
from nbtools.providers import Gemini
from nbtools.schema.gemini import Inexpressible, gemini_schema

FORBIDDEN = ("$ref", "$defs", "additionalProperties", "const", "default")


class Span(BaseModel):
    lo: int
    hi: int | None = None


class Node(BaseModel):
    label: str
    kids: list[Node] = []


class Link(BaseModel):
    value: int
    following: Link


class Odd(BaseModel):
    even: Even | None = None
    n: int = 0


class Even(BaseModel):
    odd: Odd
    n: int = 0


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def crop(x: Span, y: Span) -> str:
    return ""


def walk(root: Node) -> int:
    return 0


def follow(first: Link) -> int:
    return 0


def mutual(odd: Odd) -> int:
    return 0


def free(extra: dict[str, Span]) -> str:
    return ""


def hidden_free(spans: list[dict[str, float]]) -> str:
    return ""


def many(
    *,
    pair: tuple[int, int],
    mixed: tuple[int, str],
    anything: Any,
    level: Level,
    word: Literal["a", "b"] | None = None,
    either: float | str = 1.5,
    bounded: Annotated[int, Field(gt=0, lt=10, description="How many.")] = 5,
) -> str:
    return ""


def nothing() -> str:
    return ""


def told(function: Any) -> dict[str, Any]:
    """The schema of a function's tool, which has no word that Gemini refuses."""
    schema = gemini_schema(nb.tool(function).parameters)
    assert schema is not None
    written = json.dumps(schema)
    assert not [word for word in FORBIDDEN if f'"{word}"' in written]
    return schema


def test_a_model_that_is_used_twice_is_written_out_twice():
    """S-03: `crop`."""
    span = {
        "type": "OBJECT",
        "properties": {"lo": {"type": "INTEGER"}, "hi": {"type": "INTEGER", "nullable": True}},
        "propertyOrdering": ["lo", "hi"],
        "required": ["lo"],
    }
    assert told(crop)["properties"] == {"x": span, "y": span}


def test_a_model_that_contains_itself_is_unfolded_three_times():
    """S-03: `walk`."""
    depth, node = 0, told(walk)["properties"]["root"]
    while "kids" in node["properties"]:
        depth, node = depth + 1, node["properties"]["kids"]["items"]
    assert depth == 2
    assert node["properties"] == {"label": {"type": "STRING"}}


def test_two_models_that_contain_each_other_are_unfolded():
    """S-03: variant, mutual recursion."""
    assert json.dumps(told(mutual)).count('"even"') == 4


def test_what_must_contain_itself_is_refused_with_its_place():
    """S-03: no end can be written."""
    with pytest.raises(Inexpressible, match=r"contains itself without end \(Link\)") as caught:
        told(follow)
    assert caught.value.place.startswith("first.following")


@pytest.mark.parametrize(
    ("function", "place"), [(free, "extra"), (hidden_free, "spans")], ids=["free", "hidden"]
)
def test_an_object_with_free_keys_is_never_turned_into_an_empty_one(function: Any, place: str):
    """S-03: variant, `dict[str, Span]`."""
    with pytest.raises(Inexpressible, match="an object with keys of any name") as caught:
        told(function)
    assert caught.value.place == place


def test_each_value_has_one_type_or_named_alternatives():
    """S-03: variant, `tuple[int, int]`, and the rest of the words."""
    assert told(many)["properties"] == {
        "pair": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": 2, "maxItems": 2},
        "mixed": {
            "type": "ARRAY",
            "items": {"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]},
            "minItems": 2,
            "maxItems": 2,
        },
        "anything": {
            "anyOf": [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}],
            "nullable": True,
        },
        "level": {"type": "INTEGER", "description": "One of 1, 2."},
        "word": {"type": "STRING", "format": "enum", "enum": ["a", "b"], "nullable": True},
        "either": {
            "anyOf": [{"type": "NUMBER"}, {"type": "STRING"}],
            "description": "Default: 1.5.",
        },
        "bounded": {
            "type": "INTEGER",
            "minimum": 1,
            "maximum": 9,
            "description": "How many. Default: 5.",
        },
    }


def test_a_tool_without_parameters_has_no_schema():
    assert gemini_schema(nb.tool(nothing).parameters) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
    ],
)  # fmt: skip
def test_a_schema_by_hand_that_has_no_value_is_refused(schema: dict[str, Any]):
    with pytest.raises(Inexpressible):
        gemini_schema(schema)


def test_what_would_grow_without_measure_is_refused():
    properties = {f"p{n}": {"type": "array", "items": {"$ref": "#/$defs/A"}} for n in range(20)}
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "object", "properties": properties}},
    }
    with pytest.raises(Inexpressible, match="too large"):
        gemini_schema(schema)


def test_a_chat_says_it_when_the_model_is_chosen():
    """S-03: naming tool and parameter; other models take the tool as it is."""
    chat = nb.Chat(nb.Scripted("Hi"), tools=[nb.tool(free)])
    expected = (
        "Gemini cannot be told of the tool 'free': its parameter 'extra' is an object with keys "
        "of any name; take a list of names and values."
    )
    with pytest.raises(ToolDefinitionError) as caught:
        chat.model = Gemini("gemini-3-pro-preview")
    assert str(caught.value) == expected
    assert chat.model.label == "scripted"
    with pytest.raises(ToolDefinitionError):
        nb.Chat("gemini:gemini-3-pro-preview", tools=[nb.tool(free)])


class Tree(BaseModel):
    label: str
    kids: list[Tree] = []


class Free(BaseModel):
    counts: dict[str, int]


def test_the_shape_of_an_answer_is_told_though_it_contains_itself():
    config = Gemini("m", output=Tree).encode(Request(messages=()))["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    kids = config["responseSchema"]["properties"]["kids"]["items"]["properties"]
    assert kids["label"] == {"type": "STRING"}
    assert "$ref" not in json.dumps(config)


def test_a_shape_that_cannot_be_told_is_named_with_its_place():
    with pytest.raises(
        ValueError,
        match="Gemini cannot be told of the output 'Free': its field 'counts' is an object with",
    ):
        Gemini("m", output=Free).encode(Request(messages=()))


def test_any_object_and_any_list_may_be_asked_for():
    shapes: list[dict[str, Any]] = [
        {"type": "object"},
        {"type": "array", "items": {"type": "integer"}},
    ]
    told = [
        Gemini("m", output=shape).encode(Request(messages=()))["generationConfig"]
        for shape in shapes
    ]
    assert [each.get("responseSchema") for each in told] == [
        None,
        {"type": "ARRAY", "items": {"type": "INTEGER"}},
    ]
