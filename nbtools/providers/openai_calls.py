"""Which call a fragment of a Chat Completions stream belongs to.

The protocol says: `index` tells calls apart, the first fragment has id and name, later ones only
arguments. Servers leave out the index, give every call the same one or -1, leave out the id or
repeat it, repeat the name, send the arguments as an object. The rules here hold for all of them:

- a known id continues its call, a new id begins one, unless it comes late for a call without id;
- without an id, another name begins a call; so does the same name after complete arguments;
- a fragment with neither continues the call of its index, or else the last one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtools.events import ModelArgs, ModelCall, ModelEvent
from nbtools.messages import Json
from nbtools.providers.openai_thoughts import beside


@dataclass(slots=True, eq=False)
class Call:
    """One call of a reply; the object itself is the `key` of its events."""

    index: object
    id: str
    blank: str | None = None
    """An id that says nothing, where the server gave such a one."""
    name: str = ""
    kind: str = "function"
    sealed: Json = None
    opened: bool = False
    pieces: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are one whole JSON object."""
        text = "".join(self.pieces)
        if not text.rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False


class Calls:
    """The calls of one reply, in the order in which they began."""

    __slots__ = ("_by_index", "_names", "_order")

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._order: list[Call] = []
        self._by_index: dict[object, Call] = {}

    def __bool__(self) -> bool:
        return bool(self._order)

    def add(self, fragment: Mapping[str, Any], into: list[ModelEvent]) -> None:
        """Take one fragment of a call.

        Args:
            fragment: An item of `tool_calls`, as it came.
            into: Where the events go.
        """
        function = fragment.get("function")
        if len(fragment) == 2 and type(function) is dict and len(function) == 1:
            index, text = fragment.get("index"), function.get("arguments")
            call = self._by_index.get(index) if type(index) is int else None
            if call is not None and call.opened and type(text) is str:
                if text:
                    call.pieces.append(text)
                    into.append(ModelArgs(call, text))
                return
        self._add_any(fragment, function, into)

    def _add_any(
        self, fragment: Mapping[str, Any], function: object, into: list[ModelEvent]
    ) -> None:
        """Take a fragment that may be more than the next piece of a known call's arguments."""
        custom = fragment.get("custom")
        kind = "function"
        if isinstance(custom, dict) and (custom.get("name") or not isinstance(function, dict)):
            function, kind = {**custom, "arguments": custom.get("input")}, "custom"
        if not isinstance(function, dict):
            function = {}
        arguments = function.get("arguments")
        text = arguments if type(arguments) is str else _as_text(arguments)
        index, given = fragment.get("index"), _word(fragment.get("id"))
        name = _word(function.get("name"))
        name = self._names.get(name, name)
        call = self._find(index, given, name)
        if call is None:
            if not (given or name or text):
                return
            call = self._begin(index, given, kind)
            call.blank = "" if fragment.get("id") == "" else None
        if "extra_content" in fragment:
            call.sealed = beside(fragment) or call.sealed
        _grow(call, name, text, into)

    def close(self, into: list[ModelEvent]) -> None:
        """Give the calls that never got a name.

        Args:
            into: Where the events go.
        """
        for call in self._order:
            if not call.opened:
                _open(call, into)

    def _begin(self, index: object, given: str, kind: str) -> Call:
        call = Call(index=index, id=given, kind=kind)
        self._order.append(call)
        if type(index) in (int, str):
            self._by_index[index] = call
        return call

    def _at(self, index: object) -> Call | None:
        return self._by_index.get(index) if type(index) in (int, str) else None

    def _find(self, index: object, given: str, name: str) -> Call | None:
        """Find the call that a fragment continues; None if it begins one."""
        here = self._at(index)
        if not given and not name:
            return here or (self._order[-1] if self._order else None)
        if here is None and type(index) is int and index >= 0:
            return None
        if given:
            return self._find_by_id(here, given, name)
        call = here or (self._order[-1] if self._order else None)
        return call if call is not None and _goes_on(call, name) else None

    def _find_by_id(self, here: Call | None, given: str, name: str) -> Call | None:
        if here is not None and here.id == given:
            return here
        if here is not None and not here.id and _goes_on(here, name):
            here.id = given
            return here
        return next((call for call in self._order if call.id == given), None)


def _goes_on(call: Call, name: str) -> bool:
    """Tell whether a fragment of this name, without a known id, continues the call."""
    if name and call.name and name != call.name:
        return False
    return not (name and call.complete)


def _grow(call: Call, name: str, text: str, into: list[ModelEvent]) -> None:
    if name and not call.name:
        call.name = name
    if text:
        call.pieces.append(text)
    if call.opened:
        if text:
            into.append(ModelArgs(call, text))
    elif call.name:
        _open(call, into)


def _open(call: Call, into: list[ModelEvent]) -> None:
    call.opened = True
    into.append(ModelCall(call, call.id, call.name, call.sealed))
    if call.pieces:
        into.append(ModelArgs(call, "".join(call.pieces)))


def _word(value: object) -> str:
    return value if type(value) is str else ""


def _as_text(arguments: object) -> str:
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
