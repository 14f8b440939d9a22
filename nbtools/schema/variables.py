"""Parameters whose values stay in the kernel: a model is given names of them, never the values."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass
from typing import Any

_KINDS = frozenset({
    ("pandas", "DataFrame"),
    ("pandas", "Series"),
    ("numpy", "ndarray"),
    ("polars", "DataFrame"),
    ("polars", "Series"),
})  # fmt: skip
"""Package and name of the classes whose instances a model cannot write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """A parameter that takes the name of a variable and hands its value to the function."""

    parameter: str
    """Its name in Python."""
    types: tuple[type, ...]
    """What the value has to be an instance of."""
    nullable: bool = False

    @property
    def kind(self) -> str:
        """The types in words, such as "DataFrame or Series"."""
        return " or ".join(kind.__name__ for kind in self.types)

    def fits(self, value: object) -> bool:
        """Say whether a value is of a type that the parameter takes."""
        return isinstance(value, self.types)


def as_variable(parameter: str, hint: Any) -> Variable | None:
    """Read a hint that names nothing but values of the kernel, and perhaps None.

    Args:
        parameter: The name of the parameter.
        hint: Its type, such as `pandas.DataFrame`, `NDArray[float]` or `Series | None`.

    Returns:
        How it is filled in; None for every other hint.
    """
    choices = [_class_of(each) for each in _choices(hint)]
    found = tuple(each for each in choices if each is not types.NoneType)
    if not found or not all(map(_stays, found)):
        return None
    return Variable(parameter=parameter, types=found, nullable=len(found) < len(choices))


def named(hint: Any, variable: Variable) -> Any:
    """Give the hint of what a model writes in its place, with what the author said of it."""
    text = str | None if variable.nullable else str
    said = getattr(hint, "__metadata__", ())
    return typing.Annotated[(text, *said)] if said else text


def name_of(hint: Any) -> str:
    """Name a type as its author wrote it, more or less."""
    name = "" if typing.get_args(hint) else getattr(hint, "__name__", "")
    return name or repr(hint)


def advice_on(hint: Any) -> str:
    """Say what to write in the place of a type that no model can fill in."""
    kinds = [hint, *_parts(hint)]
    if any(_stays(_class_of(each)) for each in kinds):
        return (
            "A table, series or array that stays in the kernel is a parameter of its own, such as "
            "`orders: pd.DataFrame`, and of no other type besides."
        )
    if any(str(getattr(each, "__module__", "")).startswith(("numpy", "pandas")) for each in kinds):
        return "Use a type of Python itself, such as float or datetime."
    return "Use types that JSON can hold; what the program provides comes through ToolContext."


def _parts(hint: Any) -> list[Any]:
    """List the types that a hint is made of."""
    return [part for each in typing.get_args(hint) for part in (each, *_parts(each))]


def _choices(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is typing.Annotated:
        return _choices(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(choice for each in typing.get_args(hint) for choice in _choices(each))
    return (hint,)


def _class_of(hint: Any) -> Any:
    return typing.get_origin(hint) or hint


def _stays(kind: Any) -> bool:
    if not isinstance(kind, type):
        return False
    return any(
        (base.__module__.partition(".")[0], base.__name__) in _KINDS for base in kind.__mro__
    )
