"""The Python values that tools returned, by call and by tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from nbtools.messages import ToolCall

KEPT = 200
"""How many values a chat keeps; the oldest go first."""


class Results(Mapping[str, object]):
    """Values by call id, by handle, and by tool name (the latest). Never saved to a file.

    A handle such as "top_customers#2" stands for one value for good: it is never given again.
    """

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._latest: dict[str, str] = {}
        self._handles: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def keep(self, call: ToolCall, value: object) -> str:
        """Remember the value of a call; return its handle."""
        self._counts[call.tool] += 1
        handle = f"{call.tool}#{self._counts[call.tool]}"
        self._values[call.id] = value
        self._latest[call.tool] = call.id
        self._handles[handle] = call.id
        while len(self._values) > KEPT:
            del self[next(iter(self._values))]
        return handle

    def keep_late(self, call: str, value: object) -> None:
        """Remember what came after the end of its call; only the call's id leads to it."""
        self._values[call] = value

    def take_up(self, calls: Iterable[ToolCall]) -> None:
        """Note the handles that a saved conversation has given: their values are gone."""
        for call in calls:
            tool, _, number = call.handle.rpartition("#")
            if number.isdecimal():
                self._counts[tool] = max(self._counts[tool], int(number))

    def handles(self) -> Iterator[tuple[str, object]]:
        """Give each handle that has a value, with the value, oldest first."""
        for handle, call in tuple(self._handles.items()):
            if call in self._values:
                yield handle, self._values[call]

    def fixed(self, name: str) -> str:
        """Give the handle of the value that a name means now, or the name where it means none."""
        call = self._found(name)
        named = (handle for handle, known in self._handles.items() if known == call)
        return next(named, name)

    def had(self, name: str) -> bool:
        """Say whether a name was once the handle of a value."""
        tool, _, number = name.rpartition("#")
        return number.isdecimal() and 0 < int(number) <= self._counts[tool]

    def _found(self, key: str) -> str:
        return self._handles.get(key) or self._latest.get(key, key)

    def __getitem__(self, key: str) -> object:
        """Return the value of this call, of this handle, or the latest one of this tool."""
        if (found := self._found(key)) in self._values:
            return self._values[found]
        known = ", ".join([*self._latest, *self._values]) or "none yet"
        raise KeyError(f"There is no result of {key!r}; there are: {known}.")

    def __delitem__(self, key: str) -> None:
        """Let go of a value."""
        found = self._found(key)
        del self._values[found]
        self._handles = {name: call for name, call in self._handles.items() if call != found}
        self._latest = {tool: call for tool, call in self._latest.items() if call != found}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._latest, *self._values]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def clear(self) -> None:
        """Let go of every value."""
        self._values.clear()
        self._latest.clear()
        self._handles.clear()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{key}: {type(self[key]).__name__}" for key in self._latest)
        return f"Results({kinds})"
