"""Reading the JSON arguments of a call while they arrive.

Strict JSON, pushed in pieces cut anywhere. The cost is proportional to the new characters; the
value so far can be looked at after every piece.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from nbtools.errors import InvalidArguments
from nbtools.jsontext import clean_text
from nbtools.messages import Json

DEEPEST = 100
"""Containers within each other that are still read."""

_STRING = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_WORD = re.compile(r'[^\s,:\[\]{}"]*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_unquote = json.JSONDecoder().raw_decode
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """The text is not JSON from `position` on."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.position = position


class PartialJson:
    """Read JSON text piece by piece.

    `complete` says that the outermost value is closed, `failed` why the text is not JSON ("" while
    it still may be). Nothing raises; after a failure the value stays as it was. A number or a word
    counts once the character after it has come, so no value is ever taken back; half a surrogate
    pair becomes U+FFFD.
    """

    __slots__ = (
        "_begun", "_high", "_is_key", "_key", "_pieces", "_read", "_stack", "_step", "_top",
        "complete", "failed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.complete = False
        self.failed = ""
        self._step: Callable[[PartialJson, str, int], int] = PartialJson._value
        self._top: Json = None
        # The open containers, each with the key that holds it.
        self._stack: list[tuple[Any, str]] = []
        self._key = ""
        self._is_key = False
        # The open string or word, then half a surrogate pair and half an escape that end it.
        self._pieces: list[str] = []
        self._high = ""
        self._begun = ""
        self._read = 0

    def feed(self, text: str) -> None:
        """Read the next piece of the text.

        Args:
            text: Any characters; a piece may end anywhere.
        """
        if self.failed or (not self._read and self._read_whole(text)):
            return
        if self._begun:
            text, self._begun = self._begun + text, ""
        position, end = 0, len(text)
        try:
            while position < end:
                position = self._step(self, text, position)
        except _Broken as problem:
            where = problem.position
            self.failed = f"{problem} at character {self._read + where + 1}"
        self._read += end - len(self._begun)

    @property
    def value(self) -> Json:
        """The value so far. It grows in place: look at it, do not keep it."""
        if self._step is PartialJson._string and not self._is_key:
            self._pieces = ["".join(self._pieces)]
            self._replace(self._pieces[0])
        return self._top

    def snapshot(self) -> dict[str, Json] | None:
        """Copy the value so far; only the containers that may still grow are copied.

        Returns:
            An object that stays as it is; None unless the text is that of an object.
        """
        if not isinstance(self.value, dict):
            return None
        inner: Any = self._top
        below: tuple[Any, str] | None = None
        for container, key in reversed(self._stack):
            inner = container.copy()
            if below is not None:
                inner[-1 if isinstance(inner, list) else below[1]] = below[0]
            below = (inner, key)
        return inner  # type: ignore[no-any-return]

    def _read_whole(self, text: str) -> bool:
        """Read an object that comes in one piece as the steps would, if it is one."""
        if not text.endswith("}") or not _is_simple(text):
            return False
        try:
            self._top = _quick(text)
        except ValueError:
            return False
        self._step, self._read, self.complete = PartialJson._end, len(text), True
        return True

    # Each step reads from `position` and returns where the next one goes on.

    def _value(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark == "{":
            self._open({}, position)
        elif mark == "[":
            self._open([], position)
        elif mark == '"':
            self._put("")
            self._begin_string(is_key=False)
        elif mark and mark in ",:]}":
            raise _Broken(f"expected a value, found {mark!r}", position)
        elif mark:
            self._step = PartialJson._word
            return position
        return position + 1

    def _first_item(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark == "]":
            self._close()
            return position + 1
        if mark:
            self._step = PartialJson._value
        return position

    def _first_name(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark == "}":
            self._close()
            return position + 1
        if mark:
            self._step = PartialJson._name
        return position

    def _name(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark and mark != '"':
            raise _Broken(f"expected a name in quotes, found {mark!r}", position)
        if mark:
            self._begin_string(is_key=True)
        return position + 1

    def _colon(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark and mark != ":":
            raise _Broken(f"expected ':', found {mark!r}", position)
        if mark:
            self._step = PartialJson._value
        return position + 1

    def _after(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        in_list = isinstance(self._stack[-1][0], list)
        end = "]" if in_list else "}"
        if mark == ",":
            self._step = PartialJson._value if in_list else PartialJson._name
        elif mark == end:
            self._close()
        elif mark:
            raise _Broken(f"expected ',' or {end!r}, found {mark!r}", position)
        return position + 1

    def _end(self, text: str, position: int) -> int:
        position, mark = _next(text, position)
        if mark:
            raise _Broken(f"more text after the end, {text[position : position + 20]!r},", position)
        return position

    def _string(self, text: str, position: int) -> int:
        end = _STRING.match(text, position).end()  # type: ignore[union-attr]
        if end > position:
            self._pieces.append(self._unescaped(text[position:end]))
        if end == len(text):
            return end
        position, mark = end, text[end]
        if mark == '"':
            self._close_string()
        elif mark == "\\" and _ESCAPE_BEGUN.fullmatch(text, position):
            self._begun = text[position:]
            return len(text)
        else:
            what = f"escape {text[position : position + 2]!r}" if mark == "\\" else f"{mark!r}"
            raise _Broken(f"{what} may not stand in a string", position)
        return position + 1

    def _word(self, text: str, position: int) -> int:
        end = _WORD.match(text, position).end()  # type: ignore[union-attr]
        self._pieces.append(text[position:end])
        if end < len(text):
            word, self._pieces = "".join(self._pieces), []
            self._put(_scalar(word, position))
            self._settle()
        return end

    def _open(self, container: dict[str, Json] | list[Json], position: int) -> None:
        if len(self._stack) == DEEPEST:
            raise _Broken(f"nested deeper than {DEEPEST} levels", position)
        self._put(container)
        self._stack.append((container, self._key))
        is_list = isinstance(container, list)
        self._step = PartialJson._first_item if is_list else PartialJson._first_name

    def _close(self) -> None:
        self._stack.pop()
        self._settle()

    def _settle(self) -> None:
        self.complete = not self._stack
        self._step = PartialJson._end if self.complete else PartialJson._after

    def _begin_string(self, *, is_key: bool) -> None:
        self._is_key = is_key
        self._step = PartialJson._string

    def _close_string(self) -> None:
        if self._high:
            self._pieces.append(clean_text(self._high))
        text, self._pieces, self._high = "".join(self._pieces), [], ""
        if self._is_key:
            self._key = text
            self._step = PartialJson._colon
        else:
            self._replace(text)
            self._settle()

    def _unescaped(self, piece: str) -> str:
        if "\\" in piece:
            piece = _unquote(f'"{piece}"')[0]
        if self._high:
            piece, self._high = self._high + piece, ""
        if piece.isascii() or not _SURROGATE.search(piece):
            return piece
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._high = piece[:-1], piece[-1]
        return clean_text(piece)

    def _put(self, value: Json) -> None:
        if not self._stack:
            self._top = value
        elif isinstance(container := self._stack[-1][0], list):
            container.append(value)
        else:
            container[self._key] = value

    def _replace(self, text: str) -> None:
        if self._stack and isinstance(container := self._stack[-1][0], list):
            container[-1] = text
        else:
            self._put(text)


def _next(text: str, position: int) -> tuple[int, str]:
    """Skip white space; give where the next character stands, and it ("" if there is none)."""
    mark = text[position]
    while mark in " \t\n\r":
        position += 1
        if position == len(text):
            return position, ""
        mark = text[position]
    return position, mark


def _scalar(word: str, position: int) -> Json:
    if word in _WORDS:
        return _WORDS[word]
    number = _NUMBER.fullmatch(word)
    if number is None:
        raise _Broken(f"{word[:40]!r} is no JSON value", position)
    try:
        value = float(word) if number[1] or number[2] else int(word)
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise _Broken(f"{word[:20]!r}… is too long a number", position) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _Broken(f"{word[:40]!r} is too large a number", position)
    return value


def parse_arguments(raw: str) -> dict[str, Json]:
    """Read the whole text of a call's arguments.

    Args:
        raw: What the model wrote. Nothing, white space and `null` mean no arguments; an object
            that was encoded twice is decoded twice.

    Returns:
        The arguments.

    Raises:
        InvalidArguments: The text is no JSON object; the error quotes the problem.
    """
    value = _parse(raw) if raw.strip() else None
    if isinstance(value, str):
        value = _decoded_again(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a text", bool: "true or false"}.get(type(value), "a number")
        raise InvalidArguments(f"The arguments are {kind}, expected a JSON object: {raw[:80]!r}")
    return value


def _decoded_again(text: str) -> Json:
    try:
        value = _parse(text)
    except InvalidArguments:
        return text
    return value if isinstance(value, dict) else text


def _parse(text: str) -> Json:
    if _is_simple(text):
        try:
            return _quick(text)
        except ValueError:
            pass  # the reader below says what is wrong
    parser = PartialJson()
    parser.feed(text)
    # A number or a word at the very end is over only when something follows it.
    parser.feed(" ")
    if not parser.failed and not parser.complete:
        parser.failed = f"the text ends too early, after {text[-20:]!r}"
    if parser.failed:
        raise InvalidArguments(f"The arguments are not valid JSON: {parser.failed}.")
    return parser.value


def _is_simple(text: str) -> bool:
    """Say whether the standard library reads a text as `PartialJson` does, if it reads it at all."""
    return (
        "\\u" not in text
        and text.count("[") + text.count("{") <= DEEPEST
        and (text.isascii() or not _SURROGATE.search(text))
    )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


# Twenty times as fast as `PartialJson`, which has read the same text while it streamed.
_quick = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode
