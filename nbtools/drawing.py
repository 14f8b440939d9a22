"""Keeps what Python renderers draw in step with their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nbtools import events as ev
from nbtools.executors import in_worker
from nbtools.messages import Conversation, ToolCall
from nbtools.reducer import calls_of
from nbtools.renderers import Registry, draw
from nbtools.session import Session

_CHANGES = (
    ev.MessageAdded,
    ev.PartAdded,
    ev.ArgsDelta,
    ev.MessageEnded,
    ev.CallWaiting,
    ev.CallStarted,
    ev.CallProgressed,
    ev.CallEnded,
)


class Drawer:
    """Draw each call with its Python renderer: one drawing at a time, then the newest state.

    A drawing runs in a worker thread, so that a slow renderer delays nothing but its own card.
    """

    def __init__(self, session: Session, registry: Registry) -> None:
        self._session = session
        self._registry = registry
        self._drawn: dict[str, ToolCall] = {}
        self._sources: dict[str, object] = {}  # a widget that nobody holds may be closed
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._end = session.subscribe(self._changed, _CHANGES)

    def close(self) -> None:
        """Draw nothing more."""
        self._end()

    def _changed(self, _: ev.Event, conversation: Conversation) -> None:
        if not self._registry.draws:
            return
        for message in conversation.messages[-8:]:
            for call in calls_of(message):
                self._request(call)

    def _request(self, call: ToolCall) -> None:
        render = self._registry.python(call.tool)
        if render is None or call.id in self._tasks or self._drawn.get(call.id) is call:
            return
        self._tasks[call.id] = self._session.engine.loop.create_task(self._draw(call.id, render))

    async def _draw(self, call_id: str, render: Callable[[ToolCall], object]) -> None:
        try:
            await self._draw_newest(call_id, render)
        finally:
            # At once, and not when the task has ended: what happens to the call meanwhile is drawn.
            self._tasks.pop(call_id, None)

    async def _draw_newest(self, call_id: str, render: Callable[[ToolCall], object]) -> None:
        while (call := self._find(call_id)) is not None and call is not self._drawn.get(call_id):
            drawing = await in_worker(lambda call=call: draw(render, call))  # type: ignore[misc]
            if self._find(call_id) is None:
                return
            self._sources[call_id] = drawing.source
            if drawing.bundle != call.drawn:
                self._session.emit(ev.CallDrawn(call=call_id, drawn=drawing.bundle))
            now = self._find(call_id)
            self._drawn[call_id] = now if now is not None and _same(now, call) else call

    def _find(self, call_id: str) -> ToolCall | None:
        for message in reversed(self._session.conversation.messages):
            for call in calls_of(message):
                if call.id == call_id:
                    return call
        return None


def _same(now: ToolCall, before: ToolCall) -> bool:
    """Say whether nothing but the drawing changed."""
    return (now.state, now.raw, now.args, now.progress, now.output, now.display) == (
        before.state,
        before.raw,
        before.args,
        before.progress,
        before.output,
        before.display,
    )
