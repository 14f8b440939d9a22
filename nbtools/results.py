"""The Python values that tools returned, by call and by tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbtools.messages import ToolCall

KEPT = 200
"""How many values a chat keeps; the oldest go first."""


class Results(Mapping[str, object]):
    """Values by call id, and by tool name (the latest). Deletable; never saved to a file."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._latest: dict[str, str] = {}

    def keep(self, call: ToolCall, value: object) -> None:
        """Remember the value of a call."""
        self._values[call.id] = value
        self._latest[call.tool] = call.id
        while len(self._values) > KEPT:
            del self[next(iter(self._values))]

    def __getitem__(self, key: str) -> object:
        """Return the value of this call, or the latest one of this tool."""
        if (found := self._latest.get(key, key)) in self._values:
            return self._values[found]
        known = ", ".join([*self._latest, *self._values]) or "none yet"
        raise KeyError(f"There is no result of {key!r}; there are: {known}.")

    def __delitem__(self, key: str) -> None:
        """Let go of a value."""
        found = self._latest.get(key, key)
        del self._values[found]
        self._latest = {tool: call for tool, call in self._latest.items() if call != found}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._latest, *self._values]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def clear(self) -> None:
        """Let go of every value."""
        self._values.clear()
        self._latest.clear()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{key}: {type(self[key]).__name__}" for key in self._latest)
        return f"Results({kinds})"
