"""What a Responses server answers: a stream of events about output items, or the whole answer.

An item is said up to three times: in pieces, when it is done, and in the answer at the end. Each
piece is given when it first comes, and what a server left out earlier is made up for later. Which
item is meant is said by its place, which some servers leave out or repeat, and by its id, which
some change from event to event.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
)
from nbtools.messages import Finish
from nbtools.providers.decoding import BodyDecoder
from nbtools.providers.failures import Report, read_report
from nbtools.providers.fields import inner, listed, word
from nbtools.providers.responses_items import (
    CALLS,
    WIRE,
    Item,
    citations_of,
    picture,
    ran,
    sealed_call,
    sealed_reasoning,
    texts_of,
    usage_of,
    waits_for_output,
)

_ENDS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "content",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}
_WHOLE = {
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_FINISHES: Mapping[str, Finish] = {
    "completed": "stop",
    "cancelled": "cut",
    "incomplete:content_filter": "filter",
    "queued": "cut",
    "in_progress": "cut",
}


@dataclass(slots=True, eq=False)
class _Open:
    """One output item while it is read; the object itself is the `key` of a call's events."""

    type: str = ""
    id: str = ""
    kind: str = "function"
    shown: str = ""
    """Where the reasoning stands that is shown: `summary` or `content`, whichever came first."""
    part: object = None
    """Which part of the summary is being read."""
    said: int = 0
    """How many characters of its text, or of its arguments, have been given."""
    over: bool = False

    def may_be(self, kind: str) -> bool:
        """Tell whether a whole item of this type is the one that was read in pieces."""
        announced = self.type == kind or (not self.type and kind not in CALLS)
        return announced and not self.over

    @property
    def grew_as(self) -> str:
        """The type of the item, announced or not."""
        return self.type or ("reasoning" if self.shown else "message")


