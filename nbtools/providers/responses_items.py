"""What stands in the output items of a Responses answer: texts, calls, and what the provider ran."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.messages import File, Json, ToolCall, Usage
from nbtools.plain import plain
from nbtools.providers.fields import inner, listed, word

WIRE = "openai-responses"
"""The name of the wire in sealed material."""

CALLS = {"function_call": ("arguments", "function"), "custom_tool_call": ("input", "custom")}
"""The items that call our tools: where their arguments stand, and of which kind the call is."""

_HELD = frozenset({"tool_search_call", "shell_call", "program"})
_ASKING = frozenset(
    {"local_shell_call", "apply_patch_call", "computer_call", "mcp_approval_request", "shell_call"}
)
_ARGUMENTS = ("arguments", "action", "operation", "queries", "code", "revised_prompt", "prompt")
_VALUES = ("output", "outputs", "results", "result", "tools")
_FAILED = frozenset({"failed", "incomplete", "cancelled"})
_LEFT_TO_US = "The model asks for {!r}, which the provider does not run and nbtools does not offer."

Item = Mapping[str, Any]


def texts_of(item: Item, field: str) -> list[str]:
    """Give the texts of the parts in `summary` or `content`."""
    return [text for part in listed(item, field) if (text := word(part, "text"))]


def usage_of(usage: object) -> Usage | None:
    """Read the tokens of an answer; None if nothing readable is said."""
    counts = {
        "input": inner(usage, "input_tokens"),
        "output": inner(usage, "output_tokens"),
        "total": inner(usage, "total_tokens"),
        "cached": inner(inner(usage, "input_tokens_details"), "cached_tokens"),
        "reasoning": inner(inner(usage, "output_tokens_details"), "reasoning_tokens"),
    }
    known = {name: count for name, count in counts.items() if type(count) is int}
    return Usage(**known) if known else None


def sealed_reasoning(item: Item, shown: str) -> Json:
    """Give what goes back of a reasoning item; the summary that is shown is not held twice.

    Args:
        item: The whole item.
        shown: The field whose texts are shown.
    """
    kept = {name: value for name, value in item.items() if name != "status"}
    if shown == "summary":
        kept.pop("summary", None)
    return {"wire": WIRE, "item": kept}


def sealed_call(item: Item) -> Json:
    """Give what goes back of a call beside its id, name and arguments."""
    known = {"arguments", "input", "name", "call_id", "status"}
    kept = {name: value for name, value in item.items() if name not in known and value is not None}
    return {"wire": WIRE, "item": kept}


def waits_for_output(item: Item) -> bool:
    """Tell whether the result of what the provider runs comes as an item of its own."""
    return bool(word(item, "call_id")) and word(item, "type") in _HELD


def ran(items: list[Item]) -> ToolCall:
    """Show what the provider ran as a call of its own.

    Args:
        items: The item of the call, and that of its result where there is one.
    """
    first, last = items[0], items[-1]
    asking = word(first, "type") in _ASKING and len(items) == 1
    failed = asking or word(last, "status") in _FAILED or bool(inner(last, "error"))
    return ToolCall(
        id=word(first, "call_id") or word(first, "id"),
        tool=_tool_name(first),
        state="error" if failed else "result",
        outcome="unknown" if asking else "failed" if failed else "ok",
        args=_arguments(first),
        value=None if failed else plain(_first(last, _VALUES)),
        error=_error(first, last, asking=asking) if failed else "",
        origin="provider",
        sealed={"wire": WIRE, "items": [_without_result(item) for item in items]},
    )


def picture(item: Item) -> File | None:
    """Give the picture of an image generation; None if the item has none."""
    data = word(item, "result")
    if word(item, "type") != "image_generation_call" or not data:
        return None
    mime = f"image/{word(item, 'output_format') or 'png'}"
    return File(id="", mime=mime, data=data, sealed={"wire": WIRE, "item": _without_result(item)})


def citations_of(annotations: list[Any]) -> Iterator[tuple[str, str]]:
    """Give address and title of what a text cites."""
    for note in annotations:
        if url := word(note, "url"):
            yield url, word(note, "title")


def _tool_name(item: Item) -> str:
    return word(item, "name") or word(item, "type").removesuffix("_call")


def _arguments(item: Item) -> dict[str, Json]:
    for field in _ARGUMENTS:
        value = item.get(field)
        if field == "arguments" and type(value) is str:
            value = _parsed(value)
        if value:
            shown = plain(value)
            return shown if type(shown) is dict else {field: shown}
    return {}


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _first(item: Item, fields: tuple[str, ...]) -> Json:
    """Give the first of some fields that says anything; a picture is a part of its own."""
    if word(item, "type") == "image_generation_call":
        return None
    return next((value for field in fields if (value := item.get(field))), None)


def _error(first: Item, last: Item, *, asking: bool) -> str:
    if asking:
        return _LEFT_TO_US.format(word(first, "type"))
    error = inner(last, "error")
    return word(error, "message") or (error if type(error) is str else "") or "It failed."


def _without_result(item: Item) -> dict[str, Any]:
    """Leave out a picture, which is held by a part of its own."""
    if word(item, "type") != "image_generation_call":
        return dict(item)
    return {name: value for name, value in item.items() if name != "result"}
