"""Tools that a chat has to ask for: toolsets are loaded before a request, and joined with the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nbtools.errors import ToolDefinitionError, ToolsetError
from nbtools.messages import ToolSpec
from nbtools.tools import Offered, Tool, Toolset, collect

Check = Callable[[Sequence[ToolSpec]], object]
"""Raises `ToolDefinitionError` for tools that a model cannot be told of."""

SOON = 2.0
"""Seconds after which a person is told what the chat waits for."""


class Gathering:
    """Bring the tools of a chat together again, where those of a toolset have changed.

    Args:
        say: Tells the person something while a request waits.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._gathered: tuple[object, ...] = ()

    async def renew(self, offered: Sequence[Offered], check: Check) -> dict[str, Tool] | None:
        """Ask every toolset for its tools.

        Args:
            offered: What the chat was given.
            check: The model's own; a tool that it cannot be told of is left out.

        Returns:
            All tools by name; None where they are those of the last time.

        Raises:
            ToolsetError: Tools could not be had, or do not go together.
        """
        toolsets = [each for each in offered if isinstance(each, Toolset)]
        await asyncio.gather(*map(self._load, toolsets))
        state = (tuple(map(id, offered)), *(each.revision for each in toolsets))
        if not toolsets or state == self._gathered:
            return None
        try:
            tools = collect(offered)
        except ToolDefinitionError as error:
            raise ToolsetError(str(error)) from error
        self._gathered = state
        for toolset in toolsets:
            self._note_left_out(toolset)
        return {name: tool for name, tool in tools.items() if self._can_be_told(tool, check)}

    async def _load(self, toolset: Toolset) -> None:
        text = f"Waiting for the tools of {toolset.label}."
        soon = asyncio.get_running_loop().call_later(SOON, self._say, text)
        try:
            await toolset.load()
        finally:
            soon.cancel()

    def _can_be_told(self, tool: Tool, check: Check) -> bool:
        try:
            check([tool.spec])
        except ToolDefinitionError as error:
            self._say(f"The tool {tool.name!r} is left out. {error}")
            return False
        return True

    def _note_left_out(self, toolset: Toolset) -> None:
        reasons = [f"{name}: {reason}" for name, reason in toolset.left_out.items()]
        if reasons:
            self._say(f"{toolset.label} has tools that cannot be used. {' '.join(reasons)}")
