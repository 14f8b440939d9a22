"""How an answer is read whose schema has an arm for each tool: as a call, or as a text.

It streams: the text of a reply and the arguments of a call are given as they come. What is not of
that shape, from a server that keeps to no schema, is taken for plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from nbtools.events import ModelArgs, ModelCall, ModelEvent, ModelFault, ModelFinish, ModelText
from nbtools.jsontext import clean_text

if TYPE_CHECKING:
    from nbtools.providers.reply import ReplyDecoder

_REPLY = re.compile(r'\s*\{\s*"reply"\s*:\s*')
_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]*)"\s*,\s*"arguments"\s*:\s*(?=\{)')
_LONGEST_HEAD = 400
_ESCAPE = 6
_ESCAPED = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|[^\\"]+')
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


class EmulatedDecoder:
    """Reads calls out of the text that another decoder gives.

    Args:
        inner: Reads the bytes of the reply.
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, inner: ReplyDecoder, names: Mapping[str, str]) -> None:
        self._inner = inner
        self._names = names
        self._read: Callable[[str, list[ModelEvent]], None] = self._head
        self._text = ""
        self._key = object()
        self._depth = 0
        self._in_text = False
        self._escaped = False

    @property
    def over(self) -> bool:
        """Whether the reply has ended or failed."""
        return self._inner.over

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Take the next bytes and give what they say."""
        return self._translated(self._inner.feed(data))

    def close(self) -> list[ModelEvent]:
        """Take the end of the body and give what is left to say."""
        into = self._translated(self._inner.close())
        self._give_up(into)
        return into

    def _translated(self, events: list[ModelEvent]) -> list[ModelEvent]:
        into: list[ModelEvent] = []
        for event in events:
            if isinstance(event, ModelText):
                self._read(event.text, into)
                continue
            if isinstance(event, ModelFinish | ModelFault):
                self._give_up(into)
            into.append(event)
        return into

    def _head(self, text: str, into: list[ModelEvent]) -> None:
        """Find out which arm the answer takes."""
        self._text += text
        call, reply = _CALL.match(self._text), _REPLY.match(self._text)
        if call is not None:
            name = call[1]
            into.append(ModelCall(self._key, "", self._names.get(name, name)))
            self._go_on(self._arguments, call.end(), into)
        elif reply is not None and self._text[reply.end() :]:
            quoted = self._text[reply.end()] == '"'
            self._go_on(self._quoted if quoted else self._value, reply.end() + quoted, into)
        elif self._text.lstrip()[:1] not in {"", "{"} or len(self._text) > _LONGEST_HEAD:
            self._go_on(self._plain, 0, into)

    def _go_on(
        self, read: Callable[[str, list[ModelEvent]], None], start: int, into: list[ModelEvent]
    ) -> None:
        rest, self._text = self._text[start:], ""
        self._read = read
        if rest:
            read(rest, into)

    def _plain(self, text: str, into: list[ModelEvent]) -> None:
        into.append(ModelText(text))

    def _quoted(self, text: str, into: list[ModelEvent]) -> None:
        """Give the text of a reply, without the escapes of JSON."""
        self._text += text
        said, end = "", 0
        while (found := _next_of(self._text, end)) is not None:
            said, end = said + found[0], found[1]
        closed = self._text[end : end + 1] == '"'
        self._text = self._text[end:]
        if said:
            into.append(ModelText(clean_text(json.loads(f'"{said}"', strict=False))))
        if closed:
            self._read = self._nothing

    def _value(self, text: str, into: list[ModelEvent]) -> None:
        if taken := self._whole(text):
            into.append(ModelText(taken))

    def _arguments(self, text: str, into: list[ModelEvent]) -> None:
        if taken := self._whole(text):
            into.append(ModelArgs(self._key, taken))

    def _whole(self, text: str) -> str:
        """Take what belongs to one JSON value; the bracket after it closes the answer."""
        for place, character in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._in_text:
                self._escaped = character == "\\"
                self._in_text = character != '"'
            elif character in '"{[':
                self._in_text = character == '"'
                self._depth += not self._in_text
            elif character in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self._read = self._nothing
                    return text[: place + 1 + self._depth]
        return text

    def _nothing(self, text: str, into: list[ModelEvent]) -> None:
        """Pass over what closes the answer."""

    def _give_up(self, into: list[ModelEvent]) -> None:
        """Give as text what was not enough to tell an arm."""
        if self._read == self._head and self._text:
            self._go_on(self._plain, 0, into)


def _next_of(text: str, start: int) -> tuple[str, int] | None:
    """Give the next piece of a JSON text and where it ends; None if more has to come first."""
    found = _ESCAPED.match(text, start)
    rest = text[start:]
    if found is None:
        broken = rest[:1] == "\\" and (len(rest) >= _ESCAPE or rest[1:2] not in {"", "u"})
        return ("\\\\", start + 1) if broken else None
    if _HALF.fullmatch(found[0]) and len(rest) < 2 * _ESCAPE:
        return None
    return found[0], found.end()
