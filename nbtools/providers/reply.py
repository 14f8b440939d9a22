"""One answer while it is read: bytes in, events out, and a limit to its silences.

A task of its own reads the body, so that what arrives together is decoded and told together, and
that a wait ends without a cancellation. Imported when the first request is made, for the sake of `httpx`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

import httpx

from nbtools import errors
from nbtools.events import ModelEvent, ModelFault, ModelFinish, ModelUsage
from nbtools.providers.connections import Timeouts, connection_error, silence_error

_GRACE = 1.0
"""Seconds in all for the end of the body after that of the reply, so that the connection is kept."""
_LOOK = 1.0
"""Seconds after which a silence is looked at, at the latest; a longer limit needs no other timer."""
_AHEAD = 262_144
"""Bytes that are read before somebody takes them."""

_BROKEN = (httpx.HTTPError, httpx.StreamError)


class ReplyDecoder(Protocol):
    """What reads the body of one reply; it does no I/O and never raises."""

    @property
    def over(self) -> bool:
        """Whether the reply has ended or failed."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Take the next bytes and give what they say."""

    def close(self) -> list[ModelEvent]:
        """Take the end of the body and give what is left to say."""


class Reply:
    """Reads one response.

    Args:
        response: An open response with a good status.
        decoder: What reads its body.
        timeouts: How long its silences may last.
        host: Who is answering.
    """

    def __init__(
        self, response: httpx.Response, decoder: ReplyDecoder, timeouts: Timeouts, host: str
    ) -> None:
        self._response = response
        self._decoder = decoder
        self._timeouts = timeouts
        self._host = host
        self._body = _Body(response, timeouts.first)
        self._begun = False

    async def begin(self) -> list[ModelEvent]:
        """Read until the model says something.

        Returns:
            Its first events.

        Raises:
            ProviderError: The answer failed before that.
        """
        said: list[ModelEvent] = []
        while True:
            events = await self.read()
            if not events:
                raise errors.StreamError(f"{self._host} broke off before it said anything.")
            said += events
            word = next((event for event in events if not isinstance(event, ModelUsage)), None)
            if isinstance(word, ModelFault):
                raise word.error
            if word is not None:
                return said

    async def read(self) -> list[ModelEvent]:
        """Read until there is something to say.

        Returns:
            The next events; none at the end of the reply.
        """
        body, decoder = self._body, self._decoder
        while True:
            data = body.take() or await body.wait(anew=not decoder.over)
            if data is None:
                return self._fell_silent()
            if not data:
                return self._ended()
            events = decoder.feed(data)
            if events:
                self._heard()
                return events

    async def close(self) -> None:
        """Let the connection go."""
        try:
            await self._body.stop()
        finally:
            await self._response.aclose()

    def _heard(self) -> None:
        self._begun = True
        limit = _GRACE if self._decoder.over else self._timeouts.idle
        if limit != self._body.limit:
            self._body.change(limit)

    def _ended(self) -> list[ModelEvent]:
        error, self._body.error = self._body.error, None
        if error is None or (self._begun and isinstance(error, _BROKEN)):
            return self._decoder.close()
        if isinstance(error, _BROKEN):
            return [ModelFault(connection_error(error, self._host))]
        raise error

    def _fell_silent(self) -> list[ModelEvent]:
        if self._decoder.over:
            return []
        events = self._decoder.close() if self._begun else []
        if any(isinstance(event, ModelFinish) for event in events):
            return events
        return [*events, ModelFault(silence_error(self._host, self._body.limit))]


def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """Give the pieces of a body as they arrive, past httpx's own layer if there is no encoding."""
    stream = response.stream
    if response.headers.get("content-encoding", "identity") == "identity" and isinstance(
        stream, httpx.AsyncByteStream
    ):
        return aiter(stream)
    return aiter(response.aiter_bytes())


class _Body:
    """Reads the body of a response, and ends a wait for it that lasts too long.

    Args:
        response: An open response.
        limit: Seconds of silence; one timer watches over all of them.
    """

    def __init__(self, response: httpx.Response, limit: float) -> None:
        self.limit = limit
        self.error: BaseException | None = None
        """Why the body ended before its end."""
        self._pieces: list[bytes] = []
        self._size = 0
        self._taken = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._waiter: asyncio.Future[bool] | None = None
        self._over = False
        self._due = self._since + min(limit, _LOOK)
        self._timer = self._loop.call_at(self._due, self._look)
        self._task = self._loop.create_task(self._read(response))

    def take(self) -> bytes:
        """Give what has arrived since the last time."""
        if not self._pieces:
            return b""
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._taken.set()
        return data

    async def wait(self, *, anew: bool) -> bytes | None:
        """Wait for what arrives next.

        Args:
            anew: Whether the wait begins now; what was waited for already counts otherwise.

        Returns:
            It; nothing at the end of the body, and None after too long a silence.
        """
        if anew:
            self._since = self._loop.time()
        while not self._pieces and not self._over:
            waiter = self._waiter = self._loop.create_future()
            if not await waiter:
                return None
        return self.take()

    def change(self, limit: float) -> None:
        """Set another limit, in seconds, for the waits from now on."""
        self.limit = limit
        if self._loop.time() + limit < self._due:
            self._timer.cancel()
            self._look_again(limit)

    async def stop(self) -> None:
        """End the reading and the watch."""
        self._timer.cancel()
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))
        self.error = None  # its traceback leads back here

    async def _read(self, response: httpx.Response) -> None:
        try:
            async for piece in _chunks(response):
                if not piece:
                    continue
                self._pieces.append(piece)
                self._size += len(piece)
                if self._waiter is not None:
                    self._wake()
                if self._size > _AHEAD:
                    self._taken.clear()
                    await self._taken.wait()
        except BaseException as error:  # noqa: BLE001 - it is raised where the pieces are taken
            self.error = error
        self._over = True
        self._wake()

    def _wake(self, *, heard: bool = True) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(heard)

    def _look(self) -> None:
        waits = self._waiter is not None
        left = self._since + self.limit - self._loop.time() if waits else self.limit
        if left > 0:
            self._look_again(left)
        else:
            self._wake(heard=False)

    def _look_again(self, seconds: float) -> None:
        self._due = self._loop.time() + min(seconds, _LOOK)
        self._timer = self._loop.call_at(self._due, self._look)
