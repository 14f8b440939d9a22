"""Copies of frozen values with other fields, made without calling the constructor.

`dataclasses.replace` looks at every field and calls the constructor with all of them; the values
here are copied several times at every event of a chat.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from nbtools.facts import KEPT

Value = TypeVar("Value")


def altered(value: Value, /, **changes: Any) -> Value:
    """Copy a frozen value, with some fields changed.

    Args:
        value: A frozen value without slots and without `__post_init__`, as those of a conversation.
        changes: The new values, by the names of the fields.

    Returns:
        The copy, as `dataclasses.replace` makes it.

    Raises:
        KeyError: There is no field with such a name.
    """
    kind: Any = type(value)
    if not changes.keys() <= _names(kind):
        raise KeyError(
            f"{kind.__name__} has no field {next(iter(changes.keys() - _names(kind)))!r}."
        )
    copy: Value = object.__new__(kind)
    held = copy.__dict__
    held.update(value.__dict__)
    held.pop(KEPT, None)  # what follows from the value does not follow from its copy
    held.update(changes)
    return copy


@cache
def _names(kind: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))
