"""Gemini's dialect of JSON Schema: nothing is referred to, and every value has one type.

Definitions are written where they are used; what contains itself is written out a few times, and
left out below where it may be left out. Bounds that the dialect lacks are dropped: the tool checks
its arguments itself.

Source: https://ai.google.dev/api/caching#Schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from nbtools.messages import Json

_COPIED = frozenset({
    "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern",
})  # fmt: skip
_FORMATS = frozenset({"date-time", "enum", "int32", "int64", "float", "double"})
_UNFOLDED = 3
"""How often a definition may stand within itself."""
_MOST = 2_000
"""Parts that one schema may have when all is written out."""
_SCALARS = ({"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"})

Schema = dict[str, Json]


class Inexpressible(ValueError):  # noqa: N818 - a sentence about the schema
    """The schema says something that the dialect has no words for.

    Args:
        place: The property it is about, "" for the whole.
        why: What it is, as the end of a sentence.
    """

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place}: {why}" if place else why)
        self.place = place
        self.why = why


def gemini_schema(schema: Mapping[str, Json]) -> Schema | None:
    """Write a schema in the dialect.

    Args:
        schema: A JSON Schema of type object.

    Returns:
        The schema; None if it has no properties, which is said by leaving it out.

    Raises:
        Inexpressible: The dialect has no words for it; the error names the property.
    """
    if not schema.get("properties"):
        return None
    return _writer(schema).write(schema, "", ())


def gemini_shape(schema: Mapping[str, Json]) -> Schema | None:
    """Write the shape of an answer in the dialect; None if it may be any object.

    Args:
        schema: A JSON Schema.

    Raises:
        Inexpressible: The dialect has no words for it; the error names the property.
    """
    if schema.get("type") == "object" and not schema.get("properties"):
        return None
    return _writer(schema).write(schema, "", ())


class _Endless(Inexpressible):
    """What contains itself has been written out often enough."""


class _Writer:
    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions
        self._count = 0

    def write(self, schema: Json, place: str, within: tuple[str, ...]) -> Schema:
        """Write one part; `within` names the definitions that it stands in."""
        self._count += 1
        if self._count > _MOST:
            raise Inexpressible(place, "is too large when all that it refers to is written out")
        if not isinstance(schema, Mapping):
            schema = {}
        if "$ref" in schema:
            return self._referred(schema, place, within)
        arms = self._arms(schema)
        if arms is not None:
            return self._any_of(arms, schema, place, within)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, Sequence) and values:
            return _described(_listed(values), schema)
        return _described(self._typed(schema, place, within), schema)

    def _referred(self, schema: Mapping[str, Json], place: str, within: tuple[str, ...]) -> Schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        if name not in self._definitions:
            raise Inexpressible(place, f"refers to {schema['$ref']!r:.80}, which is not there")
        if within.count(name) == _UNFOLDED:
            raise _Endless(place, f"contains itself without end ({name})")
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return self.write({**self._definitions[name], **beside}, place, (*within, name))

    def _arms(self, schema: Mapping[str, Json]) -> list[Json] | None:
        """Give the alternatives of a part; None if it has just one form."""
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), Sequence):
                return list(schema[word])
        whole = schema.get("allOf")
        if isinstance(whole, Sequence):
            return [{key: value for each in whole for key, value in _mapping(each).items()}]
        kind = schema.get("type")
        if isinstance(kind, list):
            return [{**schema, "type": each, "description": None} for each in kind]
        return None

    def _any_of(
        self, arms: list[Json], schema: Mapping[str, Json], place: str, within: tuple[str, ...]
    ) -> Schema:
        kept = [arm for arm in arms if _mapping(arm).get("type") != "null"]
        written: list[Schema] = []
        endless: _Endless | None = None
        for arm in kept:
            try:
                written.append(self.write(arm, place, within))
            except _Endless as error:
                endless = error
        if not written:
            raise endless or Inexpressible(place, "is always null")
        one = written[0] if len(written) == 1 else {"anyOf": written}
        nullable = {"nullable": True} if len(kept) < len(arms) else {}
        return _described({**one, **nullable}, schema)

    def _typed(self, schema: Mapping[str, Json], place: str, within: tuple[str, ...]) -> Schema:
        kind = schema.get("type") or _implied(schema)
        if kind is None:
            return {"anyOf": [dict(each) for each in _SCALARS], "nullable": True}
        written: Schema = {"type": str(kind).upper()}
        written |= {name: value for name, value in schema.items() if name in _COPIED}
        written |= _inclusive(schema, whole=kind == "integer")
        if schema.get("format") in _FORMATS:
            written["format"] = schema["format"]
        if kind == "array":
            written |= self._items(schema, place, within)
        elif kind == "object":
            written |= self._properties(schema, place, within)
        return written

    def _items(self, schema: Mapping[str, Json], place: str, within: tuple[str, ...]) -> Schema:
        tuple_items = schema.get("prefixItems")
        if not isinstance(tuple_items, Sequence):
            return {"items": self.write(schema.get("items"), place, within)}
        written: list[Schema] = []
        for item in tuple_items:
            each = self.write(item, place, within)
            if each not in written:
                written.append(each)
        items = written[0] if len(written) == 1 else {"anyOf": written}
        return {"items": items, "minItems": len(tuple_items), "maxItems": len(tuple_items)}

    def _properties(
        self, schema: Mapping[str, Json], place: str, within: tuple[str, ...]
    ) -> Schema:
        properties = _mapping(schema.get("properties"))
        if not properties:
            raise Inexpressible(
                place, "is an object with keys of any name; take a list of names and values"
            )
        required = [name for name in schema.get("required", ()) if name in properties]
        written: dict[str, Schema] = {}
        for name, each in properties.items():
            try:
                written[name] = self.write(each, f"{place}.{name}".lstrip("."), within)
            except _Endless:
                if name in required or len(properties) == 1:
                    raise
        fields: Schema = {"properties": written, "propertyOrdering": list(written)}
        return {**fields, "required": required} if required else fields


def _writer(schema: Mapping[str, Json]) -> _Writer:
    return _Writer({**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))})


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _implied(schema: Mapping[str, Json]) -> str | None:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else None


def _inclusive(schema: Mapping[str, Json], *, whole: bool) -> Schema:
    """Write exclusive bounds as inclusive ones, which is exact for whole numbers."""
    step = 1 if whole else 0
    bounds = {"minimum": ("exclusiveMinimum", step), "maximum": ("exclusiveMaximum", -step)}
    return {
        name: schema[exclusive] + by
        for name, (exclusive, by) in bounds.items()
        if isinstance(schema.get(exclusive), int | float)
    }


def _listed(values: Sequence[Json]) -> Schema:
    """Write a choice of values; those that are no text are named in the description."""
    given = [value for value in values if value is not None]
    nullable = {"nullable": True} if len(given) < len(values) else {}
    if all(isinstance(value, str) for value in given):
        return {"type": "STRING", "format": "enum", "enum": given, **nullable}
    kinds = {type(value) for value in given}
    names = {frozenset({bool}): "BOOLEAN", frozenset({int}): "INTEGER"}
    kind = names.get(frozenset(kinds), "NUMBER" if kinds <= {int, float} else "STRING")
    words = ", ".join(json.dumps(value, ensure_ascii=False) for value in given)
    return {"type": kind, "description": f"One of {words}.", **nullable}


def _described(written: Schema, schema: Mapping[str, Json]) -> Schema:
    """Put the description before what the writer itself had to say in words."""
    texts = [schema.get("description"), written.get("description")]
    if schema.get("default") is not None:
        texts.append(f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
    told = " ".join(dict.fromkeys(text for text in texts if text))
    return {**written, "description": told} if told else written
