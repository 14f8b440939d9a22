"""A model that another one stands in for while it cannot answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NoReturn

from nbtools.errors import ProviderError, sentences
from nbtools.events import ModelEvent, ModelPart
from nbtools.messages import Message, Notice, Request, ToolSpec
from nbtools.providers.base import OnWait, Provider
from nbtools.providers.models import resolve
from nbtools.providers.sealing import left_behind
from nbtools.settings import Settings


class _NotNow(Exception):  # noqa: N818 - never leaves this module
    """The provider would have to wait before it can try again."""


class Fallback(Provider):
    """A list of models, each of which answers if those before it cannot now.

    The next one is asked at once after a rate limit, an overload or an outage, as long as nothing
    was shown; the chat says so. A request that the server refuses would be no better elsewhere:
    its error is given as it is. Only the last one waits and tries again.

    Args:
        models: Providers or their names, in the order in which they are asked.

    Raises:
        ValueError: There are fewer than two, or a name is none.
    """

    def __init__(self, *models: Provider | str) -> None:
        if len(models) < 2:
            raise ValueError(f"Fallback needs two models or more, and was given {len(models)}.")
        self.providers: Sequence[Provider] = tuple(map(resolve, models))
        self.label = ", else ".join(provider.label for provider in self.providers)
        self.host = ", ".join(dict.fromkeys(each.host for each in self.providers if each.host))
        self.wire, self.origin = self.providers[0].wire, self.providers[0].origin
        self.settings = self.providers[0].settings

    def check(self, tools: Sequence[ToolSpec]) -> None:
        """Make sure that every model can be told of these tools; see `Provider.check`."""
        for provider in self.providers:
            provider.check(tools)

    def fit(
        self, messages: Sequence[Message], settings: Settings | None = None
    ) -> Sequence[Message]:
        """Leave out of a history what none of the models can take; see `Provider.fit`."""
        fitted = [provider.fit(messages, settings) for provider in self.providers]
        return next((each for each in fitted if each is messages), fitted[0])

    async def stream(
        self, request: Request, *, on_wait: OnWait | None = None
    ) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Ask the first model that can answer; see `Provider.stream`."""
        for provider, following in zip(self.providers, self.providers[1:], strict=False):
            stream: Any = provider.stream(request, on_wait=_not_now)
            async with aclosing(stream):
                try:
                    events = await anext(stream, None)
                except (ProviderError, _NotNow) as error:
                    if isinstance(error, ProviderError) and not error.retryable:
                        raise
                    left = left_behind(request.messages, following.wire, following.origin)
                    yield [_moved_on(error, following, left)]
                    continue
                while events is not None:
                    yield events
                    events = await anext(stream, None)
                return
        async for events in self.providers[-1].stream(request, on_wait=on_wait):
            yield events

    async def close(self) -> None:
        """Close all of them."""
        for provider in self.providers:
            await provider.close()


def _not_now(_: float, why: str) -> NoReturn:
    raise _NotNow(why)


def _moved_on(error: Exception, following: Provider, left: str) -> ModelPart:
    text = error.text if isinstance(error, ProviderError) else str(error)
    said = sentences(text, f"Asking {following.label} instead.", left)
    return ModelPart(Notice(id="", level="warning", text=said))
