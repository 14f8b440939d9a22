"""The tools of an MCP server, for a chat: `nb.MCP("npx -y @modelcontextprotocol/server-filesystem .")`.

The extra `nbtools-chat[mcp]` brings the official SDK, which speaks both generations of the protocol.
"""

from __future__ import annotations

import asyncio
import importlib.util
import weakref
from collections.abc import Container, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtools.errors import ToolsetError
from nbtools.executors import engine
from nbtools.tools import Tool, Toolset
from nbtools.tools.settings import Approval
from nbtools.toolsets.mcp_address import read_address
from nbtools.toolsets.mcp_tools import describe

if TYPE_CHECKING:
    from mcp.types import Tool as Described

    from nbtools.toolsets.mcp_connection import Connection

T = TypeVar("T")


class MCP(Toolset):
    """The tools of an MCP server.

    Nothing is started here: the server is reached with the first message of a chat, or by `connect`.
    It is reached anew when it was lost, and ends with `close`, or when nothing uses it any more.

    Args:
        target: A command that starts the server, as one text or as its words; or its URL.
        approval: Whether a person has to approve calls of these tools: True, False, or a function of
            the call. None asks for each tool that does not say that it only reads.
        tools: Names of the tools to take; None takes all.
        name: What names are prefixed with where they clash; "" takes it from the target.
        env: Variables for the command, which gets few of this process's own.
        cwd: The folder that the command starts in.
        headers: Sent to the URL with every request, for keys and tokens.
        timeout: Seconds after which a call is given up; waiting for a person does not count.
        start_timeout: Seconds in which the server has to be there and to list its tools.

    Raises:
        ImportError: The extra is not installed; the text says how to.
        TypeError: `target` is no text and no list of texts.
        ValueError: A setting does not go with the target.
    """

    def __init__(
        self,
        target: str | Sequence[str],
        *,
        approval: Approval = None,
        tools: Iterable[str] | None = None,
        name: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 120.0,
        start_timeout: float = 60.0,
    ) -> None:
        _expect_extra()
        address = read_address(target, env=env, cwd=cwd, headers=headers)
        self.label = address.label
        self.name = name or address.name
        self._address = address
        self._approval = approval
        self._wanted = None if tools is None else list(tools)
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._connection: Connection | None = None
        self._described: list[Described] = []
        self._loaded = False
        self.left_out: dict[str, str] = {}
        """Tools of the server that cannot be used, each with the reason."""

    async def connect(self) -> MCP:
        """Reach the server now, and list its tools.

        Returns:
            Itself, so that `await nb.MCP(…).connect()` can be given to a chat.

        Raises:
            ToolsetError: It is not there; the text names it and says why.
        """
        await _on_engine(self.load())
        return self

    async def close(self) -> None:
        """End the server that was started, or the session with it; it can be reached again."""
        if self._connection is not None:
            await _on_engine(self._connection.close())

    async def load(self) -> None:
        """List the tools, unless they are known; see `Toolset.load`."""
        if self._loaded:
            return
        described = await self._reach().tools()
        if missing := set(self._wanted or ()) - {each.name for each in described}:
            raise ToolsetError(
                f"The MCP server {self.label!r} has no tool {min(missing)!r}; it has: "
                f"{', '.join(each.name for each in described) or 'none'}."
            )
        wanted = self._wanted
        self._described = [each for each in described if wanted is None or each.name in wanted]
        self._loaded = True
        self.revision += 1

    def tools(self, taken: Container[str] = ()) -> list[Tool]:
        """Give the tools that are known now; see `Toolset.tools`."""
        if self._connection is None:
            return []
        made, self.left_out = describe(
            self._described,
            self._connection,
            prefix=self.name,
            taken=taken,
            approval=self._approval,
            timeout=self._timeout,
        )
        return made

    def _reach(self) -> Connection:
        """Give the connection, which is not opened by that."""
        if self._connection is None:
            from nbtools.toolsets.mcp_connection import Connection  # noqa: PLC0415 - needs the extra

            known = weakref.ref(self)
            self._connection = Connection(
                self._address,
                patience=self._start_timeout,
                on_change=lambda: _forget(known()),
            )
            weakref.finalize(self, engine().post, self._connection.drop).atexit = False
        return self._connection

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._described) if self._loaded else "not reached"
        return f"<MCP {self.label!r}: {names or 'no tools'}>"


def _forget(toolset: MCP | None) -> None:
    """List the tools again before the next request: the server says that they have changed."""
    if toolset is not None:
        toolset._loaded = False  # noqa: SLF001 - its own module


async def _on_engine(work: Coroutine[Any, Any, T]) -> T:
    """Do work on the engine's loop, where connections live, from any loop."""
    home = engine()
    return await (work if home.here else asyncio.wrap_future(home.submit(work)))


def _expect_extra() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise ImportError("nb.MCP needs the extra `mcp`: pip install 'nbtools-chat[mcp]'")
