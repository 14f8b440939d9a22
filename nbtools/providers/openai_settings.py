"""How a Chat Completions server is told to answer."""

from __future__ import annotations

from collections.abc import Mapping

from nbtools.messages import Json, Request
from nbtools.providers.choices import WORDS, tool_choice
from nbtools.schema.output import output_schema
from nbtools.schema.strict import strict_schema
from nbtools.settings import Effort, Settings

_BUDGETS: tuple[tuple[int, Effort], ...] = ((2_048, "low"), (8_192, "medium"))


def encode_settings(
    request: Request, settings: Settings, names: Mapping[str, str], *, own: bool, strict: bool
) -> dict[str, Json]:
    """Write the settings of a request.

    Args:
        request: The question.
        settings: What holds for it.
        names: What each name of a tool is on the wire.
        own: Whether it goes to OpenAI itself.
        strict: Whether the output is held to its schema word by word, where that can be said.

    Returns:
        Fields of the body.

    Raises:
        ValueError: The settings name a tool or an output that cannot be meant.
    """
    # OpenAI's newer models refuse the old name, and most other servers know no other.
    limit = "max_completion_tokens" if own else "max_tokens"
    fields: dict[str, Json] = {
        "temperature": settings.temperature,
        limit: settings.max_tokens,
        "seed": settings.seed,
        "stop": list(settings.stop) or None,
        "reasoning_effort": effort_of(settings.reasoning),
        "tool_choice": _choice(tool_choice(request, settings), names),
        "parallel_tool_calls": settings.parallel_calls if request.tools else None,
        "response_format": _format(settings, strict=strict),
    }
    return {name: value for name, value in fields.items() if value is not None}


def effort_of(reasoning: Effort | int | None) -> str | None:
    """Put a number of tokens into the words of OpenAI, which takes no number.

    Args:
        reasoning: A word, or the most tokens to think.
    """
    if reasoning == "max":
        return "xhigh"
    if not isinstance(reasoning, int):
        return reasoning
    return next((word for most, word in _BUDGETS if reasoning <= most), "high")


def _choice(choice: str, names: Mapping[str, str]) -> Json:
    if choice == "auto":
        return None
    if choice in WORDS:
        return choice
    return {"type": "function", "function": {"name": names[choice]}}


def _format(settings: Settings, *, strict: bool) -> Json:
    if settings.output is None:
        return None
    name, schema = output_schema(settings.output)
    held = strict_schema(schema) if strict else None
    described: dict[str, Json] = {"name": name, "schema": held or schema}
    if held is not None:
        described["strict"] = True
    return {"type": "json_schema", "json_schema": described}
