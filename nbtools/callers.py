"""Which call the code at hand runs in: its tool's task or thread knows it, and what that starts."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType

from nbtools.within import Within

_NONE: Mapping[object, str] = MappingProxyType({})
_callers: ContextVar[Mapping[object, str]] = ContextVar("nbtools_callers", default=_NONE)


def calling(chat: object, call_id: str) -> Within[Mapping[object, str]]:
    """Let what runs meanwhile know that it is part of a call.

    Args:
        chat: Whose call; a tool of one chat may use another, whose tools are then part of both.
        call_id: The call.
    """
    return Within(_callers, {**_callers.get(), chat: call_id})


def caller(chat: object) -> str:
    """Return the id of the call of this chat that the code at hand is part of, or ""."""
    return _callers.get().get(chat, "")
