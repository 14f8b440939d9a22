"""What a Chat Completions server answers: a stream of chunks, or one JSON body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelEvent, ModelPart, ModelRefusal, ModelText
from nbtools.messages import Finish
from nbtools.providers.decoding import BodyDecoder
from nbtools.providers.failures import Report, read_report
from nbtools.providers.fields import inner
from nbtools.providers.openai_calls import Calls
from nbtools.providers.openai_fields import (
    images_of,
    parts_of,
    ran_of,
    sources_of,
    usage_of,
)
from nbtools.providers.openai_thoughts import Thinking

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "sensitive": "filter",
}
_ENDED = frozenset({"", "stop", "tool_calls", "function_call"})
_BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})


class Decoder(BodyDecoder):
    """Reads a Chat Completions answer; see `BodyDecoder`.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._calls = Calls(names or {})
        self._thoughts = Thinking()
        self._ran: list[object] = []

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        if not body.get("choices"):
            return False
        self._chunk(body, into)
        return True

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        if "error" in chunk or "choices" not in chunk:
            report = read_report(chunk)
            if report is not None:
                self._report(report, into)
                return
        choices = chunk.get("choices")
        if choices and type(choices) is list:
            for choice in choices:
                if type(choice) is dict and not choice.get("index"):
                    self._choice(choice, into)
                    if self.over:
                        return
        usage = chunk.get("usage")
        if usage or "x_groq" in chunk:
            self._count(usage_of(usage or inner(chunk.get("x_groq"), "usage")), into)
        if "citations" in chunk or "search_results" in chunk:
            self._cite_all(chunk)

    def _choice(self, choice: dict[str, Any], into: list[ModelEvent]) -> None:
        delta = choice.get("delta") if self.streamed else choice.get("message")
        if type(delta) is not dict and not self._begun:
            delta = choice.get("message" if self.streamed else "delta")
        self._begun = True
        if type(delta) is dict:
            content = delta.get("content")
            if self._thoughts.open and (content or delta.get("tool_calls")):
                self._thoughts.close(into)
            if len(delta) == 1 and type(content) is str:
                if content:
                    into.append(ModelText(content))
            elif len(delta) == 1 and "tool_calls" in delta:
                self._fragments(delta["tool_calls"], into)
            else:
                self._delta(delta, content, into)
        reason = choice.get("finish_reason")
        if reason is not None:
            self.reason = str(reason)
            if self.reason in _BROKEN and "error" not in choice:
                self._report(Report(type=self.reason), into)
        if "error" in choice and (report := read_report(choice)):
            self._report(report, into)

    def _delta(self, delta: dict[str, Any], content: object, into: list[ModelEvent]) -> None:
        self._thoughts.grow(delta, into)
        if self._thoughts.open and (content or delta.get("tool_calls")):
            self._thoughts.close(into)
        if content and type(content) is str:
            into.append(ModelText(content))
        elif type(content) is list:
            into.extend(parts_of(content))
        if delta.get("tool_calls"):
            self._fragments(delta["tool_calls"], into)
        self._rest(delta, into)

    def _rest(self, delta: dict[str, Any], into: list[ModelEvent]) -> None:
        """Read the fields that few answers have."""
        refusal = delta.get("refusal")
        if refusal and type(refusal) is str:
            into.append(ModelRefusal(refusal))
        if delta.get("function_call"):
            self._legacy(delta["function_call"], into)
        if delta.get("images"):
            into.extend(images_of(delta["images"]))
        if delta.get("annotations"):
            self._cite_all(delta)
        for index, call in ran_of(delta.get("executed_tools")):
            if index not in self._ran:
                self._ran.append(index)
                into.append(ModelPart(call))

    def _fragments(self, fragments: object, into: list[ModelEvent]) -> None:
        for place, fragment in enumerate(fragments if type(fragments) is list else (fragments,)):
            if type(fragment) is dict:
                self._calls.add(fragment if self.streamed else {**fragment, "index": place}, into)

    def _legacy(self, function: object, into: list[ModelEvent]) -> None:
        if type(function) is dict:
            self._calls.add({"index": "function_call", "function": function}, into)

    def _cite_all(self, holder: Mapping[str, Any]) -> None:
        for url, title in sources_of(holder):
            self._cite(url, title)

    # How it ends

    def _leave(self, into: list[ModelEvent]) -> None:
        self._calls.close(into)
        self._thoughts.leave(into)
        super()._leave(into)

    def _finish(self, reason: str) -> Finish:
        known = _FINISHES.get(reason.lower())
        if known is not None:
            return known
        if self._calls:
            return "calls"
        return "stop" if reason in _ENDED else "other"
