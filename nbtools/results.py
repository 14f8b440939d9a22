"""The Python values that tools returned, by call and by tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from nbtools.checks import expect, whole
from nbtools.messages import ToolCall

KEPT = 200
"""How many values a chat keeps, unless it says otherwise; the oldest go first."""

LISTED = 6
"""How many names the text of an error lists."""


class Results(Mapping[str, object]):
    """Values by call id, by handle, and by tool name (the latest). Never saved to a file.

    A handle such as "top_customers#2" stands for one value for good: it is never given again.

    Args:
        most: How many values are kept; the oldest go first.

    Raises:
        ValueError: `most` is no whole number of 1 or more.
    """

    def __init__(self, most: int = KEPT) -> None:
        expect("max_results", most, (whole(1), "a whole number of 1 or more"))
        self._most = most
        self._let_go: set[str] = set()
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
        self._bound()
        return handle

    def keep_late(self, call: str, value: object) -> None:
        """Remember what came after the end of its call; only the call's id leads to it."""
        self._values[call] = value
        self._bound()

    def _bound(self) -> None:
        while len(self._values) > self._most:
            oldest = next(iter(self._values))
            named = [*self._handles.items(), *self._latest.items()]
            self._let_go |= {oldest, *(name for name, call in named if call == oldest)}
            del self[oldest]

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
        raise KeyError(self._why_not(key))

    def _why_not(self, key: str) -> str:
        known = [*self._latest, *self._values]
        listed = ", ".join(known[:LISTED]) or "none yet"
        more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
        why = f"There is no result of {key!r}"
        if key in self._let_go:
            kept = f"the chat keeps the last {self._most} values (max_results)"
            why = f"The result of {key!r} is not kept any more: {kept}"
        return f"{why}; there are: {listed}{more}."

    def of_call(self, call: str) -> object:
        """Return the value of the call with exactly this id.

        Raises:
            KeyError: It is not kept.
        """
        return self._values[call]

    def __delitem__(self, key: str) -> None:
        """Let go of a value.

        Raises:
            KeyError: There is no such value.
        """
        found = self._found(key)
        if found not in self._values:
            raise KeyError(self._why_not(key))
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
        self._let_go.clear()
        self._latest.clear()
        self._handles.clear()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{key}: {type(self[key]).__name__}" for key in self._latest)
        return f"Results({kinds})"
