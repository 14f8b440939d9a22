"""The copy that a page keeps, in Python: it knows `docs/wire.md` and nothing of nbtools."""

from __future__ import annotations

import copy
from typing import Any

Json = Any


class PageCopy:
    """Takes a snapshot and the numbered patches after it.

    Args:
        snapshot: The trait `state`.
    """

    def __init__(self, snapshot: dict[str, Json]) -> None:
        self.behind = False
        """Whether a patch was missed: the page then sends `sync` and waits for a snapshot."""
        self.take(snapshot)

    def take(self, snapshot: dict[str, Json]) -> None:
        """Replace everything."""
        known = copy.deepcopy(snapshot)
        conversation = known["conversation"]
        self.seq: int = known["seq"]
        self.messages: list[Json] = conversation.get("messages", [])
        self.settings: dict[str, Json] = {
            "status": conversation.get("status", "ready"),
            "error": conversation.get("error"),
            **{name: known.get(name) for name in ("model", "renderers", "tools", "choices")},
        }
        self.behind = False

    def receive(self, message: dict[str, Json]) -> None:
        """Take one custom message of Python."""
        if "state" in message:
            self.take(message["state"])
            return
        seq = message.get("seq")
        if seq is None or seq <= self.seq:
            return
        if seq > self.seq + 1:
            self.behind = True
        if self.behind:
            return
        for op in copy.deepcopy(message["ops"]):
            self._apply(*op)
        self.seq = seq

    @property
    def state(self) -> dict[str, Json]:
        """What the page shows, without what has its default."""
        settings = {name: value for name, value in self.settings.items() if value is not None}
        return {"messages": copy.deepcopy(self.messages), **copy.deepcopy(settings)}

    def _apply(self, op: str, *args: Json) -> None:
        match op:
            case "append":
                self._append(*args)
            case "part":
                message, part = args
                _put(self._message(message).setdefault("parts", []), part)
            case "message":
                _put(self.messages, args[0])
            case "fields":
                message, fields = args
                known = self._message(message)
                kept = {"parts": known["parts"]} if "parts" in known else {}
                known.clear()
                known.update({**fields, **kept})
            case "remove":
                self.messages.remove(self._message(args[0]))
            case "set":
                self.settings.update(args[0])
            case _:
                raise AssertionError(f"docs/wire.md has no op {op!r}.")

    def _append(self, part_id: str, field: str, text: str) -> None:
        (part,) = [
            part
            for message in self.messages
            for part in message.get("parts", ())
            if part["id"] == part_id
        ]
        part[field] = part.get(field, "") + text

    def _message(self, message_id: str) -> Json:
        (found,) = [message for message in self.messages if message["id"] == message_id]
        return found


def _put(items: list[Json], item: Json) -> None:
    for place, known in enumerate(items):
        if known["id"] == item["id"]:
            items[place] = item
            return
    items.append(item)
