"""How far one action takes a conversation by itself, and with which tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from nbtools import budget
from nbtools.messages import Conversation
from nbtools.planner import Ask, Step
from nbtools.reducer import calls_of

_CHOICES = ("auto", "none", "required")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How far a conversation goes before it comes to rest; by default, to its end."""

    requests: int | None = None
    """How many requests may go out; None: as many as it takes."""
    calls: bool = True
    """Whether calls are run."""
    until: str = ""
    """The tool after whose first success no request goes out."""
    tools: frozenset[str] | None = None
    """The names of the tools that are offered; None: all that the chat has."""

    def check(self, known: Mapping[str, object], choice: str | None) -> None:
        """Make sure that what is named is there.

        Args:
            known: The tools of the chat.
            choice: Which tool has to be called, as `Settings.tool_choice`.

        Raises:
            ValueError: A name is that of no tool; the text quotes it.
        """
        for name in (*sorted(self.tools or ()), *filter(None, [self.until])):
            if name not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise ValueError(f"There is no tool {name!r}; the chat has {listed}.")
        offered = [name for name in known if self.offers(name)]
        if self.until and self.until not in offered:
            listed = ", ".join(map(repr, offered)) or "none"
            raise ValueError(f"until is {self.until!r}, and the tools offered are {listed}.")
        if choice is not None and choice not in (*_CHOICES, *offered):
            listed = ", ".join(map(repr, (*_CHOICES, *offered)))
            raise ValueError(f"tool_choice is {choice!r}; expected one of {listed}.")

    def offers(self, tool: str) -> bool:
        """Say whether the model may call a tool."""
        return self.tools is None or tool in self.tools

    def allowed(self, steps: Iterable[Step], conversation: Conversation) -> tuple[Step, ...]:
        """Leave out the steps that this pace does not take."""
        asks = self.requests != 0 and not self._has_arrived(conversation)
        return tuple(step for step in steps if (asks if isinstance(step, Ask) else self.calls))

    def after(self, step: Step) -> Pace:
        """Give the pace that is left when a step was taken."""
        if not isinstance(step, Ask) or self.requests is None:
            return self
        return replace(self, requests=max(0, self.requests - 1))

    def _has_arrived(self, conversation: Conversation) -> bool:
        return bool(self.until) and any(
            call.tool == self.until and call.outcome == "ok"
            for message in budget.turn(conversation)
            for call in calls_of(message)
        )


TO_THE_END = Pace()
"""The pace of most actions."""
