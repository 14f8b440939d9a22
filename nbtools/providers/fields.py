"""Looking things up in JSON that may have any shape."""

from __future__ import annotations

from typing import Any


def inner(holder: object, name: str) -> Any:
    """Look a field up in what may be no object at all."""
    return holder.get(name) if type(holder) is dict else None


def word(holder: object, name: str) -> str:
    """Look up a field that should be a text; "" if it is none."""
    value = inner(holder, name)
    return value if type(value) is str else ""


def listed(holder: object, name: str) -> list[Any]:
    """Look up a field that should be a list; empty if it is none."""
    value = inner(holder, name)
    return value if type(value) is list else []
