"""The shape that an answer has to have: what a model is told of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbtools.messages import Json
from nbtools.settings import Output

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def output_schema(output: Output) -> tuple[str, dict[str, Json]]:
    """Give name and JSON Schema of the shape of an answer.

    Args:
        output: A pydantic model, or a JSON Schema.

    Returns:
        A name of letters, digits, "_" and "-"; and the schema.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(output, Mapping):
        title = output.get("title")
        return _name(title if isinstance(title, str) else ""), dict(output)
    described = getattr(output, "model_json_schema", None)
    if described is None:
        raise ValueError(f"output is {output!r:.80}; expected a pydantic model or a JSON Schema.")
    return _name(output.__name__), described()


def _name(title: str) -> str:
    return _FOREIGN.sub("_", title)[:64] or "answer"


_CONSTRAINTS = frozenset({
    "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "maxItems", "uniqueItems",
})  # fmt: skip


def closed_schema(schema: Json) -> Json:
    """Write a schema for servers that want every object closed, and take no bounds.

    Args:
        schema: A JSON Schema; bounds of numbers, texts and lists are left out.

    Returns:
        The schema in that form.
    """
    if isinstance(schema, list):
        return [closed_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {k: closed_schema(each) for k, each in schema.items() if k not in _CONSTRAINTS}
    if isinstance(schema.get("properties"), Mapping):
        properties = schema["properties"].items()
        closed["properties"] = {name: closed_schema(each) for name, each in properties}
        closed["additionalProperties"] = False
    return closed
