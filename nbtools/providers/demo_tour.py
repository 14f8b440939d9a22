"""The guided tour of the demo: reasoning, parallel calls, an approval, text after a result."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nbtools.messages import Request, ToolCall
from nbtools.providers.script import CallTool, Say, Step

_CITIES = ("Bergen", "Lisbon")
_FILE = "old_orders.csv"
_OWN = {"demo_weather", "demo_delete"}

_THOUGHT = (
    "This is the demo, so I follow a script: two calls at the same time, then one that has to ask "
    "first, then an answer that uses what came back."
)
_WELCOME = (
    "I am a **demo, not a language model**: a script that shows what this chat does. "
    "First I call a tool twice, for two cities at the same time."
)
_NO_TOOLS = (
    "I am a **demo, not a language model**, and there is nothing I may call here, so I can show "
    'you only text. Name a model to talk to one: `nb.Chat("openai:gpt-5.1")`.'
)
_ASK = (
    "Next comes a tool that has to ask first. **Nothing happens until you decide**: approve it, "
    "edit its arguments, or decline and say why."
)
_REST = """
What to try next:

- type `/help` to see the tools, and how to call each by hand
- open a card to see its arguments again
- give the chat a tool of your own:

```python
@nb.tool(approval=True)
def drop_rows(table: str, where: str) -> int:
    \"\"\"Delete the rows of a table that match a condition.\"\"\"
    ...

nb.Chat(tools=[drop_rows])
```
"""


def reply(request: Request, calls: Sequence[ToolCall]) -> list[Step]:
    """Go on with the tour.

    Args:
        request: The question.
        calls: The calls that were made since the user last wrote.

    Returns:
        The next reply.
    """
    number = sum(message.role == "user" for message in request.messages)
    known = {tool.name for tool in request.tools}
    open_to_calls = request.choice == "auto" and known >= _OWN
    if not calls and not open_to_calls:
        return [Say(text=_NO_TOOLS)]
    if not calls:
        return _first(number)
    asked = [call for call in calls if call.tool == "demo_delete"]
    if not asked and open_to_calls:
        return _second(number, calls)
    return [Say(text=_last(request, calls, asked))]


def _first(number: int) -> list[Step]:
    calls = [
        CallTool(
            tool="demo_weather",
            raw=json.dumps({"city": city}, ensure_ascii=False),
            call=f"demo-{number}-{place}",
        )
        for place, city in enumerate(_CITIES, start=1)
    ]
    return [Say(text=_THOUGHT, reasoning=True), Say(text=_WELCOME), *calls]


def _second(number: int, calls: Sequence[ToolCall]) -> list[Step]:
    raw = json.dumps({"file": _FILE})
    return [
        Say(text=f"{_weather(calls)}\n\n{_ASK}"),
        CallTool(tool="demo_delete", raw=raw, call=f"demo-{number}-{len(_CITIES) + 1}"),
    ]


def _weather(calls: Sequence[ToolCall]) -> str:
    """Say how many of the calls gave something, and what."""
    good = [call for call in calls if call.tool == "demo_weather" and call.outcome == "ok"]
    if not good:
        return "Neither call gave a result, which is part of the life of a call too."
    cities = " and ".join(str((call.args or {}).get("city", "?")) for call in good)
    return f"The invented weather of {cities} has come back; see the cards above."


def _last(request: Request, calls: Sequence[ToolCall], asked: Sequence[ToolCall]) -> str:
    own = [tool.name for tool in request.tools if tool.name not in _OWN]
    yours = f"\nYour own tools: {', '.join(f'`/{name} …`' for name in own)}.\n" if own else ""
    decided = "\n\n".join(_decided(call) for call in asked)
    table = "\n".join(["| call | how it ended |", "|---|---|", *(_row(call) for call in calls)])
    return f"{decided}\n\nThe calls of this tour:\n\n{table}\n{_REST}{yours}".lstrip()


def _decided(call: ToolCall) -> str:
    """Say what was decided, by whom, and what came of it."""
    decision = call.decision
    who = "You" if decision is not None and decision.by == "person" else "The program"
    reason = f", saying: {decision.reason}" if decision is not None and decision.reason else ""
    if call.outcome == "ok":
        verb = "let it run without asking" if decision is None else f"approved it{reason}"
        edited = " The arguments were edited first." if call.proposed is not None else ""
        return f"{who} {verb}, so `{call.tool}` ran.{edited} It said: {call.told}"
    if call.outcome == "declined":
        return f"{who} declined `{call.tool}`{reason}. It did not run."
    return f"`{call.tool}` ended as *{call.outcome}*. What I was told: {call.told}"


def _row(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={value}" for name, value in (call.args or {}).items())
    shown = arguments.replace("|", r"\|").replace("`", "")
    return f"| `{call.tool}({shown})` | {call.outcome} |"
