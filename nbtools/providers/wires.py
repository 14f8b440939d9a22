"""The wires without a network: the body that is sent, and what is made of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
)
from nbtools.history import prepare
from nbtools.messages import Conversation, Json, Message, Request, ToolCall, ToolSpec, Usage
from nbtools.providers.anthropic import Anthropic
from nbtools.providers.anthropic_decoder import Decoder as AnthropicDecoder
from nbtools.providers.decoding import BodyDecoder
from nbtools.providers.failures import Report, read_refusal
from nbtools.providers.gemini import Gemini
from nbtools.providers.gemini_decoder import Decoder as GeminiDecoder
from nbtools.providers.http import HttpProvider
from nbtools.providers.ollama import Ollama
from nbtools.providers.ollama_decoder import Decoder as OllamaDecoder
from nbtools.providers.openai import OpenAI
from nbtools.providers.openai_decoder import Decoder as OpenAIDecoder
from nbtools.providers.refusals import decoded
from nbtools.providers.responses import OpenAIResponses
from nbtools.providers.responses_decoder import Decoder as ResponsesDecoder
from nbtools.tools import collect

Wire = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]

_WIRES: Mapping[Wire, tuple[type[HttpProvider], type[BodyDecoder]]] = {
    "openai-chat": (OpenAI, OpenAIDecoder),
    "openai-responses": (OpenAIResponses, ResponsesDecoder),
    "anthropic": (Anthropic, AnthropicDecoder),
    "gemini": (Gemini, GeminiDecoder),
    "ollama": (Ollama, OllamaDecoder),
}


def encode(
    wire: Wire,
    conversation: Conversation | Iterable[Message],
    tools: Iterable[Any] | Mapping[str, Any] | None = (),
    *,
    model: str = "model",
    system: str = "",
    choice: Literal["auto", "none"] = "auto",
    **settings: Any,
) -> dict[str, Json]:
    """Write the body of the request that a provider would send.

    Args:
        wire: Its wire.
        conversation: A conversation, its messages, or the chat that has it.
        tools: Tools, plain functions, or what a model is told of tools (`messages.ToolSpec`).
        model: The model's name.
        system: The system text.
        choice: Whether tools may be called.
        settings: Further arguments of the provider, such as `temperature`.

    Raises:
        ValueError: There is no such wire.
    """
    make: Any = _of(wire)[0]
    held: Any = conversation
    messages: Iterable[Message] = getattr(held, "messages", held)
    request = Request(
        messages=prepare(Conversation(messages=tuple(messages))),
        system=system,
        tools=_specs(tools),
        choice=choice,
    )
    provider: HttpProvider = make(model, **settings)
    provider.origin = ""  # whoever answered is taken for the server that is asked
    return provider.encode(request)


def decode(
    wire: Wire,
    status: int,
    headers: object,  # noqa: ARG001 - what the answer is, its body says
    body: bytes | bytearray | memoryview | str,
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
        `text`, `reasoning`, `refusal`, `tool_calls`, `server_tool_calls`, `finish_reason`, `usage`
        and `error`, as far as the answer has them.

    Raises:
        ValueError: There is no such wire, or pieces would have no bytes.
    """
    decoder = decoder_of(wire)
    if chunk is not None and chunk < 0:
        raise ValueError(f"chunk is {chunk}; expected a number of bytes, or None.")
    body = body.encode() if isinstance(body, str) else bytes(body)
    if not 200 <= status < 300:
        report = read_refusal(decoded(body))
        return {**_answer([]), "error": _error("http", status, report)}
    size = chunk or max(len(body), 1)
    events = [
        event
        for start in range(0, len(body), size)
        for event in decoder.feed(body[start : start + size])
    ]
    answer = {**_answer([*events, *decoder.close()]), "finish_reason": decoder.reason}
    if answer["error"] is not None:
        answer["error"] = _error(decoder.where, status, decoder.report or Report(type="malformed"))
    return answer


def decoder_of(wire: Wire) -> BodyDecoder:
    """Make what reads one answer of a wire, without names of tools to map back.

    Args:
        wire: The wire.

    Raises:
        ValueError: There is no such wire.
    """
    return _of(wire)[1]()


def _specs(tools: Iterable[Any] | Mapping[str, Any] | None) -> list[ToolSpec]:
    given = list(tools.values() if isinstance(tools, Mapping) else tools or ())
    return [each if isinstance(each, ToolSpec) else _spec(each) for each in given]


def _spec(tool: Any) -> ToolSpec:
    (made,) = collect([tool]).values()
    return made.spec


def _of(wire: str) -> tuple[type[HttpProvider], type[BodyDecoder]]:
    found = _WIRES.get(wire) if isinstance(wire, str) else None  # type: ignore[call-overload]
    if found is None:
        raise ValueError(f"There is no wire {wire!r}; expected one of {', '.join(_WIRES)}.")
    return found  # type: ignore[no-any-return]


def _answer(events: Sequence[ModelEvent]) -> dict[str, Json]:
    """Put events into the common shape of answers."""
    used = [event.usage for event in events if isinstance(event, ModelUsage)]
    return {
        "text": _joined(events, ModelText),
        "reasoning": _joined(events, ModelReasoning),
        "refusal": _joined(events, ModelRefusal) or None,
        "tool_calls": [_call(c, events) for c in events if isinstance(c, ModelCall)],
        "server_tool_calls": [item for e in events for item in _ran(e)],
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
        "id": begun.id or getattr(begun.key, "blank", None),
        "name": begun.name,
        "type": kind,
        "arguments": raw if kind == "custom" else _parsed(raw),
        "arguments_raw": None if getattr(begun.key, "whole", False) else raw or None,
    }


def _ran(event: ModelEvent) -> list[Json]:
    """List what the provider ran itself, results included."""
    holder = event.part if isinstance(event, ModelPart) else event
    sealed = getattr(holder, "sealed", None)
    if not isinstance(holder, ToolCall | ModelReasoning) or not isinstance(sealed, Mapping):
        return []
    items = sealed.get("items") or filter(None, [sealed.get("block")])
    return [
        {
            "type": item.get("type"),
            "id": item.get("id") or item.get("call_id") or item.get("tool_use_id"),
            "name": item.get("name"),
        }
        for item in items
        if item.get("type") != "redacted_thinking"
    ]


def _parsed(raw: str) -> Json:
    if not raw.strip():
        return {}
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
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
