"""What a model without a network says: the steps of a reply, and how they are played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from nbtools.errors import ProviderError
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Finish, Usage

_LOOK = 0.005


class Gate(Protocol):
    """What can be waited for: an event of asyncio or of threading."""

    def is_set(self) -> bool:
        """Tell whether it is open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Say:
    """Text of the answer, or its reasoning, in pieces."""

    text: str
    reasoning: bool = False
    every: int | None = None
    """Characters of a piece; None gives the text whole."""
    delay: float = 0.0
    """Seconds after each piece."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTool:
    """A call, with its arguments in pieces."""

    tool: str
    raw: str
    call: str
    """The id that the provider gives it."""
    every: int | None = None
    delay: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Nothing, for some seconds."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """Nothing, until a gate opens."""

    gate: Gate


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """The tokens used."""

    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """An error, and the end."""

    error: ProviderError


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """The end, by a word of the protocol, or by none: the stream breaks off."""

    finish: Finish = ""
    reason: str = ""


Step = Say | CallTool | Wait | Hold | Count | Fail | End


async def play(steps: Sequence[Step]) -> AsyncGenerator[list[ModelEvent], None]:
    """Say what the steps say.

    Args:
        steps: One reply; without an `End` it ends well.

    Yields:
        One list of events a piece.

    Raises:
        ProviderError: The first thing that is said is an error.
    """
    begun = called = False
    for step in steps:
        if isinstance(step, Fail) and not begun:
            raise step.error
        if isinstance(step, End) and not step.finish:
            return
        if isinstance(step, Wait | Hold):
            await _pause(step)
            continue
        for event in _events(step):
            yield [event]
            await asyncio.sleep(getattr(step, "delay", 0.0))
        begun, called = True, called or isinstance(step, CallTool)
        if isinstance(step, Fail | End):
            return
    yield [ModelFinish("calls" if called else "stop")]


async def _pause(step: Wait | Hold) -> None:
    if isinstance(step, Wait):
        await asyncio.sleep(step.seconds)
        return
    # A gate may be opened on another thread or loop, where no wake-up would reach this one.
    while not step.gate.is_set():  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)


def _events(step: Say | CallTool | Count | Fail | End) -> Iterator[ModelEvent]:
    match step:
        case Say():
            kind = ModelReasoning if step.reasoning else ModelText
            yield from (kind(piece) for piece in _pieces(step.text, step.every))
        case CallTool():
            yield ModelCall(step, step.call, step.tool)
            yield from (ModelArgs(step, piece) for piece in _pieces(step.raw, step.every))
        case Count():
            yield ModelUsage(step.usage)
        case Fail():
            yield ModelFault(step.error)
        case End():
            yield ModelFinish(step.finish, step.reason)


def _pieces(text: str, every: int | None) -> Iterator[str]:
    size = every or len(text)
    return (text[start : start + size] for start in range(0, len(text), max(size, 1)))
