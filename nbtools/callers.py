"""Which call the code at hand runs in: its tool's task or thread knows it, and what that starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NONE: Mapping[object, str] = MappingProxyType({})
_callers: ContextVar[Mapping[object, str]] = ContextVar("nbtools_callers", default=_NONE)


@contextmanager
def calling(chat: object, call_id: str) -> Iterator[None]:
    """Let what runs meanwhile know that it is part of a call.

    Args:
        chat: Whose call; a tool of one chat may use another, whose tools are then part of both.
        call_id: The call.
    """
    token = _callers.set({**_callers.get(), chat: call_id})
    try:
        yield
    finally:
        _callers.reset(token)


def caller(chat: object) -> str:
    """Return the id of the call of this chat that the code at hand is part of, or ""."""
    return _callers.get().get(chat, "")
