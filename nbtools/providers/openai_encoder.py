"""What a Chat Completions server is asked: messages and tools, as its JSON body has them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nbtools.messages import File, Json, Message, Request, Text, ToolCall, ToolSpec

_LONGEST = 64
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_NOTHING = "(no output)"


def encode_request(request: Request, names: Mapping[str, str]) -> dict[str, Json]:
    """Write a request, without the model and its settings.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.

    Returns:
        The fields `messages`, `tools` and `tool_choice`; the last two only if there are tools.
    """
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages.extend(_user(message) if message.role == "user" else _assistant(message, names))
    body: dict[str, Json] = {"messages": messages}
    if request.tools:
        body["tools"] = [_tool(tool, names) for tool in request.tools]
        if request.choice == "none":
            body["tool_choice"] = "none"
    return body


def wire_names(request: Request) -> dict[str, str]:
    """Choose the name that each tool, known or invented by the model, has on the wire.

    Args:
        request: The question.

    Returns:
        The name on the wire by the tool's own name: at most 64 of the characters A-Z, a-z, 0-9,
        `_` and `-`, no two alike.
    """
    given = [tool.name for tool in request.tools]
    called = [call.tool for message in request.messages for call in _calls(message)]
    names: dict[str, str] = {}
    taken: set[str] = {name for name in given if _allowed(name) == name}
    for name in (*given, *called):
        if name not in names:
            names[name] = name if name in taken and name in given else _unlike(name, taken)
            taken.add(names[name])
    return names


def _allowed(name: str) -> str:
    return _FOREIGN.sub("_", name)[:_LONGEST] or "unnamed"


def _unlike(name: str, taken: set[str]) -> str:
    """Find an allowed name that no other tool has."""
    wanted = _allowed(name)
    number, candidate = 1, wanted
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = wanted[: _LONGEST - len(suffix)] + suffix
    return candidate


def _calls(message: Message) -> list[ToolCall]:
    """Give the calls that a model made; those a provider ran itself do not go back."""
    return [p for p in message.parts if type(p) is ToolCall and p.origin != "provider"]


def _tool(tool: ToolSpec, names: Mapping[str, str]) -> Json:
    function = {
        "name": names[tool.name],
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _user(message: Message) -> Iterable[Json]:
    texts = [part.text for part in message.parts if type(part) is Text and part.text]
    files = [_file(part) for part in message.parts if type(part) is File]
    if files:
        parts = [*({"type": "text", "text": text} for text in texts), *files]
        yield {"role": "user", "content": parts}
    elif texts:
        yield {"role": "user", "content": _join(texts)}


def _assistant(message: Message, names: Mapping[str, str]) -> Iterable[Json]:
    """Write a reply, and directly after it the results of its calls."""
    text = _join([part.text for part in message.parts if type(part) is Text and part.text])
    calls = _calls(message)
    if calls:
        asked = [_call(call, names) for call in calls]
        yield {"role": "assistant", "content": text or None, "tool_calls": asked}
    elif text:
        yield {"role": "assistant", "content": text}
    for call in calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": call.told or _NOTHING}


def _call(call: ToolCall, names: Mapping[str, str]) -> Json:
    arguments = json.dumps(dict(call.args or {}), ensure_ascii=False)
    function = {"name": names[call.tool], "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _file(file: File) -> Json:
    address = f"data:{file.mime};base64,{file.data}"
    if file.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": address}}
    if file.mime.startswith("text/") or file.mime == "application/json":
        text = base64.b64decode(file.data).decode("utf-8", "replace")
        return {"type": "text", "text": f"{file.name}:\n{text}" if file.name else text}
    return {"type": "file", "file": {"filename": file.name or "file", "file_data": address}}


def _join(texts: Sequence[str]) -> str:
    """Join texts that a call stood between, so that their words stay apart."""
    joined = ""
    for text in texts:
        apart = not joined or joined[-1].isspace() or text[0].isspace()
        joined += text if apart else f"\n\n{text}"
    return joined


def own_names(request: Request, names: Mapping[str, str]) -> dict[str, Any]:
    """Give the tool's own name for each name on the wire that differs from it.

    Args:
        request: The question.
        names: What `wire_names` gave for it.

    Returns:
        Own names by wire names, for the decoder of the reply.
    """
    return {names[t.name]: t.name for t in request.tools if names[t.name] != t.name}
