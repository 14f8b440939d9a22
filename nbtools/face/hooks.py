"""Functions of the program that hear what happens in a chat, in order and beside it.

A hook never holds up the chat: it has a queue of its own, a synchronous one runs in a thread, and
one that raises is logged and shown once.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, get_args

from nbtools import events as ev
from nbtools.checks import expect
from nbtools.executors import in_worker, is_cancelled
from nbtools.face.turns import CallHandle
from nbtools.failure import explain
from nbtools.messages import ENDED_WELL, FINAL, Conversation, Message, Notice, ToolCall
from nbtools.reducer import calls_of, find_message
from nbtools.session import Session

Kind = Literal[
    "identified",
    "started",
    "progress",
    "settled",
    "message",
    "usage",
    "trimmed",
    "limit",
    "error",
]
Hook: TypeAlias = Callable[[Any], object]
Happened: TypeAlias = Iterator[tuple[Kind, Any]]

_HEARD = (
    ev.CallStarted,
    ev.CallProgressed,
    ev.CallEnded,
    ev.MessageAdded,
    ev.MessageEnded,
    ev.RequestFailed,
    ev.PartAdded,
    ev.MessagesTrimmed,
)

_log = logging.getLogger("nbtools")


class Hooks:
    """Tell functions what happens in one conversation.

    Args:
        session: The conversation.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listening: list[tuple[Kind, _Queue]] = []
        self._settled: set[str] = set()
        session.subscribe(self._note, _HEARD)

    def add(self, kind: Kind, hook: Hook) -> Callable[[], None]:
        """Let a function hear of one kind of thing; return what ends that.

        Args:
            kind: What it hears of; what it is given is told in `docs/chat.md`.
            hook: The function, synchronous or `async`.

        Raises:
            ValueError: There is no such kind, and the text names those there are; or it is no function.
        """
        expect("hook", hook, (callable, "a function of one value"))
        if kind not in get_args(Kind):
            kinds = ", ".join(map(repr, get_args(Kind)))
            raise ValueError(f"There is no kind {kind!r} of hook; expected one of {kinds}.")
        entry = kind, _Queue(self._session, kind, hook)
        self._listening.append(entry)
        return lambda: self._remove(entry)

    def _remove(self, entry: tuple[Kind, _Queue]) -> None:
        if entry in self._listening:
            self._listening.remove(entry)

    def _tell(self, kind: Kind, value: object) -> None:
        for wanted, queue in tuple(self._listening):
            if wanted == kind:
                queue.put(value)

    def _note(self, event: ev.Event, conversation: Conversation) -> None:
        if self._listening:
            for kind, value in self._happened(event, conversation):
                self._tell(kind, value)

    def _happened(self, event: ev.Event, conversation: Conversation) -> Happened:
        match event:
            case ev.CallStarted():
                yield "started", self._handle(event.call)
            case ev.CallProgressed(progress=progress) if progress is not None:
                yield "progress", self._handle(event.call)
            case ev.CallEnded():
                yield from self._settle(event.call)
            case ev.MessageAdded():
                yield from self._added(event.message)
            case ev.MessageEnded():
                yield from self._ended(find_message(conversation, event.message))
            case ev.RequestFailed():
                yield "error", event.failure
            case ev.PartAdded():
                yield from self._part(event)
            case ev.MessagesTrimmed():
                yield "trimmed", event.messages

    def _part(self, event: ev.PartAdded) -> Happened:
        if isinstance(event.part, ToolCall):
            yield from self._identified(event.part)
        elif isinstance(event.part, Notice) and event.part.limit:
            yield "limit", event.part

    def _added(self, message: Message) -> Happened:
        if any(not isinstance(part, Notice) for part in message.parts):
            yield "message", message
        for part in message.parts:
            if isinstance(part, Notice) and part.limit:
                yield "limit", part
        for call in calls_of(message):
            yield from self._identified(call)

    def _identified(self, call: ToolCall) -> Happened:
        yield "identified", self._handle(call.id)
        if call.state in FINAL:
            yield from self._settle(call.id)

    def _ended(self, message: Message) -> Happened:
        if message.finish not in ENDED_WELL:  # it has ended what was open in it
            for call in calls_of(message):
                if call.state in FINAL:
                    yield from self._settle(call.id)
        yield "message", message
        if message.usage is not None:
            yield "usage", message.usage

    def _settle(self, call_id: str) -> Happened:
        if call_id not in self._settled:
            self._settled.add(call_id)
            yield "settled", self._handle(call_id)

    def _handle(self, call_id: str) -> CallHandle:
        return CallHandle(self._session, call_id)


class _Queue:
    """What one hook has yet to hear."""

    def __init__(self, session: Session, kind: Kind, hook: Hook) -> None:
        self._session = session
        self._kind = kind
        self._hook = hook
        self._values: deque[object] = deque()
        self._running = False
        self._failed = False

    def put(self, value: object) -> None:
        """Let the hook hear of a value after those before it; called on the engine's loop."""
        self._values.append(value)
        if not self._running:
            self._running = True
            self._session.engine.submit(self._drain())

    async def _drain(self) -> None:
        try:
            while self._values:
                await self._call(self._values.popleft())
        finally:
            self._running = False

    async def _call(self, value: object) -> None:
        try:
            if inspect.iscoroutinefunction(self._hook):
                await self._hook(value)
                return
            said = await in_worker(lambda: self._hook(value), name=f"hook {self._kind}")
            if inspect.isawaitable(said):
                await said
        except BaseException as error:
            if is_cancelled():
                raise
            _log.exception("A hook of the kind %r failed.", self._kind)
            self._show(error)

    def _show(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            text = f"A hook of the kind {self._kind!r} failed. {explain(error)}"
            self._session.notice(text, level="error")
