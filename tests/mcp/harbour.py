"""An MCP server on the SDK's own classes, which speaks both generations of the protocol.

`python harbour.py` serves stdio, `python harbour.py PORT` serves HTTP.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("harbour", log_level="CRITICAL")


class Berth(BaseModel):
    """What is asked of the person."""

    number: int
    night: bool = False


async def which_berth(ship: str) -> Elicit[Berth]:
    return Elicit(f"Which berth for the {ship}?", Berth)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def tide(port: str) -> dict[str, float]:
    """Say how high the tide is in a port, in metres."""
    return {"low": 0.4, "high": float(len(port))}


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
async def scuttle(ship: str) -> str:
    """Sink a ship."""
    return f"The {ship} is gone."


@server.tool()
async def moor(ship: str, berth: Annotated[ElicitationResult[Berth], Resolve(which_berth)]) -> str:
    """Moor a ship at the berth that the person chooses."""
    if berth.action != "accept":
        return f"The {ship} stays at sea: {berth.action}."
    return f"The {ship} lies at {berth.data.number}{' for the night' if berth.data.night else ''}."


@server.tool()
async def unload(crates: int, context: Context) -> list[str]:
    """Unload crates, one after the other."""
    for crate in range(crates):
        await context.report_progress(crate + 1, crates, f"crate {crate + 1}")
    return [f"crate {crate + 1}" for crate in range(crates)]


@server.tool()
async def wait_for_tide(note: str) -> str:
    """Wait for ever; write to a file that it was cancelled."""
    Path(note).write_text("waiting")  # noqa: ASYNC240 - a few bytes
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        Path(note).write_text("cancelled")  # noqa: ASYNC240
        raise
    return "never"


@server.tool()
async def process() -> int:
    """Say which process serves the harbour."""
    return os.getpid()


@server.tool()
async def burn() -> str:
    """End the whole server in the middle of the call."""
    sys.stderr.write("The harbour is on fire, says sk-TEST-hushhush.\n")
    sys.stderr.flush()
    os._exit(1)


@server.tool()
async def freeze() -> str:
    """Let the whole server hang."""
    threading.Event().wait()
    return "never"


@server.tool()
async def refuse(reason: str) -> str:
    """Fail with a reason."""
    raise ToolError(reason)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
