"""One open connection to an MCP server, kept by a task of its own until it is let go of, or lost."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from nbtools.errors import ToolsetError
from nbtools.executors import in_worker, is_cancelled
from nbtools.failure import explain
from nbtools.toolsets.mcp_address import Address
from nbtools.toolsets.mcp_streams import Log, Watched, logged

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ElicitationFnT

LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes of one answer over HTTP; a picture may be large."""
CONNECT = 30.0
"""Seconds until an HTTP connection stands; how long an answer takes is bounded for each call."""

_FRAMES = re.compile(r"[\u2500-\u259f\u276f]")
"""What draws boxes around tracebacks."""
_QUIET = logging.NullHandler()
"""Keeps the notes of the SDK off the notebook, unless somebody set up logging."""

_tasks: set[asyncio.Task[None]] = set()


class Link:
    """A client that is connected. Every method is called on the engine's loop.

    Args:
        address: Where the server is.
        on_question: Answers what the server asks of the person.
        on_change: Called when the server says that its tools have changed.
    """

    def __init__(
        self, address: Address, on_question: ElicitationFnT, on_change: Callable[[], object]
    ) -> None:
        self.doubted = False
        """Whether a call was given up, so that the server may hang."""
        self.status = 0
        """How the last request over HTTP was answered."""
        self.log: Log | None = None
        self._address = address
        self._on_question = on_question
        self._on_change = on_change
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    @property
    def lost(self) -> bool:
        """Whether the server has gone, or was let go of."""
        return self._closing.is_set()

    @property
    def client(self) -> Client:
        """The client of the SDK, once `open` has returned."""
        return self._ready.result()

    async def open(self, patience: float) -> None:
        """Connect.

        Args:
            patience: Seconds in which the server has to be there.

        Raises:
            ToolsetError: It is not; the text names it and says why.
        """
        await in_worker(lambda: import_module("mcp"))  # a second in which other chats go on
        logging.getLogger("mcp").addHandler(_QUIET)
        # What the server's own tasks print belongs to no card: they start without this context.
        loop, context = asyncio.get_running_loop(), contextvars.Context()
        self._task = loop.create_task(self._keep(), name="nbtools mcp", context=context)
        _tasks.add(self._task)
        self._task.add_done_callback(_tasks.discard)
        checks = asyncio.ensure_future(in_worker(_import_checks))
        try:
            async with asyncio.timeout(patience):
                await self._ready
            await checks
        except TimeoutError:
            self._task.cancel()
            raise failed(self._address, f"did not answer within {patience:g} s") from None
        except BaseException:
            self._task.cancel()
            raise

    def close(self) -> None:
        """Let go of the server; one that was started by a command is ended."""
        self._closing.set()

    async def closed(self) -> None:
        """Wait until a server that was started has ended."""
        await asyncio.wait({self._task})

    async def _keep(self) -> None:
        """Hold the connection open."""
        async with logged() as (self.log, errors):
            try:
                async with self._opened(errors) as client:
                    if not self._ready.done():
                        self._ready.set_result(client)
                    await self._closing.wait()
            except BaseException as error:
                if not self._ready.done():
                    said = await self.log.text()
                    self._ready.set_exception(failed(self._address, self._why(error), said))
                elif is_cancelled():
                    raise
            finally:
                self._closing.set()

    @asynccontextmanager
    async def _opened(self, errors: TextIO) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - the extra is imported only when it is used
        from mcp.types import Implementation  # noqa: PLC0415

        async with AsyncExitStack() as stack:
            transport = await self._remote(stack) if self._address.url else self._local(errors)
            client = Client(
                Watched(transport, self._closing.set),
                elicitation_callback=self._on_question,
                message_handler=self._hear,
                client_info=Implementation(name="nbtools", version=_version()),
            )
            yield await stack.enter_async_context(client)

    def _local(self, errors: TextIO) -> Any:
        from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415

        program, *args = self._address.command
        env, cwd = dict(self._address.env), self._address.cwd
        server = StdioServerParameters(command=program, args=args, env=env, cwd=cwd)
        return stdio_client(server, errlog=errors)

    async def _remote(self, stack: AsyncExitStack) -> Any:
        import httpx2  # noqa: PLC0415 - comes with the SDK
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        async def note(response: httpx2.Response) -> None:
            self.status = response.status_code

        client = httpx2.AsyncClient(
            headers=dict(self._address.headers),
            timeout=httpx2.Timeout(CONNECT, read=None),
            event_hooks={"response": [note]},
        )
        await stack.enter_async_context(client)
        return streamable_http_client(
            self._address.url, http_client=client, max_sse_event_size=LARGEST_EVENT
        )

    async def _hear(self, message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._on_change()

    def _why(self, error: BaseException) -> str:
        """Say why a server is not there."""
        reason = cause(error)
        if isinstance(reason, FileNotFoundError):
            return "cannot be started: there is no such program or folder"
        if isinstance(reason, asyncio.CancelledError):
            return "was given up before it answered"
        if self.status >= 400:
            return f"refused the connection with HTTP status {self.status}"
        if type(reason).__name__ == "MCPError" and str(reason) == "Connection closed":
            return "ended before it answered"
        return f"cannot be reached: {words(reason)}"


def failed(address: Address, what: str, said: str = "") -> ToolsetError:
    """Make the error of a server that cannot be used.

    Args:
        address: Where it is.
        what: What became of it, as the end of a sentence.
        said: What it wrote last.
    """
    text = f"The MCP server {address.label!r} {what}."
    return ToolsetError(
        address.scrub(text + quoted(said)),
        hint="The next message tries again.",
        told=address.scrub(text + quoted(last_line(said))),
    )


def quoted(said: str) -> str:
    """Quote what a server wrote, as a sentence that follows others."""
    return f" It wrote: {said}" if said else ""


def last_line(said: str) -> str:
    """Give the last line that says something: all that a model is told, who is shown no traceback."""
    lines = [_FRAMES.sub("", line).strip() for line in said.splitlines()]
    return next((line for line in reversed(lines) if any(map(str.isalnum, line))), "")


def _import_checks() -> None:
    """Import what checks the schemas of tools: a second, in which the server starts."""
    with suppress(ImportError):  # each tool says what is missing
        import_module("nbtools.schema.linear")


def cause(error: BaseException) -> BaseException:
    """Give the one thing that went wrong inside groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def words(error: BaseException) -> str:
    """Say what went wrong, as the end of a sentence."""
    return explain(cause(error)).rstrip(".")


def _version() -> str:
    version: str = getattr(sys.modules.get("nbtools"), "__version__", "0")
    return version
