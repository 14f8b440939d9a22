"""What tools are called on a wire: servers accept fewer names than Python and models use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from nbtools.facts import facts
from nbtools.messages import Message, Request, ToolCall

_LONGEST = 64
_CALLS = "model calls"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def wire_names(request: Request, *, letter_first: bool = False) -> Mapping[str, str]:
    """Choose the name that each tool, known or invented by the model, has on the wire.

    Args:
        request: The question.
        letter_first: Whether a name has to begin with a letter or `_`.

    Returns:
        The name on the wire by the tool's own name: at most 64 of the characters A-Z, a-z, 0-9,
        `_` and `-`, no two alike.
    """
    called = [call.tool for message in request.messages for call in model_calls(message)]
    given = tuple([tool.name for tool in request.tools])
    return _names(given, tuple(dict.fromkeys(called)), letter_first=letter_first)


@lru_cache(64)
def _names(
    given: tuple[str, ...], called: tuple[str, ...], *, letter_first: bool
) -> Mapping[str, str]:
    names: dict[str, str] = {}
    wanted = {
        name: _allowed(name, letter_first=letter_first) for name in dict.fromkeys([*given, *called])
    }
    taken: set[str] = {name for name in given if wanted[name] == name}
    for name, candidate in wanted.items():
        kept = name in taken and name in given
        names[name] = name if kept else _unlike(candidate, taken)
        taken.add(names[name])
    return names


def own_names(request: Request, *, letter_first: bool = False) -> dict[str, str]:
    """Give the tool's own name for each name on the wire that differs from it.

    Args:
        request: The question.
        letter_first: As for `wire_names`.

    Returns:
        Own names by wire names, for the decoder of the reply.
    """
    # They are named before what the model called.
    names = _names(tuple([tool.name for tool in request.tools]), (), letter_first=letter_first)
    return {wire: own for own, wire in names.items() if wire != own}


def wire_ids(request: Request) -> dict[str, str]:
    """Choose the id that each call has on the wire: other wires allow more characters in it.

    Args:
        request: The question.

    Returns:
        The id on the wire by the call's own id, as `wire_names` chooses names.
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for message in request.messages:
        for call in model_calls(message):
            ids[call.id] = _unlike(_allowed(call.id), taken)
            taken.add(ids[call.id])
    return ids


def model_calls(message: Message) -> tuple[ToolCall, ...]:
    """Give the calls of a message that the model made; a provider's own have no result of ours."""
    held = facts(message).more
    calls: tuple[ToolCall, ...] | None = held.get(_CALLS)
    if calls is None:
        own = [call for call in facts(message).calls if call.origin != "provider"]
        calls = held[_CALLS] = tuple(own)
    return calls


def _allowed(name: str, *, letter_first: bool = False) -> str:
    name = _FOREIGN.sub("_", name) or "unnamed"
    if letter_first and not (name[0].isalpha() or name[0] == "_"):
        name = f"_{name}"
    return name[:_LONGEST]


def _unlike(wanted: str, taken: set[str]) -> str:
    """Make an allowed name one that nobody else has."""
    number, candidate = 1, wanted
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = wanted[: _LONGEST - len(suffix)] + suffix
    return candidate
