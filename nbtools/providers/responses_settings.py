"""How a Responses server is told to answer; it takes neither a seed nor texts to stop at."""

from __future__ import annotations

from collections.abc import Mapping

from nbtools.messages import Json, Request
from nbtools.providers.choices import WORDS, tool_choice
from nbtools.providers.openai_settings import effort_of
from nbtools.schema.output import output_schema
from nbtools.schema.strict import strict_schema
from nbtools.settings import Settings


def encode_settings(
    request: Request, settings: Settings, names: Mapping[str, str], *, strict: bool
) -> dict[str, Json]:
    """Write the settings of a request.

    Args:
        request: The question.
        settings: What holds for it.
        names: What each name of a tool is on the wire.
        strict: Whether the output is held to its schema word by word, where that can be said.

    Returns:
        Fields of the body.

    Raises:
        ValueError: The settings name a tool or an output that cannot be meant.
    """
    effort = effort_of(settings.reasoning)
    choice = tool_choice(request, settings)
    fields: dict[str, Json] = {
        "temperature": settings.temperature,
        "max_output_tokens": settings.max_tokens,
        "reasoning": {"effort": effort, "summary": "auto"} if effort else None,
        "tool_choice": _choice(choice, names),
        "parallel_tool_calls": settings.parallel_calls if request.tools else None,
        "text": _format(settings, strict=strict),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _choice(choice: str, names: Mapping[str, str]) -> Json:
    if choice == "auto":
        return None
    return choice if choice in WORDS else {"type": "function", "name": names[choice]}


def _format(settings: Settings, *, strict: bool) -> Json:
    if settings.output is None:
        return None
    name, schema = output_schema(settings.output)
    held = strict_schema(schema) if strict else None
    described = {"type": "json_schema", "name": name, "schema": held or schema}
    return {"format": {**described, "strict": held is not None}}
