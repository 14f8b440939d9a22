"""The demo: it calls the user's tools by hand, and speaks only of what has happened."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.assembly import Assembly
from nbtools.events import ArgsDelta, PartAdded, TextDelta
from nbtools.messages import (
    Decision,
    Message,
    Outcome,
    Part,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.providers import Demo

ROWS = ToolSpec(
    name="rows",
    description="Count rows.\nSlowly.",
    parameters={
        "type": "object",
        "properties": {"table": {"type": "string"}, "where": {"type": "string"}},
        "required": ["table"],
    },
)
OWN = [tool.spec for tool in Demo().tools]


def user(text: str) -> Message:
    return Message(id="m-u", role="user", parts=(Text(id="p", text=text),))


def ended(call: str, tool: str, outcome: Outcome = "ok", told: str = "3", **fields: Any) -> Message:
    state = "result" if outcome == "ok" else "error"
    part = ToolCall(id=call, tool=tool, state=state, outcome=outcome, told=told, **fields)  # type: ignore[arg-type]
    return Message(id="m-a", role="assistant", parts=(part,))


async def replied(
    *messages: Message, tools: list[ToolSpec] | None = None, **fields: Any
) -> list[Part]:
    """Ask the demo and put its reply together as a conversation would."""
    request = Request(messages=messages, tools=[*OWN, ROWS] if tools is None else tools, **fields)
    assembly = Assembly("m", lambda _: False, iter(map(str, range(1000))).__next__)
    texts: dict[str, str] = {}
    parts: dict[str, Part] = {}
    async for said in Demo(pace=0).stream(request):
        for event in assembly.feed(said):
            if isinstance(event, PartAdded):
                parts[event.part.id] = event.part
                texts[event.part.id] = getattr(event.part, "text", "")
            elif isinstance(event, TextDelta):
                texts[event.part] += event.text
            elif isinstance(event, ArgsDelta):
                texts[event.call] += event.text
    assert assembly.finish == ("calls" if assembly._calls else "stop")
    return [_with(part, texts[name]) for name, part in parts.items()]


def _with(part: Part, text: str) -> Part:
    if isinstance(part, ToolCall):
        return ToolCall(id=part.id, tool=part.tool, raw=text)
    kind = Reasoning if isinstance(part, Reasoning) else Text
    return kind(id=part.id, text=text)


async def text_of(*messages: Message, **fields: Any) -> str:
    return "".join(p.text for p in await replied(*messages, **fields) if isinstance(p, Text))


def calls_in(parts: list[Part]) -> list[tuple[str, str]]:
    return [(part.tool, part.raw) for part in parts if isinstance(part, ToolCall)]


async def test_a_tool_is_called_by_hand_as_a_model_would():
    parts = await replied(user('/rows table=orders where="price < 0"'))
    assert isinstance(parts[0], Text)
    assert parts[0].text == "I call `rows` as you asked."
    assert calls_in(parts) == [("rows", '{"table": "orders", "where": "price < 0"}')]


async def test_what_came_back_is_told_after_a_call():
    text = await text_of(user("/rows table=a"), ended("demo-1-1", "rows", told="3 rows"))
    assert text == "`rows` has run. What came back:\n\n```\n3 rows\n```"


async def test_a_call_that_gave_nothing_is_not_said_to_have_run():
    message = ended("demo-1-1", "rows", "declined", told="The user declined.")
    assert await text_of(user("/rows table=a"), message) == (
        "`rows` gave no result. What I was told: The user declined."
    )


async def test_an_unknown_tool_is_answered_with_those_there_are():
    text = await text_of(user("/row table=a"), tools=[ROWS])
    assert text == "There is no tool `row`. There are: `/rows`. Try `/help`."


async def test_an_argument_that_cannot_be_read_is_said():
    assert await text_of(user("/rows orders")) == (
        "I cannot read that call. 'orders' of /rows should be name=value."
    )


async def test_help_lists_tools_with_their_parameters():
    text = await text_of(user("/help"), tools=[ROWS])
    assert text.splitlines()[-1] == "- `/rows table=… [where=…]`: Count rows."


async def test_help_without_tools_says_how_to_give_some():
    assert "nb.Chat(tools=[…])" in await text_of(user("/help"), tools=[])


async def test_the_tour_begins_with_reasoning_and_two_calls():
    parts = await replied(user("hello"))
    assert [type(part) for part in parts] == [Reasoning, Text, ToolCall, ToolCall]
    assert calls_in(parts) == [
        ("demo_weather", '{"city": "Bergen"}'),
        ("demo_weather", '{"city": "Lisbon"}'),
    ]


WEATHER = [
    ended("demo-1-1", "demo_weather", args={"city": "Bergen"}),
    ended("demo-1-2", "demo_weather", args={"city": "Lisbon"}),
]


async def test_the_tour_goes_on_with_a_call_that_asks():
    parts = await replied(user("hello"), *WEATHER)
    assert isinstance(parts[0], Text)
    assert parts[0].text.startswith("The invented weather of Bergen and Lisbon has come back")
    assert calls_in(parts) == [("demo_delete", '{"file": "old_orders.csv"}')]


async def test_the_tour_claims_no_weather_that_did_not_come():
    failed = [ended(f"demo-1-{n}", "demo_weather", "cancelled", args={}) for n in (1, 2)]
    assert (await text_of(user("hello"), *failed)).startswith("Neither call gave a result")


@pytest.mark.parametrize(
    ("outcome", "decision", "words"),
    [
        ("ok", Decision(approved=True, by="person"), "You approved it, so `demo_delete` ran."),
        ("ok", Decision(approved=True, by="policy"), "The program approved it, so"),
        ("ok", None, "The program let it run without asking, so"),
        ("declined", Decision(approved=False, by="person"), "You declined `demo_delete`. It did"),
        (
            "declined",
            Decision(approved=False, by="person", reason="too old"),
            "You declined `demo_delete`, saying: too old. It did not run.",
        ),
        ("expired", None, "`demo_delete` ended as *expired*. What I was told: 3"),
    ],
)
async def test_the_tour_ends_with_what_was_decided(
    outcome: Outcome, decision: Decision | None, words: str
):
    asked = ended("demo-1-3", "demo_delete", outcome, decision=decision, args={"file": "a"})
    text = await text_of(user("hello"), *WEATHER, asked)
    assert text.startswith(words)
    assert f"| `demo_delete(file=a)` | {outcome} |" in text
    assert "```python" in text
    assert text.endswith("Your own tools: `/rows …`.\n")


async def test_the_tour_without_its_tools_calls_none():
    parts = await replied(user("hello"), tools=[ROWS])
    assert [type(part) for part in parts] == [Text]


async def test_the_demo_keeps_to_a_request_without_calls():
    assert await text_of(user("/rows table=a"), choice="none") == (
        "I may call no more tools in this turn."
    )
    assert calls_in(await replied(user("hello"), choice="none")) == []


async def test_a_second_tour_has_calls_of_its_own():
    first = [part.id for part in await replied(user("hello")) if isinstance(part, ToolCall)]
    again = await replied(user("hello"), *WEATHER, user("again"))
    second = [part.id for part in again if isinstance(part, ToolCall)]
    assert (first, second) == (["demo-1-1", "demo-1-2"], ["demo-2-1", "demo-2-2"])


def test_the_demo_says_what_it_is():
    demo = Demo()
    assert (demo.label, demo.host, demo.demo, demo.slash) == ("demo", "", True, True)
    delete = next(tool for tool in demo.tools if tool.name == "demo_delete")
    assert delete.destructive
