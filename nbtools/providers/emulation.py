"""Tools for servers that know of none: the answer's schema has an arm for each, and for a reply.

The server keeps to the schema by a grammar, so a call is always valid; whether it is the right one
is up to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, cycle
from typing import Any

from nbtools.jsontext import dumps
from nbtools.messages import Json, Message, Part, Request, Text, ToolCall, ToolSpec
from nbtools.providers.choices import WORDS, tool_choice
from nbtools.providers.naming import model_calls, wire_names
from nbtools.schema.output import output_schema
from nbtools.settings import Settings
from nbtools.sight import files_of

_WORDS = ("alpha", "beta", "gamma", "delta", "sigma", "omega")
_ROUNDS = 2
_SAMPLES: Mapping[str, Json] = {
    "integer": 3,
    "number": 2.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def needs_emulation(request: Request) -> bool:
    """Tell whether a question has anything to do with tools."""
    return bool(request.tools) or any(map(model_calls, request.messages))


def emulate(request: Request, settings: Settings, *, worked: bool = False) -> Request:
    """Ask the same of a server that knows of no tools.

    Args:
        request: The question.
        settings: What holds for it, of the provider and of the request.
        worked: Whether the smallest of models are shown how each tool is called.

    Returns:
        A question without tools or calls, whose answer has the shape that `EmulatedDecoder` reads.

    Raises:
        ValueError: The settings name a tool or an output that cannot be meant.
    """
    names = wire_names(request)
    arms = _arms(request, settings, names)
    shown = list(_worked(request.tools, names)) if worked else []
    said = [each for message in request.messages for each in _rewritten(message, names)]
    return replace(
        request,
        messages=[*shown, *said],
        system=_system(request, names),
        tools=(),
        choice="auto",
        settings=replace(settings, output=_schema(arms, request.tools, names)),
    )


# The shape of the answer


def _arms(request: Request, settings: Settings, names: Mapping[str, str]) -> list[Json]:
    choice = tool_choice(request, settings)
    called = [tool for tool in request.tools if choice in WORDS or tool.name == choice]
    arms = [_arm(tool, names) for tool in called if choice != "none"]
    if choice in {"auto", "none"} or not arms:
        shape = {"type": "string"} if settings.output is None else output_schema(settings.output)[1]
        arms.append(_object(reply=shape))
    return arms


def _arm(tool: ToolSpec, names: Mapping[str, str]) -> Json:
    name = names[tool.name]
    parameters = {key: value for key, value in tool.parameters.items() if key != "$defs"}
    return _object(tool={"const": name}, arguments=_renamed(parameters, name))


def _object(**properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(
    arms: list[Json], tools: Sequence[ToolSpec], names: Mapping[str, str]
) -> dict[str, Json]:
    """Join the arms; definitions of all tools stand at the root, where references look."""
    definitions = {
        f"{names[tool.name]}.{name}": _renamed(each, names[tool.name])
        for tool in tools
        for name, each in tool.parameters.get("$defs", {}).items()
    }
    shape: dict[str, Json] = {"anyOf": arms} if len(arms) > 1 else dict(arms[0])
    return {**shape, "$defs": definitions} if definitions else shape


def _renamed(schema: Json, prefix: str) -> Json:
    """Let references find their definitions under the name of their tool."""
    if isinstance(schema, Mapping):
        return {
            key: value.replace("#/$defs/", f"#/$defs/{prefix}.")
            if key == "$ref" and isinstance(value, str)
            else _renamed(value, prefix)
            for key, value in schema.items()
        }
    return [_renamed(each, prefix) for each in schema] if isinstance(schema, list) else schema


# The words around it


def _system(request: Request, names: Mapping[str, str]) -> str:
    if not request.tools:
        return request.system
    told = "\n".join(_told(tool, names) for tool in request.tools)
    rules = (
        'Answer with JSON. To use a tool: {"tool": "its name", "arguments": {}}. '
        f'To say something: {{"reply": "text"}}. The tools are:\n{told}'
    )
    return f"{request.system}\n\n{rules}".strip()


def _told(tool: ToolSpec, names: Mapping[str, str]) -> str:
    arguments = ", ".join(
        f"{name} ({described})" if (described := _mapping(each).get("description")) else name
        for name, each in _properties(tool).items()
    )
    return f"- {names[tool.name]}: {tool.description} Arguments: {arguments or 'none'}."


def _rewritten(message: Message, names: Mapping[str, str]) -> Iterator[Message]:
    """Write calls and their results as texts."""
    if message.role == "user":
        yield message
        return
    texts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Text) and part.text.strip():
            texts.append(Text(id=part.id, text=dumps({"reply": part.text})))
        elif isinstance(part, ToolCall) and part.origin != "provider":
            call = {"tool": names[part.tool], "arguments": dict(part.args or {})}
            texts.append(Text(id=part.id, text=dumps(call)))
    if texts:
        yield replace(message, parts=tuple(texts))
    calls = model_calls(message)
    results = [f"Result of {names[call.tool]}: {call.told}" for call in calls]
    if results:
        text = Text(id=f"{message.id}-results", text="\n".join(results))
        pictures = [file for call in calls for file in files_of(call.id, call.pictures)]
        yield Message(id=text.id, role="user", parts=(text, *pictures))


# Worked calls


def _worked(tools: Sequence[ToolSpec], names: Mapping[str, str]) -> Iterator[Message]:
    """Show how each tool is called, in two ways of asking, and that a greeting calls none."""
    words = cycle(_WORDS)
    numbers = count(1)
    for round_number in range(_ROUNDS):
        for tool in tools:
            args = {name: _sample(each, words) for name, each in _properties(tool).items()}
            asked = _asked(tool, args, plainly=bool(round_number % 2))
            call = dumps({"tool": names[tool.name], "arguments": args})
            result = f"Result of {names[tool.name]}: 42"
            reply = dumps({"reply": "The result is 42."})
            yield from _exchange(numbers, asked, call, result, reply)
    yield from _exchange(numbers, "Hello", dumps({"reply": "Hello! How can I help?"}))


def _asked(tool: ToolSpec, args: Mapping[str, Json], *, plainly: bool) -> str:
    values = [f"{name} {value}" for name, value in args.items()]
    if plainly:
        return " ".join([tool.name.replace("_", " "), *values])
    sentence = tool.description.partition("\n")[0].rstrip(". ") or tool.name
    return f"{sentence}: {', '.join(values)}" if values else sentence


def _exchange(numbers: Iterator[int], *texts: str) -> Iterator[Message]:
    for place, text in enumerate(texts):
        part = Text(id=f"worked-{next(numbers)}", text=text)
        yield Message(id=part.id, role="assistant" if place % 2 else "user", parts=(part,))


def _sample(schema: Json, words: Iterator[str]) -> Json:
    fields = _mapping(schema)
    if fields.get("enum"):
        return fields["enum"][0]
    kind = str(fields.get("type"))
    return _SAMPLES[kind] if kind in _SAMPLES else next(words)


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    return _mapping(tool.parameters.get("properties"))


def _mapping(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
