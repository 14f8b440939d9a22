"""The Responses wire: what is made of an answer, and what a request looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import errors
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
)
from nbtools.messages import File, Message, Reasoning, Request, Source, Text, ToolCall, ToolSpec
from nbtools.messages import Usage as Used
from nbtools.providers import OpenAIResponses
from nbtools.providers.responses import Decoder
from nbtools.testing import decode
from tests.replay import asked, events_of, replied

Body = dict[str, Any]
ARO = '{"port":"Aro"}'
TIDE = ToolSpec(name="tide_at", description="Tell the tide.", parameters={"type": "object"})


def stream(*events: Body) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def added(index: int, item: Body) -> Body:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: Body) -> Body:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, text: str, **fields: Any) -> Body:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text, **fields}


def ended(status: str = "completed", **response: Any) -> Body:
    return {"type": f"response.{status}", "response": {"status": status, **response}}


def function_call(call: str = "call-1", arguments: str = ARO, **fields: Any) -> Body:
    item = {"type": "function_call", "id": f"fc-{call}", "call_id": call, "name": "tide_at"}
    return {**item, "arguments": arguments, **fields}


def called(index: int, call: str, *pieces: str) -> list[Body]:
    whole = "".join(pieces)
    return [
        added(index, function_call(call, "")),
        *(delta("function_call_arguments", index, piece) for piece in pieces),
        done(index, function_call(call, whole)),
    ]


def text_item(text: str, *annotations: Body, **fields: Any) -> Body:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": "msg-1", "role": "assistant", "content": [part], **fields}


def thought(item: str = "rs-1", *summary: str, sealed: str | None = "b3BhcXVl") -> Body:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": item, "summary": parts, "encrypted_content": sealed}


def calls_of(body: str) -> list[tuple[str | None, str, str | None]]:
    """Give id, name and argument text of each call, and check that every cut agrees."""
    whole, bytewise = (
        decode("openai-responses", 200, {}, body.encode(), chunk=size) for size in (None, 1)
    )
    assert whole == bytewise
    return [(c["id"], c["name"], c["arguments_raw"]) for c in whole["tool_calls"]]


def input_of(*messages: Message, **fields: Any) -> list[Body]:
    request = Request(messages=[asked("Hi"), *messages], **fields)
    items: list[Body] = OpenAIResponses("gpt-5.1").encode(request)["input"][1:]
    return items


# Answers


def test_a_text_streams_with_its_usage_and_its_end():
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    details = {
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    body = stream(
        {"type": "response.created", "response": {}},
        added(0, {"type": "message", "id": "msg-1", "content": []}),
        delta("output_text", 0, "Good "),
        delta("output_text", 0, "day."),
        done(0, text_item("Good day.")),
        ended(usage={**usage, **details}),
    )
    assert events_of(Decoder(), body) == [
        ModelText("Good day."),
        ModelText(sealed={"wire": "openai-responses", "id": "msg-1"}),
        ModelUsage(Used(input=9, output=3, total=12, cached=4, reasoning=1)),
        ModelFinish("stop", "completed"),
    ]


def test_parallel_calls_are_told_apart_by_their_place():
    """W-04: pieces of two calls, interleaved."""
    body = stream(
        added(0, function_call("call-1", "")),
        added(1, function_call("call-2", "")),
        delta("function_call_arguments", 0, '{"port":'),
        delta("function_call_arguments", 1, "{}"),
        delta("function_call_arguments", 0, '"Aro"}'),
        done(0, function_call("call-1", ARO)),
        done(1, function_call("call-2", "{}")),
        ended(),
    )
    assert calls_of(body) == [("call-1", "tide_at", ARO), ("call-2", "tide_at", "{}")]


def test_a_missing_place_means_the_item_that_is_open():
    """W-01: llama.cpp leaves `output_index` out."""
    bare = [
        {name: value for name, value in event.items() if name != "output_index"}
        for event in [*called(0, "call-1", '{"port":', '"Aro"}'), *called(1, "call-2", "{}")]
    ]
    body = stream(*bare, ended())
    assert calls_of(body) == [("call-1", "tide_at", ARO), ("call-2", "tide_at", "{}")]


@pytest.mark.parametrize("place", [{}, {"output_index": 0}])
def test_parallel_calls_that_are_interleaved_without_a_place_are_told_apart_by_id(place: Body):
    """W-04: no call is run with the arguments of another, or with none."""
    begun = [added(0, function_call(call, "")) for call in ("call-1", "call-2")]
    pieces = [("fc-call-2", '{"port":'), ("fc-call-1", "{}"), ("fc-call-2", '"Aro"}')]
    grown = [delta("function_call_arguments", 0, text, item_id=name) for name, text in pieces]
    closed = [done(0, function_call("call-1", "{}")), done(0, function_call("call-2", ARO))]
    bare = [{k: v for k, v in each.items() if k != "output_index"} | place for each in begun]
    bare += [{k: v for k, v in each.items() if k != "output_index"} | place for each in grown]
    bare += [{k: v for k, v in each.items() if k != "output_index"} | place for each in closed]
    body = stream(*bare, ended())
    assert calls_of(body) == [("call-1", "tide_at", "{}"), ("call-2", "tide_at", ARO)]


def test_arguments_that_come_only_when_they_are_whole_are_read():
    whole = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ARO}
    body = stream(added(0, function_call("call-1", "")), whole, ended())
    assert calls_of(body) == [("call-1", "tide_at", ARO)]
    body = stream(*called(0, "call-1", ARO)[:-1], whole, *called(0, "call-1", ARO)[-1:], ended())
    assert calls_of(body) == [("call-1", "tide_at", ARO)]


def test_what_the_stream_left_out_is_read_from_the_end():
    """No call is run without arguments that the server gave, and none is passed over."""
    output = [text_item("Hi there"), function_call(), function_call("call-2", "{}")]
    body = stream(
        delta("output_text", 0, "Hi "), added(1, function_call("call-1", "")), ended(output=output)
    )
    answer = decode("openai-responses", 200, {}, body.encode())
    assert answer["text"] == "Hi there"
    assert calls_of(body) == [("call-1", "tide_at", ARO), ("call-2", "tide_at", "{}")]


def test_what_the_end_repeats_is_read_once():
    repeated = [text_item("Hi", id="other"), function_call(id="another"), thought("rs-9", "Hm.")]
    body = stream(
        added(0, thought("rs-1")),
        delta("reasoning_summary_text", 0, "Hm.", summary_index=0),
        done(0, thought("rs-1", "Hm.")),
        delta("output_text", 1, "Hi"),
        done(1, text_item("Hi")),
        *called(2, "call-1", ARO),
        ended(output=repeated),
    )
    answer = decode("openai-responses", 200, {}, body.encode())
    assert (answer["text"], answer["reasoning"]) == ("Hi", "Hm.")
    assert calls_of(body) == [("call-1", "tide_at", ARO)]


def test_arguments_that_only_the_whole_item_has_are_made_up_for():
    body = stream(added(0, function_call("call-1", "")), done(0, function_call()), ended())
    assert calls_of(body) == [("call-1", "tide_at", ARO)]


def test_items_that_only_the_end_has_are_read_from_it():
    body = stream(ended(output=[text_item("Hi"), function_call()]))
    answer = decode("openai-responses", 200, {}, body.encode())
    assert (answer["text"], len(answer["tool_calls"])) == ("Hi", 1)


def test_a_call_without_arguments_is_a_call():
    """W-02: empty text; what means {} is read where arguments are parsed."""
    assert calls_of(stream(*called(0, "call-1"), ended())) == [("call-1", "tide_at", None)]


def test_text_and_calls_come_in_the_order_of_the_stream():
    """W-05: text, call, text."""
    body = stream(
        delta("output_text", 0, "Checking. "),
        *called(1, "call-1", ARO),
        delta("output_text", 2, "Then I'll sum it up."),
        ended(),
    )
    kinds = [type(event) for event in events_of(Decoder(), body)]
    assert kinds == [ModelText, ModelCall, ModelArgs, ModelText, ModelFinish]


@pytest.mark.parametrize(
    ("event", "finish"),
    [
        (ended(), ModelFinish("stop", "completed")),
        (
            ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
            ModelFinish("length", "incomplete:max_output_tokens"),
        ),
        (
            ended("incomplete", incomplete_details={"reason": "content_filter"}),
            ModelFinish("filter", "incomplete:content_filter"),
        ),
        (ended("cancelled"), ModelFinish("cut", "cancelled")),
    ],
)
def test_the_end_is_told_in_our_words_and_the_servers(event: Body, finish: ModelFinish):
    """W-06: with its own word kept."""
    assert events_of(Decoder(), stream(event))[-1] == finish


def test_calls_make_the_end_one_of_calls():
    """W-06: `completed` says nothing of calls."""
    body = stream(*called(0, "call-1", ARO), ended())
    assert events_of(Decoder(), body)[-1] == ModelFinish("calls", "completed")


def test_a_stream_without_an_end_broke_off():
    """W-11: half a call."""
    body = stream(*called(0, "call-1", '{"port":"Aro"}')[:2])
    assert not [e for e in events_of(Decoder(), body) if isinstance(e, ModelFinish)]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "busy"},
        {"type": "error", "error": {"type": "server_error", "message": "busy"}},
        ended("failed", error={"code": "server_error", "message": "busy"}),
    ],
)
def test_an_error_inside_a_stream_ends_it_with_its_words(event: Body):
    """W-09: flat, nested, and a response that failed."""
    fault = events_of(Decoder(), stream(delta("output_text", 0, "The answ"), event))[-1]
    assert isinstance(fault, ModelFault)
    assert type(fault.error) is errors.OverloadedError
    assert fault.error.text == "The provider reported an error (server_error): busy"


def test_a_refusal_is_told_apart_from_text():
    item = {"type": "message", "id": "msg-1", "content": [{"type": "refusal", "refusal": "No."}]}
    body = stream(delta("refusal", 0, "N"), done(0, item), ended())
    events = events_of(Decoder(), body)
    assert events[:2] == [ModelRefusal("N"), ModelRefusal("o.")]


def test_sources_come_once_and_after_the_text():
    note = {"type": "url_citation", "url": "https://a.example", "title": "A"}
    body = stream(
        delta("output_text", 0, "Hi"),
        {"type": "response.output_text.annotation.added", "annotation": note},
        done(0, text_item("Hi", note)),
        ended(),
    )
    found = [e.part for e in events_of(Decoder(), body) if isinstance(e, ModelPart)]
    assert found == [Source(id="", url="https://a.example", title="A")]


def test_each_part_of_a_summary_is_a_thought_of_its_own():
    body = stream(
        added(0, {"type": "reasoning", "id": "rs-1", "summary": []}),
        delta("reasoning_summary_text", 0, "One.", summary_index=0),
        delta("reasoning_summary_text", 0, "Two.", summary_index=1),
        done(0, thought("rs-1", "One.", "Two.")),
        ended(),
    )
    thoughts = [part for part in replied(Decoder(), body).parts if isinstance(part, Reasoning)]
    assert [part.text for part in thoughts] == ["One.", "Two."]


def test_what_was_thought_is_shown_once_though_it_comes_as_summary_and_as_text():
    body = stream(
        added(0, {"type": "reasoning", "id": "rs-1"}),
        delta("reasoning_text", 0, "Long."),
        delta("reasoning_summary_text", 0, "Short.", summary_index=0),
        done(0, thought("rs-1", "Short.")),
        ended(),
    )
    said = [e.text for e in events_of(Decoder(), body) if isinstance(e, ModelReasoning) and e.text]
    assert said == ["Long."]


def test_what_the_provider_ran_is_a_call_of_its_own_with_its_result():
    ran = {
        "type": "code_interpreter_call",
        "id": "ci-1",
        "status": "completed",
        "code": "1 + 1",
        "outputs": [{"type": "logs", "logs": "2"}],
    }
    (part,) = replied(Decoder(), stream(done(0, ran), ended())).parts
    assert isinstance(part, ToolCall)
    shown = (part.tool, part.origin, part.state, part.args, part.value)
    expected = {"code": "1 + 1"}, [{"type": "logs", "logs": "2"}]
    assert shown == ("code_interpreter", "provider", "result", *expected)


def test_a_result_that_comes_as_an_item_of_its_own_joins_its_call():
    asking = {"type": "shell_call", "call_id": "c-1", "action": {"commands": ["ls"]}}
    output = {"type": "shell_call_output", "call_id": "c-1", "output": [{"stdout": "a.csv"}]}
    (part,) = replied(Decoder(), stream(done(0, asking), done(1, output), ended())).parts
    assert isinstance(part, ToolCall)
    assert (part.args, part.value) == ({"commands": ["ls"]}, [{"stdout": "a.csv"}])


def test_what_is_asked_of_us_beyond_functions_is_an_error_that_says_so():
    asking = {"type": "local_shell_call", "id": "l-1", "call_id": "c-1", "action": {"type": "exec"}}
    message = replied(Decoder(), stream(done(0, asking), ended()))
    (part,) = message.parts
    assert isinstance(part, ToolCall)
    assert (part.state, part.outcome) == ("error", "unknown")
    assert "'local_shell_call'" in part.error
    assert input_of(message) == []


def test_a_picture_that_the_provider_made_is_a_file_and_goes_back():
    item = {"type": "image_generation_call", "id": "ig-1", "status": "completed", "result": "AAAA"}
    message = replied(Decoder(), stream(done(0, item), ended()))
    files = [part for part in message.parts if isinstance(part, File)]
    assert [(file.mime, file.data) for file in files] == [("image/png", "AAAA")]
    assert item in input_of(message)


def test_a_name_that_was_mapped_is_mapped_back():
    """W-13: the model uses the mapped name, the program sees the tool's."""
    tool = ToolSpec(name="größe", description="", parameters={"type": "object"})
    provider = OpenAIResponses("gpt-5.1")
    request = Request(messages=[asked("Hi")], tools=[tool])
    sent = provider.encode(request)["tools"][0]["name"]
    body = stream(done(0, function_call(name=sent)), ended())
    events = events_of(provider.decoder(request), body)
    assert [e.name for e in events if isinstance(e, ModelCall)] == ["größe"]


