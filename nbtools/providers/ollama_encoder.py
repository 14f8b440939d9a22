"""What Ollama is asked: messages, tools and options, as its JSON body has them.

Results follow their calls in order and are known by the tool's name: calls need no ids there. What
a result holds of pictures is not read, so they follow all results of the reply, in a message of the
user that says whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbtools.messages import (
    File,
    Json,
    Message,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.providers.choices import tool_choice
from nbtools.providers.naming import model_calls
from nbtools.providers.ollama_decoder import WIRE
from nbtools.providers.sealing import sealed_by
from nbtools.providers.texts import NOTHING, introduce, join_texts, unreadable, written
from nbtools.schema.flat import flat_schema
from nbtools.schema.output import output_schema
from nbtools.settings import Effort, Settings

_LEVELS: Mapping[Effort, Effort] = {"minimal": "low", "max": "high"}


def encode_messages(request: Request, names: Mapping[str, str]) -> list[Json]:
    """Write the history.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.

    Returns:
        The field `messages`.
    """
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages.extend(_user(message) if message.role == "user" else _assistant(message, names))
    return messages


def encode_tools(request: Request, settings: Settings, names: Mapping[str, str]) -> list[Json]:
    """Write what the model is told of the tools.

    It cannot be told to leave one alone, so a tool that may not be called is not told of.

    Args:
        request: The question.
        settings: What holds for it.
        names: What each name of a tool is on the wire.

    Raises:
        ValueError: The settings name a tool that the request does not have.
    """
    choice = tool_choice(request, settings)
    if choice == "none":
        return []
    named = [tool for tool in request.tools if tool.name == choice]
    return [_tool(tool, names) for tool in named or request.tools]


def encode_settings(settings: Settings) -> dict[str, Json]:
    """Write the settings of a request.

    Args:
        settings: What holds for it.

    Raises:
        ValueError: The settings name an output that cannot be meant.
    """
    options: dict[str, Json] = {
        "temperature": settings.temperature,
        "num_predict": settings.max_tokens,
        "seed": settings.seed,
        "stop": list(settings.stop) or None,
    }
    fields: dict[str, Json] = {
        "options": {name: value for name, value in options.items() if value is not None},
        "think": _think(settings.reasoning),
        "format": None if settings.output is None else output_schema(settings.output)[1],
    }
    return {name: value for name, value in fields.items() if value is not None and value != {}}


def _think(reasoning: Effort | int | None) -> bool | str | None:
    """Say whether to think; only few models know of more or less of it."""
    if reasoning is None or reasoning == "none":
        return None if reasoning is None else False
    return True if isinstance(reasoning, int) else _LEVELS.get(reasoning, reasoning)


def _tool(tool: ToolSpec, names: Mapping[str, str]) -> Json:
    function = {
        "name": names[tool.name],
        "description": tool.description,
        "parameters": flat_schema(tool.parameters),
    }
    return {"type": "function", "function": function}


def _user(message: Message) -> Iterator[Json]:
    texts = [part.text for part in message.parts if type(part) is Text and part.text]
    files = [part for part in message.parts if type(part) is File]
    images = [file.data for file in files if file.mime.startswith("image/")]
    others = [file for file in files if not file.mime.startswith("image/")]
    texts += [written(file) or unreadable(file) for file in others]
    if texts or images:
        content = {"role": "user", "content": join_texts(texts)}
        yield {**content, "images": images} if images else content


def _assistant(message: Message, names: Mapping[str, str]) -> Iterator[Json]:
    """Write a reply, and directly after it the results of its calls."""
    texts = [part.text for part in message.parts if type(part) is Text and part.text.strip()]
    thoughts = [
        part.text
        for part in message.parts
        if type(part) is Reasoning and part.text and sealed_by(part, WIRE)
    ]
    calls = model_calls(message)
    if texts or calls:
        reply: dict[str, Json] = {"role": "assistant", "content": join_texts(texts)}
        if thoughts:
            reply["thinking"] = join_texts(thoughts)
        if calls:
            reply["tool_calls"] = [_call(call, names) for call in calls]
        yield reply
    for call in calls:
        yield {"role": "tool", "tool_name": names[call.tool], "content": call.told or NOTHING}
    if shown := [call for call in calls if call.pictures]:
        notes = [introduce(call, names[call.tool]) for call in shown]
        images = [picture.data for call in shown for picture in call.pictures]
        yield {"role": "user", "content": "\n".join(notes), "images": images}


def _call(call: ToolCall, names: Mapping[str, str]) -> Json:
    return {"function": {"name": names[call.tool], "arguments": dict(call.args or {})}}
