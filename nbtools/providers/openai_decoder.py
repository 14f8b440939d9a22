"""What a Chat Completions server answers: a stream of chunks, or one JSON body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nbtools.errors import ProviderError, StreamError
from nbtools.events import (
    ModelArgs,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Finish, Source, Usage
from nbtools.providers.bodies import json_reader, parse, unreadable
from nbtools.providers.failures import Report, error_of, read_report
from nbtools.providers.openai_calls import Calls
from nbtools.providers.openai_fields import (
    images_of,
    inner,
    parts_of,
    reasoning_of,
    sources_of,
    usage_of,
)
from nbtools.providers.sse import LIMIT, EventReader

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
    "sensitive": "filter",
}
_GROWING = (ModelText, ModelReasoning, ModelArgs)
_ENDED = frozenset({"", "stop", "tool_calls", "function_call"})
_BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})


class Decoder:
    """Turns the bytes of one reply into events; it never raises, whatever the bytes are.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._take: Callable[[bytes], list[ModelEvent]] = self._sniff
        self._reader = EventReader()
        self._body = bytearray()
        self._loads: Callable[[bytes], Any] = json_reader()
        self._calls = Calls(names or {})
        self._usage: Usage | None = None
        self._sources: dict[str, str] = {}
        self._seen = False
        self._begun = False
        self.over = False
        """Whether the reply has ended or failed; what comes after that is ignored."""
        self.reason: str | None = None
        """The last finish reason, in the server's own word."""
        self.report: Report | None = None
        """The server's own words about the error that ended the reply."""
        self.streamed = False
        """Whether the body is a stream of events, as opposed to one JSON value."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Take the next bytes of the body.

        Args:
            data: Any piece of it.

        Returns:
            What it says; adjacent text is joined.
        """
        return [] if self.over else self._take(data)

    def close(self) -> list[ModelEvent]:
        """Take the end of the body.

        Returns:
            What is left to say. There is a `ModelFinish` among all the events of the reply only
            if the server said that it was whole.
        """
        if self.over:
            return []
        if not self.streamed:
            return self._close_body()
        into: list[ModelEvent] = []
        for data in self._reader.close():
            self._event(data, into, cut=True)
        if not self._begun and not self.over:
            self._fail(self._nothing(), into)
        if not self.over:
            self._end(into, whole=self.reason is not None)
        return into

    # Which kind of body it is: JSON begins with a bracket, and a stream never does.

    def _sniff(self, data: bytes) -> list[ModelEvent]:
        self._body += data
        start = self._body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if not start:
            return []
        if start in b"{[<":
            self._take = self._hold
            return []
        self._take, self.streamed = self._stream, True
        self._seen = start == b":"
        return self._stream(bytes(self._body))

    def _hold(self, data: bytes) -> list[ModelEvent]:
        self._body += data
        if len(self._body) <= LIMIT:
            return []
        into: list[ModelEvent] = []
        self._fail(StreamError(f"The answer is longer than {LIMIT:,} bytes."), into)
        return into

    def _close_body(self) -> list[ModelEvent]:
        into: list[ModelEvent] = []
        try:
            body = parse(self._loads, bytes(self._body))
        except ValueError:
            self._fail(unreadable(bytes(self._body)), into)
            return into
        if isinstance(body, list) and body:
            body = body[0]
        if read_report(body) is None and not (isinstance(body, dict) and body.get("choices")):
            self._fail(unreadable(bytes(self._body)), into)
        else:
            self._chunk(body, into)
        if not self.over:
            self._end(into, whole=True)
        return into

    # A stream

    def _nothing(self) -> StreamError:
        if self._seen:
            return StreamError("The answer broke off before it began.")
        self.streamed = False
        return StreamError("The answer is neither JSON nor a stream of events.", kind="malformed")

    def _stream(self, data: bytes) -> list[ModelEvent]:
        into: list[ModelEvent] = []
        try:
            events = self._reader.feed(data)
        except StreamError as error:
            self._fail(error, into)
            return into
        for event in events:
            self._seen = True
            self._event(event, into)
            if self.over:
                break
        return into if len(into) < 2 else _joined(into)

    def _event(self, data: bytes, into: list[ModelEvent], *, cut: bool = False) -> None:
        if data[:1] != b"{" and data.strip() == b"[DONE]":
            self._end(into, whole=True)
            return
        try:
            chunk = parse(self._loads, data)
        except ValueError:
            if not cut:
                self._fail(unreadable(data), into)
            return
        self._chunk(chunk, into)

    def _chunk(self, chunk: Any, into: list[ModelEvent]) -> None:
        if type(chunk) is not dict:
            return
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
            self._count(usage or inner(chunk.get("x_groq"), "usage"), into)
        if "citations" in chunk or "search_results" in chunk:
            self._cite(chunk)

    def _choice(self, choice: dict[str, Any], into: list[ModelEvent]) -> None:
        delta = choice.get("delta") if self.streamed else choice.get("message")
        if type(delta) is not dict and not self._begun:
            delta = choice.get("message" if self.streamed else "delta")
        self._begun = True
        if type(delta) is dict:
            content = delta.get("content")
            if len(delta) == 1 and type(content) is str:
                if content:
                    into.append(ModelText(content))
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
        if reasoning := reasoning_of(delta):
            into.append(ModelReasoning(reasoning))
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
            self._cite(delta)

    def _fragments(self, fragments: object, into: list[ModelEvent]) -> None:
        for fragment in fragments if type(fragments) is list else [fragments]:
            if type(fragment) is dict:
                self._calls.add(fragment, into)

    def _legacy(self, function: object, into: list[ModelEvent]) -> None:
        if type(function) is dict:
            self._calls.add({"index": "function_call", "function": function}, into)

    def _cite(self, holder: Mapping[str, Any]) -> None:
        """Keep what the answer cites until its end, so that no text is split by it."""
        for url, title in sources_of(holder):
            if not self._sources.get(url):
                self._sources[url] = title

    def _count(self, usage: object, into: list[ModelEvent]) -> None:
        counted = usage_of(usage)
        if counted is not None and counted != self._usage:
            self._usage = counted
            into.append(ModelUsage(counted))

    # How it ends

    def _report(self, report: Report, into: list[ModelEvent]) -> None:
        self.report = report
        self._fail(error_of(report), into)

    def _fail(self, error: ProviderError, into: list[ModelEvent]) -> None:
        self._leave(into)
        into.append(ModelFault(error))

    def _end(self, into: list[ModelEvent], *, whole: bool) -> None:
        self._leave(into)
        if whole:
            reason = self.reason or ""
            into.append(ModelFinish(self._finish(reason), reason))

    def _leave(self, into: list[ModelEvent]) -> None:
        self.over = True
        self._calls.close(into)
        into.extend(
            ModelPart(Source(id="", url=url, title=title)) for url, title in self._sources.items()
        )

    def _finish(self, reason: str) -> Finish:
        known = _FINISHES.get(reason.lower())
        if known is not None:
            return known
        if self._calls:
            return "calls"
        return "stop" if reason in _ENDED else "other"


def _joined(events: list[ModelEvent]) -> list[ModelEvent]:
    """Join adjacent pieces of one text."""
    joined = events[:1]
    for event in events[1:]:
        last = joined[-1]
        if isinstance(event, _GROWING) and isinstance(last, type(event)) and _same(last, event):
            last.text += event.text
        else:
            joined.append(event)
    return joined


def _same(last: ModelEvent, event: ModelEvent) -> bool:
    return getattr(last, "key", None) is getattr(event, "key", None)
