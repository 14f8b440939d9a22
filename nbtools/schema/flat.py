"""The schema of a tool without choices at its top, which servers refuse together with all tools.

Schemas of our own never have any; those that are written by hand or come from servers of tools do.
What the arms of a choice say is told together, and only what all of them require is required: the
tool checks its arguments itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from nbtools.messages import Json

_CHOICES = ("anyOf", "oneOf")
_REFUSED = frozenset({*_CHOICES, "allOf", "not", "enum", "$ref"})
_DEEPEST = 8
"""How many references and choices may stand within each other."""


def flat_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Write a schema so that every wire takes it.

    Args:
        schema: A JSON Schema that describes an object.

    Returns:
        A schema of type object with properties, of which there may be none.
    """
    if isinstance(schema.get("properties"), Mapping) and _REFUSED.isdisjoint(schema):
        return {**schema, "type": "object"}
    properties, required = _told(schema, _mapping(schema.get("$defs")), _DEEPEST)
    kept = {k: each for k, each in schema.items() if k not in _REFUSED and k != "required"}
    flat: dict[str, Json] = {**kept, "type": "object", "properties": properties}
    return {**flat, "required": required} if required else flat


def _told(
    schema: Json, definitions: Mapping[str, Json], depth: int
) -> tuple[dict[str, Json], list[str]]:
    """Give the properties of a part with all its arms, and the names of those that it requires."""
    part = _mapping(schema)
    if depth == 0:
        return {}, []
    if "$ref" in part:
        named = _mapping(definitions.get(str(part["$ref"]).rpartition("/")[2]))
        part = {**named, **{k: each for k, each in part.items() if k != "$ref"}}
        return _told(part, definitions, depth - 1)
    properties, required = dict(_mapping(part.get("properties"))), _names(part.get("required"))
    for arm in _arms(part, "allOf"):
        more, needed = _told(arm, definitions, depth - 1)
        properties, required = {**more, **properties}, [*required, *needed]
    for word in _CHOICES:
        told = [_told(arm, definitions, depth - 1) for arm in _arms(part, word)]
        for more, _ in told:
            properties |= {name: each for name, each in more.items() if name not in properties}
        required += [n for n in (told[0][1] if told else ()) if all(n in r for _, r in told)]
    return properties, list(dict.fromkeys(required))


def _arms(part: Mapping[str, Json], word: str) -> list[Json]:
    arms = part.get(word)
    return list(arms) if isinstance(arms, list | tuple) else []


def _names(value: Json) -> list[str]:
    return [n for n in value if isinstance(n, str)] if isinstance(value, list | tuple) else []


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
