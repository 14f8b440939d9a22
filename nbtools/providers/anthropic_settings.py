"""How a Messages server is told to answer.

Source: https://docs.claude.com/en/api/messages. It has no seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbtools.messages import Json, Request
from nbtools.providers.choices import tool_choice
from nbtools.schema.output import closed_schema, output_schema
from nbtools.settings import Effort, Settings

_ROOM = 8_192
"""Tokens for the answer where nothing is said: the wire demands a number, and all models take it."""

_LEAST = 1_024
_BUDGETS: Mapping[Effort, int] = {
    "minimal": _LEAST,
    "low": 4_096,
    "medium": 10_240,
    "high": 24_576,
    "max": 32_000,
}
# These models take a number of tokens to think; later ones take a word and see for themselves.
_BUDGETED = re.compile(r"claude-(3|instant|2|(opus|sonnet|haiku)-4(?!-[6-9]))")


def encode_settings(
    request: Request, settings: Settings, names: Mapping[str, str], model: str
) -> dict[str, Json]:
    """Write the settings of a request.

    Args:
        request: The question.
        settings: What holds for it.
        names: What each name of a tool is on the wire.
        model: The model's name, which decides how thinking is asked for.

    Returns:
        Fields of the body.

    Raises:
        ValueError: The settings name a tool or an output that cannot be meant.
    """
    thinking, effort, room = _thinking(settings, model)
    output = {"effort": effort, "format": _format(settings)}
    fields: dict[str, Json] = {
        "max_tokens": settings.max_tokens or room,
        "temperature": settings.temperature,
        "stop_sequences": list(settings.stop) or None,
        "thinking": thinking,
        "output_config": {k: v for k, v in output.items() if v is not None} or None,
        "tool_choice": _choice(request, settings, names),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _thinking(settings: Settings, model: str) -> tuple[Json, str | None, int]:
    """Give how to think, the word for how much, and the tokens of the whole reply."""
    reasoning = settings.reasoning
    if reasoning is None:
        return None, None, _ROOM
    if reasoning == "none":
        return {"type": "disabled"}, None, _ROOM
    if isinstance(reasoning, str) and not _BUDGETED.search(model):
        word = "low" if reasoning == "minimal" else reasoning
        return {"type": "adaptive"}, word, _ROOM + _BUDGETS[reasoning]
    budget = max(_BUDGETS[reasoning] if isinstance(reasoning, str) else reasoning, _LEAST)
    if settings.max_tokens is not None:  # which the budget has to be below
        budget = min(budget, settings.max_tokens - 1)
        if budget < _LEAST:
            return None, None, _ROOM
    return {"type": "enabled", "budget_tokens": budget}, None, _ROOM + budget


def _format(settings: Settings) -> Json:
    if settings.output is None:
        return None
    _, schema = output_schema(settings.output)
    return {"type": "json_schema", "schema": closed_schema(schema)}


def _choice(request: Request, settings: Settings, names: Mapping[str, str]) -> Json:
    if not request.tools:
        return None
    choice = tool_choice(request, settings)
    if choice == "none":
        return {"type": "none"}
    one = {"disable_parallel_tool_use": True} if settings.parallel_calls is False else {}
    if choice == "auto":
        return {"type": "auto", **one} if one else None
    if choice == "required":
        return {"type": "any", **one}
    return {"type": "tool", "name": names[choice], **one}
