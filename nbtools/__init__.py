"""A chat in a notebook whose tool calls are live components.

    import nbtools as nb

    @nb.tool(approval=True)
    def drop_rows(table: str, where: str) -> int:
        "Delete the rows of a table that match a condition."
        ...

    chat = nb.Chat("openai:gpt-5.1", tools=[drop_rows])
    chat

What is heavy is imported when it is first needed: the names below that are not imported here are
looked up by `__getattr__`.
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
from nbtools.tools import PENDING, Result, Tool, ToolContext, tool
from nbtools.widget import Chat

if TYPE_CHECKING:
    from nbtools.providers.demo import Demo
    from nbtools.providers.openai import OpenAI
    from nbtools.testing import Scripted

__version__ = "0.1.0"

__all__ = [
    "PENDING",
    "AlreadyDecided",
    "Chat",
    "ChatBusy",
    "ChatWaiting",
    "Demo",
    "InvalidArguments",
    "NbtoolsError",
    "OpenAI",
    "ProviderError",
    "Result",
    "Scripted",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "tool",
]

_LAZY = {
    "Demo": "nbtools.providers.demo",
    "OpenAI": "nbtools.providers.openai",
    "Scripted": "nbtools.testing",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'nbtools' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
