"""A stand-in for a model: it calls the user's tools by hand, and else gives a short tour.

Where it is in a conversation it reads from the messages alone, and it speaks only of what they say
has happened.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from nbtools.events import ModelEvent
from nbtools.messages import Json, Message, Request, Text, ToolCall, ToolSpec
from nbtools.providers import demo_tour as tour
from nbtools.providers.base import OnWait, Provider
from nbtools.providers.script import CallTool, Say, Step, play
from nbtools.slash import Slash, parse_slash

if TYPE_CHECKING:
    from nbtools.tools import Tool

_EVERY = 6
_DELAY = 0.025


class Demo(Provider):
    """A deterministic stand-in that is no language model and needs no key.

    Args:
        pace: How slowly it speaks: 1 takes a few seconds for the tour, 0 no time at all.
    """

    label = "demo"
    demo = True
    slash = True

    def __init__(self, *, pace: float = 1.0) -> None:
        self._pace = pace

    @cached_property
    def tools(self) -> Sequence[Tool]:  # type: ignore[override]
        """The tools of the tour."""
        from nbtools.providers.demo_tools import demo_delete, demo_weather  # noqa: PLC0415

        return (demo_weather, demo_delete)

    async def stream(
        self,
        request: Request,
        *,
        on_wait: OnWait | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Answer as the messages ask for; see `Provider.stream`."""
        async for events in play([self._paced(step) for step in _reply(request)]):
            yield events

    def _paced(self, step: Step) -> Step:
        match step:
            case Say(text=text, reasoning=reasoning):
                return Say(text=text, reasoning=reasoning, every=_EVERY, delay=_DELAY * self._pace)
            case CallTool(tool=tool, raw=raw, call=call):
                delay = _DELAY * self._pace
                return CallTool(tool=tool, raw=raw, call=call, every=_EVERY, delay=delay)
        return step


def _reply(request: Request) -> Iterable[Step]:
    asked, calls = _turn(request.messages)
    try:
        typed = parse_slash(asked)
    except ValueError as error:
        return [Say(text=f"I cannot read that call. {error}")]
    if typed is None:
        return tour.reply(request, calls)
    if typed.name == "help":
        return [Say(text=_help(request.tools))]
    return _by_hand(request, typed, calls)


def _turn(messages: Sequence[Message]) -> tuple[str, list[ToolCall]]:
    """Give the last user text, and the calls that were made since."""
    since = list(takewhile(lambda message: message.role != "user", reversed(messages)))
    asked = messages[-len(since) - 1].parts if len(since) < len(messages) else ()
    calls = [
        part for message in reversed(since) for part in message.parts if isinstance(part, ToolCall)
    ]
    return "".join(part.text for part in asked if isinstance(part, Text)), calls


def _by_hand(request: Request, typed: Slash, calls: Sequence[ToolCall]) -> list[Step]:
    if calls:
        return [Say(text=_outcome(call)) for call in calls]
    names = [tool.name for tool in request.tools]
    if typed.name not in names:
        known = ", ".join(f"`/{name}`" for name in names) or "none"
        return [Say(text=f"There is no tool `{typed.name}`. There are: {known}. Try `/help`.")]
    if request.choice == "none":
        return [Say(text="I may call no more tools in this turn.")]
    raw = json.dumps(typed.args, ensure_ascii=False)
    number = sum(message.role == "user" for message in request.messages)
    return [
        Say(text=f"I call `{typed.name}` as you asked."),
        CallTool(tool=typed.name, raw=raw, call=f"demo-{number}-1"),
    ]


def _outcome(call: ToolCall) -> str:
    if call.outcome != "ok":
        return f"`{call.tool}` gave no result. What I was told: {call.told}"
    if not call.told.strip():
        return f"`{call.tool}` has run and returned nothing."
    return f"`{call.tool}` has run. What came back:\n\n{_fenced(call.told)}"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _help(tools: Sequence[ToolSpec]) -> str:
    if not tools:
        return "There are no tools. Pass some: `nb.Chat(tools=[…])`."
    lines = [f"- `{usage(tool)}`: {tool.description.strip().splitlines()[0]}" for tool in tools]
    return "\n".join(["The tools, and how to call them:", "", *lines])


def usage(tool: ToolSpec) -> str:
    """Show how a tool is called by hand.

    Args:
        tool: What the model is told about it.

    Returns:
        Such as "/drop_rows table=… [where=…]".
    """
    fields: dict[str, Json] = tool.parameters.get("properties") or {}
    needed = tool.parameters.get("required") or ()
    words = [f"{name}=…" if name in needed else f"[{name}=…]" for name in fields]
    return " ".join([f"/{tool.name}", *words])
