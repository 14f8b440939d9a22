"""How many calls of one chat execute at a time: of all tools together, and of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

QUEUED = "waits for its turn"
"""What a card says while its call waits for a slot."""


class Slots:
    """Places in which calls execute.

    Args:
        total: How many there are.
    """

    def __init__(self, total: int) -> None:
        self._all = asyncio.Semaphore(total)
        self._own: dict[str, asyncio.Semaphore] = {}

    def one(self, tool: str, most: int | None, on_wait: Callable[[str], object]) -> _Place:
        """Hold a place for a call of a tool, as `async with` does.

        Args:
            tool: Its name.
            most: How many calls of it may execute at a time; None: as many as there are places.
            on_wait: Is told `QUEUED` where the call has to wait, and "" when its turn has come.
        """
        if most is None:
            return _Place((self._all,), on_wait)
        own = self._own.setdefault(tool, asyncio.Semaphore(most))
        # The tool's own first: who waits for that one holds no place of the others.
        return _Place((own, self._all), on_wait)


class _Place:
    """A place of each kind that one call needs."""

    __slots__ = ("_held", "_kinds", "_on_wait")

    def __init__(
        self, kinds: tuple[asyncio.Semaphore, ...], on_wait: Callable[[str], object]
    ) -> None:
        self._kinds = kinds
        self._on_wait = on_wait
        self._held: list[asyncio.Semaphore] = []

    async def __aenter__(self) -> None:
        waits = True in [kind.locked() for kind in self._kinds]
        if waits:
            self._on_wait(QUEUED)
        try:
            for kind in self._kinds:
                await kind.acquire()
                self._held.append(kind)
        except BaseException:
            self._release()
            raise
        if waits:
            self._on_wait("")

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        while self._held:
            self._held.pop().release()
