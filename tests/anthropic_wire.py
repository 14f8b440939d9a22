"""What a Messages server says, in short, and what a strict one refuses."""

from __future__ import annotations

import json
import re
from typing import Any

Body = dict[str, Any]
_ID = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def stream(*events: Body) -> str:
    """A stream of events, each with its name."""
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def message_start(**usage: Any) -> Body:
    counts = {"input_tokens": 9, "output_tokens": 1, **usage}
    message = {"id": "m-1", "type": "message", "role": "assistant", "content": [], "usage": counts}
    return {"type": "message_start", "message": message}


def block(index: int, content: Body, *deltas: Body, stop: bool = True) -> list[Body]:
    """The events of one content block."""
    events: list[Body] = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if stop else events


def text(index: int, *texts: str, stop: bool = True) -> list[Body]:
    deltas = [{"type": "text_delta", "text": each} for each in texts]
    return block(index, {"type": "text", "text": ""}, *deltas, stop=stop)


def thinking(index: int, said: str, signature: str = "", *, stop: bool = True) -> list[Body]:
    deltas: list[Body] = [{"type": "thinking_delta", "thinking": said}] if said else []
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    content = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, content, *deltas, stop=stop)


def tool_use(index: int, call: str, name: str, *pieces: str, stop: bool = True) -> list[Body]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    content = {"type": "tool_use", "id": call, "name": name, "input": {}}
    return block(index, content, *deltas, stop=stop)


def ending(reason: str, **usage: Any) -> list[Body]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    counts = {"output_tokens": 12, **usage}
    return [{"type": "message_delta", "delta": delta, "usage": counts}, {"type": "message_stop"}]


def error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}


def reply(*blocks: list[Body], reason: str = "end_turn") -> str:
    """A whole reply."""
    return stream(message_start(), *(event for each in blocks for event in each), *ending(reason))


def problem(body: Body) -> str:
    """Why a strict Messages server would refuse this request; "" if it would not."""
    if type(body.get("max_tokens")) is not int:
        return "max_tokens is missing."
    messages = body.get("messages") or []
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        return "The history does not begin and end with the user."
    waiting: list[str] = []
    for before, message in zip([None, *messages], messages, strict=False):
        if before is not None and before["role"] == message["role"]:
            return f"Two messages of {message['role']!r} follow each other."
        wrong = _wrong_message(message, waiting)
        if wrong:
            return wrong
    return f"The call {waiting[0]!r} has no result." if waiting else ""


def _wrong_message(message: Body, waiting: list[str]) -> str:
    content = message["content"]
    if not content:
        return f"A message of {message['role']!r} is empty."
    for item in content:
        wrong = _wrong_block(item, message["role"], waiting)
        if wrong:
            return wrong
    if message["role"] == "user" and waiting:
        return f"The call {waiting[0]!r} has no result directly after it."
    return ""


def _wrong_block(item: Body, role: str, waiting: list[str]) -> str:
    kind = item["type"]
    if kind == "tool_result":
        if not waiting or item["tool_use_id"] != waiting.pop(0):
            return f"The result of {item['tool_use_id']!r} is not where it belongs."
        return "" if item.get("content") else "A result is empty."
    if role == "user" and waiting:
        return f"The call {waiting[0]!r} has no result directly after it."
    if kind == "text":
        return "" if item["text"].strip() else "A text block is empty."
    if kind == "thinking":
        return "" if item["signature"].startswith("c2ln") else "A thinking block is not signed."
    if kind == "tool_use":
        if not _ID.fullmatch(item["id"]) or item["id"] in waiting:
            return f"The id {item['id']!r} is not allowed."
        if not _NAME.fullmatch(item["name"]) or type(item["input"]) is not dict:
            return f"The call of {item['name']!r} is not allowed."
        waiting.append(item["id"])
    return ""
