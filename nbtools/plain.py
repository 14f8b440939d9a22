"""Any Python value as strict JSON, by one rule.

| value | becomes |
|---|---|
| `None`, `bool`, `str`, finite `float`, `int` up to 2**53 - 1 | itself (lone surrogates replaced) |
| larger `int` | its decimal digits as text: a browser would round the number |
| NaN, infinities | `"NaN"`, `"Infinity"`, `"-Infinity"` |
| `pandas.NA`, `NaT`, a masked element | `null` |
| dates, times | ISO 8601 text; a duration too (`"P1DT2.5S"`) |
| `Decimal`, `Fraction`, `complex`, `UUID`, `Path` | their text |
| `Enum` | its value |
| mapping, dataclass, pydantic model, named tuple | object; a key that is no text becomes its JSON text |
| list, tuple, array, other sequence | array |
| set | array, sorted |
| `DataFrame` | array of row objects, with the index unless it only counts the rows |
| `Series` | object by index, or an array where the index only counts |
| `bytes` and the like | a note with the size: `"<6 bytes>"` |
| anything else | the start of its `repr` |

A container that holds itself, is nested too deeply or is too long says so in its place.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import fractions
import json
import math
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import singledispatch
from typing import Any, NamedTuple

from nbtools.jsontext import clean_text
from nbtools.messages import Json

_MARK = 64
"""Characters kept free in every open container for the words that say what was cut."""
_ROOM = 2 * _MARK + 4
"""What one more item has to find free, be it a container."""
_SHORT = 40
"""A text of fewer characters has room in any limit, however JSON writes each of them."""
_LARGEST = 2**53 - 1


def plain(value: object, *, limit: int = 65_536, depth: int = 20) -> Json:
    """Turn any value into strict JSON of bounded size, by the rule of this module.

    Args:
        value: Anything; its own code may raise.
        limit: The most characters that the JSON text may have, at least 256.
        depth: The most containers within each other.

    Returns:
        JSON that shares nothing with `value`; what was left out is named in its place.
    """
    if value is None or value is True or value is False:
        return value
    if type(value) is str and len(value) < _SHORT:
        return clean_text(value)
    return plain_and_whole(value, limit=limit, depth=depth)[0]


def plain_and_whole(
    value: object,
    *,
    limit: int = 65_536,
    depth: int = 20,
    instead: Callable[[object], object] | None = None,
) -> tuple[Json, bool]:
    """Turn any value into strict JSON as `plain` does, and say whether nothing was left out.

    Args:
        value: Anything.
        limit: Characters of its text as JSON.
        depth: How deep containers may be nested.
        instead: Is asked about each thing in it, and gives what stands in its place.
    """
    walk = _Walk(max(limit, 256), instead)
    return walk.value(value, depth), walk.whole


class _Items(NamedTuple):
    values: Iterable[object]
    size: int


class _Pairs(NamedTuple):
    pairs: Iterable[tuple[object, object]]
    size: int


_SETTLED: frozenset[type[Any]] = frozenset({type(None), bool, int, float, str, _Items, _Pairs})


class _Walk:
    """One pass over a value; `left` is what the JSON text may still cost, in characters."""

    def __init__(self, limit: int, instead: Callable[[object], object] | None = None) -> None:
        self.left = limit
        self.instead = instead
        self.path: set[int] = set()
        self.whole = True

    def value(self, value: object, depth: int) -> Json:
        before = self.left
        try:
            if self.instead is not None:
                value = self.instead(value)
            return self._settled(value, _settle(value), depth)
        except Exception as problem:  # noqa: BLE001 - the value's own code raised
            self.left = before
            return self.text(f"<{type(value).__name__}: {type(problem).__name__}>")

    def _settled(self, value: object, face: Any, depth: int) -> Json:
        if isinstance(face, _Items | _Pairs):
            return self._container(id(value), face, depth)
        if isinstance(face, str):
            return self.text(face)
        atom = _number(face)
        if isinstance(atom, str):
            return self.text(atom)
        self.left -= len(repr(atom))
        return atom

    def text(self, text: str) -> str:
        kept = clean_text(text[: self.left])
        if len(text) <= self.left and _cost(kept) <= self.left:
            self.left -= _cost(kept)
            return kept
        self.whole = False
        tail = f"… (cut; {len(text):,} characters in all)"
        kept = _fit(kept, self.left - len(tail) - 2) + tail
        self.left -= _cost(kept)
        return kept

    def _instead(self, words: str) -> str:
        self.whole = False
        return self.text(words)

    def _container(self, key: int, face: _Items | _Pairs, depth: int) -> Json:
        if key in self.path:
            return self.text("… (contains itself)")
        if face.size and depth <= 0:
            return self._instead("… (nested deeper)")
        if face.size and self.left < _ROOM:
            return self._instead("… (cut)")
        self.path.add(key)
        try:
            self.left -= 2 + _MARK
            return (
                self._items(face, depth) if isinstance(face, _Items) else self._pairs(face, depth)
            )
        finally:
            self.path.discard(key)

    def _items(self, face: _Items, depth: int) -> list[Json]:
        items: list[Json] = []
        for item in face.values:
            if self.left < _ROOM:
                self.whole = False
                items.append(f"… {face.size - len(items):,} more")
                return items
            self.left -= 1
            items.append(self.value(item, depth - 1))
        self.left += _MARK
        return items

    def _pairs(self, face: _Pairs, depth: int) -> dict[str, Json]:
        pairs: dict[str, Json] = {}
        seen: dict[str, int] = {}
        for key, value in face.pairs:
            name = _name(key, seen)
            if self.left - _cost(name) - 2 < _ROOM:
                self.whole = False
                pairs[_name("…", seen)] = f"{face.size - len(pairs):,} more"
                return pairs
            self.left -= _cost(name) + 2
            pairs[name] = self.value(value, depth - 1)
        self.left += _MARK
        return pairs


def _cost(text: str) -> int:
    return len(_quoted(text))


# Made once: `json.dumps` makes an encoder for every call with options.
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _fit(text: str, room: int) -> str:
    while (cost := _cost(text) - 2) > room:
        text = text[: min(len(text) - 1, len(text) * room // cost)]
    return text


def _number(value: object) -> Json:
    if type(value) is int and abs(value) > _LARGEST:
        bits = value.bit_length()
        return str(value) if bits < 10_000 else f"<int of {bits:,} bits>"
    if type(value) is float and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _name(key: object, seen: dict[str, int]) -> str:
    """Give a key as text, told apart from those that came before it."""
    value = plain(key, limit=512)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    count = seen[text] = seen.get(text, 0) + 1
    if count == 1:
        return text
    return _name(f"{text} ({count})", seen)


def _settle(value: object) -> object:
    for _ in range(8):
        if type(value) in _SETTLED:
            return value
        value = _face(value)
    return _described(value)


def _described(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 1_000 else f"{text[:1_000]}…"


@singledispatch
def _face(value: Any) -> object:
    """Show a value as something closer to JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return _Pairs(((name, getattr(value, name)) for name in names), len(names))
    if hasattr(type(value), "model_dump"):
        return value.model_dump()
    for base in type(value).__mro__:
        known = _FOREIGN.get(base.__module__.partition(".")[0])
        if known is not None:
            return known(value)
    return _described(value)


