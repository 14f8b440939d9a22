"""What Gemini is asked: contents and declarations of tools, as its JSON body has them.

A part goes back as it came: with its signature, in its place, neither joined with others nor cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbtools.errors import ToolDefinitionError
from nbtools.messages import (
    File,
    Json,
    Part,
    Picture,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.providers.gemini_parts import WIRE
from nbtools.providers.naming import model_calls
from nbtools.providers.sealing import sealed_by
from nbtools.providers.texts import NOTHING, introduce, written
from nbtools.schema.flat import flat_schema
from nbtools.schema.gemini import Inexpressible, gemini_schema

UNSIGNED = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made; newer models demand one.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures.
"""


def encode_contents(
    request: Request, names: Mapping[str, str], *, newer: bool
) -> list[dict[str, Json]]:
    """Write the history.

    Args:
        request: The question, with a history that obeys the rules.
        names: What each name of a tool is on the wire, as `wire_names` gives it.
        newer: Whether the model is of generation 3 or later: it refuses calls without a
            signature, and takes the pictures of a result in the result.

    Returns:
        The field `contents`; roles alternate.
    """
    contents: list[dict[str, Json]] = []
    for message in request.messages:
        if message.role == "user":
            _add(contents, "user", [part for each in message.parts for part in _user(each)])
            continue
        parts = [part for each in message.parts for part in _reply(each, names)]
        _add(contents, "model", _signed(parts) if newer else parts)
        _add(contents, "user", _results(model_calls(message), names, newer=newer))
    return contents


def encode_tool(tool: ToolSpec, names: Mapping[str, str]) -> dict[str, Json]:
    """Write what the model is told of a tool.

    Args:
        tool: The tool.
        names: What each name of a tool is on the wire.

    Raises:
        ToolDefinitionError: The dialect has no words for a parameter; the text names it.
    """
    declared: dict[str, Json] = {"name": names[tool.name], "description": tool.description}
    try:
        parameters = gemini_schema(flat_schema(tool.parameters))
    except Inexpressible as error:
        raise ToolDefinitionError(
            f"Gemini cannot be told of the tool {tool.name!r}: its parameter "
            f"{error.place!r} {error.why}."
        ) from None
    return declared if parameters is None else {**declared, "parameters": parameters}


def _add(contents: list[dict[str, Json]], role: str, parts: list[Json]) -> None:
    """Add a turn; what follows a turn of the same role belongs to it."""
    if not parts:
        return
    if contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": role, "parts": parts})


def _user(part: Part) -> Iterator[Json]:
    if type(part) is Text and part.text:
        yield {"text": part.text}
    elif type(part) is File:
        text = written(part)
        yield _inline(part) if text is None else {"text": text}


def _inline(held: File | Picture) -> dict[str, Json]:
    return {"inlineData": {"mimeType": held.mime, "data": held.data}}


def _reply(part: Part, names: Mapping[str, str]) -> Iterator[Json]:
    sealed = sealed_by(part, WIRE)
    if type(part) is Text:
        yield from _text(part.text, sealed, {})
    elif type(part) is Reasoning and sealed:
        yield from _text(part.text, sealed, {"thought": True})
    elif type(part) is ToolCall and part.origin != "provider":
        yield _call(part, names, sealed)
    elif type(part) is ToolCall:
        yield from (item["part"] for item in sealed.get("items", ()))
    elif type(part) is File and sealed:
        yield {**_inline(part), **_signature(sealed)}


def _text(text: str, sealed: Mapping[str, Any], marks: dict[str, Json]) -> Iterator[Json]:
    """Write a text; its signed end is a part of its own."""
    cut = len(text) - sealed["tail"] if "signature" in sealed else len(text)
    if text[:cut]:
        yield {"text": text[:cut], **marks}
    if "signature" in sealed:
        yield {"text": text[cut:], **marks, **_signature(sealed)}


def _call(call: ToolCall, names: Mapping[str, str], sealed: Mapping[str, Any]) -> dict[str, Json]:
    function = {**_id(sealed), "name": names[call.tool], "args": dict(call.args or {})}
    return {"functionCall": function, **_signature(sealed)}


def _results(
    calls: Sequence[ToolCall], names: Mapping[str, str], *, newer: bool
) -> list[dict[str, Json]]:
    """Write results with their pictures; older models are shown these behind all results."""
    results = [_result(call, names, pictures=newer) for call in calls]
    if newer:
        return results
    behind = [part for call in calls if call.pictures for part in _behind(call, names)]
    return [*results, *behind]


def _result(call: ToolCall, names: Mapping[str, str], *, pictures: bool) -> dict[str, Json]:
    """Write a result.

    Source: https://ai.google.dev/gemini-api/docs/function-calling#multimodal.
    """
    field = "error" if call.state == "error" else "result"
    response = {field: call.told or NOTHING}
    function = {**_id(sealed_by(call, WIRE)), "name": names[call.tool], "response": response}
    if pictures and call.pictures:
        function["parts"] = [_inline(picture) for picture in call.pictures]
    return {"functionResponse": function}


def _behind(call: ToolCall, names: Mapping[str, str]) -> Iterator[dict[str, Json]]:
    yield {"text": introduce(call, names[call.tool])}
    yield from map(_inline, call.pictures)


def _signed(parts: list[Json]) -> list[Json]:
    """Let the first call of a reply have a signature, if it is not of this wire."""
    for place, part in enumerate(parts):
        if "functionCall" in part:
            if "thoughtSignature" not in part:
                parts[place] = {**part, "thoughtSignature": UNSIGNED}
            break
    return parts


def _id(sealed: Mapping[str, Any]) -> dict[str, Json]:
    return {"id": sealed["id"]} if sealed.get("id") else {}


def _signature(sealed: Mapping[str, Any]) -> dict[str, Json]:
    return {"thoughtSignature": sealed["signature"]} if sealed.get("signature") else {}
