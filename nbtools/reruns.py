"""Which chats an earlier run of a cell made: their outputs are gone when it runs again."""

from __future__ import annotations

import weakref
from typing import Protocol

from nbtools import display


class Closable(Protocol):
    """What a cell made."""

    def close(self) -> None:
        """End it."""


_by_cell: dict[str, tuple[str, weakref.WeakSet[Closable]]] = {}


def close_earlier(chat: Closable) -> None:
    """Note what the running cell made, and close what an earlier run of it made."""
    cell, run = display.current_cell()
    if not cell:
        return
    last, made = _by_cell.get(cell, ("", weakref.WeakSet()))
    if last != run:
        for old in list(made):
            old.close()
        made = weakref.WeakSet()
    made.add(chat)
    _by_cell[cell] = (run, made)
