"""What a tool may return besides a plain value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


@dataclass(frozen=True, eq=False)
class Result:
    """A value with faces of its own for the model and for the person.

    Args:
        value: The Python object, kept in `chat.results`.
        model: What the model is told in its place; None: the value itself.
        display: What the person sees in its place; None: the value itself.
    """

    value: Any
    model: Any = None
    display: Any = None


class Pending(Enum):
    """The type of `PENDING`."""

    PENDING = "pending"

    def __repr__(self) -> str:
        return "nbtools.PENDING"


PENDING: Final = Pending.PENDING
"""Returned by a tool or by `on_tool_call`: a person will give the result."""
