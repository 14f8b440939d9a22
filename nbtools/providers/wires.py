"""The wires without a network: the body that is sent, and what is made of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
from nbtools.messages import Json, Message, Request, ToolSpec, Usage
from nbtools.providers.failures import Report, read_refusal
from nbtools.providers.openai import Decoder, OpenAI
from nbtools.providers.refusals import decoded

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
