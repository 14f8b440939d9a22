"""Schemas by hand and of other servers, as every wire takes them: no choice stands at their top."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

import nbtools as nb
from nbtools.messages import Message, Text
from nbtools.providers.wires import Wire
from nbtools.schema.flat import flat_schema
from nbtools.testing import encode

A: dict[str, Any] = {"type": "integer", "description": "A."}
B: dict[str, Any] = {"type": "string"}
HI = [Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))]


@pytest.mark.parametrize(
    ("schema", "properties", "required"),
    [
        ({"type": "object"}, {}, None),
        ({}, {}, None),
        ({"type": "object", "properties": None}, {}, None),
        ({"type": "object", "properties": {"a": A}, "required": ["a"]}, {"a": A}, ["a"]),
        (
            {
                "properties": {"a": A},
                "anyOf": [{"required": ["a"]}, {"properties": {"b": B}, "required": ["b"]}],
            },
            {"a": A, "b": B},
            None,
        ),
        (
            {
                "oneOf": [
                    {"properties": {"kind": B, "a": A}, "required": ["kind", "a"]},
                    {"properties": {"kind": B, "b": B}, "required": ["b", "kind"]},
                ]
            },
            {"kind": B, "a": A, "b": B},
            ["kind"],
        ),
        (
            {
                "properties": {"a": A},
                "required": ["a"],
                "allOf": [{"properties": {"b": B}, "required": ["b", "a"]}, True],
            },
            {"a": A, "b": B},
            ["a", "b"],
        ),
        (
            {"$defs": {"One": {"properties": {"a": A}, "required": ["a"]}}, "$ref": "#/$defs/One"},
            {"a": A},
            ["a"],
        ),
        ({"$defs": {"Me": {"anyOf": [{"$ref": "#/$defs/Me"}]}}, "$ref": "#/$defs/Me"}, {}, None),
        ({"anyOf": "odd", "oneOf": [], "allOf": [None], "required": 7}, {}, None),
    ],
)
def test_what_stands_in_a_choice_is_told_together(schema: Any, properties: Any, required: Any):
    flat = flat_schema(schema)
    assert flat["type"] == "object"
    assert flat["properties"] == properties
    assert flat.get("required") == required
    assert not {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} & set(flat)


def test_a_schema_that_every_wire_takes_is_left_as_it_is():
    nested = {"anyOf": [A, {"$ref": "#/$defs/B"}]}
    schema = {"type": "object", "properties": {"a": nested}, "$defs": {"B": B}, "title": "T"}
    assert flat_schema(schema) == schema


@pytest.mark.parametrize("wire", get_args(Wire))
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": A}, "anyOf": [{"required": ["a"]}, {}]},
        {"type": "object", "oneOf": [{"properties": {"a": A}}, {"properties": {"b": B}}]},
    ],
)
def test_one_tool_never_makes_a_server_refuse_all_of_them(wire: Wire, schema: dict[str, Any]):
    """Such schemas are common in what servers of tools say; OpenAI and Anthropic refuse them."""
    body = encode(wire, HI, [nb.Tool("odd", "Odd.", schema, lambda **_: 1)])
    told = json.dumps(body["tools"])
    assert '"anyOf"' not in told
    assert '"oneOf"' not in told
    if wire != "gemini":
        assert '"properties"' in told
    if "properties" in schema or "oneOf" in schema:
        assert '"a"' in told
