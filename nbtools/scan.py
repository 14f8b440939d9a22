"""Finding exact values in text: whole, as they are written, at the bounds of words.

What this cannot find: parts of a value, other spellings of it (case, format, language), and what is
said about it in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nbtools.jsontext import dumps

SHORTEST = 4
"""Characters; what is shorter stands in every text."""

_BEGINNING = re.compile(r"(?<![^\W_])(?=[^\W_])|(?=[^\w\s]|_)")


@dataclass(frozen=True, slots=True)
class Hit:
    """A value that stands in a text."""

    start: int
    end: int
    value: str
    source: str
    """Where the value comes from."""


class Needles:
    """Values to be looked for.

    Args:
        values: Where each one comes from, by the value; those that are too short are left out.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values: dict[str, tuple[str, str]] = {}
        for value, source in values.items():
            if len(value) >= SHORTEST:
                # The arguments of a call and data that a tool returned are JSON.
                self._values[dumps(value)[1:-1]] = self._values[value] = (value, source)
        self._lengths = sorted({len(written) for written in self._values}, reverse=True)

    def find(self, text: str) -> Iterator[Hit]:
        """Give the values that stand in a text, from its beginning; the longest where several do."""
        end = 0
        for match in _BEGINNING.finditer(text):
            if match.start() < end:
                continue
            hit = self._at(text, match.start())
            if hit is not None:
                yield hit
                end = hit.end

    def blank(self, text: str) -> str:
        """Put a note in the place of each value."""
        pieces, last = [], 0
        for hit in self.find(text):
            pieces += [text[last : hit.start], f"[withheld: {hit.source}]"]
            last = hit.end
        return "".join([*pieces, text[last:]])

    def _at(self, text: str, start: int) -> Hit | None:
        for length in self._lengths:
            end = start + length
            known = self._values.get(text[start:end])
            if known is not None and _is_whole(text, end):
                return Hit(start, end, *known)
        return None


def _is_whole(text: str, end: int) -> bool:
    """Say whether no word goes on at this place."""
    if end >= len(text):
        return True
    # As names of files join words, "_" is a bound too.
    return not (text[end - 1].isalnum() and text[end].isalnum())
