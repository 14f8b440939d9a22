"""Tools that somebody else describes, such as a server: they are asked for when first needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType

from nbtools.tools.tool import Tool


class Toolset(ABC):
    """A source of tools that a chat may be given among its tools.

    Nothing is started when a chat is made; before each request the chat calls `load`.
    """

    label = ""
    """What people call it."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """Tools that cannot be used, each with the reason."""
    revision = 0
    """Grows whenever the tools may have changed."""

    @abstractmethod
    async def load(self) -> None:
        """Ask for the tools, unless they are known; called on the engine's loop.

        Raises:
            ToolsetError: They could not be had; the text names the source and says why.
        """

    @abstractmethod
    def tools(self, taken: Container[str] = ()) -> Sequence[Tool]:
        """Give the tools that are known now.

        Args:
            taken: Names that the chat's other tools have; a tool of such a name gets a prefix.
        """
