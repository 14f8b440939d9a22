"""What a value that the program gives has to be, and the words for one that is not.

A check is a test of the value and what is expected of it, so that a table of checks reads as the
list of what may be given.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Check: TypeAlias = tuple[Callable[[Any], bool], str]


def number(least: float, *, above: bool = False) -> Callable[[Any], bool]:
    """Make the test for a finite number of at least, or above, a bound; True is no number."""

    def fits(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and (value > least if above else value >= least)

    return fits


def whole(least: int) -> Callable[[Any], bool]:
    """Make the test for a whole number of at least a bound."""
    return lambda value: type(value) is int and value >= least


def flag(value: Any) -> bool:
    """Test for True or False."""
    return isinstance(value, bool)


def text(value: Any) -> bool:
    """Test for a text."""
    return isinstance(value, str)


def function_or_none(value: Any) -> bool:
    """Test for a function, or None."""
    return value is None or callable(value)


def approval_policy(value: Any) -> bool:
    """Test for what may decide whether a person is asked."""
    return function_or_none(value) or flag(value)


def optional(check: Check) -> Check:
    """Make the check that lets None pass too."""
    fits, expected = check
    return lambda value: value is None or fits(value), f"{expected}, or None"


def expect(name: str, value: object, check: Check) -> None:
    """Make sure that a value is what it has to be.

    Args:
        name: What the program calls it.
        value: What was given.
        check: What it has to be.

    Raises:
        ValueError: It is not; the text names it, quotes the value and says what is expected.
    """
    fits, expected = check
    if not fits(value):
        raise ValueError(f"{name} is {value!r:.80}; expected {expected}.")


def expect_all(values: object, checks: Mapping[str, Check]) -> None:
    """Make sure that the attributes of an object are what they have to be.

    Args:
        values: What has the attributes.
        checks: What each of them has to be.

    Raises:
        ValueError: One is not; see `expect`.
    """
    for name, check in checks.items():
        expect(name, getattr(values, name), check)


SECONDS: Check = (number(0, above=True), "a number of seconds above 0")


def meant(name: str, known: Iterable[str]) -> str:
    """Name what was perhaps meant by a name that is not known, as the end of a clause; or nothing."""
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
