"""Copies of frozen values with other fields, made without calling the constructor.

`dataclasses.replace` looks at every field and calls the constructor with all of them; the values
here are copied several times at every event of a chat.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

Value = TypeVar("Value")


def altered(value: Value, /, **changes: Any) -> Value:
    """Copy a frozen value, with some fields changed.

    Args:
        value: A frozen value with slots and without `__post_init__`, as those of a conversation.
        changes: The new values, by the names of the fields.

    Returns:
        The copy, as `dataclasses.replace` makes it.

    Raises:
        KeyError: There is no field with such a name.
    """
    kind: Any = type(value)
    read, writers = _access(kind)
    copy: Value = object.__new__(kind)
    for write, field in zip(writers.values(), read(value), strict=True):
        write(copy, field)
    for name, field in changes.items():
        writers[name](copy, field)
    return copy


@cache
def _access(kind: type[Any]) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, Any]]:
    """Give what reads all fields of a class at once, and what writes each of them."""
    names = [field.name for field in fields(kind)]
    return operator.attrgetter(*names), {name: vars(kind)[name].__set__ for name in names}
