"""How long a turn has worked, without the time in which it waited for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Stopwatch:
    """Measure the time of one turn, and say when it is up.

    Args:
        loop: Whose time it is.
        on_end: Is called when the time is up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_end: Callable[[], object]) -> None:
        self._loop = loop
        self._on_end = on_end
        self._spent = 0.0
        self._since: float | None = None
        self._handle: asyncio.Handle | None = None
        self._over = False

    def reset(self) -> None:
        """Begin with a new turn."""
        self.pause()
        self._spent, self._over = 0.0, False

    def run(self, limit: float | None) -> None:
        """Go on; `limit` is the most seconds of the turn, None for no limit."""
        if self._since is not None:
            return
        self._since = self._loop.time()
        if limit is not None and not self._over:
            self._handle = self._loop.call_later(max(0.0, limit - self._spent), self._end)

    def _end(self) -> None:
        """Say once in a turn that its time is up."""
        self._over = True
        self._on_end()

    def pause(self) -> None:
        """Hold on, until `run`."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._since is not None:
            self._spent += self._loop.time() - self._since
            self._since = None
