"""Who speaks Chat Completions besides OpenAI: name, address, and where the key is kept.

A key goes only to the vendor that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Vendor:
    """One vendor of models."""

    name: str
    """What stands before the colon of a model's name."""
    address: str
    variable: str
    """The environment variable of its key."""


VENDORS = (
    Vendor(
        name="openrouter", address="https://openrouter.ai/api/v1", variable="OPENROUTER_API_KEY"
    ),
    Vendor(name="groq", address="https://api.groq.com/openai/v1", variable="GROQ_API_KEY"),
    Vendor(name="mistral", address="https://api.mistral.ai/v1", variable="MISTRAL_API_KEY"),
    Vendor(name="deepseek", address="https://api.deepseek.com/v1", variable="DEEPSEEK_API_KEY"),
    Vendor(name="xai", address="https://api.x.ai/v1", variable="XAI_API_KEY"),
    Vendor(name="together", address="https://api.together.xyz/v1", variable="TOGETHER_API_KEY"),
)
_VARIABLES = {urlsplit(vendor.address).netloc: vendor.variable for vendor in VENDORS}


def variable_of(host: str) -> str:
    """Give the environment variable that holds the key for a server.

    Args:
        host: The server's host name.
    """
    if host.endswith(".openai.azure.com"):
        return "AZURE_OPENAI_API_KEY"
    return _VARIABLES.get(host, "OPENAI_API_KEY")
