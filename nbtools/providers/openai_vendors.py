"""What single vendors demand of a request of Chat Completions, beside what all of them take.

Of messages it is about conversations that began elsewhere, or were broken off.

Source: https://docs.mistral.ai/capabilities/function_calling,
https://api-docs.deepseek.com/guides/thinking_mode, and the refusals of the servers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from nbtools.messages import Json
from nbtools.providers.vendors import is_openai

_MISTRAL = re.compile(r"\b[a-z]{2,5}[sx]tral\b", re.IGNORECASE)
"""The names of Mistral's models, whoever serves them: their templates refuse what it refuses."""
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")
_OPENAI_ID = re.compile(r".{1,40}", re.DOTALL)
_DEEPSEEK = "api.deepseek.com"
_FIELDS = {"api.mistral.ai": {"seed": "random_seed"}}
_ANSWERED = "OK."


def suit(messages: Sequence[Json], *, model: str, host: str) -> list[Json]:
    """Write messages so that the vendor accepts them.

    Args:
        messages: The field `messages` of a request.
        model: The model's name.
        host: Who is asked.

    Returns:
        The messages to send.
    """
    suited = list(messages)
    if _MISTRAL.search(model):
        suited = list(_apart(suited))
        suited = [_with_ids(message, _MISTRAL_ID, 9) for message in suited]
    elif is_openai(host):
        suited = [_with_ids(message, _OPENAI_ID, 40) for message in suited]
    if host == _DEEPSEEK:
        thought = {"reasoning_content": ""}
        suited = [
            {**thought, **message} if message["role"] == "assistant" else message
            for message in suited
        ]
    return suited


def suit_fields(fields: Mapping[str, Json], host: str) -> dict[str, Json]:
    """Give fields of a request the names that the vendor knows."""
    names = _FIELDS.get(host, {})
    return {names.get(name, name): value for name, value in fields.items()}


def _apart(messages: Sequence[Json]) -> Iterator[Json]:
    """Let the model say a word between a result and what the user says next."""
    before = ""
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": _ANSWERED}
        yield message
        before = message["role"]


def _with_ids(message: Json, fits: re.Pattern[str], length: int) -> Json:
    """Replace ids that the vendor refuses, alike in calls and results and in every request."""
    calls = message.get("tool_calls") or ()
    if not all(fits.fullmatch(call["id"]) for call in calls):
        fitted = [{**call, "id": _id(call["id"], fits, length)} for call in calls]
        return {**message, "tool_calls": fitted}
    if "tool_call_id" in message and not fits.fullmatch(message["tool_call_id"]):
        return {**message, "tool_call_id": _id(message["tool_call_id"], fits, length)}
    return message


def _id(given: str, fits: re.Pattern[str], length: int) -> str:
    return given if fits.fullmatch(given) else hashlib.sha256(given.encode()).hexdigest()[:length]
