"""What a Messages server is asked: history and tools, as its JSON body has them.

Roles take turns: neighbours of one role become one message. The results of a reply's calls come
first in the user message that follows it. No block is empty, and thoughts go back only if they
are signed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbtools.frozen import thaw
from nbtools.messages import (
    ENDED_WELL,
    File,
    Json,
    Message,
    Part,
    Picture,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.providers.anthropic_blocks import WIRE
from nbtools.providers.naming import model_calls, wire_ids
from nbtools.providers.sealing import sealed_by
from nbtools.providers.texts import NOTHING, unreadable, written
from nbtools.schema.flat import flat_schema

_UNMARKED = frozenset({"thinking", "redacted_thinking"})
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def encode_request(
    request: Request, names: Mapping[str, str], provided: Sequence[Json] = ()
) -> dict[str, Json]:
    """Write a request, without the model and its settings.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.
        provided: Tools that the provider runs itself, as it wants them.

    Returns:
        The field `messages`, and `system` and `tools` if there are any.
    """
    body: dict[str, Json] = {"messages": _messages(request, names)}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system}]
    if tools := [*(_tool(tool, names) for tool in request.tools), *provided]:
        body["tools"] = tools
    return body


def mark_for_cache(body: dict[str, Json], lifetime: str) -> None:
    """Mark where what the next request will repeat ends, so that the server keeps it.

    Args:
        body: What `encode_request` gave; it is changed.
        lifetime: How long it is kept: "5m" or "1h".

    Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching.
    """
    mark = {"type": "ephemeral"} if lifetime == "5m" else {"type": "ephemeral", "ttl": lifetime}
    fixed = body.get("system") or body.get("tools")
    last = [block for message in body["messages"][-1:] for block in message["content"]]
    growing = [block for block in last if block["type"] not in _UNMARKED]
    for blocks in (fixed, growing):
        if blocks:
            blocks[-1]["cache_control"] = mark


def _messages(request: Request, names: Mapping[str, str]) -> list[Json]:
    ids = wire_ids(request)
    messages: list[Json] = []
    for message in request.messages:
        if message.role == "user":
            _say(messages, "user", _user(message))
        else:
            _say(messages, "assistant", _assistant(message, names, ids))
            _say(messages, "user", [_result(call, ids) for call in model_calls(message)])
    return messages


def _say(messages: list[Json], role: str, content: Iterable[Json]) -> None:
    """Add content, to the last message if the same role said it."""
    blocks = list(content)
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _tool(tool: ToolSpec, names: Mapping[str, str]) -> Json:
    described: dict[str, Json] = {"name": names[tool.name]}
    if tool.description:
        described["description"] = tool.description
    return {**described, "input_schema": flat_schema(tool.parameters)}


def _user(message: Message) -> Iterator[Json]:
    for part in message.parts:
        if type(part) is Text and part.text.strip():
            yield _text(part.text)
        elif type(part) is File:
            yield _file(part)


def _assistant(
    message: Message, names: Mapping[str, str], ids: Mapping[str, str]
) -> Iterator[Json]:
    lost = _lost(message)
    for part in message.parts:
        if type(part) is ToolCall and part.origin != "provider":
            yield {
                "type": "tool_use",
                "id": ids[part.id],
                "name": names[part.tool],
                "input": thaw(dict(part.args or {})),
                **thaw(sealed_by(part, WIRE).get("block", {})),
            }
        elif type(part) is Text:
            if part.text.strip():
                yield _text(part.text)
        else:
            yield from _sealed(part, sealed_by(part, WIRE), lost)


def _sealed(part: Part, sealed: Mapping[str, Any], lost: Container[object]) -> Iterator[Json]:
    """Write what goes back exactly as it came, if it can."""
    if type(part) is Reasoning and sealed.get("signature"):
        yield {"type": "thinking", "thinking": part.text, "signature": sealed["signature"]}
    elif "block" in sealed and sealed["block"].get("id") not in lost:
        yield thaw(sealed["block"])


def _lost(message: Message) -> list[object]:
    """Name what the provider ran and broke off before its result; such a call is refused."""
    if message.finish in ENDED_WELL:
        return []
    blocks = [sealed_by(part, WIRE).get("block", {}) for part in message.parts]
    answered = [block.get("tool_use_id") for block in blocks]
    used = [block["id"] for block in blocks if "id" in block and "input" in block]
    return [name for name in used if name not in answered]


def _result(call: ToolCall, ids: Mapping[str, str]) -> Json:
    told = call.told if call.told.strip() else NOTHING
    content = [_text(told), *map(_picture, call.pictures)] if call.pictures else told
    result = {"type": "tool_result", "tool_use_id": ids[call.id], "content": content}
    return {**result, "is_error": True} if call.state == "error" else result


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _picture(held: Picture | File) -> Json:
    return {"type": "image", "source": _source(held)}


def _source(held: Picture | File) -> Json:
    return {"type": "base64", "media_type": held.mime, "data": held.data}


def _file(file: File) -> Json:
    if file.mime in _PICTURES:
        return _picture(file)
    if file.mime == "application/pdf":
        return {"type": "document", "source": _source(file)}
    text = written(file)
    return _text(unreadable(file) if text is None else text)
