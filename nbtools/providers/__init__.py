"""The models, and the ways to them.

`available()` shows what this machine could use. The class of each wire is imported when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtools.providers.base import OnWait, Provider
from nbtools.providers.demo import Demo
from nbtools.providers.models import class_named, resolve

if TYPE_CHECKING:
    from nbtools.providers.anthropic import Anthropic
    from nbtools.providers.discovery import Available
    from nbtools.providers.gemini import Gemini
    from nbtools.providers.local import Local
    from nbtools.providers.ollama import Ollama
    from nbtools.providers.openai import OpenAI
    from nbtools.providers.responses import OpenAIResponses

__all__ = [
    "Anthropic",
    "Demo",
    "Gemini",
    "Local",
    "Ollama",
    "OnWait",
    "OpenAI",
    "OpenAIResponses",
    "Provider",
    "available",
    "resolve",
]


def available() -> Available:
    """Look around for models that this machine could use; see `discovery.available`."""
    from nbtools.providers import discovery  # noqa: PLC0415 - rarely used

    return discovery.available()


def __getattr__(name: str) -> Any:
    """Import the class of a wire when it is first used."""
    found = class_named(name)
    if found is None:
        raise AttributeError(f"module 'nbtools.providers' has no attribute {name!r}")
    return found
