"""Calls that nobody decides about in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nbtools import events as ev
from nbtools.messages import Conversation, ToolCall
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

    def note(self, _: ev.Event, conversation: Conversation) -> None:
        """Look whether a call began or ceased to wait."""
        self.watch(conversation)

    def watch(self, conversation: Conversation) -> None:
        """Watch the calls that wait in this conversation, and no others."""
        waiting = {call.id: call for call in open_calls(conversation) if call.expires is not None}
        for call_id in self._handles.keys() - waiting.keys():
            self._handles.pop(call_id).cancel()
        for call_id in waiting.keys() - self._handles.keys():
            self._handles[call_id] = self._schedule(waiting[call_id])

    def _schedule(self, call: ToolCall) -> asyncio.TimerHandle:
        wait = max(0.0, (call.expires or 0.0) - time.time())
        return self._loop().call_later(wait, self._expire, call.id)
