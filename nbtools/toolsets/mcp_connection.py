"""The connection to one MCP server: it is made when first needed, and made anew when it is lost.

It lives on the engine's loop, in a task of its own that keeps it open. What the server wants of the
person comes in here and goes to the card of the call that it is about.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TextIO

from nbtools.errors import ToolError, ToolsetError
from nbtools.executors import in_worker, is_cancelled
from nbtools.messages import Json
from nbtools.tools import ToolContext
from nbtools.tools.failure import explain
from nbtools.toolsets.mcp_address import Address
from nbtools.toolsets.mcp_streams import Log, Watched, logged

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import ClientRequestContext
    from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, Tool

CHECK = 3.0
"""Seconds in which a server has to answer after a call to it was given up."""
MOST_PAGES = 100
"""Pages of a list of tools; a list that never ends is cut."""

_QUIET = logging.NullHandler()
"""Keeps the notes of the SDK off the notebook, unless somebody set up logging."""

_caller: contextvars.ContextVar[ToolContext[Any] | None] = contextvars.ContextVar(
    "nbtools_mcp_caller", default=None
)


@dataclass(eq=False)
class _Link:
    """One client that is connected, and the task that keeps it so."""

    client: Client
    log: Log
    closing: asyncio.Event
    task: asyncio.Task[None]
    doubted: bool = False
    """Whether a call was given up, so that the server may hang."""


class Connection:
    """Reach one server. Every method is called on the engine's loop.

    Args:
        address: Where it is.
        patience: Seconds in which it has to be there, and to list its tools.
        on_change: Called when the server says that its tools have changed.
    """

    def __init__(
        self, address: Address, *, patience: float, on_change: Callable[[], object]
    ) -> None:
        self.address = address
        self._patience = patience
        self._on_change = on_change
        self._link: _Link | None = None
        self._lock = asyncio.Lock()
        self._callers: list[ToolContext[Any]] = []
        self._ending: set[asyncio.Task[None]] = set()

    async def tools(self) -> list[Tool]:
        """List the server's tools.

        Raises:
            ToolsetError: It is not there, or does not list them in time.
        """
        client = await self._client()
        try:
            async with asyncio.timeout(self._patience):
                return await _all_tools(client)
        except TimeoutError:
            self.drop()
            raise self._failed(f"did not list its tools within {self._patience:g} s") from None
        except Exception as error:  # noqa: BLE001 - the SDK raises errors of many libraries
            self.drop()
            raise self._failed(f"could not list its tools: {_words(error)}") from None

    async def call(
        self, name: str, args: Mapping[str, Json], context: ToolContext[Any]
    ) -> CallToolResult:
        """Call a tool, on a connection that is made anew where the old one is lost.

        Raises:
            ToolError: The server is not there, ended meanwhile, or refused the call.
        """
        again = True
        while True:
            try:
                return await self._call_once(name, args, context)
            except _SessionGoneError:  # it was restarted, and has not looked at the call
                self.drop()
                if not again:
                    raise ToolError(f"{self._who} does not keep its sessions.") from None
                again = False
            except ToolsetError as error:
                raise ToolError(error.text) from None

    async def _call_once(
        self, name: str, args: Mapping[str, Json], context: ToolContext[Any]
    ) -> CallToolResult:
        client = await self._client()
        link = self._link

        async def report(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress / total if total else None, self.address.hide(message or ""))

        try:
            with self._calling(context):
                return await client.call_tool(name, dict(args), progress_callback=report)
        except asyncio.CancelledError:
            if link is not None:
                link.doubted = True
            raise
        except Exception as error:  # noqa: BLE001 - the SDK raises errors of many libraries
            # What the error itself says may hold a key, and a card shows where it came from.
            raise await self._refused(error, link) from None

    async def _refused(self, error: Exception, link: _Link | None) -> Exception:
        from mcp import MCPError  # noqa: PLC0415 - the extra is imported only when it is used
        from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415

        reason = _cause(error)
        if isinstance(reason, MCPError) and reason.message == "Session terminated":
            return _SessionGoneError()
        if isinstance(reason, MCPError) and reason.code != CONNECTION_CLOSED:
            return ToolError(self.address.hide(reason.message))
        if not isinstance(reason, MCPError | OSError):
            text = f"{self._who} gave an answer that cannot be used: {_words(reason)}"
            return ToolError(self.address.scrub(text))
        if self._link is link:
            self.drop()
        said = await link.log.text() if link is not None else ""
        text = (
            f"{self._who} was lost while it worked on this call; what it had done is not known. "
            f"It is reached anew at the next call.{_quoted(said)}"
        )
        return ToolError(self.address.scrub(text))

    async def _client(self) -> Client:
        """Give a client that is connected, as far as one can know.

        Raises:
            ToolsetError: The server cannot be reached.
        """
        async with self._lock:
            if self._link is not None and self._link.doubted:
                await self._check(self._link)
            if self._link is None or self._link.closing.is_set():
                self._link = await self._connect()
            return self._link.client

    async def _check(self, link: _Link) -> None:
        """Let go of a server that does not answer any more."""
        try:
            async with asyncio.timeout(CHECK):
                await link.client.list_tools(cache_mode="bypass")
        except Exception:  # noqa: BLE001 - whatever it is, the server is of no use
            self.drop()
        else:
            link.doubted = False

    async def _connect(self) -> _Link:
        await in_worker(lambda: import_module("mcp"))  # a second in which other chats go on
        logging.getLogger("mcp").addHandler(_QUIET)
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[tuple[Client, Log]] = loop.create_future()
        closing = asyncio.Event()
        # What the server's own tasks print belongs to no card: they start without this context.
        work = self._keep(ready, closing)
        task = loop.create_task(work, name="nbtools mcp", context=contextvars.Context())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        try:
            async with asyncio.timeout(self._patience):
                client, log = await ready
                return _Link(client=client, log=log, closing=closing, task=task)
        except TimeoutError:
            task.cancel()
            raise self._failed(f"did not answer within {self._patience:g} s") from None
        except BaseException:
            task.cancel()
            raise

    async def _keep(
        self, ready: asyncio.Future[tuple[Client, Log]], closing: asyncio.Event
    ) -> None:
        """Hold a connection open until it is let go of, or lost."""
        seen: list[int] = []
        async with logged() as (log, errors):
            try:
                async with self._opened(closing, errors, seen) as client:
                    if not ready.done():
                        ready.set_result((client, log))
                    await closing.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(self._failed(_why(error, seen), await log.text()))
                elif is_cancelled():
                    raise
            finally:
                closing.set()

    @asynccontextmanager
    async def _opened(
        self, closing: asyncio.Event, errors: TextIO, seen: list[int]
    ) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - the extra is imported only when it is used
        from mcp.types import Implementation  # noqa: PLC0415

        async with AsyncExitStack() as stack:
            transport = await self._transport(stack, errors, seen)
            client = Client(
                Watched(transport, closing.set),
                elicitation_callback=self._ask,
                message_handler=self._hear,
                client_info=Implementation(name="nbtools", version=_version()),
            )
            yield await stack.enter_async_context(client)

    async def _transport(self, stack: AsyncExitStack, errors: TextIO, seen: list[int]) -> Any:
        address = self.address
        if not address.url:
            from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415

            program, *args = address.command
            server = StdioServerParameters(
                command=program, args=args, env=dict(address.env), cwd=address.cwd
            )
            return stdio_client(server, errlog=errors)
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415

        async def note(response: Any) -> None:
            seen.append(response.status_code)

        client = create_mcp_http_client(headers=dict(address.headers))
        client.event_hooks["response"].append(note)
        await stack.enter_async_context(client)
        return streamable_http_client(address.url, http_client=client)

    async def _hear(self, message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._on_change()

    @contextmanager
    def _calling(self, context: ToolContext[Any]) -> Iterator[None]:
        self._callers.append(context)
        token = _caller.set(context)
        try:
            yield
        finally:
            _caller.reset(token)
            self._callers.remove(context)

    async def _ask(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK passes it by name
        params: ElicitRequestParams,
    ) -> ElicitResult:
        """Hand a question of the server to the person, on the card of the call it is about.

        Over stdio a server of the older protocol does not say which call asks; where several run,
        it is taken for the first.
        """
        from mcp.types import ElicitResult  # noqa: PLC0415

        caller = _caller.get() or next(iter(self._callers), None)
        if caller is None:
            return ElicitResult(action="cancel")
        text = self.address.hide(params.message)
        if params.mode == "url":
            answer = await caller.ask(text, link=params.url)
            return ElicitResult(action="decline" if answer is None else "accept")
        answer = await caller.ask(text, params.requested_schema)
        action: Literal["accept", "decline"] = "decline" if answer is None else "accept"
        return ElicitResult(action=action, content=answer)

    def drop(self) -> None:
        """Let go of the connection; a server that was started by a command is ended."""
        if self._link is not None:
            self._link.closing.set()
            self._link = None

    async def close(self) -> None:
        """Let go of the connection, and wait until a server that was started has ended."""
        link = self._link
        self.drop()
        if link is not None:
            await asyncio.wait({link.task})

    @property
    def _who(self) -> str:
        return f"The MCP server {self.address.label!r}"

    def _failed(self, what: str, said: str = "") -> ToolsetError:
        text = self.address.scrub(f"{self._who} {what}.{_quoted(said)}")
        return ToolsetError(text, hint="The next message tries again.")


class _SessionGoneError(Exception):
    """A server over HTTP does not know the session any more."""


def _version() -> str:
    version: str = getattr(sys.modules.get("nbtools"), "__version__", "0")
    return version


async def _all_tools(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _cause(error: BaseException) -> BaseException:
    """Give the one thing that went wrong inside groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _quoted(said: str) -> str:
    return f" It wrote: {said}" if said else ""


def _words(error: BaseException) -> str:
    return explain(_cause(error)).rstrip(".")


def _why(error: BaseException, seen: list[int]) -> str:
    """Say why a server is not there."""
    cause = _cause(error)
    if isinstance(cause, FileNotFoundError):
        return "cannot be started: there is no such program or folder"
    if isinstance(cause, asyncio.CancelledError):
        return "was given up before it answered"
    if seen and seen[-1] >= 400:
        return f"refused the connection with HTTP status {seen[-1]}"
    if type(cause).__name__ == "MCPError" and str(cause) == "Connection closed":
        return "ended before it answered"
    return f"cannot be reached: {_words(cause)}"
