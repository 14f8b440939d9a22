"""How a tool is called by hand: `/tool name=value …`, or `/tool {"name": value}`."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass

from nbtools.messages import Json

_NAME = re.compile(r"\s*/([\w.-]+)(?=\s|$)")
_KEY = re.compile(r"\s*([^\W\d]\w*)=")
_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')*(?=\s|$)""", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Slash:
    """A call that somebody typed."""

    name: str
    args: dict[str, Json]


def slash_name(text: str) -> str:
    """Return the name of the tool that a text would call, "" if it is no such call."""
    head = _NAME.match(text)
    return head[1] if head is not None else ""


def parse_slash(text: str) -> Slash | None:
    """Read a call that somebody typed.

    A value that is JSON is read as JSON, any other is a text; quotes work as in a shell, and what
    stands in quotes is a text.

    Args:
        text: What was typed, such as `/drop_rows table=orders where="price < 0"`.

    Returns:
        The name and the arguments; None if the text is no such call.

    Raises:
        ValueError: It begins like a call, and an argument cannot be read; the text says which.
    """
    head = _NAME.match(text)
    if head is None:
        return None
    name, rest = head[1], text[head.end() :].strip()
    return Slash(name=name, args=_object(name, rest) if rest[:1] == "{" else _pairs(name, rest))


def _object(name: str, text: str) -> dict[str, Json]:
    try:
        value: dict[str, Json] = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The arguments of /{name} are no JSON object: {error}.") from None
    return value


def _pairs(name: str, text: str) -> dict[str, Json]:
    args: dict[str, Json] = {}
    position = 0
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            raise ValueError(f"{text[position:].strip()!r} of /{name} should be name=value.")
        if key[1] in args:
            raise ValueError(f"/{name} has {key[1]!r} twice.")
        args[key[1]], position = _value(name, text, key.end())
    return args


def _value(name: str, text: str, start: int) -> tuple[Json, int]:
    """Read the value that begins here, and give where it ends."""
    if text[start : start + 1] in {"[", "{", '"'}:
        try:
            value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, start)
        except (ValueError, RecursionError):
            end = -1
        if end == len(text) or (end > 0 and text[end].isspace()):
            return value, end
    word = _WORD.match(text, start)
    if word is None:
        raise ValueError(f"{text[start:]!r} of /{name} has a quote that is not closed.")
    return _read(word[0]), word.end()


def _read(word: str) -> Json:
    if any(mark in word for mark in "\"'\\"):
        return "".join(shlex.split(word))
    try:
        return json.loads(word, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return word


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")