def test_a_summary_that_the_whole_item_does_not_repeat_is_kept():
    body = stream(
        added(0, {"type": "reasoning", "id": "rs-1"}),
        delta("reasoning_summary_text", 0, "Hm.", summary_index=0),
        done(0, {"type": "reasoning", "id": "rs-1", "encrypted_content": "b3BhcXVl"}),
        *called(1, "call-1", ARO),
        ended(),
    )
    assert input_of(replied(Decoder(), body))[0] == thought("rs-1", "Hm.")


def test_an_answer_that_failed_tells_its_error_itself():
    failed = ended("failed", error={"code": "server_error", "message": "busy"})
    answer = decode("openai-responses", 200, {}, stream(failed).encode())
    assert (answer["finish_reason"], answer["error"]["where"]) == ("failed", "body")


# Requests


def test_a_request_keeps_nothing_at_the_server():
    body = OpenAIResponses("gpt-5.1", temperature=0.5, max_tokens=9, reasoning="low").encode(
        Request(messages=[asked("Hi")], system="Be brief.", tools=[TIDE])
    )
    assert body == {
        "model": "gpt-5.1",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hi"}],
            }
        ],
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "tide_at",
                "description": "Tell the tide.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "max_output_tokens": 9,
        "reasoning": {"effort": "low", "summary": "auto"},
    }


