"""From the bytes of a reply to the message that it becomes, as the next request finds it."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from nbtools.assembly import Assembly
from nbtools.events import MessageStarted, ModelEvent
from nbtools.messages import Conversation, Message, Part, Request, Text, ToolCall
from nbtools.partial import parse_arguments
from nbtools.providers.http import HttpProvider
from nbtools.providers.sealing import mark
from nbtools.reducer import reduce


class Heard:
    """Reads an answer to a question; what is sealed is marked as the provider's stream marks it."""

    def __init__(self, model: HttpProvider, question: Request) -> None:
        self._decoder, self._origin = model.decoder(question), model.origin

    def feed(self, data: bytes) -> list[ModelEvent]:
        return self._marked(self._decoder.feed(data))

    def close(self) -> list[ModelEvent]:
        return self._marked(self._decoder.close())

    def _marked(self, events: list[ModelEvent]) -> list[ModelEvent]:
        mark(events, self._origin)
        return events


def events_of(decoder: Any, body: str | bytes, size: int | None = None) -> list[ModelEvent]:
    """Feed a body, whole or in pieces, and give all that was said."""
    data = body.encode() if isinstance(body, str) else body
    size = size or max(len(data), 1)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    events: list[ModelEvent] = [event for piece in pieces for event in decoder.feed(piece)]
    events += decoder.close()
    return events


def replied(decoder: Any, body: str | bytes, told: str = "low", size: int | None = None) -> Message:
    """Make a message of a reply; each of its calls has the same result."""
    numbers = count(1)
    assembly = Assembly("m-a", lambda _: False, lambda: f"p-{next(numbers)}")
    conversation = reduce(Conversation(), MessageStarted(message="m-a"))
    for event in assembly.feed(events_of(decoder, body, size)):
        conversation = reduce(conversation, event)
    message = reduce(conversation, assembly.end()).messages[0]
    return replace(message, parts=tuple(_finished(part, told) for part in message.parts))


def _finished(part: Part, told: str) -> Part:
    if not isinstance(part, ToolCall) or part.origin == "provider":
        return part
    args = parse_arguments(part.raw)
    return replace(part, state="result", outcome="ok", told=told, args=args)


def asked(text: str) -> Message:
    """A question of the user."""
    return Message(id=f"m-{text}", role="user", parts=(Text(id=f"p-{text}", text=text),))
