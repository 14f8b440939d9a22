"""How many calls of one chat execute at a time: of all tools together, and of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

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

    @asynccontextmanager
    async def one(
        self, tool: str, most: int | None, on_wait: Callable[[str], object]
    ) -> AsyncIterator[None]:
        """Hold a place for a call of a tool.

        Args:
            tool: Its name.
            most: How many calls of it may execute at a time; None: as many as there are places.
            on_wait: Is told `QUEUED` where the call has to wait, and "" when its turn has come.
        """
        own = self._own.setdefault(tool, asyncio.Semaphore(most)) if most is not None else None
        waits = self._all.locked() or (own is not None and own.locked())
        if waits:
            on_wait(QUEUED)
        # The tool's own first: who waits for that one holds no place of the others.
        async with own or nullcontext(), self._all:
            if waits:
                on_wait("")
            yield
