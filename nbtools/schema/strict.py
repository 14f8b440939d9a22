"""OpenAI's strict mode: which schemas it can express, and how they are written for it.

Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas. What it
cannot express is sent as it is, without the promise; one such tool changes nothing for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.messages import Json

_COPIED = frozenset({
    "type", "enum", "const", "description", "title", "pattern",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems",
})  # fmt: skip
_FORMATS = frozenset({
    "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
})  # fmt: skip
_DEFINITIONS = "#/$defs/"


class _Inexpressible(Exception):  # noqa: N818 - never leaves this module
    """The schema says something that strict mode has no words for."""


def strict_schema(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """Write a schema for strict mode.

    Every object lists all its properties as required and allows no others. A property that may be
    left out can be expressed only if null means the same.

    Args:
        schema: A JSON Schema of type object.

    Returns:
        The schema in that form, or None where it cannot be written so.
    """
    definitions = schema.get("$defs", {})
    if "anyOf" in schema or not isinstance(definitions, Mapping):
        return None
    writer = _Writer(definitions)
    try:
        written = writer.write({name: each for name, each in schema.items() if name != "$defs"})
        written_definitions = {name: writer.write(each) for name, each in definitions.items()}
    except (_Inexpressible, RecursionError):
        return None
    if written.get("type") != "object":
        return None
    return {**written, "$defs": written_definitions} if written_definitions else written


class _Writer:
    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions

    def write(self, schema: Json) -> dict[str, Json]:
        if not isinstance(schema, Mapping) or not schema:
            raise _Inexpressible
        if "$ref" in schema:
            return self._reference(schema)
        written: dict[str, Json] = {}
        for name, value in schema.items():
            if name in _COPIED or (name == "format" and value in _FORMATS):
                written[name] = value
            elif name == "anyOf":
                written[name] = [self.write(each) for each in value]
            elif name == "items":
                written[name] = self.write(value)
            elif name not in {"default", "properties", "required", "additionalProperties"}:
                raise _Inexpressible
        if not written.keys() & {"type", "enum", "const", "anyOf"}:
            raise _Inexpressible
        return self._closed(schema, written)

    def _closed(self, schema: Mapping[str, Json], written: dict[str, Json]) -> dict[str, Json]:
        kind = schema.get("type")
        if kind == "array" and "items" not in schema:
            raise _Inexpressible
        if kind != "object":
            if isinstance(kind, list) and {"object", "array"} & set(kind):
                raise _Inexpressible
            return written
        properties = schema.get("properties", {})
        free = schema.get("additionalProperties")
        if free or (free is None and not properties):
            raise _Inexpressible
        written["properties"] = {
            name: self._property(each, required=name in schema.get("required", ()))
            for name, each in properties.items()
        }
        return {**written, "required": list(properties), "additionalProperties": False}

    def _property(self, schema: Json, *, required: bool) -> dict[str, Json]:
        if not required and not (
            isinstance(schema, Mapping)
            and schema.get("default", ...) is None
            and self._takes_null(schema)
        ):
            raise _Inexpressible
        return self.write(schema)

    def _takes_null(self, schema: Mapping[str, Json]) -> bool:
        kind = schema.get("type")
        if kind == "null" or (isinstance(kind, list) and "null" in kind):
            return True
        return any(self._takes_null(each) for each in schema.get("anyOf", ()))

    def _reference(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        """Write a reference; what stands beside it makes it a copy, since nothing may."""
        reference = schema["$ref"]
        name = reference.removeprefix(_DEFINITIONS) if isinstance(reference, str) else ""
        if name not in self._definitions:
            raise _Inexpressible
        beside: dict[str, Any] = {k: v for k, v in schema.items() if k not in {"$ref", "default"}}
        if not beside:
            return {"$ref": reference}
        return self.write({**self._definitions[name], **beside})
