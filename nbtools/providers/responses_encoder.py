"""What a Responses server is asked: items of the history and tools, as its JSON body has them.

A reasoning item goes back directly before the item that it led to, or it does not go back; calls
and texts whose reasoning stays behind go without the ids that would tie them to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbtools.messages import (
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
from nbtools.providers.bodies import written_text
from nbtools.providers.naming import model_calls
from nbtools.providers.responses_items import WIRE
from nbtools.providers.sealing import sealed_by
from nbtools.providers.texts import NOTHING, address, written
from nbtools.schema.flat import flat_schema
from nbtools.schema.strict import strict_schema


def encode_input(request: Request, names: Mapping[str, str]) -> list[Json]:
    """Write the history.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.

    Returns:
        The items of the field `input`.
    """
    items: list[Json] = []
    for message in request.messages:
        items.extend(_user(message) if message.role == "user" else _assistant(message, names))
    return items


def encode_tool(tool: ToolSpec, names: Mapping[str, str], *, strict: bool) -> Json:
    """Write what the model is told of a tool.

    Args:
        tool: The tool.
        names: What each name of a tool is on the wire.
        strict: Whether its arguments are held to the schema, where that can be said.
    """
    held = strict_schema(tool.parameters) if strict else None
    return {
        "type": "function",
        "name": names[tool.name],
        "description": tool.description,
        "parameters": held or flat_schema(tool.parameters),
        "strict": held is not None,
    }


def _user(message: Message) -> Iterator[Json]:
    content = [part for each in message.parts if (part := _content(each)) is not None]
    if content:
        yield {"type": "message", "role": "user", "content": content}


def _content(part: Part) -> Json | None:
    if type(part) is Text and part.text:
        return {"type": "input_text", "text": part.text}
    if type(part) is not File:
        return None
    if part.mime.startswith("image/"):
        return _picture(part)
    text = written(part)
    if text is not None:
        return {"type": "input_text", "text": text}
    content = address(part.mime, part.data)
    return {"type": "input_file", "filename": part.name or "file", "file_data": content}


def _assistant(message: Message, names: Mapping[str, str]) -> Iterator[Json]:
    """Write a reply, and directly after it the results of its calls."""
    thoughts: list[Json] = []
    for item in _reply(message.parts, names):
        if item["type"] == "reasoning":
            thoughts.append(item)
            continue
        yield from thoughts
        thoughts = []
        yield item
    for call in model_calls(message):
        custom = sealed_by(call, WIRE).get("item", {}).get("type") == "custom_tool_call"
        kind = "custom_tool_call_output" if custom else "function_call_output"
        yield {"type": kind, "call_id": call.id, "output": _output(call)}


def _output(call: ToolCall) -> Json:
    told = call.told or NOTHING
    if not call.pictures:
        return told
    return [{"type": "input_text", "text": told}, *map(_picture, call.pictures)]


def _picture(held: Picture | File) -> Json:
    return {"type": "input_image", "image_url": address(held.mime, held.data), "detail": "auto"}


def _reply(parts: Iterable[Part], names: Mapping[str, str]) -> Iterator[Json]:
    """Write the items of a reply in their order, reasoning too."""
    tied = _keeps_reasoning(parts)
    summary: list[Json] = []
    for part in parts:
        sealed = sealed_by(part, WIRE)
        if type(part) is Reasoning and tied and sealed:
            if part.text:
                summary.append({"type": "summary_text", "text": part.text})
            if "item" in sealed:
                yield {"summary": summary, **sealed["item"]}
                summary = []
        elif type(part) is Text and part.text.strip():
            yield _text(part.text, sealed if tied else {})
        elif type(part) is ToolCall and part.origin != "provider":
            yield _call(part, names, sealed.get("item", {}), tied=tied)
        elif tied and type(part) is ToolCall and part.outcome != "unknown":
            yield from sealed.get("items", ())
        elif tied and type(part) is File and sealed:
            yield {**sealed["item"], "result": part.data}


def _keeps_reasoning(parts: Iterable[Part]) -> bool:
    """Tell whether all reasoning of a reply can go back, be there any or none."""
    thoughts = [sealed_by(part, WIRE) for part in parts if type(part) is Reasoning]
    last = thoughts[-1] if thoughts else {"item": None}
    items = [sealed["item"] for sealed in thoughts if "item" in sealed]
    return "item" in last and all(map(_travels, items))


def _travels(item: Mapping[str, Any]) -> bool:
    """Tell whether an item holds what was thought, or only names what a server has kept."""
    return bool(item.get("encrypted_content") or item.get("content"))


def _text(text: str, kept: Mapping[str, Any]) -> Json:
    item: dict[str, Json] = {"type": "message", "role": "assistant"}
    if kept.get("phase"):
        item["phase"] = kept["phase"]
    if not kept.get("id"):
        return {**item, "content": text}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {**item, "id": kept["id"], "status": "completed", "content": content}


def _call(call: ToolCall, names: Mapping[str, str], kept: Mapping[str, Any], *, tied: bool) -> Json:
    item = {name: value for name, value in kept.items() if tied or name != "id"}
    item |= {"call_id": call.id, "name": names[call.tool]}
    if item.get("type") == "custom_tool_call":
        return {**item, "input": call.raw}
    arguments = written_text(call.args or {})
    return {**item, "type": "function_call", "arguments": arguments}
