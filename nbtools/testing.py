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
from typing import Any, Literal, TypeAlias

from nbtools.errors import ProviderError
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Finish, Json, Message, Request, ToolSpec, Usage
from nbtools.providers.base import OnWait, Provider
from nbtools.providers.failures import Report, read_refusal
from nbtools.providers.openai import Decoder, OpenAI
from nbtools.providers.refusals import decoded
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


# The wires without a network

Wire = Literal["openai-chat"]


def encode(
    wire: Wire,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec] = (),
    *,
    model: str = "model",
    system: str = "",
    choice: Literal["auto", "none"] = "auto",
    **settings: Any,
) -> dict[str, Json]:
    """Write the body of the request that a provider would send.

    Args:
        wire: Its wire.
        messages: The history, which obeys the rules of `messages.Request`.
        tools: The tools.
        model: The model's name.
        system: The system text.
        choice: Whether tools may be called.
        settings: Further arguments of the provider, such as `temperature`.

    Raises:
        ValueError: There is no such wire.
    """
    _check(wire)
    request = Request(messages=messages, system=system, tools=tools, choice=choice)
    return OpenAI(model, **settings).encode(request)


def decode(
    wire: Wire,
    status: int,
    headers: Mapping[str, str],  # noqa: ARG001 - what the answer is, its body says
    body: bytes,
    *,
    chunk: int | None = None,
) -> dict[str, Json]:
    """Read the answer of a server as its provider would.

    Args:
        wire: The provider's wire.
        status: The HTTP status.
        headers: The headers of the answer.
        body: Its body.
        chunk: Bytes of the pieces in which the body arrives; None gives it whole.

    Returns:
        `text`, `reasoning`, `refusal`, `tool_calls`, `finish_reason`, `usage` and `error`, as far
        as the answer has them.

    Raises:
        ValueError: There is no such wire.
    """
    _check(wire)
    if not 200 <= status < 300:
        report = read_refusal(decoded(body))
        return {**_answer([]), "error": _error("http", status, report)}
    decoder = Decoder()
    size = chunk or max(len(body), 1)
    events = [
        event
        for start in range(0, len(body), size)
        for event in decoder.feed(body[start : start + size])
    ]
    answer = {**_answer([*events, *decoder.close()]), "finish_reason": decoder.reason}
    if answer["error"] is not None:
        where = "stream" if decoder.streamed else "body"
        answer["error"] = _error(where, status, decoder.report or Report(type="malformed"))
    return answer


def _check(wire: str) -> None:
    if wire != "openai-chat":
        raise ValueError(f"There is no wire {wire!r}; expected 'openai-chat'.")


def _answer(events: Sequence[ModelEvent]) -> dict[str, Json]:
    """Put events into the common shape of answers."""
    used = [event.usage for event in events if isinstance(event, ModelUsage)]
    return {
        "text": _joined(events, ModelText),
        "reasoning": _joined(events, ModelReasoning),
        "refusal": _joined(events, ModelRefusal) or None,
        "tool_calls": [_call(c, events) for c in events if isinstance(c, ModelCall)],
        "finish_reason": None,
        "usage": _usage(used[-1]) if used else None,
        "error": True if any(isinstance(event, ModelFault) for event in events) else None,
    }


def _joined(
    events: Sequence[ModelEvent], kind: type[ModelText | ModelReasoning | ModelRefusal]
) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def _call(begun: ModelCall, events: Sequence[ModelEvent]) -> dict[str, Json]:
    raw = "".join(e.text for e in events if isinstance(e, ModelArgs) and e.key is begun.key)
    kind = getattr(begun.key, "kind", "function")
    return {
        "id": begun.id or None,
        "name": begun.name,
        "type": kind,
        "arguments": raw if kind == "custom" else _parsed(raw),
        "arguments_raw": raw or None,
    }


def _parsed(raw: str) -> Json:
    if not raw.strip():
        return {}
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _usage(used: Usage) -> dict[str, int | None]:
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "total_tokens": used.total,
        "cached_tokens": used.cached,
        "reasoning_tokens": used.reasoning,
    }


def _error(where: str, status: int, report: Report) -> dict[str, Json]:
    return {
        "where": where,
        "status": status,
        "type": report.type or None,
        "code": report.code or None,
        "message": report.message or None,
    }
