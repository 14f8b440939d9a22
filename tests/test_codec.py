"""The words become JSON and come back."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools import events
from nbtools.codec import decode_conversation, encode
from nbtools.jsontext import digest, dumps
from nbtools.messages import (
    Conversation,
    Data,
    Decision,
    Failure,
    File,
    Message,
    Notice,
    Progress,
    Reasoning,
    Source,
    Text,
    ToolCall,
    Usage,
)

unhurried = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: no property here is about time."""

CALL = ToolCall(
    id="k-1",
    tool="pay",
    state="result",
    args={"to": "Ann", "amount": 0},
    decision=Decision(approved=False, by="person"),
    progress=Progress(fraction=0.0),
    value=0,
    drawn={"text/html": "<b>1</b>"},
    outcome="ok",
)
CONVERSATION = Conversation(
    messages=(
        Message(id="m1", role="user", parts=(Text(id="p1", text="hi"), File(id="p2", mime="a/b"))),
        Message(
            id="m2",
            role="assistant",
            parts=(
                Reasoning(id="p3", sealed={"signature": "x"}),
                CALL,
                Source(id="p4", url="https://example.org"),
                Data(id="p5", name="n", data=[1, None]),
                Notice(id="p6", text="careful", level="warning", retry=True),
            ),
            finish="calls",
            usage=Usage(input=3),
            time=1.5,
        ),
    ),
    status="error",
    error=Failure(kind="RateLimitError", text="slow down", status=429, retry=True),
)


def test_fields_with_their_default_are_left_out_and_type_and_state_never():
    assert encode(ToolCall(id="k-1", tool="pay")) == {
        "type": "tool-call",
        "id": "k-1",
        "tool": "pay",
        "state": "streaming",
    }


def test_values_that_only_look_like_a_default_are_kept():
    encoded = encode(CALL)
    assert encoded["value"] == 0
    assert encoded["progress"] == {"fraction": 0.0}
    assert encoded["decision"] == {"approved": False, "by": "person"}


def test_a_mapping_of_any_kind_becomes_a_dict():
    encoded = encode(ToolCall(id="k", tool="t", args=MappingProxyType({"a": 1})))
    assert dumps(encoded["args"]) == '{"a":1}'


def test_events_are_written_too():
    event = events.ArgsDelta(call="k-1", text="{", args={})
    assert encode(event) == {"type": "args-delta", "call": "k-1", "text": "{", "args": {}}


def test_a_whole_conversation_comes_back_as_it_was():
    assert decode_conversation(encode(CONVERSATION)) == CONVERSATION


def test_what_a_renderer_drew_is_not_saved():
    saved = encode(CONVERSATION, saved=True)
    assert "drawn" not in saved["messages"][1]["parts"][1]
    assert "drawn" in encode(CONVERSATION)["messages"][1]["parts"][1]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "conversation is None, expected an object."),
        ({"odd": 1}, "conversation has no field 'odd'; expected messages, status, error."),
        ({"messages": {}}, "conversation.messages is {}, expected a list."),
        ({"messages": [{"id": "m"}]}, "conversation.messages[0] has no 'role'."),
        (
            {"messages": [{"id": "m", "role": "user", "parts": [{"type": "image"}]}]},
            "conversation.messages[0].parts[0].type is 'image', expected one of 'text',",
        ),
        (
            {"messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "id": 1}]}]},
            "conversation.messages[0].parts[0].id is 1, expected text.",
        ),
        ({"status": "odd"}, "conversation.status is 'odd', expected one of 'ready',"),
        ({"error": {"kind": "a", "text": "b", "retry": 1}}, "error.retry is 1, expected true or"),
        ({"error": {"kind": "a", "text": "b", "status": True}}, "status is True, expected a whole"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_place(data, text):
    with pytest.raises(ValueError, match="conversation") as caught:
        decode_conversation(data)
    assert text in str(caught.value)


def test_text_is_compact_and_strict():
    assert dumps({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps(math.nan)


def test_a_digest_names_tool_and_arguments_and_not_their_order():
    digests = digest("pay", {"a": 1, "b": "é"})
    assert digests == digest("pay", MappingProxyType({"b": "é", "a": 1}))
    assert len(digests) == 16
    assert digests != digest("pay", {"a": "1", "b": "é"})
    assert digests != digest("pays", {"a": 1, "b": "é"})


@unhurried
@given(st.dictionaries(st.text(st.characters(codec=None)), st.text() | st.integers()))
def test_every_argument_has_a_digest(args):
    assert digest("t", args) == digest("t", dict(reversed(args.items())))
