"""pydantic's own schema of arguments, made to drop nothing and to read what it writes.

A model class ignores what it does not know by default, which is right for data that a program
reads. Arguments are a model's words: what it wrote in vain it has to hear of. And what is written
down of them is shown, kept and read again, so nothing of it may be left out or called otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import SchemaSerializer, SchemaValidator

_FIELDS = frozenset({"model-field", "dataclass-field", "typed-dict-field"})
_VALUES = frozenset({"default", "expected", "members", "metadata"})
"""What of a schema is no schema, whatever it looks like."""


def reader_and_writer(model: type[BaseModel]) -> tuple[SchemaValidator, SchemaSerializer]:
    """Make what reads the arguments of a tool, and what writes them down.

    Args:
        model: The arguments as a model class, which stays as it is.
    """
    from pydantic_core import SchemaSerializer, SchemaValidator  # noqa: PLC0415 - with a tool

    whole = model.__pydantic_core_schema__
    schema = _strict(whole, frozenset(_told_apart(whole)))
    config = _config_of(schema, model)
    return _made(SchemaValidator, schema, config), _made(SchemaSerializer, schema, config)


def closes(node: Mapping[str, Any]) -> bool:
    """Say whether the schema of a model ignores further fields only because nothing else was said.

    A class that says what it does with them is left alone, and so is one that may want them: with a
    validator or a constructor of its own that is given all of them, or with fields from within them.

    Args:
        node: A schema of the type "model".
    """
    kind = node["cls"]
    config = kind.model_config
    extra = config.get("json_schema_extra")
    said = config.get("extra") is not None or (
        isinstance(extra, Mapping) and "additionalProperties" in extra
    )
    if said or node.get("root_model") or node.get("custom_init"):
        return False
    validators = kind.__pydantic_decorators__.model_validators.values()
    return all(each.info.mode == "after" for each in validators) and all(
        field.validation_alias is None or isinstance(field.validation_alias, str)
        for field in kind.model_fields.values()
    )


def _strict(schema: Any, left: frozenset[object]) -> Any:
    """Copy a schema, whose parts others share, and close its models but those that are left open."""
    if isinstance(schema, dict):
        made = {
            name: part if name in _VALUES else _strict(part, left) for name, part in schema.items()
        }
        kind = made.get("type")
        if kind == "model" and closes(made) and left.isdisjoint((made["cls"], made.get("ref"))):
            if made["schema"].get("type") == "model-fields":
                made["schema"]["extra_behavior"] = "forbid"
        elif kind in _FIELDS:
            _write_as_read(made)
        return made
    if type(schema) in (list, tuple):
        return type(schema)([_strict(each, left) for each in schema])
    return schema


def _told_apart(schema: Any) -> Iterator[object]:
    """Find the models that a function of the author tells apart, perhaps by a field of none of them.

    Returns:
        Their classes, and the references to them.
    """
    for node in _nodes(schema):
        if node.get("type") != "tagged-union" or not callable(node["discriminator"]):
            continue
        for choice in node["choices"].values():
            inner = choice
            while "schema" in inner and inner.get("type") != "model":
                inner = inner["schema"]
            if (found := inner.get("cls") or inner.get("schema_ref")) is not None:
                yield found


def _write_as_read(field: dict[str, Any]) -> None:
    """Let a field be written, under a name that it is read by."""
    field.pop("serialization_exclude", None)
    field.pop("serialization_alias", None)
    name = field.get("validation_alias")
    if isinstance(name, list):  # paths, any of which is read
        name = next((path[0] for path in _paths(name) if len(path) == 1), None)
    if isinstance(name, str):
        field["serialization_alias"] = name


def _paths(alias: list[Any]) -> list[list[Any]]:
    return alias if alias and isinstance(alias[0], list) else [alias]


def _config_of(schema: Any, model: type[BaseModel]) -> Any:
    """Find the configuration of a model, which is within its schema."""
    for node in _nodes(schema):
        if node.get("type") == "model" and node["cls"] is model:
            return node.get("config")
    return None


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Walk through a schema, from the outside."""
    if isinstance(schema, dict):
        yield schema
        schema = [part for name, part in schema.items() if name not in _VALUES]
    if type(schema) in (list, tuple):
        for each in schema:
            yield from _nodes(each)


def _made(make: Callable[..., Any], schema: Any, config: Any) -> Any:
    """Make a reader or writer from the whole schema, and not from parts that classes have ready."""
    try:
        return make(schema, config, _use_prebuilt=False)
    except TypeError:  # a later pydantic may have no such switch
        return make(schema, config)
