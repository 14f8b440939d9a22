"""JSON Schema validation that no text of a model can make hang, and that fetches nothing.

jsonschema with its patterns on the linear-time engine of pydantic_core, and with a registry that
knows only the specifications.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import jsonschema_specifications  # type: ignore[import-untyped]
from pydantic_core import SchemaError, SchemaValidator, core_schema

from nbtools.messages import Json

_QUOTED = frozenset({"default", "enum", "const", "examples"})


def make_validator(schema: dict[str, Json]) -> Any:
    """Make a validator of a schema.

    Args:
        schema: The schema, of any draft that jsonschema knows.

    Returns:
        A jsonschema validator.

    Raises:
        ValueError: The schema cannot be used; the text goes on from "its schema".
    """
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        # Without formats: patterns are checked below, by the engine that will run them.
        kind.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
    except jsonschema.SchemaError as problem:
        place, why = problem.json_path, problem.message
        raise ValueError(f"is not valid at {place}: {why:.200}") from None
    _check_parts(list(_parts(schema)))
    linear = jsonschema.validators.extend(kind, _KEYWORDS)
    return linear(schema, registry=jsonschema_specifications.REGISTRY)


def _parts(schema: Json) -> Iterator[dict[str, Json]]:
    if isinstance(schema, list):
        for each in schema:
            yield from _parts(each)
    elif isinstance(schema, dict):
        yield schema
        for name, each in schema.items():
            if name not in _QUOTED:
                yield from _parts(each)


def _check_parts(parts: list[dict[str, Json]]) -> None:
    for part in parts:
        if isinstance(part.get("pattern"), str):
            _check_pattern(part["pattern"])
        for each in _patterns(part):
            _check_pattern(each)
        reference = part.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            raise ValueError(f"refers to {reference!r:.120}, expected a place within it")
    # jsonschema looks for these two together with the backtracking engine.
    if any("unevaluatedProperties" in part for part in parts) and any(map(_patterns, parts)):
        raise ValueError(
            "has unevaluatedProperties beside patternProperties; use additionalProperties"
        )


def _patterns(part: Mapping[str, Json]) -> list[str]:
    named = part.get("patternProperties")
    return list(named) if isinstance(named, dict) else []


def _check_pattern(pattern: str) -> None:
    try:
        _compiled(pattern)
    except SchemaError as problem:
        reason = str(problem).strip().rpartition("\n")[2].removeprefix("error: ")
        raise ValueError(f"has the pattern {pattern!r:.120}: {reason}") from None


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).isinstance_python(text)


def _pattern(_: Any, value: str, instance: Json, __: Json) -> Iterator[Exception]:
    if isinstance(instance, str) and not _matches(value, instance):
        yield jsonschema.ValidationError("pattern")


def _pattern_properties(
    validator: Any, value: Mapping[str, Json], instance: Json, _: Json
) -> Iterator[Exception]:
    for name, each in instance.items() if isinstance(instance, dict) else ():
        for pattern, schema in value.items():
            if _matches(pattern, name):
                yield from validator.descend(each, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, value: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterator[Exception]:
    known, patterns = schema.get("properties", {}), _patterns(schema)
    for name, each in instance.items() if isinstance(instance, dict) else ():
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if value is False:
            yield jsonschema.ValidationError("additionalProperties")
            return
        yield from validator.descend(each, value, path=name)


_KEYWORDS = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}