class Decoder(BodyDecoder):
    """Reads the events of a Responses answer; see `BodyDecoder`.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._names = names or {}
        self._items: list[_Open] = []
        self._places: dict[object, _Open] = {}
        self._waiting: dict[str, Item] = {}
        self._called = False

    @property
    def where(self) -> Literal["stream", "body"]:
        """Where an error stands: an answer that failed tells it itself, in its last event."""
        return "body" if self.reason == "failed" else super().where

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        if type(body.get("output")) is not list:
            return False
        self._terminal(body, "completed", into)
        return True

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        kind = chunk.get("type")
        if kind.__class__ is not str:
            kind = ""
        field = _DELTAS.get(kind)
        if field is not None:
            self._grow(chunk, field, into)
        elif kind == "response.output_item.added":
            self._begin(chunk, into)
        elif kind == "response.output_item.done":
            self._done(self._find(chunk, chunk.get("item")), chunk.get("item"), into)
        elif kind in _WHOLE:
            self._complete(self._find(chunk, None), chunk.get(_WHOLE[kind]), into)
        elif kind == "response.output_text.annotation.added":
            self._cite_all([chunk.get("annotation")])
        elif kind in _ENDS:
            self._terminal(chunk.get("response"), _ENDS[kind], into)
        elif (report := read_report(chunk)) is not None:
            self._report(report, into)
        elif kind.startswith("response."):
            self._begun = True

    # An item in pieces

    def _begin(self, chunk: dict[str, Any], into: list[ModelEvent]) -> _Open:
        self._begun = True
        item = chunk.get("item")
        opened = _Open(type=word(item, "type"), id=word(item, "id"))
        self._items.append(opened)
        self._places[_place(chunk)] = opened
        if opened.type in CALLS:
            self._call(opened, item, into)
        return opened

    def _find(self, chunk: dict[str, Any], item: object) -> _Open | None:
        """Find the open item that an event is about; None if there is none yet."""
        place = _place(chunk)
        here = self._places.get(place)
        wanted = chunk.get("item_id") or word(item, "id")
        if here is not None and (not wanted or wanted == here.id):
            return here
        if here is None and place is not None:
            return None
        named = next((each for each in self._items if wanted and each.id == wanted), None)
        return named or here or (self._items[-1] if self._items else None)

    def _grow(self, chunk: dict[str, Any], field: str, into: list[ModelEvent]) -> None:
        text = chunk.get("delta")
        if not text or type(text) is not str:
            return
        opened = self._find(chunk, None)
        if field == "arguments":
            self._begun = True
            if opened is not None and opened.type in CALLS:
                opened.said += len(text)
                into.append(ModelArgs(opened, text))
            return
        opened = opened or self._begin(chunk, into)
        if field in {"summary", "content"}:
            self._think(opened, field, chunk.get("summary_index"), text, into)
            return
        opened.said += len(text)
        if field == "text":
            into.append(ModelText(text))
        else:
            into.append(ModelRefusal(text))

    def _think(
        self, opened: _Open, field: str, part: object, text: str, into: list[ModelEvent]
    ) -> None:
        if opened.shown not in {"", field}:
            return
        if opened.shown == "summary" and part != opened.part:
            into.append(ModelReasoning(sealed={"wire": WIRE, "id": opened.id}))
        opened.shown, opened.part = field, part
        opened.said += len(text)
        into.append(ModelReasoning(text))

    def _call(self, opened: _Open, item: Any, into: list[ModelEvent]) -> None:
        self._flush(into)
        self._called = True
        opened.kind = CALLS[opened.type][1]
        name = word(item, "name")
        into.append(
            ModelCall(opened, word(item, "call_id"), self._names.get(name, name), sealed_call(item))
        )

    # An item that is whole

    def _done(self, opened: _Open | None, item: Any, into: list[ModelEvent]) -> None:
        if type(item) is not dict:
            return
        kind = word(item, "type")
        if opened is None or not opened.may_be(kind):
            opened = self._begin({"item": item}, into)
        opened.over = self._begun = True
        if kind == "message":
            self._message(opened, item, into)
        elif kind == "reasoning":
            self._reasoning(opened, item, into)
        elif kind in CALLS:
            self._complete(opened, item.get(CALLS[kind][0]), into)
        elif kind:
            self._ran(item, into)

    def _complete(self, opened: _Open | None, arguments: object, into: list[ModelEvent]) -> None:
        """Give what is left of the arguments of a call."""
        if opened is None or opened.type not in CALLS:
            return
        if rest := _as_text(arguments)[opened.said :]:
            opened.said += len(rest)
            into.append(ModelArgs(opened, rest))

    def _message(self, opened: _Open, item: Item, into: list[ModelEvent]) -> None:
        self._flush(into)
        content = listed(item, "content")
        kinds = [ModelRefusal if word(part, "type") == "refusal" else ModelText for part in content]
        texts = [word(part, "text") or word(part, "refusal") for part in content]
        left = opened.said
        for kind, text in zip(kinds, texts, strict=True):
            if rest := text[left:]:
                into.append(kind(rest))
            left = max(0, left - len(text))
        for part in content:
            self._cite_all(listed(part, "annotations"))
        if texts and kinds[-1] is ModelText and texts[-1].strip():
            kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
            into.append(ModelText(sealed={"wire": WIRE, **kept}))

    def _reasoning(self, opened: _Open, item: dict[str, Any], into: list[ModelEvent]) -> None:
        self._flush(into)
        if not opened.shown:
            opened.shown = "summary" if texts_of(item, "summary") else "content"
            for number, text in enumerate(texts_of(item, opened.shown)):
                if number:
                    into.append(ModelReasoning(sealed={"wire": WIRE, "id": opened.id}))
                into.append(ModelReasoning(text))
        into.append(ModelReasoning(sealed=sealed_reasoning(item, opened.shown)))

    def _ran(self, item: Item, into: list[ModelEvent]) -> None:
        """Show what the provider ran, together with its result."""
        call = word(item, "call_id")
        if word(item, "type").endswith("_output") and call in self._waiting:
            into.append(ModelPart(ran([self._waiting.pop(call), item])))
            return
        self._flush(into)
        if waits_for_output(item):
            self._waiting[call] = item
            return
        into.append(ModelPart(ran([item])))
        shown = picture(item)
        if shown is not None:
            into.append(ModelPart(shown))

    def _flush(self, into: list[ModelEvent]) -> None:
        """Show what the provider ran and gave no result of."""
        into.extend(ModelPart(ran([item])) for item in self._waiting.values())
        self._waiting.clear()

    def _cite_all(self, annotations: list[Any]) -> None:
        for url, title in citations_of(annotations):
            self._cite(url, title)

    # How it ends

    def _terminal(self, response: Any, status: str, into: list[ModelEvent]) -> None:
        self._begun = True
        self._make_up(listed(response, "output"), into)
        self._count(usage_of(inner(response, "usage")), into)
        status = word(response, "status") or status
        cause = word(inner(response, "incomplete_details"), "reason")
        self.reason = f"{status}:{cause}" if cause else status
        report = read_report(response)
        if report is not None or status == "failed":
            self._report(report or Report(type="failed"), into)
        elif self.streamed:
            self._end(into, whole=True)

    def _make_up(self, output: list[Any], into: list[ModelEvent]) -> None:
        """Take the items of the whole answer that were not given yet, or not to their end."""
        begun = list(self._items)
        for item in output:
            kind = word(item, "type")
            opened = next((each for each in begun if each.grew_as == kind), None)
            if opened is not None:
                begun.remove(opened)
            if opened is None or not opened.over:
                self._done(opened, item, into)

    def _leave(self, into: list[ModelEvent]) -> None:
        self._flush(into)
        super()._leave(into)

    def _finish(self, reason: str) -> Finish:
        known = _FINISHES.get(reason)
        if known is not None:
            return "calls" if known == "stop" and self._called else known
        return "length" if reason.startswith("incomplete") else "other"


def _place(chunk: Mapping[str, Any]) -> object:
    """Say which item an event is about; None where the server does not."""
    index = chunk.get("output_index")
    return index if type(index) in (int, str) else None


def _as_text(value: object) -> str:
    if type(value) is str:
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
