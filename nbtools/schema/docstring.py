"""What a docstring says of a function and of its parameters (Google, NumPy or Sphinx style)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtools.jsontext import clean_text
from nbtools.schema.signature import underlying

_BARE_HEADING = re.compile(
    r"(?:^|\n)[ \t]*(?:args|arguments|parameters|returns|raises|yields):?[ \t]*(?:\n[ \t]*-+[ \t]*)?\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Docstring:
    """A docstring taken apart."""

    text: str = ""
    """The summary and the paragraphs after it."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What is said of each parameter."""


def read_docstring(function: Callable[..., Any]) -> Docstring:
    """Take the docstring of a callable apart.

    Args:
        function: A function, method, partial or callable object; for an object without text on
            `__call__` the docstring of its class counts.

    Returns:
        The description and the parameters' own; the sections on results and errors are left out.
    """
    text = underlying(function).__doc__
    if not text and not inspect.isroutine(function):
        text = type(function).__doc__
    if not text or not isinstance(text, str):
        return Docstring()
    return _parse(clean_text(text))


def _begun(text: str) -> str:
    """Let the first line count among the others, where it is a heading without a summary."""
    first = text.partition("\n")[0].strip()
    return f"\n{text}" if _BARE_HEADING.fullmatch(first) else text


def _parse(text: str) -> Docstring:
    import docstring_parser  # noqa: PLC0415 - only when a tool is made

    try:
        parsed = docstring_parser.parse(_begun(text))
    except docstring_parser.ParseError:
        return Docstring(text=inspect.cleandoc(text))
    description = _BARE_HEADING.sub("", (parsed.description or "").strip()).strip()
    parameters = {
        name.strip(): " ".join((each.description or "").split())
        for each in parsed.params
        for name in each.arg_name.split(",")
    }
    return Docstring(text=description, parameters=parameters)
