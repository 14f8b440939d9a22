"""What a model is sent of a conversation, so that a strict server accepts it.

Each call of a reply has exactly one result, ids are unique, arguments are an object, nothing is
empty, and what a person did directly is told as a note. The conversation itself is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from nbtools import sight
from nbtools.errors import ContextLengthError
from nbtools.facts import facts
from nbtools.jsontext import dumps
from nbtools.messages import (
    FINAL,
    Conversation,
    File,
    Job,
    Message,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.outcomes import sentence
from nbtools.reducer import calls_of

OnTrim = Literal["drop"]
"""What becomes of the turns that a request has no room for: they are left out."""
_TOLD = "told"

NOTE = "[Note from the program: "
"""How text begins that neither a person nor a model wrote."""


def prepare(conversation: Conversation) -> tuple[Message, ...]:
    """Write down what the next request holds.

    Args:
        conversation: The state; calls may still be open, they are told as unanswered.

    Returns:
        User and assistant messages in order; the first one is the user's.
    """
    told = [_for_model(message, conversation) for message in conversation.messages]
    kept = [message for message in told if message.parts]
    while kept and kept[0].role == "assistant":
        kept = kept[1:]
    while kept and _is_broken(kept[-1]):  # what is asked again is asked without the broken reply
        kept = kept[:-1]
    return tuple(sight.bounded(kept))


def _is_broken(message: Message) -> bool:
    return message.role == "assistant" and message.finish in ("cut", "failed", "stopped")


def trim(
    messages: Sequence[Message],
    limit: int | None,
    *,
    turns: int | None = None,
    reserved: int = 0,
    measure: Callable[[Message], int] | None = None,
) -> tuple[Message, ...]:
    """Leave out the oldest turns until the rest fits.

    A turn is a user message with all that answered it, so a call is never cut from its result, and
    what is left begins with a user message. The last turn always stays, and so does a turn with a
    pinned message.

    Args:
        messages: What `prepare` returned.
        limit: The most that `measure` may add up to; None for no limit.
        turns: The most turns, pinned ones not counted; None for no limit.
        reserved: What the rest of the request takes of the limit.
        measure: Size of one message; estimated tokens (four characters each) if not given.

    Returns:
        The messages that are sent.

    Raises:
        ContextLengthError: The newest user message, or the rest of the request, alone is over the limit.
    """
    kept = _newest(_turns(messages), turns)
    if limit is not None and kept:
        _expect_room(limit, reserved)
        kept = _fitting(kept, limit - reserved, measure or estimate_tokens)
    return tuple(message for turn in kept for message in turn)


def _expect_room(limit: int, reserved: int) -> None:
    if reserved >= limit:
        raise ContextLengthError(
            f"The instructions and the tools alone are about {reserved} tokens, over the limit of {limit}.",
            hint="Shorten them, or raise the chat's context_limit.",
        )


def _newest(turns: list[list[Message]], count: int | None) -> list[list[Message]]:
    """Keep the newest turns, and the pinned ones among the others."""
    first = 0 if count is None else max(0, len(turns) - max(count, 1))
    return [turn for place, turn in enumerate(turns) if place >= first or _is_pinned(turn)]


def _fitting(
    turns: list[list[Message]], room: int, size: Callable[[Message], int]
) -> list[list[Message]]:
    newest = size(turns[-1][0])
    if newest > room:
        raise ContextLengthError(
            f"The newest message alone is about {newest} tokens, over the limit of {max(room, 0)}.",
            hint="Shorten it, or raise the chat's context_limit.",
        )
    sizes = [sum(map(size, turn)) for turn in turns]
    over = sum(sizes) - room
    kept = []
    for turn, own in zip(turns[:-1], sizes, strict=False):
        if over > 0 and not _is_pinned(turn):
            over -= own
        else:
            kept.append(turn)
    return [*kept, turns[-1]]


def _is_pinned(turn: Sequence[Message]) -> bool:
    return any(message.pinned for message in turn)


def estimate_rest(system: str, tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of what a request holds besides its messages."""
    texts = [system, *(f"{tool.name}{tool.description}{dumps(tool.parameters)}" for tool in tools)]
    return sum(map(len, texts)) // 4


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message: four characters each, four for its frame, its pictures."""
    written = sum(_length(part) for part in message.parts)
    return 4 + written // 4 + sum(map(sight.tokens_of, message.parts))


def _length(part: Part) -> int:
    if isinstance(part, Text | Reasoning):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.tool) + len(part.raw) + len(part.told)
    if not isinstance(part, File) or part.mime.startswith("image/"):
        return 0
    return len(part.data)


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _for_model(message: Message, conversation: Conversation) -> Message:
    if message.role == "user":
        return _with_parts(message, _user_parts(message, conversation)) or message
    known = facts(message).more
    if _TOLD not in known:
        known[_TOLD] = _with_parts(message, _reply_parts(message))
    told: Message | None = known[_TOLD]
    return told or message


def _with_parts(message: Message, made: Iterable[Part]) -> Message | None:
    """Copy a message with other parts; None if they are its own."""
    parts = tuple(made)
    return None if parts == message.parts else replace(message, parts=parts)


def _user_parts(message: Message, conversation: Conversation) -> Iterable[Part]:
    direct = calls_of(message)
    if direct:
        for call in direct:
            yield Text(id=call.id, text=_note(call))
            yield from sight.files_of(call.id, call.pictures)
        return
    for part in message.parts:
        if (isinstance(part, Text) and part.text.strip()) or isinstance(part, File):
            yield part
        elif isinstance(part, Notice) and part.told:
            yield Text(id=part.id, text=f"{NOTE}{part.told}]")
            yield from _pictures_of_job(conversation, part.about)


def _pictures_of_job(conversation: Conversation, name: str) -> Iterable[File]:
    for message in conversation.messages if name else ():
        for part in message.parts:
            if part.id == name and isinstance(part, Job):
                yield from sight.files_of(name, part.pictures)


def _reply_parts(message: Message) -> Iterable[Part]:
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield _closed(part)
        elif _goes_back(part):
            yield part


def _goes_back(part: Part) -> bool:
    """Tell whether a part of a reply is part of the next request, for its own wire at least."""
    if isinstance(part, Text | Reasoning) and part.text.strip():
        return True
    return isinstance(part, Text | Reasoning | File) and part.sealed is not None


def _closed(call: ToolCall) -> ToolCall:
    """Give an open call the one result that a server demands of it."""
    if call.state in FINAL and call.told and isinstance(call.args, dict):
        return call
    told = (call.told or "(no output)") if call.state in FINAL else sentence("unanswered")
    return replace(call, args=dict(call.args or {}), told=told)


def _note(call: ToolCall) -> str:
    """Tell of a call that a person made: the model did not ask for it."""
    what = "ran again" if call.again else "ran"
    args = call.raw if call.args is None else dumps(call.args)
    ended = call.told if call.state in FINAL else "It is not finished yet."
    return f"{NOTE}the user {what} the tool {call.tool!r} with {args}. {ended}]"
