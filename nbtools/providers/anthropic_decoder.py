"""What a Messages server answers: a stream of events about content blocks, or one JSON body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelArgs, ModelCall, ModelEvent, ModelPart, ModelReasoning, ModelText
from nbtools.messages import Finish
from nbtools.providers.anthropic_blocks import (
    WIRE,
    Block,
    citations_of,
    ran,
    sealed_call,
    usage_of,
)
from nbtools.providers.decoding import BodyDecoder
from nbtools.providers.failures import read_report
from nbtools.providers.fields import inner, listed, word

_FINISHES: Mapping[str, Finish] = {
    "": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}


class Decoder(BodyDecoder):
    """Reads a Messages answer; see `BodyDecoder`.

    Tokens are counted at the end: the first count is a beginning, and says nothing to show.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._names = names or {}
        self._blocks: dict[object, Block] = {}
        self._last: Block | None = None
        self._running: dict[str, dict[str, Any]] = {}
        self._counts: dict[str, Any] = {}
        self._called = False

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        kind = chunk.get("type")
        if kind == "content_block_delta":
            delta = chunk.get("delta")
            if type(delta) is dict:
                self._delta(chunk.get("index"), delta, into)
        elif kind == "content_block_start":
            self._start(chunk.get("index"), chunk.get("content_block"), into)
        elif kind == "content_block_stop":
            self._stop(self._block(chunk.get("index")), into)
        else:
            self._frame(kind, chunk, into)

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        if type(body.get("content")) is not list:
            return False
        self._message(body, into)
        return True

    def _message(self, message: object, into: list[ModelEvent]) -> None:
        """Take what a message has from the start; in a stream that is seldom more than its frame."""
        for index, content in enumerate(listed(message, "content")):
            self._start(index, content, into)
            self._stop(self._blocks.get(index), into)
        self._closing(message, inner(message, "usage"))

    # The frame of a message

    def _frame(self, kind: object, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        if kind == "message_start":
            self._begun = True
            self._message(chunk.get("message"), into)
        elif kind == "message_delta":
            self._closing(chunk.get("delta"), chunk.get("usage"))
        elif kind == "message_stop":
            self._end(into, whole=True)
        elif report := read_report(chunk):
            self._report(report, into)

    def _closing(self, delta: object, usage: object) -> None:
        if reason := word(delta, "stop_reason"):
            self.reason = reason
        if type(usage) is dict:
            known = (int, dict)
            self._counts |= {name: n for name, n in usage.items() if type(n) in known}

    # Content blocks

    def _block(self, index: object) -> Block | None:
        """Find an open block; the last one where the server does not say which."""
        return self._blocks.get(index) if type(index) is int else self._last

    def _start(self, index: object, content: object, into: list[ModelEvent]) -> None:
        if type(content) is not dict:
            return
        self._begun = True
        block = self._last = Block(dict(content))
        if type(index) is int:
            self._blocks[index] = block
        if block.type == "text":
            self._text(content, into)
        elif block.type == "thinking":
            self._thinking(block, content, into)
        elif block.type == "tool_use":
            self._call(block, into)

    def _delta(self, index: object, delta: dict[str, Any], into: list[ModelEvent]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._begun = True
            text = delta.get("text")
            if text and type(text) is str:
                into.append(ModelText(text))
            return
        block = self._block(index)
        if block is None:
            return
        if kind == "input_json_delta":
            self._arguments(block, word(delta, "partial_json"), into)
        elif block.type == "thinking":
            self._thinking(block, delta, into)
        elif kind == "citations_delta":
            self._text({"citations": [delta.get("citation")]}, into)
        else:
            block.grow(delta)

    def _text(self, content: Mapping[str, Any], into: list[ModelEvent]) -> None:
        if text := word(content, "text"):
            into.append(ModelText(text))
        for url, title in citations_of(content):
            self._cite(url, title)

    def _thinking(self, block: Block, content: object, into: list[ModelEvent]) -> None:
        if text := word(content, "thinking"):
            into.append(ModelReasoning(text))
        if signature := word(content, "signature"):
            block.sealed = True
            into.append(ModelReasoning(sealed={"wire": WIRE, "signature": signature}))

    def _call(self, block: Block, into: list[ModelEvent]) -> None:
        name = word(block.content, "name")
        self._called = True
        sealed = sealed_call(block.content)
        into.append(
            ModelCall(block, word(block.content, "id"), self._names.get(name, name), sealed)
        )
        if block.whole:
            given = json.dumps(block.content["input"], ensure_ascii=False)
            into.append(ModelArgs(block, given))

    def _arguments(self, block: Block, text: str, into: list[ModelEvent]) -> None:
        if block.type != "tool_use":
            block.raw.append(text)
        elif text and not block.whole:
            into.append(ModelArgs(block, text))

    def _stop(self, block: Block | None, into: list[ModelEvent]) -> None:
        """Close a block: what we do not know goes back as it came, and what ran is shown."""
        if block is None or block.sealed:
            return
        block.sealed = True
        kind, content = block.type, block.closed()
        if kind in {"", "text", "tool_use"}:
            return
        if kind == "thinking":
            into.append(ModelReasoning(sealed={"wire": WIRE}))
        elif kind.endswith("tool_result"):
            use = self._running.pop(word(content, "tool_use_id"), {})
            into.append(ModelPart(ran(use, content)))
        else:
            if kind.endswith("tool_use"):
                self._running[word(content, "id")] = content
            into.append(ModelReasoning(sealed={"wire": WIRE, "block": content}))

    # How it ends

    def _leave(self, into: list[ModelEvent]) -> None:
        self._count(usage_of(self._counts), into)
        super()._leave(into)

    def _finish(self, reason: str) -> Finish:
        known = _FINISHES.get(reason, "other")
        return "calls" if known == "stop" and self._called else known
