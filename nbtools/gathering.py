"""Tools that a chat has to ask for: toolsets are loaded before a request, and joined with the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from nbtools.errors import NbtoolsError, ToolDefinitionError, ToolsetError
from nbtools.executors import engine
from nbtools.messages import ToolSpec
from nbtools.tools import Offered, Tool, Toolset, collect

Check = Callable[[Sequence[ToolSpec]], object]
"""Raises `ToolDefinitionError` for tools that a model cannot be told of."""

Say = Callable[[str], object]
"""Tells the person something while somebody waits for tools."""

SOON = 2.0
"""Seconds after which a person is told what the chat waits for."""


class Gathering:
    """Bring the tools of a chat together again, where those of a toolset have changed."""

    def __init__(self) -> None:
        self._gathered: tuple[object, ...] = ()

    def is_due(self, offered: Sequence[Offered]) -> bool:
        """Say whether there are toolsets that may have other tools than those that are known."""
        toolsets = _toolsets(offered)
        return bool(toolsets) and _state(offered, toolsets) != self._gathered

    async def renew(
        self, offered: Sequence[Offered], check: Check, say: Say
    ) -> dict[str, Tool] | None:
        """Ask every toolset for its tools.

        Args:
            offered: What the chat was given.
            check: The model's own; a tool that it cannot be told of is left out.
            say: Tells the person what is waited for, and what was left out.

        Returns:
            All tools by name; None where they are those of the last time.

        Raises:
            ToolsetError: Tools could not be had, or do not go together.
        """
        toolsets = _toolsets(offered)
        if not toolsets:
            return None
        await asyncio.gather(*(_load(each, say) for each in toolsets))
        if not self.is_due(offered):
            return None
        try:
            tools = collect(offered)
        except ToolDefinitionError as error:
            raise ToolsetError(str(error)) from error
        self._gathered = _state(offered, toolsets)
        for toolset in toolsets:
            _note_left_out(toolset, say)
        return {name: tool for name, tool in tools.items() if _can_be_told(tool, check, say)}


def gathered(offered: Sequence[Offered], needed: Collection[str]) -> dict[str, Tool]:
    """Bring tools together at once; toolsets are asked only where a tool is needed and not known.

    Args:
        offered: What a chat is given.
        needed: The names of the tools that saved calls wait for.

    Returns:
        The tools by name; what is needed may be missing, where nobody has it.

    Raises:
        NbtoolsError: The caller is on the engine's loop, where nothing can be waited for.
        ToolsetError: A toolset cannot be reached; the text says what to do.
    """
    known, toolsets = collect(offered), _toolsets(offered)
    missing = ", ".join(repr(name) for name in sorted(needed) if name not in known)
    if not missing or not toolsets:
        return known
    home = engine()
    if home.here:
        raise NbtoolsError(
            f"A saved call waits for {missing}, whose source of tools cannot be asked from here: "
            "connect it first, or load the chat from a synchronous function."
        )
    try:
        home.submit(_load_all(toolsets)).result()
    except ToolsetError as error:
        hint = f"A saved call waits for {missing}; without this source of tools the chat loads, and"
        raise ToolsetError(error.text, hint=f"{hint} ends it.") from error
    return collect(offered)


def _toolsets(offered: Sequence[Offered]) -> list[Toolset]:
    return [each for each in offered if isinstance(each, Toolset)]


def _state(offered: Sequence[Offered], toolsets: Sequence[Toolset]) -> tuple[object, ...]:
    return (tuple(map(id, offered)), *(each.revision for each in toolsets))


async def _load_all(toolsets: Sequence[Toolset]) -> None:
    await asyncio.gather(*(each.load() for each in toolsets))


async def _load(toolset: Toolset, say: Say) -> None:
    text = f"Waiting for the tools of {toolset.label}."
    soon = asyncio.get_running_loop().call_later(SOON, say, text)
    try:
        await toolset.load()
    finally:
        soon.cancel()


def _can_be_told(tool: Tool, check: Check, say: Say) -> bool:
    try:
        check([tool.spec])
    except ToolDefinitionError as error:
        say(f"The tool {tool.name!r} is left out. {error}")
        return False
    return True


def _note_left_out(toolset: Toolset, say: Say) -> None:
    reasons = [f"{name}: {reason}" for name, reason in toolset.left_out.items()]
    if reasons:
        say(f"{toolset.label} has tools that cannot be used. {' '.join(reasons)}")
