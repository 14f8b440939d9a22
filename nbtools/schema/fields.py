"""A parameter as a field of a pydantic model, with what the author said through `Field`."""

from __future__ import annotations

import typing
from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from nbtools.schema.signature import EMPTY, Parameter


def describe_field(parameter: Parameter, doc: str) -> tuple[Any, Any]:
    """Describe a parameter as pydantic wants it.

    Args:
        parameter: The parameter.
        doc: What the docstring says of it; the author's own `Field(description=…)` goes first.

    Returns:
        The type and the field.
    """
    hint, default, own = _taken_apart(parameter)
    settings: dict[str, Any] = {"alias": _outside_name(parameter, own), "exclude": False}
    if doc and not any(each.description for each in own):
        settings["description"] = doc
    factories = [each.default_factory for each in own if each.default_factory is not None]
    if default is EMPTY and factories:
        return hint, Field(default_factory=factories[-1], **settings)
    return hint, Field(... if default is EMPTY else default, **settings)


def _taken_apart(parameter: Parameter) -> tuple[Any, Any, list[FieldInfo]]:
    """Give type, default and the author's `Field`, be it an annotation or the default."""
    hint, default = parameter.hint, parameter.default
    if isinstance(default, FieldInfo):
        hint = typing.Annotated[hint, default]
        default = EMPTY if default.default is PydanticUndefined else default.default
    metadata = getattr(hint, "__metadata__", ())
    return hint, default, [each for each in metadata if isinstance(each, FieldInfo)]


def _outside_name(parameter: Parameter, own: list[FieldInfo]) -> str:
    for each in reversed(own):
        for name in (each.validation_alias, each.alias):
            if isinstance(name, str):
                return name
    return parameter.name
