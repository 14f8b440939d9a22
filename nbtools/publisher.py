"""When the chats of a process may send to their pages: at most one message each `INTERVAL`."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

INTERVAL = 0.055
"""Seconds between two messages to the page, whatever the number of chats in the process.

A message has 560 bytes of envelope: this many of them, and the transcript at the end, keep an answer
of 200 tokens a second below 18 times its own bytes (`benchmarks/wire_bytes.py`).
"""


class Sender(Protocol):
    """Has something to send, now or later."""

    @property
    def dirty(self) -> bool:
        """Whether something waits to be sent."""

    def flush(self) -> bool:
        """Send at most one message; say whether one was sent."""


_log = logging.getLogger("nbtools")


def _sent(sender: Sender) -> bool:
    try:
        return sender.flush()
    except Exception:  # noqa: BLE001 - the other chats of the process go on
        _log.exception("A message to the page could not be sent.")
        return True


class Publisher:
    """Share out the messages of a process: one each `INTERVAL`, the chats taking turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Sender, None] = {}
        self._handle: asyncio.Handle | None = None
        self._last = float("-inf")

    def request(self, sender: Sender) -> None:
        """Let this sender send as soon as it is its turn."""
        self._waiting[sender] = None
        if self._handle is None:
            self._schedule()

    def forget(self, sender: Sender) -> None:
        """Let this sender send nothing more."""
        self._waiting.pop(sender, None)

    def _schedule(self) -> None:
        wait = max(0.0, self._last + INTERVAL - self._loop.time())
        self._handle = self._loop.call_later(wait, self._tick)

    def _tick(self) -> None:
        self._handle = None
        if not self._waiting:
            return
        sender = next(iter(self._waiting))
        del self._waiting[sender]
        if _sent(sender):
            self._last = self._loop.time()
        if sender.dirty:
            self._waiting[sender] = None
        if self._waiting:
            self._schedule()
