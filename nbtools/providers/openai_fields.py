"""What stands in the single fields of a Chat Completions answer, in the forms that servers use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.events import ModelEvent, ModelPart, ModelReasoning, ModelText
from nbtools.messages import File, Json, ToolCall, Usage
from nbtools.plain import plain
from nbtools.providers.fields import inner, word

_SOURCES = ("annotations", "search_results", "citations")


def parts_of(content: list[Any]) -> Iterator[ModelEvent]:
    """Read content that is a list of text and thinking parts."""
    for part in content:
        kind = inner(part, "type")
        if kind == "text" and type(part.get("text")) is str:
            yield ModelText(part["text"])
        elif kind == "thinking":
            thinking = part.get("thinking")
            for piece in thinking if type(thinking) is list else [thinking]:
                text = piece if type(piece) is str else inner(piece, "text")
                if text and type(text) is str:
                    yield ModelReasoning(text)


def images_of(images: object) -> Iterator[ModelEvent]:
    """Read the pictures that a model made."""
    for image in images if type(images) is list else ():
        url = inner(inner(image, "image_url"), "url")
        if type(url) is str and url.startswith("data:") and ";base64," in url:
            mime, _, data = url.removeprefix("data:").partition(";base64,")
            yield ModelPart(File(id="", mime=mime, data=data))


def ran_of(executed: object) -> Iterator[tuple[object, ToolCall]]:
    """Show what the provider ran as calls of their own, each with the index that tells it apart.

    A tool is named when it begins and again when it has ended; the first is passed over.
    """
    for item in executed if type(executed) is list else ():
        if output := inner(item, "output"):
            call = ToolCall(
                id="",
                tool=word(item, "type"),
                state="result",
                outcome="ok",
                args=_object(word(item, "arguments")),
                value=plain(output),
                origin="provider",
            )
            yield item.get("index"), call


def _object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return plain(value) if type(value) is dict else {}


def sources_of(holder: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give address and title of what an answer cites; the title may be ""."""
    for field in _SOURCES:
        found = holder.get(field)
        for item in found if type(found) is list else ():
            source = inner(item, "url_citation") or item
            url = source if type(source) is str else inner(source, "url")
            if url and type(url) is str:
                yield url, str(inner(source, "title") or "")


def usage_of(usage: object) -> Usage | None:
    """Read the tokens of an answer; None if nothing readable is said."""
    if type(usage) is not dict:
        return None
    cached = inner(usage.get("prompt_tokens_details"), "cached_tokens")
    counts = {
        "input": usage.get("prompt_tokens"),
        "output": usage.get("completion_tokens"),
        "total": usage.get("total_tokens"),
        "cached": usage.get("prompt_cache_hit_tokens") if cached is None else cached,
        "reasoning": inner(usage.get("completion_tokens_details"), "reasoning_tokens"),
    }
    known = {name: count for name, count in counts.items() if type(count) is int}
    return Usage(**known) if known else None
