"""How the words become JSON and come back.

A field that has its default value is left out, so that a patch holds what matters; `type`,
`command` and `state` are always there.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from nbtools import messages
from nbtools.messages import PART_TYPES, Conversation
from nbtools.plain import plain

Value = typing.TypeVar("Value")
_ALWAYS = frozenset({"type", "command", "state"})
_MISSING = object()


def encode(value: Any, *, saved: bool = False) -> Any:
    """Write one of the frozen values as JSON.

    Args:
        value: A conversation, message, part, event or another frozen value, or JSON already.
        saved: Whether it goes to a file; what a renderer drew is then left out.

    Returns:
        A dict without the fields that have their default value.
    """
    kind: Any = type(value)
    plan = _plan(kind, saved)
    if plan is None:
        return _encode_plain(value, saved)
    fields = {}
    held = getattr(value, "__dict__", None)
    for name, default in plan:
        field = getattr(value, name) if held is None else held[name]
        if field is not default and (field != default or default is _MISSING):
            fields[name] = field if type(field) in _ATOMS else encode(field, saved=saved)
    return fields


def decode_conversation(data: object) -> Conversation:
    """Read what `encode` wrote.

    Args:
        data: A conversation as JSON, from a source that may be wrong in any way.

    Returns:
        The conversation.

    Raises:
        ValueError: Something does not fit; the text names the place and quotes it.
    """
    return decode(Conversation, data, "conversation")


def decode(kind: type[Value], data: object, place: str) -> Value:
    """Read one frozen value of a known class.

    Args:
        kind: The class: a conversation, message, event or another of the words.
        data: JSON, from a source that may be wrong in any way.
        place: What the text of an error calls it.

    Returns:
        The value.

    Raises:
        ValueError: Something does not fit; the text names the place and quotes it.
    """
    decoded: Value = _decode(kind, data, place)
    return decoded


_ATOMS = frozenset({str, int, float, bool, type(None), dict})


def _encode_plain(value: Any, saved: bool) -> Any:
    if isinstance(value, tuple):
        return [encode(item, saved=saved) for item in value]
    if isinstance(value, dict):
        return value
    return dict(value) if isinstance(value, Mapping) else value


@cache
def _plan(kind: type[Any], saved: bool) -> tuple[tuple[str, Any], ...] | None:
    """List the fields of a class with the value that is left out."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(
        (field.name, _left_out(field))
        for field in dataclasses.fields(kind)
        if not (saved and field.name == "drawn")
    )


def _left_out(field: dataclasses.Field[Any]) -> Any:
    if field.name in _ALWAYS or field.default is dataclasses.MISSING:
        return _MISSING
    return field.default


Reader = Callable[[Any, str], Any]


def _decode(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, dict):
        raise _misfit(data, place, "an object")
    readers, needed = _readers(kind)
    for name in data:
        if name not in readers:
            raise ValueError(f"{place} has no field {name!r}; expected {', '.join(readers)}.")
    for name in needed:
        if name not in data:
            raise ValueError(f"{place} has no {name!r}.")
    return kind(**{name: readers[name](item, f"{place}.{name}") for name, item in data.items()})


@cache
def _readers(kind: type[Any]) -> tuple[dict[str, Reader], tuple[str, ...]]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    needed = tuple(f.name for f in fields if f.default is dataclasses.MISSING)
    return {field.name: _reader(hints[field.name]) for field in fields}, needed


def _reader(hint: Any) -> Reader:
    """Choose what reads a field of this type."""
    if hint is Any:
        return _checked(lambda _: True, "JSON")
    if hint == messages.Part:
        return _decode_part
    if dataclasses.is_dataclass(hint):
        return lambda data, place: _decode(typing.cast(type[Any], hint), data, place)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional_reader(args)
    if origin is tuple:
        return _tuple_reader(_reader(args[0]))
    if origin is Literal:
        return _checked(lambda data: isinstance(data, str) and data in args, _choices(args))
    return _checked(*_CHECKS[origin or hint])


_CHECKS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda data: isinstance(data, str), "text"),
    bool: (lambda data: isinstance(data, bool), "true or false"),
    int: (lambda data: type(data) is int, "a whole number"),
    float: (lambda data: type(data) in (int, float), "a number"),
    Mapping: (
        lambda data: isinstance(data, dict) and all(type(k) is str for k in data),
        "an object",
    ),
}
_CHECKS[typing.get_origin(Mapping[str, Any])] = _CHECKS[Mapping]


def _checked(fits: Callable[[Any], bool], expected: str) -> Reader:
    def read(data: Any, place: str) -> Any:
        if not fits(data):
            raise _misfit(data, place, expected)
        return data

    return read


def _optional_reader(choices: tuple[Any, ...]) -> Reader:
    reader = _reader(next(choice for choice in choices if choice is not type(None)))
    return lambda data, place: None if data is None else reader(data, place)


def _tuple_reader(reader: Reader) -> Reader:
    def read(data: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise _misfit(data, place, "a list")
        return tuple(reader(item, f"{place}[{index}]") for index, item in enumerate(data))

    return read


def _decode_part(data: Any, place: str) -> Any:
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in PART_TYPES:
        raise _misfit(kind, f"{place}.type", _choices(tuple(PART_TYPES)))
    return _decode(PART_TYPES[kind], data, place)


def _choices(names: tuple[str, ...]) -> str:
    return "one of " + ", ".join(repr(name) for name in names)


def _misfit(data: object, place: str, expected: str) -> ValueError:
    return ValueError(f"{place} is {plain(data, limit=256)!r:.80}, expected {expected}.")
