"""How the calls of a Gemini answer come: whole, or with their arguments in pieces.

A piece names its place as a path, such as `$.where.ports[0]`; pieces of one text are joined.

Source: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelArgs, ModelCall, ModelEvent
from nbtools.messages import Json
from nbtools.providers.decoding import WholeCall
from nbtools.providers.fields import listed, word

_STEP = re.compile(r"""\.([^.\[]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")
_DEEPEST = 100
"""Steps of a path; what is nested deeper is no argument of a tool."""


class Calls:
    """The calls of one reply.

    Args:
        wire: The name of the wire, for what goes back with each call.
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, wire: str, names: Mapping[str, str]) -> None:
        self._wire = wire
        self._names = names
        self._key: WholeCall | None = None
        self._args: dict[str, Json] = {}
        self._text = ""
        self.any = False
        """Whether there has been any."""

    def add(self, call: dict[str, Any], signature: str, into: list[ModelEvent]) -> None:
        """Take a call, or a piece of the one that is open.

        Args:
            call: The field `functionCall` of a part.
            signature: What the part is signed with, or "".
            into: Where the events go.
        """
        name = word(call, "name")
        if name or self._key is None:
            if not (name or call):
                return
            self._begin(name, word(call, "id"), signature, into)
        args = call.get("args")
        if type(args) is dict:
            self._args |= args
        elif args is not None:
            self._text = args if type(args) is str else json.dumps(args, ensure_ascii=False)
        for piece in listed(call, "partialArgs"):
            self._args = _placed(self._args, piece)
        if not call.get("willContinue"):
            self.close(into)

    def close(self, into: list[ModelEvent]) -> None:
        """Give the arguments of the call that is open, if one is."""
        if self._key is not None:
            text = self._text or json.dumps(self._args, ensure_ascii=False)
            into.append(ModelArgs(self._key, text))
            self._key = None

    def _begin(self, name: str, given: str, signature: str, into: list[ModelEvent]) -> None:
        self.close(into)
        self.any = True
        self._key, self._args, self._text = WholeCall(), {}, ""
        sealed = {"wire": self._wire, "id": given, "signature": signature}
        kept = {field: value for field, value in sealed.items() if value}
        into.append(ModelCall(self._key, given, self._names.get(name, name), kept))


def _placed(args: dict[str, Json], piece: object) -> dict[str, Json]:
    """Put one piece in its place; what has no readable place is passed over."""
    path = word(piece, "jsonPath")
    steps = [int(index) if index else a or b or c for a, index, b, c in _STEP.findall(path)]
    if not 0 < len(steps) <= _DEEPEST or type(piece) is not dict:
        return args
    value = next((piece[field] for field in _VALUES if field in piece), None)
    placed = _with(args, steps, value)
    return placed if type(placed) is dict else args


def _with(holder: Json, steps: list[Any], value: Json) -> Json:
    if not steps:
        joined = type(holder) is str and type(value) is str
        return holder + value if joined else value
    step, rest = steps[0], steps[1:]
    if type(step) is int:
        items = list(holder) if type(holder) is list else []
        if step > len(items):
            return items
        items += [None] * (step + 1 - len(items))
        items[step] = _with(items[step], rest, value)
        return items
    fields = dict(holder) if type(holder) is dict else {}
    fields[step] = _with(fields.get(step), rest, value)
    return fields
