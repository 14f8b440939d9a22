"""The record of one conversation: what happened to it, who hears of that, and what is said in it.

Events are reduced here and nowhere else. Deltas of text and arguments wait for the next flush, so
that a flush reduces once a part and not once a token.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from nbtools import events as ev
from nbtools.executors import Engine, abandoned
from nbtools.failure import explain
from nbtools.jsontext import clean_text
from nbtools.messages import Conversation, Message, Notice, ToolCall
from nbtools.partial import PartialJson
from nbtools.reducer import calls_of, reduce
from nbtools.results import Results

FLUSH = 0.055
"""Seconds for which text and argument deltas are joined before they are reduced: as long as the page
waits for its next message, so that no delta waits twice."""

Listener = Callable[[ev.Event, Conversation], object]

_DELTAS = (ev.TextDelta, ev.ArgsDelta)

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
        self._deltas: list[ev.TextDelta | ev.ArgsDelta] = []
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
        if kind not in self._hearing:
            heard = tuple(listener for listener, kinds in self._listeners if kind in kinds)
            self._hearing[kind] = heard
        return self._hearing[kind]

    def emit(self, event: ev.Event) -> None:
        """Take in what happened; deltas wait for the next flush, all else comes after them."""
        if isinstance(event, _DELTAS):
            self._deltas.append(event)
            if self._flush_handle is None:
                self._schedule_flush()
            return
        self.flush()
        self._apply(event)

    def flush(self) -> None:
        """Reduce the deltas that have gathered, joined."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        if not self._deltas:
            return
        deltas, self._deltas = self._deltas, []
        self._flushed = self.engine.loop.time()
        for event in _joined(deltas):
            self._apply(self._with_live_args(event) if isinstance(event, ev.ArgsDelta) else event)

    def _schedule_flush(self) -> None:
        wait = self._flushed + FLUSH - self.engine.loop.time()
        self._flush_handle = self.engine.loop.call_later(max(0.0, wait), self.flush)

    def _with_live_args(self, event: ev.ArgsDelta) -> ev.ArgsDelta:
        parser = self._live.setdefault(event.call, PartialJson())
        parser.feed(event.text)
        return replace(event, args=parser.snapshot())

    def _apply(self, event: ev.Event) -> None:
        self.conversation = reduce(self.conversation, event)
        if isinstance(event, ev.PartAdded):
            self._ids.add(event.part.id)
        elif isinstance(event, ev.MessageAdded):
            self._ids.update(part.id for part in event.message.parts)
        for listener in self._who_hears(type(event)):
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


def _joined(deltas: list[ev.TextDelta | ev.ArgsDelta]) -> list[ev.TextDelta | ev.ArgsDelta]:
    """Join neighbours of one part, so that a flush reduces once a part and not once a token."""
    joined: list[ev.TextDelta | ev.ArgsDelta] = []
    for key, group in itertools.groupby(deltas, _target):
        text = clean_text("".join(delta.text for delta in group))
        kind, target = key
        joined.append(
            kind(part=target, text=text) if kind is ev.TextDelta else kind(call=target, text=text)
        )
    return joined


def _target(delta: ev.TextDelta | ev.ArgsDelta) -> tuple[Any, str]:
    return type(delta), delta.part if isinstance(delta, ev.TextDelta) else delta.call
