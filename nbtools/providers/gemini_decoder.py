"""What Gemini answers: a stream of chunks, or an array of them; each has whole parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelEvent, ModelPart, ModelText
from nbtools.messages import Finish, Notice
from nbtools.providers.decoding import BodyDecoder
from nbtools.providers.failures import read_report
from nbtools.providers.fields import inner, listed, word
from nbtools.providers.gemini_calls import Calls
from nbtools.providers.gemini_parts import (
    RESULTS,
    WIRE,
    Part,
    file_of,
    kind_of,
    queries_of,
    ran,
    searched,
    sources_of,
    usage_of,
)
from nbtools.providers.thoughts import Thoughts

_FINISHES: Mapping[str, Finish] = {
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "LANGUAGE": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
    "IMAGE_PROHIBITED_CONTENT": "filter",
    "IMAGE_RECITATION": "filter",
    "MALFORMED_FUNCTION_CALL": "failed",
    "UNEXPECTED_TOOL_CALL": "failed",
    "MISSING_THOUGHT_SIGNATURE": "failed",
    "TOO_MANY_TOOL_CALLS": "failed",
}
_BLOCKED = "blockReason:"


class Decoder(BodyDecoder):
    """Reads the chunks of a Gemini answer; see `BodyDecoder`.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._calls = Calls(WIRE, names or {})
        self._thoughts = Thoughts(WIRE)
        self._waiting: Part | None = None
        self._queries: list[str] = []
        self._says = ""
        self._counts: object = None

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        self._chunk(body, into)
        return self._begun

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        report = read_report(chunk) if "error" in chunk else None
        if report is not None:
            self._report(report, into)
            return
        self._begun = self._begun or not chunk.keys().isdisjoint(_ANSWERING)
        if "promptFeedback" in chunk:
            self._judge(chunk["promptFeedback"])
        candidate = _first(listed(chunk, "candidates"))
        if candidate is not None:
            self._candidate(candidate, into)
        usage = chunk.get("usageMetadata")
        if usage:
            self._counts = usage

    def _judge(self, feedback: object) -> None:
        """Take what the server thinks of the question."""
        blocked = word(feedback, "blockReason")
        if blocked and self.reason is None:
            self.reason = _BLOCKED + blocked

    def _candidate(self, candidate: dict[str, Any], into: list[ModelEvent]) -> None:
        for part in listed(candidate.get("content"), "parts"):
            if type(part) is dict:
                text = part.get("text")
                if len(part) == 1 and type(text) is str:
                    if text:
                        self._leave_text(into)
                        into.append(ModelText(text))
                else:
                    self._part(part, into)
        reason = candidate.get("finishReason")
        if reason is not None:
            self.reason = str(reason)
            self._says = word(candidate, "finishMessage")
        if not candidate.keys().isdisjoint(_METADATA):
            self._ground(candidate)

    def _ground(self, candidate: dict[str, Any]) -> None:
        """Take what the answer rests on."""
        for url, title in sources_of(candidate):
            if url:
                self._cite(url, title)
        self._queries += [each for each in queries_of(candidate) if each not in self._queries]

    def _part(self, part: Part, into: list[ModelEvent]) -> None:
        signature = word(part, "thoughtSignature")
        text = part.get("text")
        call = part.get("functionCall")
        if type(text) is str and part.get("thought"):
            self._thoughts.grow(text, signature, into)
        elif type(call) is dict:
            self._leave_text(into)
            self._calls.add(call, signature, into)
        elif kind_of(part):
            self._leave_text(into, part)
            self._work(part, into)
        elif (found := file_of(part, signature)) is not None:
            self._leave_text(into)
            into.append(ModelPart(found))
        elif type(text) is str and (text or signature):
            self._text(text, signature, into)

    def _text(self, text: str, signature: str, into: list[ModelEvent]) -> None:
        self._leave_text(into)
        if text:
            into.append(ModelText(text))
        if signature:
            sealed = {"wire": WIRE, "signature": signature, "tail": len(text)}
            into.append(ModelText(sealed=sealed))

    def _work(self, part: Part, into: list[ModelEvent]) -> None:
        """Show what the provider runs, together with its result."""
        if kind_of(part) in RESULTS:
            self._waiting = part
            return
        asked, self._waiting = self._waiting, None
        into.append(ModelPart(ran([part] if asked is None else [asked, part])))

    def _leave_text(self, into: list[ModelEvent], part: Part | None = None) -> None:
        """End a thought, and show what ran without a result, unless `part` is the result."""
        self._thoughts.close(into)
        if self._waiting is None:
            return
        if part is None or RESULTS[kind_of(self._waiting)] != kind_of(part):
            into.append(ModelPart(ran([self._waiting])))
            self._waiting = None

    # How it ends

    def _leave(self, into: list[ModelEvent]) -> None:
        self._leave_text(into)
        self._calls.close(into)
        if self._queries:
            into.append(ModelPart(searched(self._queries)))
        self._count(usage_of(self._counts), into)
        super()._leave(into)
        if _FINISHES.get(self.reason or "") == "failed":
            text = f"The model broke its reply off ({self.reason})."
            notice = Notice(id="", level="warning", text=text, hint=self._says, retry=True)
            into.append(ModelPart(notice))

    def _finish(self, reason: str) -> Finish:
        if reason.startswith(_BLOCKED):
            return "filter"
        known = _FINISHES.get(reason)
        if known is not None:
            return known
        if self._calls.any:
            return "calls"
        return "stop" if reason in {"", "STOP"} else "other"


_METADATA = frozenset({"groundingMetadata", "citationMetadata", "urlContextMetadata"})
_ANSWERING = frozenset({"candidates", "promptFeedback", "usageMetadata"})


def _first(candidates: list[Any]) -> dict[str, Any] | None:
    """Give the first candidate, if this chunk has a piece of it."""
    for candidate in candidates:
        if type(candidate) is dict and not inner(candidate, "index"):
            return candidate
    return None
