"""The streams of a connection: a server may die between two calls, and say why as it does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, TextIO

LONGEST_LOG = 600
"""Bytes of what a server wrote last that are kept."""
LAST_LINES = 5
"""Lines of it that are quoted."""


class Log(asyncio.Protocol):
    """The end of what a server writes beside its answers; all before it is dropped."""

    def __init__(self) -> None:
        self._kept = b""

    def data_received(self, data: bytes) -> None:
        """Take what was written."""
        self._kept = (self._kept + data)[-LONGEST_LOG:]

    async def text(self) -> str:
        """Give the lines that were written last."""
        for _ in range(3):  # what a dead server wrote is still to be read
            await asyncio.sleep(0)
        lines = filter(None, map(str.strip, self._kept.decode(errors="replace").split("\n")))
        return "\n".join(list(lines)[-LAST_LINES:])


@asynccontextmanager
async def logged() -> AsyncIterator[tuple[Log, TextIO]]:
    """Give a log and the file that a server writes it to."""
    read, write = os.pipe()
    log, source = Log(), os.fdopen(read, "rb", buffering=0)
    with os.fdopen(write, "w") as target:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: log, source)
        try:
            yield log, target
        finally:
            transport.close()


class Watched:
    """A transport that says when the server has gone.

    Args:
        transport: The one that is watched.
        on_end: Called once no more messages can come.
    """

    def __init__(self, transport: Any, on_end: Callable[[], object]) -> None:
        self._transport = transport
        self._on_end = on_end

    async def __aenter__(self) -> tuple[Any, Any]:
        read, write = await self._transport.__aenter__()
        return _Ears(read, self._on_end), write

    async def __aexit__(self, *raised: object) -> bool | None:
        return bool(await self._transport.__aexit__(*raised))


class _Ears:
    """A stream of messages that says when it ends."""

    def __init__(self, stream: Any, on_end: Callable[[], object]) -> None:
        self._stream = stream
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The context in which the last message was written, where the transport knows it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> bool | None:
        self._on_end()
        return bool(await self._stream.__aexit__(*raised))
