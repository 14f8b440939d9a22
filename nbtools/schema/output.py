"""The shape that an answer has to have: what a model is told of it, and how the answer is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nbtools.messages import Json
from nbtools.settings import Output

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_NAMED = 5
"""Problems of an answer that are named."""


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


def read_output(output: Output, text: str) -> Any:
    """Read an answer that was to have a shape.

    Args:
        output: A pydantic model, or a JSON Schema.
        text: What the model wrote.

    Returns:
        An instance of the model; for a JSON Schema what the JSON says.

    Raises:
        ValueError: The text does not fit; the error says where, and quotes it.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only whoever reads a shape needs it

    name, schema = output_schema(output)
    try:
        if isinstance(output, Mapping):
            return _read_json(schema, text)
        return output.model_validate_json(text)  # type: ignore[attr-defined]
    except ValidationError as error:
        problems = [_problem(each["loc"], each["msg"]) for each in error.errors()]
    except ValueError as error:
        problems = [str(error)]
    more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    wrong = "; ".join(problems[:_NAMED]) + more
    raise ValueError(f"The answer does not fit {name!r}: {wrong}. It is {text!r:.200}")


def _read_json(schema: Mapping[str, Json], text: str) -> Json:
    from pydantic_core import from_json  # noqa: PLC0415 - as above

    value: Json = from_json(text, allow_inf_nan=False)
    errors = _validator(schema).iter_errors(value)
    problems = [_problem(each.absolute_path, each.message) for each in errors]
    if problems:
        raise ValueError("; ".join(problems[:_NAMED]))
    return value


def _validator(schema: Mapping[str, Json]) -> Any:
    try:
        from nbtools.schema import linear  # noqa: PLC0415 - imports jsonschema

        return linear.make_validator(dict(schema))
    except ImportError:
        raise ValueError("checking it needs: pip install jsonschema") from None
    except ValueError as problem:
        raise ValueError(f"its schema {problem}") from None


def _problem(path: Iterable[object], why: str) -> str:
    place = ".".join(map(str, path))
    return f"{place}: {why:.200}" if place else f"{why:.200}"


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
