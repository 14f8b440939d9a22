"""Calls that nobody decides about in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nbtools import events as ev
from nbtools.messages import Conversation
from nbtools.planner import open_calls

MOVES = (ev.CallWaiting, ev.CallStarted, ev.CallEnded)
"""The events with which a call begins or ceases to wait."""


class Expiry:
    """Watch the calls that wait, on the engine's loop.

    Args:
        loop: Gives the loop whose clock counts.
        expire: Ends a call that is still waiting.
    """

    def __init__(
        self, loop: Callable[[], asyncio.AbstractEventLoop], expire: Callable[[str], object]
    ) -> None:
        self._loop = loop
        self._expire = expire
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def note(self, event: ev.Event, _: Conversation) -> None:
        """Take note that a call began or ceased to wait."""
        if type(event) is ev.CallWaiting and event.waiting == "approval":
            if event.expires is not None:  # a call that waits on keeps the time that it had
                self._watch(event.call, event.expires)
        elif self._handles and isinstance(event, MOVES):
            self._forget(event.call)

    def take_up(self, conversation: Conversation) -> None:
        """Watch the calls that wait in a conversation that was saved."""
        for call in open_calls(conversation):
            if call.expires is not None:
                self._watch(call.id, call.expires)

    def _watch(self, call_id: str, expires: float) -> None:
        self._forget(call_id)
        wait = max(0.0, expires - time.time())
        self._handles[call_id] = self._loop().call_later(wait, self._expire, call_id)

    def _forget(self, call_id: str) -> None:
        if (handle := self._handles.pop(call_id, None)) is not None:
            handle.cancel()
