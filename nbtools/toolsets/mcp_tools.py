"""Tools of an MCP server as tools of a chat: their names, who approves them, how they are called."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from nbtools.errors import ToolDefinitionError, ToolError
from nbtools.messages import Json
from nbtools.tools import Result, Tool, ToolContext
from nbtools.tools.settings import Approval
from nbtools.toolsets.mcp_results import read_failure, read_result

if TYPE_CHECKING:
    from mcp.types import Tool as Described

    from nbtools.toolsets.mcp_connection import Connection

LONGEST_NAME = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def describe(
    described: Iterable[Described],
    connection: Connection,
    *,
    prefix: str,
    taken: Container[str],
    approval: Approval,
    timeout: float | None,
) -> tuple[list[Tool], dict[str, str]]:
    """Make tools of what a server lists.

    Args:
        described: The server's tools.
        connection: How they are called.
        prefix: Goes before names that are taken.
        taken: Names that other tools have.
        approval: The policy for all of them; None decides by what each says of itself.
        timeout: Seconds after which a call is given up.

    Returns:
        The tools; and those that cannot be used, each with the reason.
    """
    made: dict[str, Tool] = {}
    left_out: dict[str, str] = {}
    for each in described:
        name = _free_name(each.name, prefix, taken, made)
        try:
            made[name] = _tool(each, name, connection, approval, timeout)
        except ToolDefinitionError as error:
            left_out[each.name] = str(error)
    return list(made.values()), left_out


def _tool(
    described: Described,
    name: str,
    connection: Connection,
    approval: Approval,
    timeout: float | None,
) -> Tool:
    reads = says(described, "read_only_hint")
    asks = None if reads else True
    schema = {key: each for key, each in described.input_schema.items() if key != "$schema"}
    return Tool(
        name,
        described.description or described.title or "",
        schema,
        _Remote(connection, described.name),
        approval=asks if approval is None else approval,
        destructive=not reads and says(described, "destructive_hint"),
        idempotent=says(described, "idempotent_hint"),
        timeout=timeout,
    )


def says(described: Described, hint: str) -> bool:
    """Tell whether a tool says something of itself; what it does not say, it does not claim."""
    return getattr(described.annotations, hint, None) is True


class _Remote:
    """The function of a tool that runs on a server."""

    def __init__(self, connection: Connection, tool: str) -> None:
        self._connection = connection
        self._tool = tool

    async def __call__(self, /, nbtools_context: ToolContext[Any], **arguments: Json) -> Result:
        """Call the tool; the name of the parameter is one that no schema has."""
        result = await self._connection.call(self._tool, arguments, nbtools_context)
        hide = self._connection.address.hide
        if result.is_error:
            raise ToolError(read_failure(result, hide))
        return read_result(result, hide)


def _free_name(name: str, prefix: str, taken: Container[str], made: Container[str]) -> str:
    plain = _OTHER.sub("_", name)[:LONGEST_NAME] or "tool"
    if plain not in taken and plain not in made:
        return plain
    longer = f"{_OTHER.sub('_', prefix)}_{plain}"[:LONGEST_NAME]
    number, free = 1, longer
    while free in taken or free in made:
        number += 1
        free = f"{longer[: LONGEST_NAME - 4]}_{number}"
    return free
