"""The record of one conversation: what happened to it, who hears of that, and what is said in it.

Events are reduced here and nowhere else. What the model writes waits for the next flush, so that a
flush reduces once a part and not once a token.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias, TypeGuard

from nbtools import events as ev
from nbtools.altered import altered
from nbtools.executors import Engine, abandoned
from nbtools.failure import explain
from nbtools.frozen import freeze
from nbtools.jsontext import clean_text
from nbtools.messages import Conversation, Json, Message, Notice, Reasoning, Text, ToolCall
from nbtools.partial import PartialJson
from nbtools.reducer import calls_of, reduce
from nbtools.results import Results

FLUSH = 0.055
"""Seconds for which what the model writes is joined before it is reduced: as long as the page
waits for its next message, so that no delta waits twice."""

Listener = Callable[[ev.Event, Conversation], object]

_DELTAS = frozenset({ev.TextDelta, ev.ArgsDelta})
_WRITTEN = (Text, Reasoning)

Growing: TypeAlias = ev.PartAdded | ev.TextDelta | ev.ArgsDelta
"""What adds to a part that the model still writes."""

_log = logging.getLogger("nbtools")


class Record:
    """Keep one conversation. Every method is called on the engine's loop.

    Args:
        engine: Where it lives.
        results: The Python values that its calls gave.
        conversation: What to begin with.
    """

    def __init__(
        self, engine: Engine, results: Results, conversation: Conversation | None = None
    ) -> None:
        self.engine = engine
        self.conversation = conversation or Conversation()
        self.results = results
        self.results.take_up(self.calls())
        self.prefix = secrets.token_hex(3)
        self._count = itertools.count(1)
        self._listeners: list[tuple[Listener, Collection[type[Any]]]] = []
        self._hearing: dict[type[Any], tuple[Listener, ...]] = {}
        self._growing: list[Growing] = []
        self._flush_handle: asyncio.Handle | None = None
        self._flushed = 0.0
        self._live: dict[str, PartialJson] = {}
        # A click may be late: an id is given once, also after its message was removed.
        self._ids = {part.id for known in self.conversation.messages for part in known.parts}

    def subscribe(
        self, listener: Listener, kinds: Collection[type[Any]] = ev.EVENT_TYPES
    ) -> Callable[[], None]:
        """Call `listener(event, conversation)` after each event of these kinds.

        Args:
            listener: Is called in the order of the subscriptions.
            kinds: The classes of the events that it wants.

        Returns:
            What ends that.
        """
        entry = (listener, kinds)
        self._listeners.append(entry)
        self._hearing.clear()
        return lambda: self._unsubscribe(entry)

    def _unsubscribe(self, entry: tuple[Listener, Collection[type[Any]]]) -> None:
        self._listeners.remove(entry)
        self._hearing.clear()

    def _who_hears(self, kind: type[Any]) -> tuple[Listener, ...]:
        heard = tuple(listener for listener, kinds in self._listeners if kind in kinds)
        self._hearing[kind] = heard
        return heard

    def emit(self, event: ev.Event) -> None:
        """Take in what happened; what grows waits for the next flush, all else comes after it."""
        if type(event) is ev.PartAdded:
            self._ids.add(event.part.id)
        if not _grows(event):
            if self._growing:
                self.flush()
            self._apply(event)
            return
        self._growing.append(event)
        if self._flush_handle is None:
            self._schedule_flush()

    def flush(self) -> None:
        """Reduce what has grown since the last flush: each part once, with all that came to it."""
        if not self._growing:
            return
        growing, self._growing = self._growing, []
        self._flushed = self.engine.loop.time()
        for first, text in _joined(growing):
            self._apply(self._grown(first, text))

    def _schedule_flush(self) -> None:
        loop = self.engine.loop
        wait = max(0.0, self._flushed + FLUSH - loop.time())
        self._flush_handle = loop.call_later(wait, self._flush_in_time, wait)

    def _flush_in_time(self, waited: float) -> None:
        """Flush, or wait on where something else has flushed since: the timer is made once."""
        self._flush_handle = None
        if self._growing and waited and self.engine.loop.time() < self._flushed + FLUSH / 2:
            self._schedule_flush()
        else:
            self.flush()

    def _grown(self, first: Growing, text: str) -> Growing:
        """Give what a part has grown by, with what can be read of a call's arguments so far."""
        if isinstance(first, ev.TextDelta):
            return ev.TextDelta(part=first.part, text=clean_text(first.text + text))
        if isinstance(first, ev.ArgsDelta):
            text = clean_text(first.text + text)
            return ev.ArgsDelta(call=first.call, text=text, args=self._read(first.call, text))
        part = first.part
        if isinstance(part, ToolCall):
            raw = part.raw + clean_text(text)
            args = freeze(self._read(part.id, raw)) if raw else part.args
            return ev.PartAdded(message=first.message, part=altered(part, raw=raw, args=args))
        if not text or not isinstance(part, Text | Reasoning):
            return first
        grown = altered(part, text=part.text + clean_text(text))
        return ev.PartAdded(message=first.message, part=grown)

    def _read(self, call: str, text: str) -> Json:
        parser = self._live.setdefault(call, PartialJson())
        parser.feed(text)
        return parser.snapshot()

    def _apply(self, event: ev.Event) -> None:
        self.conversation = reduce(self.conversation, event)
        if type(event) is ev.MessageAdded:
            self._ids.update([part.id for part in event.message.parts])
        kind = type(event)
        for listener in self._hearing.get(kind) or self._who_hears(kind):
            try:
                listener(event, self.conversation)
            except Exception:  # noqa: BLE001 - it takes nothing from the others
                _log.exception("A listener of the chat failed at %r.", event.type)

    def _emit_from_anywhere(self, event: ev.Event) -> None:
        """Take in what a tool's thread says; what comes after the call's end is dropped."""
        if self.engine.here:
            self._emit_if_running(event)
        else:
            self.engine.post(self._emit_if_running, event)

    def _emit_if_running(self, event: ev.Event) -> None:
        if isinstance(event, ev.CallProgressed) and self._state(event.call) == "running":
            self.emit(event)

    def calls(self) -> list[ToolCall]:
        """List every call of the conversation, in order."""
        return [call for message in self.conversation.messages for call in calls_of(message)]

    def _state(self, call_id: str) -> str:
        for message in reversed(self.conversation.messages):
            for part in message.parts:
                if part.id == call_id and isinstance(part, ToolCall):
                    return part.state
        return ""

    def is_taken(self, name: str) -> bool:
        """Say whether the conversation has, or had, a part with this id."""
        return name in self._ids

    def new_id(self, kind: str) -> str:
        """Make an id that no message and no part of this conversation has."""
        return f"{kind}{next(self._count)}-{self.prefix}"

    def left(self, call: str) -> None:
        """Say on a card that its function runs on though its call has ended."""
        count = abandoned()
        others = f" {count} functions run on in this kernel." if count > 1 else ""
        self._say_about(call, f"Its function still runs; what it returns is not used.{others}")

    def late(self, call: str, value: object, error: BaseException | None) -> None:
        """Record on a card what came after the end of its call; it continues nothing."""
        if error is not None:
            self._say_about(
                call, f"It raised after its end, which changes nothing: {explain(error)}"
            )
        elif value is not None:
            self.results.keep_late(call, value)
            kept = f"chat.results[{call!r}] has it"
            self._say_about(call, f"A late result ({type(value).__name__}) was not used; {kept}.")

    def _say_about(self, call: str, text: str) -> None:
        for message in self.conversation.messages:
            if any(known.id == call for known in calls_of(message)):
                self._say(Notice(id=self.new_id("n"), text=text, about=call), message.id)

    def notice(self, text: str, *, level: Any = "info", message: str | None = None) -> None:
        """Say something to the person, in the last message or in one of its own."""
        self._say(Notice(id=self.new_id("n"), level=level, text=text), message)

    def _say(self, note: Notice, message: str | None) -> None:
        if message is not None:
            self.emit(ev.PartAdded(message=message, part=note))
        else:
            alone = Message(id=self.new_id("m"), role="user", parts=(note,), time=time.time())
            self.emit(ev.MessageAdded(message=alone))


def _grows(event: ev.Event) -> TypeGuard[Growing]:
    kind = type(event)
    if kind in _DELTAS:
        return True
    if kind is not ev.PartAdded:
        return False
    part = event.part  # type: ignore[union-attr]
    return part.state == "streaming" if isinstance(part, ToolCall) else isinstance(part, _WRITTEN)


def _joined(growing: list[Growing]) -> Iterator[tuple[Growing, str]]:
    """Give what follows each other of one part together: its first event, and all later text."""
    for _, group in itertools.groupby(growing, _target):
        first, *more = group
        yield first, "".join([delta.text for delta in more if not isinstance(delta, ev.PartAdded)])


def _target(event: Growing) -> str:
    if isinstance(event, ev.PartAdded):
        return event.part.id
    return event.part if isinstance(event, ev.TextDelta) else event.call
