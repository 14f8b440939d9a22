"""A chat in a notebook whose tool calls are live components.

    import nbtools as nb

    @nb.tool(approval=True)
    def drop_rows(table: str, where: str) -> int:
        "Delete the rows of a table that match a condition."
        ...

    chat = nb.Chat("openai:gpt-5.1", tools=[drop_rows])
    chat

Describing tools needs what is imported here. Chats and models, and with them the widgets of the
notebook, are imported when one of their names is first used, by `__getattr__`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtools.errors import (
    AlreadyDecided,
    ChatBusy,
    ChatWaiting,
    InvalidArguments,
    NbtoolsError,
    ProviderError,
    ToolDefinitionError,
    ToolError,
)
from nbtools.limits import Limits
from nbtools.settings import Settings
from nbtools.tools import PENDING, Result, Tool, ToolContext, check_tools, tool

if TYPE_CHECKING:
    from nbtools.audit import read_audit
    from nbtools.chat import Chat
    from nbtools.cost import Cost, use_prices
    from nbtools.providers.anthropic import Anthropic
    from nbtools.providers.connections import Timeouts
    from nbtools.providers.demo import Demo
    from nbtools.providers.fallback import Fallback
    from nbtools.providers.gemini import Gemini
    from nbtools.providers.local import Local
    from nbtools.providers.ollama import Ollama
    from nbtools.providers.openai import OpenAI
    from nbtools.providers.responses import OpenAIResponses
    from nbtools.rules import Rule
    from nbtools.testing import Scripted
    from nbtools.toolsets.mcp import MCP

__version__ = "0.1.0"

__all__ = [
    "MCP",
    "PENDING",
    "AlreadyDecided",
    "Anthropic",
    "Chat",
    "ChatBusy",
    "ChatWaiting",
    "Cost",
    "Demo",
    "Fallback",
    "Gemini",
    "InvalidArguments",
    "Limits",
    "Local",
    "NbtoolsError",
    "Ollama",
    "OpenAI",
    "OpenAIResponses",
    "ProviderError",
    "Result",
    "Rule",
    "Scripted",
    "Settings",
    "Timeouts",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "check_tools",
    "read_audit",
    "tool",
    "use_prices",
]

_LAZY = {
    "MCP": "nbtools.toolsets.mcp",
    "Anthropic": "nbtools.providers.anthropic",
    "Chat": "nbtools.chat",
    "Cost": "nbtools.cost",
    "Demo": "nbtools.providers.demo",
    "Fallback": "nbtools.providers.fallback",
    "Gemini": "nbtools.providers.gemini",
    "Local": "nbtools.providers.local",
    "Ollama": "nbtools.providers.ollama",
    "OpenAI": "nbtools.providers.openai",
    "Rule": "nbtools.rules",
    "OpenAIResponses": "nbtools.providers.responses",
    "Scripted": "nbtools.testing",
    "Timeouts": "nbtools.providers.connections",
    "read_audit": "nbtools.audit",
    "use_prices": "nbtools.cost",
}

_MODULES = frozenset({"errors", "providers", "testing", "tools"})
"""Public modules, which `import nbtools` alone makes reachable."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _MODULES:
        return import_module(f"nbtools.{name}")
    raise AttributeError(f"module 'nbtools' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
