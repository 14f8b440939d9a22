"""How the reply of a model becomes parts of a message."""

from __future__ import annotations

from itertools import count

import pytest

from nbtools.assembly import Assembly
from nbtools.errors import StreamError
from nbtools.events import (
    ArgsDelta,
    MessageEnded,
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
    PartAdded,
    PartSealed,
    TextDelta,
)
from nbtools.messages import Finish, Part, Reasoning, Source, Text, ToolCall, Usage


def assembly(*taken: str) -> Assembly:
    numbers = count(1)
    return Assembly("m-1", lambda wanted: wanted in taken, lambda: f"p-{next(numbers)}")


def added(part: Part) -> PartAdded:
    return PartAdded(message="m-1", part=part)


def ended(*events: ModelEvent) -> MessageEnded:
    reply = assembly()
    reply.feed(events)
    return reply.end()


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("text", "str is no model event"),
        (ModelArgs(0, "{}"), "no ModelCall has the key 0"),
        (ModelUsage({"input": 3}), "{'input': 3} is no Usage"),  # type: ignore[arg-type]
        (ModelFault("broken"), "'broken' is no ProviderError"),  # type: ignore[arg-type]
        (ModelFinish("tool_calls"), "finish is 'tool_calls', expected one of '', 'stop', 'calls',"),  # type: ignore[arg-type]
        (ModelFinish("stop", None), "None is no str"),  # type: ignore[arg-type]
        (ModelText(5), "'int' object has no attribute"),  # type: ignore[arg-type]
    ],
    ids=["text", "arguments", "usage", "fault", "finish", "reason", "number"],
)
def test_an_event_that_holds_what_it_cannot_hold_is_named(event: ModelEvent, why: str):
    """A saved conversation with such a field could not be loaded again."""
    with pytest.raises(StreamError) as raised:
        assembly().feed([event])
    assert raised.value.text.startswith(f"The model's provider gave {[event]!r}, expected a list")
    assert why in raised.value.text


def test_adjacent_text_grows_one_part():
    reply = assembly()
    assert reply.feed([ModelText("Hel")]) == [added(Text(id="p-1", text="Hel"))]
    assert reply.feed([ModelText("lo")]) == [TextDelta(part="p-1", text="lo")]


def test_text_after_a_call_is_a_part_of_its_own():
    """W-05: text, call, text stay in this order."""
    events = assembly().feed(
        [
            ModelText("Checking. "),
            ModelCall(0, "k-1", "list_files"),
            ModelArgs(0, "{}"),
            ModelText("Then I'll sum it up."),
        ]
    )
    assert events == [
        added(Text(id="p-1", text="Checking. ")),
        added(ToolCall(id="k-1", tool="list_files")),
        ArgsDelta(call="k-1", text="{}"),
        added(Text(id="p-2", text="Then I'll sum it up.")),
    ]


def test_arguments_that_come_between_two_texts_do_not_part_them():
    reply = assembly()
    reply.feed([ModelCall(0, "k-1", "rows"), ModelText("So")])
    events = reply.feed([ModelArgs(0, "{}"), ModelText(" on")])
    assert events == [ArgsDelta(call="k-1", text="{}"), TextDelta(part="p-1", text=" on")]


def test_reasoning_and_text_take_turns():
    events = assembly().feed([ModelReasoning("Hm."), ModelText("Yes."), ModelReasoning("So?")])
    assert events == [
        added(Reasoning(id="p-1", text="Hm.")),
        added(Text(id="p-2", text="Yes.")),
        added(Reasoning(id="p-3", text="So?")),
    ]


def test_blank_text_opens_no_part_until_there_is_something_to_show():
    reply = assembly()
    assert reply.feed([ModelText("\n"), ModelText("\n")]) == []
    assert reply.feed([ModelText("Hi")]) == [added(Text(id="p-1", text="\n\nHi"))]


def test_blank_text_before_a_call_is_left_out():
    events = assembly().feed([ModelText("\n\n"), ModelCall(0, "k-1", "rows")])
    assert events == [added(ToolCall(id="k-1", tool="rows"))]


def test_a_call_without_an_id_gets_one():
    """W-01: the id is fixed when the call is first seen."""
    events = assembly().feed([ModelCall(0, "", "rows"), ModelArgs(0, "{}")])
    expected = [added(ToolCall(id="p-1", tool="rows")), ArgsDelta(call="p-1", text="{}")]
    assert events == expected


