"""How values stand in a stream of JSON lines, read from bytes that are cut anywhere."""

from __future__ import annotations

from nbtools.errors import StreamError
from nbtools.providers.sse import LIMIT


class LineReader:
    """Splits a stream of bytes into its lines; blank ones are skipped."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes.

        Args:
            chunk: Any piece of the body.

        Returns:
            The lines that are now complete.

        Raises:
            StreamError: One line is longer than `LIMIT`.
        """
        if not self._buffer and chunk.endswith(b"\n"):
            return _lines(chunk)
        searched = len(self._buffer)
        self._buffer += chunk
        end = self._buffer.rfind(b"\n", searched)
        if end < 0:
            if len(self._buffer) > LIMIT:
                raise StreamError(f"One line of the answer is longer than {LIMIT:,} bytes.")
            return []
        complete = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return _lines(complete)

    def close(self) -> list[bytes]:
        """Take the end of the body.

        Returns:
            The line that has no end, if there is one.
        """
        rest = bytes(self._buffer)
        self._buffer.clear()
        return _lines(rest)


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line and not line.isspace()]
