"""What a Chat Completions server wants back of what its model thought, in the fields it came in.

The protocol knows no reasoning. Servers that have it add fields of their own: a text, which some of
them demand with the next request; details that are signed or encrypted; signatures beside a call.
They refuse each other's fields: what a model sealed is sent to no other, as `sealing` sees to it.

Source: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/guides/best-practices/reasoning-tokens,
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelEvent, ModelReasoning
from nbtools.frozen import thaw
from nbtools.messages import Json, Message, Reasoning, ToolCall
from nbtools.providers.fields import inner
from nbtools.providers.sealing import sealed_by

WIRE = "openai-chat"
"""The name of the wire in sealed material."""

_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}
_SEALING = ("signature", "data")


class Thinking:
    """What is thought in one reply."""

    __slots__ = ("_details", "_extra", "_field", "open")

    def __init__(self) -> None:
        self._field = ""
        self._details: list[dict[str, Json]] = []
        self._extra: Json = None
        self.open = False
        """Whether the last thing that was said is a thought."""

    def grow(self, delta: Mapping[str, Any], into: list[ModelEvent]) -> None:
        """Take what a delta says of it; a text that stands in several fields is read once."""
        for field in _TEXTS:
            text = delta.get(field)
            if text and type(text) is str:
                self.open, self._field = True, field
                into.append(ModelReasoning(text))
                break
        if "reasoning_details" in delta:
            self._add(delta["reasoning_details"])
        if "extra_content" in delta:
            self._extra = delta["extra_content"] or self._extra

    def close(self, into: list[ModelEvent]) -> None:
        """End the thought that is open, if one is."""
        if self.open:
            self.open = False
            into.append(ModelReasoning(sealed={"wire": WIRE, "field": self._field}))

    def leave(self, into: list[ModelEvent]) -> None:
        """Give what goes back as it came: signed details, and what stands beside the message."""
        self.close(into)
        signed = any(each.get(name) for each in self._details for name in _SEALING)
        details = self._details if signed else None
        fields = {"reasoning_details": details, "extra_content": self._extra}
        kept = {name: value for name, value in fields.items() if value}
        if kept:
            into.append(ModelReasoning(sealed={"wire": WIRE, "fields": kept}))

    def _add(self, details: object) -> None:
        """Join details that come in pieces; a piece without text brings the signature."""
        for piece in details if type(details) is list else ():
            if type(piece) is not dict:
                continue
            last = self._details[-1] if self._details else {}
            growing = _GROWING.get(str(piece.get("type")))
            if growing is None or any(last.get(n) != piece.get(n) for n in ("type", "index")):
                self._details.append(dict(piece))
                continue
            text = f"{last.get(growing) or ''}{piece.get(growing) or ''}"
            last |= {name: value for name, value in piece.items() if value is not None}
            last[growing] = text


def returned(message: Message) -> dict[str, Json]:
    """Give the fields of a reply that go back with it."""
    texts: dict[str, str] = {}
    fields: dict[str, Json] = {}
    for part in message.parts:
        if type(part) is Reasoning:
            sealed = sealed_by(part, WIRE)
            if field := sealed.get("field"):
                texts[field] = texts.get(field, "") + part.text
            fields |= thaw(sealed.get("fields", {}))
    return fields if "reasoning_details" in fields else {**texts, **fields}


def beside(fragment: Mapping[str, Any]) -> Json:
    """Give what goes back of a call beside its id, name and arguments; None if that is all."""
    extra = inner(fragment, "extra_content")
    return {"wire": WIRE, "extra_content": extra} if extra else None


def returned_beside(call: ToolCall) -> dict[str, Json]:
    """Give the fields of a call that go back with it."""
    extra = sealed_by(call, WIRE).get("extra_content")
    return {"extra_content": thaw(extra)} if extra else {}
