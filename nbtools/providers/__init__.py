"""Which providers there are, and how each is named in a text."""

from __future__ import annotations

from collections.abc import Callable

from nbtools.providers.base import OnWait, Provider
from nbtools.providers.demo import Demo
from nbtools.providers.openai import OpenAI

__all__ = ["Demo", "OnWait", "OpenAI", "Provider", "resolve"]

_WIRES: dict[str, Callable[..., Provider]] = {"openai": OpenAI}
_EXAMPLE = "'openai:gpt-5.1' or 'openai:llama3.2 @ http://localhost:11434/v1'"


def resolve(model: str | Provider | None) -> Provider:
    """Find the provider that a user named.

    Args:
        model: A provider; a text such as "openai:gpt-5.1", to which " @ " and the address of a
            compatible server may be added; or None for the demo.

    Returns:
        The provider; nothing is sent or looked up.

    Raises:
        TypeError: The model is none of these.
        ValueError: The text names no provider that there is; the error names those there are.
    """
    if model is None:
        return Demo()
    if isinstance(model, Provider):
        return model
    if not isinstance(model, str):
        raise TypeError(f"model is {model!r}; expected a provider, or a text such as {_EXAMPLE}.")
    name, _, address = (part.strip() for part in model.partition(" @ "))
    if name == Demo.label:
        return Demo()
    wire, colon, rest = name.partition(":")
    make = _WIRES.get(wire)
    if not colon:
        raise ValueError(f"model is {model!r}, which names no provider; write 'openai:{model}'?")
    if make is None or not rest:
        known = ", ".join(repr(f"{known}:…") for known in _WIRES)
        raise ValueError(f"model is {model!r}; expected {known}, such as {_EXAMPLE}.")
    return make(rest, base_url=address or None)
