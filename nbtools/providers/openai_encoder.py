"""What a Chat Completions server is asked: messages and tools, as its JSON body has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from nbtools.messages import File, Json, Message, Request, Text, ToolCall, ToolSpec
from nbtools.providers.naming import model_calls
from nbtools.providers.texts import join_texts, written
from nbtools.schema.strict import strict_schema

_NOTHING = "(no output)"


def encode_request(
    request: Request, names: Mapping[str, str], *, strict: bool = False
) -> dict[str, Json]:
    """Write a request, without the model and its settings.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.
        strict: Whether to hold calls to those schemas that strict mode can express.

    Returns:
        The field `messages`, and `tools` if there are any.
    """
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages.extend(_user(message) if message.role == "user" else _assistant(message, names))
    body: dict[str, Json] = {"messages": messages}
    if request.tools:
        body["tools"] = [_tool(tool, names, strict=strict) for tool in request.tools]
    return body


def _tool(tool: ToolSpec, names: Mapping[str, str], *, strict: bool) -> Json:
    held = strict_schema(tool.parameters) if strict else None
    function: dict[str, Json] = {
        "name": names[tool.name],
        "description": tool.description,
        "parameters": held or dict(tool.parameters),
    }
    if held is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


def _user(message: Message) -> Iterable[Json]:
    texts = [part.text for part in message.parts if type(part) is Text and part.text]
    files = [_file(part) for part in message.parts if type(part) is File]
    if files:
        parts = [*({"type": "text", "text": text} for text in texts), *files]
        yield {"role": "user", "content": parts}
    elif texts:
        yield {"role": "user", "content": join_texts(texts)}


def _assistant(message: Message, names: Mapping[str, str]) -> Iterable[Json]:
    """Write a reply, and directly after it the results of its calls."""
    text = join_texts([part.text for part in message.parts if type(part) is Text and part.text])
    calls = model_calls(message)
    if calls:
        asked = [_call(call, names) for call in calls]
        yield {"role": "assistant", "content": text or None, "tool_calls": asked}
    elif text:
        yield {"role": "assistant", "content": text}
    for call in calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": call.told or _NOTHING}


# Made once: `json.dumps` makes an encoder for every call with options.
_write = json.JSONEncoder(ensure_ascii=False).encode


def _call(call: ToolCall, names: Mapping[str, str]) -> Json:
    arguments = _write(call.args or {})
    function = {"name": names[call.tool], "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _file(file: File) -> Json:
    address = f"data:{file.mime};base64,{file.data}"
    if file.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": address}}
    text = written(file)
    if text is not None:
        return {"type": "text", "text": text}
    return {"type": "file", "file": {"filename": file.name or "file", "file_data": address}}