@_face.register(str)
def _(value: str) -> str:
    return str.__str__(value)


@_face.register(int)
def _(value: int) -> int:
    return int.__index__(value)


@_face.register(float)
def _(value: float) -> float:
    return float.__float__(value)


@_face.register(Enum)
def _(value: Enum) -> object:
    return value.value


@_face.register(dt.date)
@_face.register(dt.time)
def _(value: dt.date | dt.time) -> object:
    # NaT passes for a datetime.
    return None if type(value).__name__ == "NaTType" else value.isoformat()


@_face.register(dt.timedelta)
def _(value: dt.timedelta) -> str:
    sign, value = ("-", -value) if value < dt.timedelta(0) else ("", value)
    seconds = f"{value.seconds}.{value.microseconds:06}".rstrip("0").rstrip(".")
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}" if days and seconds == "0" else f"{sign}P{days}T{seconds}S"


@_face.register(decimal.Decimal)
@_face.register(fractions.Fraction)
@_face.register(complex)
@_face.register(uuid.UUID)
@_face.register(pathlib.PurePath)
def _(value: object) -> str:
    return str(value)


@_face.register(bytes)
@_face.register(bytearray)
@_face.register(memoryview)
def _(value: bytes | bytearray | memoryview) -> str:
    size = memoryview(value).nbytes
    return f"<{size:,} byte{'' if size == 1 else 's'}>"


@_face.register(Mapping)
def _(value: Mapping[object, object]) -> _Pairs:
    return _Pairs(value.items(), len(value))


@_face.register(tuple)
def _(value: tuple[object, ...]) -> object:
    names = getattr(type(value), "_fields", None)
    if names is None:
        return _Items(value, len(value))
    return _Pairs(zip(names, value, strict=True), len(value))


@_face.register(Sequence)
def _(value: Sequence[object]) -> _Items:
    return _Items(value, len(value))


@_face.register(AbstractSet)
def _(value: AbstractSet[object]) -> _Items:
    kinds = {type(item) for item in value}
    comparable = kinds <= {str} or kinds <= {bool, int}
    return _Items(sorted(value, key=None if comparable else _order), len(value))  # type: ignore[type-var, arg-type]


def _order(item: object) -> tuple[str, float, str]:
    number = item if isinstance(item, float) and math.isfinite(item) else 0.0
    return type(item).__name__, number, json.dumps(plain(item, limit=1_024))


def _from_numpy(value: Any) -> object:
    if type(value).__name__ == "MaskedConstant":
        return None
    if getattr(value, "ndim", 0):
        return _Items(value, len(value))
    if not hasattr(value, "dtype"):
        return _described(value)
    if value.dtype.kind in "mM":
        text = str(value)
        return None if text == "NaT" else text
    item = value.item()
    return str(value) if type(item).__module__ == "numpy" else item


def _from_pandas(value: Any) -> object:
    if type(value).__name__ == "NAType":
        return None
    counts = type(getattr(value, "index", None)).__name__ == "RangeIndex"
    if hasattr(value, "itertuples"):
        return _Items(_rows(value, counts), len(value))
    if hasattr(value, "items") and not counts:
        return _Pairs(value.items(), len(value))
    if hasattr(value, "__iter__") and hasattr(value, "__len__"):
        return _Items(value, len(value))
    return str(value)


def _rows(frame: Any, counts: bool) -> Iterator[_Pairs]:
    """Give each row of a pandas frame; its index comes first, unless it only counts."""
    names = [*([] if counts else [frame.index.name or "index"]), *frame.columns]
    for row in frame.itertuples(index=not counts, name=None):
        yield _Pairs(zip(names, row, strict=True), len(names))


def _from_polars(value: Any) -> object:
    if hasattr(value, "iter_rows"):
        return _Items(value.iter_rows(named=True), len(value))
    if hasattr(value, "__iter__") and hasattr(value, "__len__"):
        return _Items(value, len(value))
    return str(value)


_FOREIGN = {"numpy": _from_numpy, "pandas": _from_pandas, "polars": _from_polars}
