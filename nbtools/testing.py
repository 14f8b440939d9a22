"""A model that says what you wrote, and the wires of the real ones without a network.

model = Scripted(
    [say("Let me look."), call("rows", {"table": "orders"})],
    [say("There are 3 rows.")],
)
chat = nb.Chat(model, tools=[rows])
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from nbtools.errors import ProviderError
from nbtools.events import ModelEvent
from nbtools.messages import Finish, Json, Request, Usage
from nbtools.providers.base import OnWait, Provider
from nbtools.providers.script import (
    CallTool,
    Count,
    End,
    Fail,
    Gate,
    Hold,
    Say,
    Step,
    Wait,
    play,
)
from nbtools.providers.wires import decode, encode

__all__ = [
    "Reply",
    "Scripted",
    "Steps",
    "call",
    "cut",
    "decode",
    "encode",
    "fault",
    "finish",
    "hold",
    "say",
    "think",
    "usage",
    "wait",
]

Steps: TypeAlias = "Sequence[Step] | Step | str"
Reply: TypeAlias = "Steps | Callable[[Request], Steps]"
"""What a scripted model answers to one request, or a function that decides it."""

_numbers = count(1)


class Scripted(Provider):
    """A model that says what you wrote.

    Args:
        replies: One for each request, in order: a list of steps, one step, a text, or a function
            that takes the request and gives one of these.
        label: What the page calls the model.
    """

    def __init__(self, *replies: Reply, label: str = "scripted") -> None:
        self.label = label
        self.requests: list[Request] = []
        """What the model was asked, in order."""
        self._replies = replies

    async def stream(
        self,
        request: Request,
        *,
        on_wait: OnWait | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Give the next reply; see `Provider.stream`."""
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._replies):
            raise ProviderError(
                f"The script has {len(self._replies)} replies, and this is request {number}."
            )
        reply = self._replies[number - 1]
        async for events in play(_steps(reply(request) if callable(reply) else reply)):
            yield events


def say(text: str, *, every: int | None = None, delay: float = 0.0) -> Step:
    """Write a text of the answer.

    Args:
        text: The text.
        every: Characters of each piece; None gives it whole.
        delay: Seconds after each piece.
    """
    return Say(text=text, every=every, delay=delay)


def think(text: str, *, every: int | None = None, delay: float = 0.0) -> Step:
    """Write reasoning; the arguments are those of `say`."""
    return Say(text=text, reasoning=True, every=every, delay=delay)


def call(
    tool: str,
    args: Mapping[str, Json] | str | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the wire's own word
    every: int | None = None,
    delay: float = 0.0,
) -> Step:
    """Call a tool.

    Args:
        tool: Its name, which need not be the name of any.
        args: The arguments, or any text in their place.
        id: The id that the provider gives the call; "" gives none, None a new one.
        every: Characters of each piece of the arguments; None gives them whole.
        delay: Seconds after each piece.
    """
    raw = args if isinstance(args, str) else json.dumps(dict(args or {}), ensure_ascii=False)
    name = f"call-{next(_numbers)}" if id is None else id
    return CallTool(tool=tool, raw=raw, call=name, every=every, delay=delay)


def wait(seconds: float) -> Step:
    """Say nothing for some seconds."""
    return Wait(seconds=seconds)


def hold(gate: Gate) -> Step:
    """Say nothing until an event of asyncio or threading is set, wherever that happens."""
    return Hold(gate=gate)


def usage(**counts: int) -> Step:
    """Report tokens; the names are the fields of `messages.Usage`."""
    return Count(usage=Usage(**counts))


def fault(error: ProviderError) -> Step:
    """Report an error; as the first step it is raised before anything came."""
    return Fail(error=error)


def cut() -> Step:
    """Break the stream off."""
    return End()


def finish(word: Finish, reason: str = "") -> Step:
    """End the reply in another way than well, such as "length".

    Args:
        word: How it ends.
        reason: The provider's own word for it.
    """
    return End(finish=word, reason=reason)


def _steps(reply: Steps) -> Sequence[Step]:
    if isinstance(reply, str):
        return [say(reply)]
    return [reply] if isinstance(reply, Step) else reply