def test_a_model_that_does_not_think_is_not_asked_for_its_thoughts():
    assert "include" not in OpenAIResponses("gpt-4.1").encode(Request(messages=[asked("Hi")]))


def test_tools_of_the_provider_stand_beside_our_own():
    provider = OpenAIResponses("gpt-5.1", extra={"tools": [{"type": "web_search"}]})
    tools = provider.encode(Request(messages=[asked("Hi")], tools=[TIDE]))["tools"]
    assert [tool["type"] for tool in tools] == ["function", "web_search"]


THINKING = stream(
    done(0, thought("rs-1", "Need the tide.")),
    *called(1, "call-1", ARO),
    *called(2, "call-2", "{}"),
    ended(),
)


def test_a_thought_goes_back_directly_before_its_calls_exactly_as_it_came():
    """W-12: the second request; parallel calls after one thought."""
    assert input_of(replied(Decoder(), THINKING)) == [
        thought("rs-1", "Need the tide."),
        function_call("call-1", '{"port":"Aro"}'),
        function_call("call-2", "{}"),
        {"type": "function_call_output", "call_id": "call-1", "output": "low"},
        {"type": "function_call_output", "call_id": "call-2", "output": "low"},
    ]


def test_a_thought_that_cannot_go_back_ties_nothing():
    """W-12: neither the thought nor the id that refers to it is sent."""
    body = stream(done(0, thought("rs-1", sealed=None)), *called(1, "call-1", ARO), ended())
    items = input_of(replied(Decoder(), body))
    assert [item["type"] for item in items] == ["function_call", "function_call_output"]
    assert "id" not in items[0]


