"""Copies of frozen values with other fields, made without calling the constructor.

`dataclasses.replace` looks at every field and calls the constructor with all of them; the values
here are copied several times at every event of a chat.
"""

from __future__ import annotations

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
    held = value.__dict__.copy()
    held.pop(KEPT, None)  # what follows from the value does not follow from its copy
    size = len(held)
    held.update(changes)
    kind: Any = type(value)
    if len(held) > size:
        unknown = next(name for name in changes if name not in value.__dict__)
        raise KeyError(f"{kind.__name__} has no field {unknown!r}.")
    copy: Value = object.__new__(kind)
    object.__setattr__(copy, "__dict__", held)
    return copy
