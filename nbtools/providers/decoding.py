"""How the body of one reply is read, whatever the wire: bytes in, events out, and no exception.

It knows a stream of events from one JSON value, how a reply ends or breaks off, and that what comes
after its end is ignored. A wire adds what its single events say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from nbtools.errors import ProviderError, StreamError
from nbtools.events import (
    ModelArgs,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Finish, Source, Usage
from nbtools.providers.bodies import json_reader, parse, unreadable
from nbtools.providers.failures import Report, error_of, read_report
from nbtools.providers.sse import LIMIT, EventReader

_GROWING = frozenset({ModelText, ModelReasoning, ModelArgs})
_BOM = b"\xef\xbb\xbf \t\r\n"


class Reader(Protocol):
    """What cuts a stream into the data of its events."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and give what is complete."""

    def close(self) -> list[bytes]:
        """Take the end of the body and give what it cut short."""


class WholeCall:
    """The key of a call whose arguments are an object, and no text of the model's own."""

    __slots__ = ()
    whole = True


class BodyDecoder:
    """Turns the bytes of one reply into events; it never raises, whatever the bytes are.

    A subclass overrides `_chunk`, `_body` and `_finish`, and where it needs to `_leave`.
    """

    def __init__(self) -> None:
        self._take: Callable[[bytes], list[ModelEvent]] = self._sniff
        self._reader = self._new_reader()
        self._held = bytearray()
        self._loads: Callable[[bytes], Any] = json_reader()
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

    @property
    def where(self) -> Literal["stream", "body"]:
        """Where an error stands that the server reported: an event of its own, or the answer."""
        return "stream" if self.streamed else "body"

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

    # What a wire adds

    def _new_reader(self) -> Reader:
        """Make what cuts a stream into events."""
        return EventReader()

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        """Take one event of a stream, and set `_begun` if it belongs to a reply."""
        raise NotImplementedError

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        """Take a reply that came as one JSON value; tell whether it is one."""
        raise NotImplementedError

    def _finish(self, reason: str) -> Finish:
        """Say what the server's word for the end means."""
        raise NotImplementedError

    def _leave(self, into: list[ModelEvent]) -> None:
        """Give what was kept until the end."""
        self.over = True
        into.extend(
            ModelPart(Source(id="", url=url, title=title)) for url, title in self._sources.items()
        )

    # Which kind of body it is: JSON begins with a bracket, and a stream of events never does.

    def _sniff(self, data: bytes) -> list[ModelEvent]:
        self._held = (self._held + data).lstrip(_BOM)
        if not self._held:
            return []
        if self._held[0] in b"{[<":
            self._take = self._hold
            return []
        self._take, self.streamed = self._stream, True
        self._seen = self._held[0] in b":"
        return self._stream(bytes(self._held))

    def _hold(self, data: bytes) -> list[ModelEvent]:
        self._held += data
        if len(self._held) <= LIMIT:
            return []
        into: list[ModelEvent] = []
        self._fail(StreamError(f"The answer is longer than {LIMIT:,} bytes."), into)
        return into

    def _close_body(self) -> list[ModelEvent]:
        into: list[ModelEvent] = []
        data = bytes(self._held)
        try:
            body = parse(self._loads, data)
        except ValueError:
            self._fail(unreadable(data), into)
            return into
        for value in body if type(body) is list and body else [body]:
            report = read_report(value)
            if report is not None:
                self._report(report, into)
            elif type(value) is not dict or not self._body(value, into):
                self._fail(unreadable(data), into)
            if self.over:
                return into
        self._end(into, whole=True)
        return into

    # A stream

    def _stream(self, data: bytes) -> list[ModelEvent]:
        into: list[ModelEvent] = []
        try:
            events = self._reader.feed(data)
        except StreamError as error:
            self._fail(error, into)
            return into
        loads = self._loads
        for event in events:
            self._seen = True
            try:
                chunk = loads(event)
            except ValueError:
                self._event(event, into)
            else:
                if type(chunk) is dict:
                    self._chunk(chunk, into)
            if self.over:
                break
        return into if len(into) < 2 else _joined(into)

    def _event(self, data: bytes, into: list[ModelEvent], *, cut: bool = False) -> None:
        """Take an event that is not good JSON, or that the end of the body may have cut."""
        if data.strip() == b"[DONE]":
            self._end(into, whole=True)
            return
        try:
            chunk = parse(self._loads, data)
        except ValueError:
            if not cut:
                self._fail(unreadable(data), into)
            return
        if type(chunk) is dict:
            self._chunk(chunk, into)

    def _nothing(self) -> StreamError:
        if self._seen:
            return StreamError("The answer broke off before it began.")
        self.streamed = False
        return StreamError("The answer is neither JSON nor a stream of events.", kind="malformed")

    # What many wires say

    def _cite(self, url: str, title: str) -> None:
        """Keep what the answer cites until its end, so that no text is split by it."""
        if not self._sources.get(url):
            self._sources[url] = title

    def _count(self, usage: Usage | None, into: list[ModelEvent]) -> None:
        if usage is not None and usage != self._usage:
            self._usage = usage
            into.append(ModelUsage(usage))

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


def _joined(events: list[ModelEvent]) -> list[ModelEvent]:
    """Join adjacent pieces of one text; what is sealed stands alone."""
    joined: list[ModelEvent] = []
    run: list[str] = []
    last: ModelEvent | None = None
    for event in events:
        if type(event) is type(last) and type(event) in _GROWING and _same(last, event):
            run.append(event.text)  # type: ignore[union-attr]
            continue
        if run:
            last.text += "".join(run)  # type: ignore[union-attr]
            run = []
        joined.append(event)
        last = event
    if run:
        last.text += "".join(run)  # type: ignore[union-attr]
    return joined


def _same(last: Any, event: Any) -> bool:
    if type(event) is ModelArgs:
        return last.key is event.key
    return last.sealed is None and event.sealed is None
