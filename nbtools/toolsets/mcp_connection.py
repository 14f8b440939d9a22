"""The way to one MCP server: it is made when first needed, and made anew when it is lost.

What the server wants of the person comes in here, and goes to the card of the call it is about.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from nbtools.errors import ToolError, ToolsetError
from nbtools.executors import is_cancelled
from nbtools.messages import Json
from nbtools.paths import without_folders
from nbtools.tools import ToolContext
from nbtools.toolsets.mcp_address import Address
from nbtools.toolsets.mcp_link import Link, cause, failed, last_line, quoted, words

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.client import ClientRequestContext
    from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, Tool

CHECK = 3.0
"""Seconds in which a server has to answer after a call to it was given up."""
MOST_PAGES = 100
"""Pages of a list of tools; a list that never ends is cut."""

_NO_REASON = "Server returned an error response"
"""What the SDK says in the place of a server that refuses without words it can read."""

_caller: contextvars.ContextVar[ToolContext[Any] | None] = contextvars.ContextVar(
    "nbtools_mcp_caller", default=None
)


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
        self._link: Link | None = None
        self._lock = asyncio.Lock()
        self._callers: list[ToolContext[Any]] = []

    async def tools(self) -> list[Tool]:
        """List the server's tools.

        Raises:
            ToolsetError: It is not there, or does not list them in time.
        """
        link = await self._reach()
        try:
            async with asyncio.timeout(self._patience):
                return await _all_tools(link.client)
        except TimeoutError:
            what = f"did not list its tools within {self._patience:g} s"
        except Exception as error:  # noqa: BLE001 - the SDK raises errors of many libraries
            what = f"could not list its tools: {words(error)}"
        self.drop()
        raise failed(self.address, what)

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
                whole = None if error.told == error.text else error
                raise ToolError(without_folders(error.told)) from whole

    async def _call_once(
        self, name: str, args: Mapping[str, Json], context: ToolContext[Any]
    ) -> CallToolResult:
        link = await self._reach()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress / total if total else None, self.address.hide(message or ""))

        try:
            with self._calling(context):
                return await link.client.call_tool(name, dict(args), progress_callback=report)
        except asyncio.CancelledError:
            link.doubted = True
            raise
        except Exception as error:  # noqa: BLE001 - the SDK raises errors of many libraries
            # What the error itself says may hold a key, and a card shows where it came from.
            refusal = await self._refused(error, link)
            raise refusal from refusal.__cause__

    async def _refused(self, error: Exception, link: Link) -> Exception:
        from mcp import MCPError  # noqa: PLC0415 - the extra is imported only when it is used

        reason = cause(error)
        if isinstance(reason, MCPError) and link.status in (400, 404) and _of_session(reason):
            return _SessionGoneError()
        if isinstance(reason, MCPError) and not _of_closing(reason):
            return ToolError(self.address.hide(reason.message) or f"It gave error {reason.code}.")
        if not isinstance(reason, MCPError | OSError):
            text = f"{self._who} gave an answer that cannot be used: {words(reason)}"
            return ToolError(without_folders(self.address.scrub(text)))
        if self._link is link:
            self.drop()
        said = await link.log.text() if link.log is not None else ""
        return self._lost(self.address.scrub(said))

    def _lost(self, said: str) -> ToolError:
        line = last_line(said)
        text = (
            f"{self._who} was lost while it worked on this call; what it had done is not known. "
            f"It is reached anew at the next call.{quoted(line)}"
        )
        error = ToolError(without_folders(self.address.scrub(text)))
        if said.strip() != line:  # the card has it all
            error.__cause__ = ToolsetError(f"{self._who} wrote:\n{said}")
        return error

    async def _reach(self) -> Link:
        """Give a connection that stands, as far as one can know.

        Raises:
            ToolsetError: The server cannot be reached.
        """
        async with self._lock:
            if self._link is not None and self._link.doubted:
                await self._check(self._link)
            if self._link is None or self._link.lost:
                link = Link(self.address, self._ask, self._on_change)
                await link.open(self._patience)
                self._link = link
            return self._link

    async def _check(self, link: Link) -> None:
        """Let go of a server that does not answer any more."""
        try:
            async with asyncio.timeout(CHECK):
                await link.client.list_tools(cache_mode="bypass")
        except Exception:  # noqa: BLE001 - whatever it is, the server is of no use
            self.drop()
        else:
            link.doubted = False

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
        form, link = (None, params.url) if params.mode == "url" else (params.requested_schema, "")
        try:
            answer = await caller.ask(text, form, link=link)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return ElicitResult(action="cancel")  # the call is over that it asked for
        action: Literal["accept", "decline"] = "decline" if answer is None else "accept"
        return ElicitResult(action=action, content=None if link else answer)

    def drop(self) -> None:
        """Let go of the connection; a server that was started by a command is ended."""
        if self._link is not None:
            self._link.close()
            self._link = None

    async def close(self) -> None:
        """Let go of the connection, and wait until a server that was started has ended."""
        link = self._link
        self.drop()
        if link is not None:
            await link.closed()

    @property
    def _who(self) -> str:
        return f"The MCP server {self.address.label!r}"


class _SessionGoneError(Exception):
    """A server over HTTP does not know the session any more."""


def _of_closing(error: MCPError) -> bool:
    """Say whether the SDK tells of a connection that is gone; servers use its code for other things."""
    return error.message == "Connection closed"


def _of_session(error: MCPError) -> bool:
    """Say whether a request was turned away for its session; many servers give no reason."""
    return "session" in error.message.lower() or error.message == _NO_REASON


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
