"""What every model provider has to offer: a name for the page, and one stream of events a request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from nbtools.events import ModelEvent
    from nbtools.messages import Message, Request, ToolSpec
    from nbtools.settings import Settings
    from nbtools.tools import Tool

OnWait = Callable[[float, str], None]
"""Is told how many seconds a provider is about to wait before it tries again, and why."""


class Provider:
    """A model, and the way to it.

    A subclass sets `label`, overrides `stream`, and `close` if it holds anything open.
    """

    label: str = ""
    """What the page calls it, such as "openai:gpt-5.1"."""
    host: str = ""
    """Where the conversation is sent; "" when nothing leaves the process."""
    wire: str = ""
    """The name of its wire, which material that only it can read is marked with."""
    origin: str = ""
    """Who reads that material, where not every server of the wire does: a mark that names nobody."""
    demo: ClassVar[bool] = False
    """Whether it is a stand-in and no language model."""
    tools: Sequence[Tool] = ()
    """Tools that the provider brings along."""
    settings: Settings | None = None
    """How it answers where a message does not say otherwise."""
    slash: ClassVar[bool] = False
    """Whether text such as "/tool name=value" goes to this provider, not to the tool itself."""

    def check(self, tools: Sequence[ToolSpec]) -> None:
        """Make sure that the model can be told of these tools; called when they are chosen.

        Args:
            tools: The tools of a chat.

        Raises:
            ToolDefinitionError: One of them cannot be told; the text names it and its parameter.
        """

    def fit(
        self, messages: Sequence[Message], settings: Settings | None = None
    ) -> Sequence[Message]:
        """Leave out of a history what the model cannot take.

        Args:
            messages: The history.
            settings: What holds for the request, on top of its own.

        Returns:
            The history as it will be sent; a provider that takes pictures changes nothing.
        """
        del settings
        return messages

    def stream(
        self, request: Request, *, on_wait: OnWait | None = None
    ) -> AsyncIterator[Sequence[ModelEvent]]:
        """Ask the model, and give its reply piece by piece.

        Args:
            request: The question, with the history and the tools.
            on_wait: Called before each wait for another try.

        Returns:
            Lists of events, one for each piece that arrived. A reply that ends without
            `ModelFinish` broke off.

        Raises:
            ProviderError: Nothing came, not even the beginning of a reply.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define stream().")

    async def close(self) -> None:
        """Let go of connections; the provider stays usable."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"
