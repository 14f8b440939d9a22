"""What a Responses server answers: a stream of events about output items, or the whole answer.

An item is said up to three times: in pieces, when it is done, and in the answer at the end. Each
piece is given when it first comes, and what a server left out earlier is made up for later.
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
_FINISHES: Mapping[str, Finish] = {
    "completed": "stop",
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


class Decoder(BodyDecoder):
    """Reads the events of a Responses answer; see `BodyDecoder`.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._names = names or {}
        self._items: dict[object, _Open] = {}
        self._latest = _Open()
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
        self._items[_place(chunk)] = self._latest = opened
        if opened.type in CALLS:
            self._call(opened, item, into)
        return opened

    def _find(self, chunk: dict[str, Any], item: object) -> _Open | None:
        """Find the open item that an event is about; ids may change from event to event."""
        known = self._items.get(_place(chunk))
        if "output_index" in chunk or known is None:
            return known
        wanted = word(chunk, "item_id") or word(item, "id")
        named = (each for each in self._items.values() if wanted and each.id == wanted)
        return next(named, self._latest)

    def _grow(self, chunk: dict[str, Any], field: str, into: list[ModelEvent]) -> None:
        text = chunk.get("delta")
        if not text or type(text) is not str:
            return
        opened = self._find(chunk, None) or self._begin(chunk, into)
        if field in {"summary", "content"}:
            self._think(opened, field, chunk.get("summary_index"), text, into)
            return
        opened.said += len(text)
        if field == "text":
            into.append(ModelText(text))
        elif field == "refusal":
            into.append(ModelRefusal(text))
        elif opened.type in CALLS:
            into.append(ModelArgs(opened, text))

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
            opened = self._begin({"item": item, "output_index": len(self._items)}, into)
        opened.over = self._begun = True
        if kind == "message":
            self._message(opened, item, into)
        elif kind == "reasoning":
            self._reasoning(opened, item, into)
        elif kind in CALLS:
            rest = _as_text(item.get(CALLS[kind][0]))[opened.said :]
            if rest:
                into.append(ModelArgs(opened, rest))
        elif kind:
            self._ran(item, into)

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
        if not self._items:
            for index, item in enumerate(listed(response, "output")):
                self._done(self._begin({"item": item, "output_index": index}, into), item, into)
        self._count(usage_of(inner(response, "usage")), into)
        status = word(response, "status") or status
        cause = word(inner(response, "incomplete_details"), "reason")
        self.reason = f"{status}:{cause}" if cause else status
        report = read_report(response)
        if report is not None or status == "failed":
            self._report(report or Report(type="failed"), into)
        elif self.streamed:
            self._end(into, whole=True)

    def _leave(self, into: list[ModelEvent]) -> None:
        self._flush(into)
        super()._leave(into)

    def _finish(self, reason: str) -> Finish:
        known = _FINISHES.get(reason)
        if known is not None:
            return "calls" if known == "stop" and self._called else known
        return "length" if reason.startswith("incomplete") else "other"


def _place(chunk: Mapping[str, Any]) -> object:
    """Say which item an event is about; servers that leave the index out mean the first."""
    index = chunk.get("output_index")
    return index if type(index) in (int, str) else 0


def _as_text(value: object) -> str:
    if type(value) is str:
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
