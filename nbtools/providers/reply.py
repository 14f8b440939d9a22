"""One answer while it is read: bytes in, events out, and a limit to its silences.

Imported when the first request is made, for the sake of `httpx`.
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
        self._silence = _Silence(timeouts.first)
        self._chunks = _chunks(response)
        self._begun = False

    async def begin(self) -> list[ModelEvent]:
        """Read until the model says something.

        Returns:
            Its first events.

        Raises:
            ProviderError: The answer failed before that.
        """
        events = await self.read()
        if not events:
            raise errors.StreamError(f"{self._host} broke off before it said anything.")
        for event in events:
            if isinstance(event, ModelFault):
                raise event.error
            if not isinstance(event, ModelUsage):
                break
        return events

    async def read(self) -> list[ModelEvent]:
        """Read until there is something to say.

        Returns:
            The next events; none at the end of the reply.
        """
        silence, decoder = self._silence, self._decoder
        try:
            while True:
                silence.begin(anew=not decoder.over)
                data = await self._chunks.__anext__()
                silence.waiting = False
                events = decoder.feed(data)
                if events:
                    self._heard()
                    return events
        except StopAsyncIteration:
            return decoder.close()
        except asyncio.CancelledError:
            if not silence.broken():
                raise
            return self._fell_silent()
        except (httpx.HTTPError, httpx.StreamError) as error:
            return decoder.close() if self._begun else [self._fault(error)]

    async def close(self) -> None:
        """Let the connection go."""
        self._silence.stop()
        await self._response.aclose()

    def _heard(self) -> None:
        self._begun = True
        limit = _GRACE if self._decoder.over else self._timeouts.idle
        if limit != self._silence.limit:
            self._silence.change(limit)

    def _fell_silent(self) -> list[ModelEvent]:
        if self._decoder.over:
            return []
        events = self._decoder.close() if self._begun else []
        if any(isinstance(event, ModelFinish) for event in events):
            return events
        return [*events, ModelFault(silence_error(self._host, self._silence.limit))]

    def _fault(self, error: Exception) -> ModelFault:
        return ModelFault(connection_error(error, self._host))


def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """Give the pieces of a body as they arrive, past httpx's own layer if there is no encoding."""
    stream = response.stream
    if response.headers.get("content-encoding", "identity") == "identity" and isinstance(
        stream, httpx.AsyncByteStream
    ):
        return aiter(stream)
    return aiter(response.aiter_bytes())


class _Silence:
    """Ends a wait that lasts too long, with one timer a reply instead of one a piece.

    Args:
        limit: Seconds.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.waiting = False
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._since = self._time()
        self._task: asyncio.Task[object] | None = None
        self._broken = False
        self._timer = self._loop.call_later(limit, self._look)

    def begin(self, *, anew: bool) -> None:
        """Begin to wait; what was waited for already counts unless it is anew."""
        self._task = asyncio.current_task()
        if anew:
            self._since = self._time()
        self.waiting = True

    def broken(self) -> bool:
        """Tell whether the wait was ended for its length, and by nobody else besides."""
        self.waiting = False
        if not self._broken or self._task is None:
            return False
        self._broken = False
        return self._task.uncancel() <= 0

    def change(self, limit: float) -> None:
        """Set another limit, in seconds, for the waits from now on."""
        self.limit = limit
        self._timer.cancel()
        self._timer = self._loop.call_later(limit, self._look)

    def stop(self) -> None:
        """End the watch."""
        self._timer.cancel()

    def _look(self) -> None:
        left = self._since + self.limit - self._time() if self.waiting else self.limit
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        elif self._task is not None:
            self._broken = True
            self._task.cancel()
