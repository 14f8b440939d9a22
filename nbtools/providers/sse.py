"""How events stand in a `text/event-stream`, read from bytes that are cut anywhere.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html. Two departures: an event
that the end of the body cuts short is still given, since servers forget the last blank line; and a
field named `error`, which llama.cpp writes, is given as an error object instead of being dropped.
"""

from __future__ import annotations

from nbtools.errors import StreamError

LIMIT = 50_000_000
"""The most bytes that one event may have."""

_BOM = b"\xef\xbb\xbf"


class EventReader:
    """Splits a stream of bytes into the data of its events; names, ids and comments are skipped."""

    __slots__ = ("_buffer", "_fresh", "_return")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._fresh = True
        self._return = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes.

        Args:
            chunk: Any piece of the body.

        Returns:
            The data of each event that is now complete and has any.

        Raises:
            StreamError: One event is longer than `LIMIT`.
        """
        if self._fresh or self._return or b"\r" in chunk:
            chunk = self._normalise(chunk)
        if not self._buffer and chunk.endswith(b"\n\n"):
            return _data_of_all(chunk[:-2])
        return self._split(chunk)

    def close(self) -> list[bytes]:
        """Take the end of the body.

        Returns:
            The data of the event that the end cut short, if there is any.
        """
        rest = bytes(self._buffer)
        self._buffer.clear()
        return _data_of_all(rest)

    def _split(self, chunk: bytes) -> list[bytes]:
        buffer = self._buffer
        searched = max(len(buffer) - 1, 0)
        buffer += chunk
        end = buffer.rfind(b"\n\n", searched)
        if end < 0:
            if len(buffer) > LIMIT:
                raise StreamError(f"One event of the answer is longer than {LIMIT:,} bytes.")
            return []
        complete = bytes(buffer[:end])
        del buffer[: end + 2]
        return _data_of_all(complete)

    def _normalise(self, chunk: bytes) -> bytes:
        """Make every line end a LF, and drop the byte order mark of the body."""
        if self._fresh:
            if self._buffer:
                chunk = bytes(self._buffer) + chunk
                self._buffer.clear()
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._buffer += chunk
                return b""
            self._fresh = False
            chunk = chunk.removeprefix(_BOM)
        if self._return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._return = False
        if chunk.endswith(b"\r"):
            self._return = True
        if b"\r" not in chunk:
            return chunk
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _data_of_all(events: bytes) -> list[bytes]:
    lines = events.split(b"\n")
    every = [line[6:] for line in lines[::2] if line.startswith(b"data: ")]
    if len(lines) == 2 * len(every) - 1 and not any(lines[1::2]) and all(map(bytes.strip, every)):
        return every  # as most servers write: each event is one line of data
    found = map(_data_of, events.split(b"\n\n"))
    return [data for data in found if data.strip()]


def _data_of(event: bytes) -> bytes:
    """Join the data lines of one event."""
    lines = []
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            lines.append(value.removeprefix(b" "))
        elif name == b"error":
            lines.append(b'{"error":' + value + b"}")
    return b"\n".join(lines)
