"""How Gemini is told to answer; it makes as many calls at a time as it likes."""

from __future__ import annotations

from collections.abc import Mapping

from nbtools.messages import Json, Request
from nbtools.providers.choices import WORDS, tool_choice
from nbtools.schema.gemini import Inexpressible, gemini_shape
from nbtools.schema.output import output_schema
from nbtools.settings import Effort, Output, Settings

_BUDGETS: Mapping[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "max": -1,
}
_LEVELS: Mapping[Effort, str] = {"none": "minimal", "max": "high"}


def encode_config(settings: Settings, *, levels: bool) -> dict[str, Json]:
    """Write the field `generationConfig`.

    Args:
        settings: What holds for the request.
        levels: Whether the model is told in words how much to think, not in tokens.

    Raises:
        ValueError: The settings name an output that cannot be meant, or that the dialect of
            schemas has no words for.
    """
    fields: dict[str, Json] = {
        "temperature": settings.temperature,
        "maxOutputTokens": settings.max_tokens,
        "seed": settings.seed,
        "stopSequences": list(settings.stop) or None,
        "thinkingConfig": _thinking(settings.reasoning, levels=levels),
    }
    if settings.output is not None:
        fields["responseMimeType"] = "application/json"
        fields["responseSchema"] = _shape(settings.output)
    return {name: value for name, value in fields.items() if value is not None}


def _shape(output: Output) -> Json:
    name, schema = output_schema(output)
    try:
        return gemini_shape(schema)
    except Inexpressible as error:
        place = f"its field {error.place!r}" if error.place else "it"
        raise ValueError(
            f"Gemini cannot be told of the output {name!r}: {place} {error.why}."
        ) from None


def encode_choice(
    request: Request, settings: Settings, names: Mapping[str, str]
) -> dict[str, Json] | None:
    """Write the field `toolConfig`; None if the model may do as it likes.

    Args:
        request: The question.
        settings: What holds for it.
        names: What each name of a tool is on the wire.

    Raises:
        ValueError: The settings name a tool that the request does not have.
    """
    choice = tool_choice(request, settings)
    if choice == "auto" or not request.tools:
        return None
    config: dict[str, Json] = {"mode": "NONE" if choice == "none" else "ANY"}
    if choice not in WORDS:
        config["allowedFunctionNames"] = [names[choice]]
    return {"functionCallingConfig": config}


def _thinking(reasoning: Effort | int | None, *, levels: bool) -> dict[str, Json] | None:
    if reasoning is None:
        return None
    shown = {"includeThoughts": reasoning != "none"}
    if isinstance(reasoning, int):
        return {"thinkingBudget": reasoning, **shown}
    if levels:
        return {"thinkingLevel": _LEVELS.get(reasoning, reasoning), **shown}
    return {"thinkingBudget": _BUDGETS[reasoning], **shown}
