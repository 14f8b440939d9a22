"""What a Chat Completions server is asked: messages and tools, as its JSON body has them.

A result is text there, so its pictures follow all results of the reply, in a message of the user
that says whose they are. What the user says next joins that message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nbtools.facts import KEPT, facts
from nbtools.frozen import freeze
from nbtools.messages import File, Json, Message, Picture, Request, Text, ToolCall, ToolSpec
from nbtools.providers.bodies import written_text
from nbtools.providers.naming import model_calls
from nbtools.providers.openai_thoughts import returned, returned_beside
from nbtools.providers.texts import address, introduce, join_texts, written
from nbtools.schema.flat import flat_schema
from nbtools.schema.strict import strict_schema

_NOTHING = "(no output)"
_WRITTEN = "chat completions"


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
    behind: list[Json] = []
    for message in request.messages:
        if message.role == "user":
            messages.extend(_user(message, behind))
            behind = []
        else:
            messages.extend(_said(behind))
            reply, behind = _reply(message, names)
            messages.extend(reply)
    messages.extend(_said(behind))
    body: dict[str, Json] = {"messages": messages}
    if request.tools:
        body["tools"] = [_tool(tool, names, strict=strict) for tool in request.tools]
    return body


def _tool(tool: ToolSpec, names: Mapping[str, str], *, strict: bool) -> Json:
    """Write a tool: once, for each later request has it too."""
    key = names[tool.name], strict
    known: tuple[tuple[str, bool], Json] | None = tool.__dict__.get(KEPT)
    if known is None or known[0] != key:
        known = tool.__dict__[KEPT] = (key, freeze(_described(tool, *key)))
    return known[1]


def _described(tool: ToolSpec, name: str, strict: bool) -> Json:
    held = strict_schema(tool.parameters) if strict else None
    function: dict[str, Json] = {
        "name": name,
        "description": tool.description,
        "parameters": held or flat_schema(tool.parameters),
    }
    if held is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


def _user(message: Message, before: list[Json]) -> Iterable[Json]:
    texts = [part.text for part in message.parts if type(part) is Text and part.text]
    files = [_file(part) for part in message.parts if type(part) is File]
    if before or files:
        yield from _said([*before, *map(_text, texts), *files])
    elif texts:
        yield {"role": "user", "content": join_texts(texts)}


def _said(content: list[Json]) -> Iterable[Json]:
    if content:
        yield {"role": "user", "content": content}


def _pictures(calls: Iterable[ToolCall], names: Mapping[str, str]) -> Iterable[Json]:
    """Write the pictures of a reply's results."""
    for call in calls:
        if call.pictures:
            yield _text(introduce(call, names[call.tool]))
            yield from map(_image, call.pictures)


def _reply(message: Message, names: Mapping[str, str]) -> tuple[list[Json], list[Json]]:
    """Write a reply, and the pictures of its results: once, for each later request holds them too."""
    held = facts(message).more
    known: tuple[Mapping[str, str], list[Json], list[Json]] | None = held.get(_WRITTEN)
    if known is None or known[0] != names:
        calls = model_calls(message)
        pictures = list(_pictures(calls, names))
        reply = [freeze(each) for each in _assistant(message, calls, names)]
        known = held[_WRITTEN] = (names, reply, pictures)
    return known[1], known[2]


def _assistant(
    message: Message, calls: Sequence[ToolCall], names: Mapping[str, str]
) -> Iterable[Json]:
    """Write a reply, and directly after it the results of its calls."""
    text = join_texts([part.text for part in message.parts if type(part) is Text and part.text])
    back = returned(message)
    if calls:
        asked = [{**_call(call, names), **returned_beside(call)} for call in calls]
        yield {"role": "assistant", "content": text or None, "tool_calls": asked, **back}
    elif text:
        yield {"role": "assistant", "content": text, **back}
    for call in calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": call.told or _NOTHING}


def _call(call: ToolCall, names: Mapping[str, str]) -> Json:
    function = {"name": names[call.tool], "arguments": written_text(call.args or {})}
    return {"id": call.id, "type": "function", "function": function}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(held: Picture | File) -> Json:
    return {"type": "image_url", "image_url": {"url": address(held.mime, held.data)}}


def _file(file: File) -> Json:
    if file.mime.startswith("image/"):
        return _image(file)
    text = written(file)
    if text is not None:
        return _text(text)
    content = address(file.mime, file.data)
    return {"type": "file", "file": {"filename": file.name or "file", "file_data": content}}
