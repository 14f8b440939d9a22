"""Who speaks Chat Completions besides OpenAI: name, address, and where the key is kept.

The key of one vendor is never sent to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"
_AZURE = (".openai.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True, kw_only=True, slots=True)
class Vendor:
    """One vendor of models, or a server on this machine."""

    name: str
    """What stands before the colon of a model's name."""
    title: str
    """What people call it."""
    address: str = ""
    variable: str = ""
    """The environment variable of its key; "" if it wants none."""
    example: str = ""
    """A model of its own that calls tools well."""


VENDORS = (
    Vendor(
        name="openrouter",
        title="OpenRouter",
        address="https://openrouter.ai/api/v1",
        variable="OPENROUTER_API_KEY",
        example="openrouter/auto",
    ),
    Vendor(
        name="groq",
        title="Groq",
        address="https://api.groq.com/openai/v1",
        variable="GROQ_API_KEY",
        example="openai/gpt-oss-120b",
    ),
    Vendor(
        name="mistral",
        title="Mistral",
        address="https://api.mistral.ai/v1",
        variable="MISTRAL_API_KEY",
        example="mistral-medium-latest",
    ),
    Vendor(
        name="deepseek",
        title="DeepSeek",
        address="https://api.deepseek.com/v1",
        variable="DEEPSEEK_API_KEY",
        example="deepseek-chat",
    ),
    Vendor(
        name="xai",
        title="xAI",
        address="https://api.x.ai/v1",
        variable="XAI_API_KEY",
        example="grok-4.7",
    ),
    Vendor(
        name="together",
        title="Together",
        address="https://api.together.xyz/v1",
        variable="TOGETHER_API_KEY",
        example="meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
)
LOCAL_SERVERS = (
    Vendor(name="lmstudio", title="LM Studio", address="http://127.0.0.1:1234/v1"),
    Vendor(name="llama-server", title="llama-server", address="http://127.0.0.1:8080/v1"),
)
_VARIABLES = {urlsplit(vendor.address).netloc: vendor.variable for vendor in VENDORS}


def variable_of(host: str) -> str:
    """Give the environment variable that holds the key for a server.

    Args:
        host: The server's host name.
    """
    if host.endswith(_AZURE):
        return "AZURE_OPENAI_API_KEY"
    return _VARIABLES.get(host, "OPENAI_API_KEY")


def wants_key(host: str) -> bool:
    """Say whether a server belongs to a vendor that answers nobody without a key.

    Args:
        host: The server's host name.
    """
    return host in _VARIABLES or host.endswith(_AZURE)


def is_openai(host: str) -> bool:
    """Say whether a server is OpenAI's own, or runs OpenAI's models as they are.

    Args:
        host: The server's host name.
    """
    return host == urlsplit(OPENAI).netloc or host.endswith(_AZURE[0])


def key_headers(host: str, key: str) -> dict[str, str]:
    """Give the headers that carry a key to a server.

    Args:
        host: The server's host name.
        key: The key; "" if there is none.
    """
    if not key:
        return {}
    return {"api-key": key} if host.endswith(_AZURE) else {"authorization": f"Bearer {key}"}