def test_a_thought_that_led_to_nothing_is_not_sent():
    """W-16: the reply broke off after it."""
    assert input_of(replied(Decoder(), stream(done(0, thought())))) == []


def test_a_thought_that_was_cut_short_is_not_sent_and_ties_nothing():
    """W-16: the text of it is there, the end of the item is not."""
    body = stream(
        added(0, {"type": "reasoning", "id": "rs-1"}),
        delta("reasoning_summary_text", 0, "First I", summary_index=0),
    )
    assert input_of(replied(Decoder(), body)) == []


def test_a_text_goes_back_with_its_id_and_phase():
    body = stream(done(0, text_item("Hi", phase="final_answer")), ended())
    assert input_of(replied(Decoder(), body)) == [
        {**text_item("Hi", phase="final_answer"), "status": "completed"}
    ]


def test_what_other_wires_sealed_is_not_sent():
    """W-12: variant, switched from another provider."""
    foreign = Message(
        id="m-a",
        role="assistant",
        parts=(
            Reasoning(id="r", text="Hm.", sealed={"wire": "anthropic", "signature": "c2ln"}),
            Text(id="p", text="Hi", sealed={"wire": "gemini", "signature": "c2ln", "tail": 2}),
        ),
    )
    assert input_of(foreign) == [{"type": "message", "role": "assistant", "content": "Hi"}]


