"""Which provider a text names: "anthropic:claude-sonnet-5", "openai:qwen3 @ http://host/v1", "auto"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from nbtools.providers.base import Provider
from nbtools.providers.demo import Demo
from nbtools.providers.vendors import LOCAL_SERVERS, VENDORS

WIRES = {
    "openai": ("nbtools.providers.openai", "OpenAI"),
    "openai-responses": ("nbtools.providers.responses", "OpenAIResponses"),
    "anthropic": ("nbtools.providers.anthropic", "Anthropic"),
    "gemini": ("nbtools.providers.gemini", "Gemini"),
    "ollama": ("nbtools.providers.ollama", "Ollama"),
    "local": ("nbtools.providers.local", "Local"),
}
"""Where the class of each wire is; it is imported when it is first named."""

_SERVED = {each.name: each for each in (*VENDORS, *LOCAL_SERVERS)}
_EXAMPLES = (
    "'openai:gpt-5.1', 'anthropic:claude-sonnet-5' or 'openai:qwen3 @ http://localhost:8080/v1'"
)
_SERVER = re.compile(r"\s+@\s+|\s*@\s*(?=https?://)")
_FAMILIES: Sequence[tuple[str, tuple[str, ...]]] = (
    (r"(gpt-oss|llama|qwen|gemma|phi)", ("ollama", "groq", "openrouter")),
    (r"[a-z]{2,5}[sx]tral\b", ("mistral", "ollama", "openrouter")),
    (r"deepseek", ("deepseek", "ollama", "openrouter")),
    (r"(gpt-|chatgpt|o\d)", ("openai", "openai-responses")),
    (r"claude", ("anthropic",)),
    (r"gemini", ("gemini",)),
    (r"grok", ("xai",)),
    (r".*\.gguf$", ("local",)),
)


def resolve(model: str | Provider | None) -> Provider:
    """Find the provider that a user named.

    Args:
        model: A provider; a text such as "openai:gpt-5.1", to which " @ " and the address of a
            server may be added; "auto" for the first that this machine could use; or None for the
            demo.

    Returns:
        The provider. Nothing is sent or looked up, except that "auto" asks for local servers where
        no key is set.

    Raises:
        TypeError: The model is none of these.
        ValueError: The text names no provider, or could mean several; the error names those there
            are.
    """
    if model is None:
        return Demo()
    if isinstance(model, Provider):
        return model
    if not isinstance(model, str):
        raise TypeError(f"model is {model!r}; expected a provider, or a text such as {_EXAMPLES}.")
    name, address = (part.strip() for part in [*_SERVER.split(model, 1), ""][:2])
    if name == Demo.label:
        return Demo()
    if name == "auto":
        return _first_usable()
    return _named(_with_wire(name), _absolute(address))


def _named(name: str, address: str) -> Provider:
    wire, _, rest = name.partition(":")
    options = {"base_url": address} if address else {}
    if wire not in _SERVED:
        made: Provider = _class_of(wire)(rest, **options)
        return made
    server = _SERVED[wire]
    if not server.variable:
        options["api_key"] = ""
    served: Provider = _class_of("openai")(rest, **{"base_url": server.address, **options})
    served.label = name
    return served


def _with_wire(name: str) -> str:
    """Put the wire before a bare name, if only one can be meant."""
    wire, _, rest = name.partition(":")
    if rest and (wire in WIRES or wire in _SERVED):
        return name
    meant = next((wires for pattern, wires in _FAMILIES if re.match(pattern, name)), ())
    if len(meant) == 1 and wire not in WIRES:
        return f"{meant[0]}:{name}"
    if meant and wire not in WIRES:
        choice = " or ".join(repr(f"{wire}:{name}") for wire in meant)
        raise ValueError(f"model is {name!r}, which could be several: write {choice}.")
    known = ", ".join(f"'{wire}:…'" for wire in (*WIRES, *_SERVED))
    raise ValueError(f"model is {name!r}; expected one of {known}, such as {_EXAMPLES}.")


def _absolute(address: str) -> str:
    """Complete an address that was written without its scheme; servers nearby have no https."""
    if not address or "://" in address:
        return address
    host = address.partition("/")[0]
    near = ":" in host or "." not in host or host.replace(".", "").isdecimal()
    return f"{'http' if near else 'https'}://{address}"


def class_named(name: str) -> Any:
    """Give the class of a wire by its own name, such as "Anthropic"; None if there is none."""
    wires = {class_name: wire for wire, (_, class_name) in WIRES.items()}
    return _class_of(wires[name]) if name in wires else None


def _class_of(wire: str) -> Any:
    module, name = WIRES[wire]
    return getattr(import_module(module), name)


def _first_usable() -> Provider:
    from nbtools.providers.discovery import available  # noqa: PLC0415 - it names models in turn

    usable = [each.model for each in available() if each.usable]
    return resolve(usable[0]) if usable else Demo()
