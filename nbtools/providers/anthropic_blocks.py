"""What stands in the content blocks of a Messages answer: calls, and what the provider ran."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtools.messages import Json, ToolCall, Usage
from nbtools.plain import plain
from nbtools.providers.fields import inner, listed, word

WIRE = "anthropic"
"""The name of the wire in sealed material."""

_LOCKED = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout", "signature"})
_DEEPEST = 25
_COUNTS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cached": "cache_read_input_tokens",
    "written": "cache_creation_input_tokens",
}


@dataclass(slots=True, eq=False)
class Block:
    """One content block while it is read; the block of a call is the `key` of its events."""

    content: dict[str, Any]
    raw: list[str] = field(default_factory=list)
    sealed: bool = False

    @property
    def type(self) -> str:
        """The wire's word for what it is."""
        return word(self.content, "type")

    @property
    def whole(self) -> bool:
        """Whether the arguments of a call came in one piece, as an object."""
        return bool(self.content.get("input"))

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Add to the fields of a block that is kept as it comes."""
        for name, text in delta.items():
            if name != "type" and type(text) is str:
                self.content[name] = word(self.content, name) + text

    def closed(self) -> dict[str, Any]:
        """Give the whole block, its arguments read."""
        if not self.raw:
            return self.content
        return {**self.content, "input": _parsed("".join(self.raw))}


def sealed_call(block: Mapping[str, Any]) -> Json:
    """Give what goes back of a call besides its id, name and arguments; None if that is all."""
    known = {"type", "id", "name", "input"}
    kept = {name: value for name, value in block.items() if name not in known and value is not None}
    return {"wire": WIRE, "block": kept} if kept else None


def ran(use: Mapping[str, Any], result: Mapping[str, Any]) -> ToolCall:
    """Show what the provider ran as a call of its own.

    Args:
        use: The block of the call, which goes back by itself: calls may lie within others.
        result: The block of its result.
    """
    content = result.get("content")
    problem = _problem(result)
    return ToolCall(
        id=word(use, "id") or word(result, "tool_use_id"),
        tool=word(use, "name") or word(result, "type").removesuffix("_tool_result"),
        state="error" if problem else "result",
        outcome="failed" if problem else "ok",
        args=_object(use.get("input")),
        value=None if problem else plain(_readable(content)),
        error=problem,
        origin="provider",
        sealed={"wire": WIRE, "block": dict(result)},
    )


def citations_of(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give address and title of what a text cites; of documents in the request it has none."""
    for citation in listed(block, "citations"):
        if url := word(citation, "url"):
            yield url, word(citation, "title")


def usage_of(counts: Mapping[str, Any]) -> Usage | None:
    """Read the tokens of an answer; None if nothing readable is said."""
    details = counts.get("output_tokens_details")
    named = {name: counts.get(given) for name, given in _COUNTS.items()}
    named["reasoning"] = inner(details, "thinking_tokens")
    known = {name: count for name, count in named.items() if type(count) is int}
    return Usage(**known) if known else None


def _problem(result: Mapping[str, Any]) -> str:
    """Say why a tool of the provider has no result; "" if it has one."""
    content = result.get("content")
    if word(content, "type").endswith("_error"):
        return word(content, "error_message") or word(content, "error_code") or "It failed."
    if result.get("is_error") is True:
        texts = [word(part, "text") for part in listed(result, "content")]
        return "\n".join(filter(None, texts)) or "It failed."
    return ""


def _readable(value: Json, depth: int = _DEEPEST) -> Json:
    """Leave out what only the provider can read, and what is nested too deep to be shown."""
    if isinstance(value, dict):
        kept = {k: each for k, each in value.items() if k not in _LOCKED} if depth else {}
        return {k: _readable(each, depth - 1) for k, each in kept.items()}
    if isinstance(value, list):
        return [_readable(each, depth - 1) for each in value] if depth else []
    return value


def _object(value: object) -> dict[str, Json]:
    shown = plain(value)
    return shown if type(shown) is dict else {}


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}