def test_what_the_provider_ran_goes_back_as_it_came():
    item = {"type": "web_search_call", "id": "ws-1", "status": "completed", "action": {}}
    body = stream(done(0, item), done(1, text_item("Hi")), ended())
    assert input_of(replied(Decoder(), body))[0] == item


def test_a_custom_call_goes_back_with_its_text():
    item = {
        "type": "custom_tool_call",
        "id": "ct-1",
        "call_id": "call-1",
        "name": "sql",
        "input": "SELECT 1",
    }
    call = ToolCall(
        id="call-1",
        tool="sql",
        raw="SELECT 1",
        state="error",
        outcome="invalid",
        told="No.",
        sealed={"wire": "openai-responses", "item": {"type": "custom_tool_call", "id": "ct-1"}},
    )
    assert input_of(Message(id="m-a", role="assistant", parts=(call,))) == [
        item,
        {"type": "custom_tool_call_output", "call_id": "call-1", "output": "No."},
    ]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["item", "output_index", "delta", "response", "output", "content", "summary", "type", "id"]
FIELDS += ["call_id", "arguments", "annotations", "usage", "error", "status", "item_id", "name"]
NAMES = st.sampled_from(FIELDS)
SHAPED = st.recursive(
    JUNK,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=30,
)
TYPES = ["response.output_item.added", "response.output_item.done", "response.completed", "error"]
TYPES += ["response.function_call_arguments.delta", "response.output_text.delta"]
ITEMS = ["message", "reasoning", "function_call", "shell_call", "shell_call_output"]


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(NAMES, SHAPED, max_size=6), st.sampled_from(ITEMS))
def test_no_event_of_any_shape_makes_the_decoder_raise(value: Any, kind: str):
    item = {**value, "type": kind}
    for name in TYPES:
        events_of(Decoder(), stream({**value, "type": name}, {"type": name, "item": item}))
        events_of(Decoder(), stream({**value, "type": name, "item": item, "response": value}))
    events_of(Decoder(), json.dumps({"output": [item, value], **value}))