def test_an_id_that_the_conversation_has_is_replaced():
    """W-01: unique in the conversation."""
    assert assembly("k-1").feed([ModelCall(0, "k-1", "rows")]) == [
        added(ToolCall(id="p-1", tool="rows"))
    ]


def test_two_calls_of_one_id_become_two():
    """P-05: variant, the provider sends the same id for both."""
    events = assembly().feed(
        [
            ModelCall("a", "k-1", "grant"),
            ModelCall("b", "k-1", "grant"),
            ModelArgs("a", "1"),
            ModelArgs("b", "2"),
        ]
    )
    assert events == [
        added(ToolCall(id="k-1", tool="grant")),
        added(ToolCall(id="p-1", tool="grant")),
        ArgsDelta(call="k-1", text="1"),
        ArgsDelta(call="p-1", text="2"),
    ]


def test_sealed_material_closes_its_reasoning():
    events = assembly().feed(
        [ModelReasoning("Hm."), ModelReasoning(sealed="s"), ModelReasoning("More.")]
    )
    assert events == [
        added(Reasoning(id="p-1", text="Hm.")),
        PartSealed(part="p-1", sealed="s"),
        added(Reasoning(id="p-2", text="More.")),
    ]


def test_sealed_material_without_text_is_reasoning_too():
    assert assembly().feed([ModelReasoning(sealed="s")]) == [added(Reasoning(id="p-1", sealed="s"))]


def test_text_and_calls_are_sealed_too():
    events = assembly().feed([ModelText("Hi", "s"), ModelText(" "), ModelText(sealed="t")])
    events += assembly().feed([ModelCall(0, "k-1", "rows", "u")])
    assert events == [
        added(Text(id="p-1", text="Hi")),
        PartSealed(part="p-1", sealed="s"),
        added(Text(id="p-2", text=" ", sealed="t")),
        added(ToolCall(id="k-1", tool="rows", sealed="u")),
    ]


def test_a_refusal_is_a_text_of_its_own():
    events = assembly().feed([ModelText("Well."), ModelRefusal("I will not.")])
    assert events[1:] == [added(Text(id="p-2", text="I will not."))]


def test_a_whole_part_gets_an_id_of_the_conversation():
    source = Source(id="", url="https://a.example")
    assert assembly().feed([ModelPart(source)]) == [
        added(Source(id="p-1", url="https://a.example"))
    ]


def test_the_last_usage_and_finish_count():
    end = ended(
        ModelText("Hi"),
        ModelUsage(Usage(input=1)),
        ModelUsage(Usage(input=2)),
        ModelFinish("stop", "eos"),
    )
    assert end == MessageEnded(
        message="m-1", finish="stop", reason="eos", usage=Usage(input=2), time=None
    )


CALL = ModelCall(0, "k-1", "rows")


@pytest.mark.parametrize(
    ("events", "finish"),
    [
        ([ModelText("Hi")], "cut"),
        ([CALL], "cut"),
        ([CALL, ModelFinish("stop")], "calls"),
        ([CALL, ModelFinish("other")], "calls"),
        ([CALL, ModelFinish("length")], "length"),
        ([CALL, ModelFinish("filter")], "filter"),
        ([ModelFinish("calls")], "stop"),
        ([ModelFinish("other")], "other"),
        ([CALL, ModelFinish("calls"), ModelFault(StreamError("No."))], "failed"),
    ],
)
def test_the_calls_decide_how_a_message_ended(events: list[ModelEvent], finish: Finish):
    """W-06: and nothing turns length, a filter, a cut or a fault into success."""
    assert ended(*events).finish == finish


def test_a_fault_is_kept_for_the_person():
    reply = assembly()
    error = StreamError("No.")
    assert reply.feed([ModelFault(error)]) == []
    assert reply.fault is error


def test_a_call_does_not_take_the_id_of_one_that_the_provider_ran():
    ran = ToolCall(id="k-1", tool="search", state="result", outcome="ok", origin="provider")
    events = assembly().feed([ModelPart(ran), ModelCall("a", "k-1", "rows")])
    assert [event.part.id for event in events if isinstance(event, PartAdded)] == ["k-1", "p-1"]
