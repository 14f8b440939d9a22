"""What stands in a Gemini answer beside its texts and calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtools.messages import File, Json, ToolCall, Usage
from nbtools.plain import plain
from nbtools.providers.fields import inner, listed, word

WIRE = "gemini"
"""The name of the wire in sealed material."""

RESULTS = {"executableCode": "codeExecutionResult", "toolCall": "toolResponse"}
"""The parts by which the provider says that it runs something, and those with the results."""

_TYPES = {
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
}
_CITING = ("web", "retrievedContext", "maps", "image")

Part = dict[str, Any]


def kind_of(part: Part) -> str:
    """Tell which kind of the provider's own work a part is; "" if it is none."""
    return next((kind for kind in _TYPES if type(part.get(kind)) is dict), "")


def ran(parts: list[Part]) -> ToolCall:
    """Show what the provider ran as a call of its own.

    Args:
        parts: The part that says what it runs, and the one with the result where there is one.
    """
    asked, last = (part[kind_of(part)] for part in (parts[0], parts[-1]))
    is_code = kind_of(parts[0]).startswith(("executable", "code"))
    failed = is_code and word(last, "outcome") not in {"", "OUTCOME_OK"}
    value = inner(last, "output") if is_code else inner(last, "response")
    return ToolCall(
        id=word(asked, "id"),
        tool="code_execution" if is_code else (word(asked, "toolType") or "tool").lower(),
        state="error" if failed else "result",
        outcome="failed" if failed else "ok",
        args=_arguments(asked, is_code=is_code),
        value=None if failed else plain(value),
        error=str(value or word(last, "outcome")) if failed else "",
        origin="provider",
        sealed={"wire": WIRE, "items": [_item(part) for part in parts]},
    )


def searched(queries: list[str]) -> ToolCall:
    """Show what the provider searched for; it tells no more of it than the words."""
    return ToolCall(
        id="",
        tool="google_search",
        state="result",
        outcome="ok",
        args={"queries": queries},
        origin="provider",
    )


def file_of(part: Part, signature: str) -> File | None:
    """Give the file that a part holds; None if it holds none, or only a sketch of one."""
    inline = part.get("inlineData")
    data = word(inline, "data")
    if not data or part.get("thought"):
        return None
    sealed = {"wire": WIRE, **({"signature": signature} if signature else {})}
    return File(id="", mime=word(inline, "mimeType"), data=data, sealed=sealed)


def queries_of(candidate: Part) -> list[str]:
    """Give what was searched for."""
    queries = listed(candidate.get("groundingMetadata"), "webSearchQueries")
    return [query for query in queries if type(query) is str]


def sources_of(candidate: Part) -> Iterator[tuple[str, str]]:
    """Give address and title of what an answer cites."""
    for chunk in listed(candidate.get("groundingMetadata"), "groundingChunks"):
        for field in _CITING:
            found = inner(chunk, field)
            yield word(found, "uri"), word(found, "title")
    for cited in listed(candidate.get("citationMetadata"), "citations"):
        yield word(cited, "uri"), word(cited, "title")
    for fetched in listed(candidate.get("urlContextMetadata"), "urlMetadata"):
        yield word(fetched, "retrievedUrl"), ""


def usage_of(usage: object) -> Usage | None:
    """Read the tokens of an answer; None if nothing readable is said."""
    counts = {
        "input": inner(usage, "promptTokenCount"),
        "output": inner(usage, "candidatesTokenCount"),
        "total": inner(usage, "totalTokenCount"),
        "cached": inner(usage, "cachedContentTokenCount"),
        "reasoning": inner(usage, "thoughtsTokenCount"),
    }
    known = {name: count for name, count in counts.items() if type(count) is int}
    return Usage(**known) if known else None


def _arguments(asked: Part, *, is_code: bool) -> dict[str, Json]:
    if not is_code:
        args = plain(asked.get("args"))
        return args if type(args) is dict else {}
    return {name: plain(asked[name]) for name in ("language", "code") if name in asked}


def _item(part: Part) -> Json:
    kind = kind_of(part)
    found = part[kind]
    return {
        "type": _TYPES[kind],
        "id": found.get("id"),
        "name": found.get("toolType"),
        "part": part,
    }
