"""The Chat Completions wire: what is made of an answer, and what a request looks like."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import errors
from nbtools.altered import altered
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelRefusal,
    ModelText,
    ModelUsage,
)
from nbtools.frozen import freeze
from nbtools.messages import File, Message, Reasoning, Request, Source, Text, ToolCall, ToolSpec
from nbtools.messages import Usage as Used
from nbtools.providers.bodies import written
from nbtools.providers.openai import Decoder, OpenAI
from nbtools.testing import decode
from tests.servers import calls_reply, chunk, fragment, problem, sse, text_reply


def events_of(body: str | bytes, size: int | None = None) -> list[ModelEvent]:
    data = body.encode() if isinstance(body, str) else body
    size = size or max(len(data), 1)
    decoder = Decoder()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def calls_of(body: str | bytes) -> list[tuple[str | None, str, str | None]]:
    """Give id, name and argument text of each call, and check that every cut agrees."""
    data = body.encode() if isinstance(body, str) else body
    whole, bytewise = (decode("openai-chat", 200, {}, data, chunk=size) for size in (None, 1))
    assert whole == bytewise
    return [(c["id"] or None, c["name"], c["arguments_raw"]) for c in whole["tool_calls"]]


def finish_of(body: str) -> ModelFinish | None:
    found = [event for event in events_of(body) if isinstance(event, ModelFinish)]
    assert len(found) <= 1
    return found[0] if found else None


ARO = '{"port":"Aro"}'


# Ids


def test_a_call_without_a_usable_id_is_one_call():
    """W-01: body A, an empty id and then null."""
    body = sse(
        fragment(0, "", "tide_at", ""), fragment(0, None, None, ARO), chunk({}, "tool_calls")
    )
    assert calls_of(body) == [(None, "tide_at", ARO)]


def test_empty_ids_and_names_never_replace_good_ones_and_an_index_may_begin_at_one():
    """W-01: body B."""
    body = sse(
        fragment(1, "k-7", "tide_at", ""),
        fragment(1, "", "", '{"port":'),
        fragment(1, "", "", '"Aro"}'),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [("k-7", "tide_at", ARO)]


def test_a_name_that_is_repeated_in_full_is_not_joined_to_itself():
    """W-01: the name in every fragment."""
    body = sse(
        *(fragment(0, None, "tide_at", piece) for piece in ('{"port"', ":", '"Aro"}')),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [(None, "tide_at", ARO)]


def test_two_calls_without_ids_stay_two():
    """W-01: variant."""
    body = sse(
        fragment(0, "", "tide_at", ARO), fragment(1, "", "tide_at", ARO), chunk({}, "tool_calls")
    )
    assert calls_of(body) == [(None, "tide_at", ARO), (None, "tide_at", ARO)]


def test_an_id_that_comes_late_changes_nothing():
    """W-01: variant, the call was announced without an id."""
    body = sse(
        fragment(0, None, "tide_at", '{"port":'),
        fragment(0, "k-7", None, '"Aro"}'),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [(None, "tide_at", ARO)]


def test_a_fragment_of_index_minus_one_continues_the_last_call():
    """W-01: variant."""
    body = sse(
        fragment(0, "k-1", "tide_at", ""),
        fragment(-1, None, None, '{"port":'),
        fragment(-1, None, None, '"Aro"}'),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [("k-1", "tide_at", ARO)]


def test_a_call_is_announced_with_its_first_fragment():
    key_events = events_of(sse(fragment(0, "k-1", "tide_at", ""), done=False))
    assert [(e.id, e.name) for e in key_events if isinstance(e, ModelCall)] == [("k-1", "tide_at")]


# Arguments


@pytest.mark.parametrize("arguments", ["", None])
def test_missing_arguments_are_an_empty_text(arguments: str | None):
    """W-02: empty and null; the text that means {} is read where arguments are parsed."""
    body = sse(fragment(0, "k-1", "moon_phase", arguments), chunk({}, "tool_calls"))
    assert calls_of(body) == [("k-1", "moon_phase", None)]


def test_a_call_without_any_arguments_field_is_a_call():
    """W-02: no key in any fragment."""
    item = {"index": 0, "id": "k-1", "type": "function", "function": {"name": "moon_phase"}}
    body = sse(chunk({"tool_calls": [item]}), chunk({}, "tool_calls"))
    assert calls_of(body) == [("k-1", "moon_phase", None)]


def test_arguments_that_are_an_object_become_its_json_text():
    """W-03: second form."""
    function = {"name": "plot_rows", "arguments": {"rows": 3, "title": "é"}}
    body = sse(
        chunk({"tool_calls": [{"index": 0, "id": "k-1", "function": function}]}),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [("k-1", "plot_rows", '{"rows": 3, "title": "é"}')]


def test_arguments_that_are_encoded_twice_are_kept_as_they_came():
    """W-03: the decoder passes them on; whoever parses arguments tries a second decode."""
    twice = json.dumps('{"rows": 3}')
    body = sse(fragment(0, "k-1", "plot_rows", twice), chunk({}, "tool_calls"))
    assert calls_of(body) == [("k-1", "plot_rows", twice)]


# Parallel calls

BERGEN, OSLO = '{"city":"Bergen"}', '{"city":"Oslo"}'


def test_a_new_id_on_a_used_index_begins_a_call():
    """W-04: form 1."""
    body = sse(
        fragment(0, "k-1", "dew_point", BERGEN),
        fragment(0, "k-2", "dew_point", OSLO),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [("k-1", "dew_point", BERGEN), ("k-2", "dew_point", OSLO)]


def test_a_name_after_complete_arguments_begins_a_call():
    """W-04: form 2, no ids."""
    body = sse(
        fragment(0, None, "dew_point", BERGEN),
        fragment(0, None, "dew_point", OSLO),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [(None, "dew_point", BERGEN), (None, "dew_point", OSLO)]


def test_objects_glued_in_one_fragment_stay_one_broken_call():
    """W-04: form 3; half of the data is never taken for the whole."""
    body = sse(fragment(0, "k-1", "dew_point", BERGEN + OSLO), chunk({}, "tool_calls"))
    assert calls_of(body) == [("k-1", "dew_point", BERGEN + OSLO)]


@pytest.mark.parametrize(
    ("given", "arguments"), [("", ["", ""]), ("same", ["{}", "{}"]), ("", ["{bro", BERGEN])]
)
def test_in_a_whole_body_each_entry_is_a_call(given: str, arguments: list[str]):
    """W-01, W-04: whatever ids and arguments are."""
    calls = [{"id": given, "function": {"name": "dew_point", "arguments": a}} for a in arguments]
    choice = {"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    body = json.dumps({"choices": [choice]})
    assert calls_of(body) == [(given or None, "dew_point", text or None) for text in arguments]


def test_the_text_for_a_custom_tool_may_come_in_pieces():
    first = {"index": 0, "id": "k-1", "custom": {"name": "sql", "input": "SEL"}}
    second = {"index": 0, "custom": {"input": "ECT"}}
    body = sse(chunk({"tool_calls": [first]}), chunk({"tool_calls": [second]}))
    assert calls_of(body) == [("k-1", "sql", "SELECT")]


def test_calls_that_are_interleaved_are_assembled_by_index():
    """W-04: variant."""
    cities = ["Bergen", "Oslo", "Moss"]
    body = sse(
        *(fragment(i, f"k-{i}", "dew_point", '{"city":') for i in range(3)),
        *(fragment(i, None, None, f'"{city}"}}') for i, city in enumerate(cities)),
        chunk({}, "tool_calls"),
    )
    expected = [(f"k-{i}", "dew_point", f'{{"city":"{c}"}}') for i, c in enumerate(cities)]
    assert calls_of(body) == expected


def test_the_same_id_and_name_continue_a_call():
    """W-04: variant."""
    body = sse(
        fragment(0, "k-1", "dew_point", '{"city":'),
        fragment(0, "k-1", "dew_point", '"Bergen"}'),
        chunk({}, "tool_calls"),
    )
    assert calls_of(body) == [("k-1", "dew_point", BERGEN)]


def test_parallel_calls_without_an_index_are_told_apart_by_id():
    """W-04: each call in a chunk of its own."""
    items = [
        {"id": f"k-{n}", "function": {"name": "dew_point", "arguments": text}}
        for n, text in enumerate((BERGEN, OSLO))
    ]
    body = sse(*(chunk({"tool_calls": [item]}) for item in items), chunk({}, "tool_calls"))
    assert calls_of(body) == [("k-0", "dew_point", BERGEN), ("k-1", "dew_point", OSLO)]


def test_parallel_calls_with_one_id_and_two_indexes_stay_two():
    """P-05: variant; the conversation gives the second an id of its own."""
    body = sse(
        fragment(0, "k-1", "grant", "{}"), fragment(1, "k-1", "grant", "{}"), chunk({}, "stop")
    )
    assert calls_of(body) == [("k-1", "grant", "{}"), ("k-1", "grant", "{}")]


def test_a_legacy_function_call_is_a_call():
    body = sse(
        chunk({"function_call": {"name": "tide_at", "arguments": ""}}),
        chunk({"function_call": {"arguments": ARO}}),
        chunk({}, "function_call"),
    )
    assert calls_of(body) == [(None, "tide_at", ARO)]
    assert finish_of(body) == ModelFinish("calls", "function_call")


def test_text_and_calls_come_in_the_order_of_the_stream():
    """W-05: text, call, text."""
    body = sse(
        chunk({"role": "assistant", "content": "Checking. "}),
        fragment(0, "k-1", "list_files", "{}"),
        chunk({"content": "Then I'll sum it up."}),
        chunk({}, "tool_calls"),
    )
    kinds = [type(event) for event in events_of(body)]
    assert kinds == [ModelText, ModelCall, ModelArgs, ModelText, ModelFinish]


# The end


def test_calls_that_end_with_stop_are_calls():
    """W-06: body B."""
    body = sse(fragment(0, "k-1", "tide_at", ARO), chunk({}, "stop"))
    assert finish_of(body) == ModelFinish("calls", "stop")


def test_tool_calls_without_any_call_is_a_stop():
    """W-06: body C."""
    body = sse(chunk({"content": "All set."}), chunk({}, "tool_calls"))
    assert finish_of(body) == ModelFinish("stop", "tool_calls")


@pytest.mark.parametrize(
    ("word", "finish"),
    [("length", "length"), ("content_filter", "filter"), ("eos", "other"), ("stop", "stop")],
)
def test_the_finish_reason_is_kept_in_the_words_of_the_server(word: str, finish: str):
    """W-06: length and filter are never success; an unknown word is."""
    found = finish_of(sse(chunk({"content": "So"}), chunk({}, word)))
    assert (found and found.finish, found and found.reason) == (finish, word)


def test_a_call_in_a_message_that_was_too_long_does_not_make_it_whole():
    """W-06: an incomplete call and `length`."""
    body = sse(fragment(0, "k-1", "tide_at", '{"po'), chunk({}, "length"))
    assert finish_of(body) == ModelFinish("length", "length")


def test_an_unknown_finish_reason_with_calls_means_calls():
    """W-06: variant."""
    body = sse(fragment(0, "k-1", "tide_at", ARO), chunk({}, "done"))
    assert finish_of(body) == ModelFinish("calls", "done")


def test_a_stream_that_says_done_without_a_reason_ended_well():
    """W-11: body C."""
    body = sse(chunk({"content": "Done."}), chunk({}))
    assert finish_of(body) == ModelFinish("stop", "")


@pytest.mark.parametrize(
    "body",
    [
        sse(chunk({"content": "The sum is 4"}), done=False),
        sse(fragment(0, "k-1", "remove_file", '{"path":"re'), done=False),
        sse(fragment(0, "k-1", "remove_file", '{"path":"report"}'), done=False),
        sse(chunk({"content": "The sum is 4"}), done=False) + 'data: {"choices": [{"ind',
    ],
)
def test_a_stream_without_reason_and_without_done_has_no_finish(body: str):
    """W-11: bodies A and B, and arguments that happen to be whole."""
    assert finish_of(body) is None


def test_a_stream_with_a_reason_needs_no_done():
    body = sse(chunk({"content": "Hi"}), chunk({}, "stop"), done=False)
    assert finish_of(body) == ModelFinish("stop", "stop")


@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource"])
def test_a_reason_that_means_failure_is_a_fault(reason: str):
    events = events_of(sse(chunk({"content": "So"}), chunk({}, reason)))
    assert [type(event) for event in events] == [ModelText, ModelFault]


# The shape of chunks


def test_odd_chunks_are_passed_over_and_the_last_usage_counts():
    """W-07: null and empty choices, null deltas, usage twice."""
    counted = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
    body = sse(
        {"id": "c-1", "choices": [], "prompt_filter_results": []},
        {"id": "c-1", "choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        chunk({"role": "assistant", "content": None}),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        {"choices": [], "usage": counted},
        {"choices": None, "usage": counted},
    )
    assert events_of(body) == [
        ModelText("Hi"),
        ModelUsage(Used(input=11, output=2, total=13)),
        ModelFinish("stop", "stop"),
    ]


def test_no_usage_is_unknown_and_not_zero():
    """W-07: variant."""
    assert not [e for e in events_of(text_reply("Hi")) if isinstance(e, ModelUsage)]


def test_only_the_first_of_several_choices_is_read():
    """W-07: variant."""
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
    body = sse({"choices": [other, *chunk({"content": "yes"})["choices"]]}, chunk({}, "stop"))
    assert events_of(body) == [ModelText("yes"), ModelFinish("stop", "stop")]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_comments_and_empty_events_are_no_content(line_end: str):
    """W-08: the body of the case, with every kind of line end."""
    head = ": still thinking\n\nretry: 1500\n\nid: 7\nevent: ping\ndata:\n\n: still thinking\n\n"
    body = (head + text_reply("Tide is low.")).replace("\n", line_end)
    for size in (None, 1, 7):
        events = events_of(body, size)
        assert "".join(e.text for e in events if isinstance(e, ModelText)) == "Tide is low."
        assert events[-1] == ModelFinish("stop", "stop")


def test_data_over_two_lines_is_one_chunk():
    """W-08: variant."""
    body = 'data:{"choices":\ndata:[{"delta":{"content":"Hi"}}]}\n\ndata:[DONE]\n\n'
    assert events_of(body) == [ModelText("Hi"), ModelFinish("stop", "")]


# Text of other kinds


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_is_read_under_each_of_its_names(field: str):
    answer = decode("openai-chat", 200, {}, sse(chunk({field: "Hm."}), chunk({}, "stop")).encode())
    assert answer["reasoning"] == "Hm."


def test_reasoning_that_is_sent_twice_is_read_once():
    body = sse(chunk({"reasoning_content": "Hm.", "reasoning": "Hm."}), chunk({}, "stop"))
    assert decode("openai-chat", 200, {}, body.encode())["reasoning"] == "Hm."


def test_content_in_parts_is_text_and_reasoning():
    parts = [{"type": "thinking", "thinking": [{"text": "Hm."}]}, {"type": "text", "text": "Hi"}]
    answer = decode("openai-chat", 200, {}, sse(chunk({"content": parts}), chunk({})).encode())
    assert (answer["reasoning"], answer["text"]) == ("Hm.", "Hi")


def test_a_refusal_is_told_apart_from_text():
    body = sse(chunk({"refusal": "I will not."}), chunk({}, "stop"))
    assert events_of(body)[0] == ModelRefusal("I will not.")


def test_sources_come_once_and_after_the_text():
    note = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}
    body = sse(
        {**chunk({"content": "Hi"}), "citations": ["https://a.example", "https://b.example"]},
        chunk({"content": " all", "annotations": [note]}),
        chunk({}, "stop"),
    )
    assert events_of(body)[1:3] == [
        ModelPart(Source(id="", url="https://a.example", title="A")),
        ModelPart(Source(id="", url="https://b.example")),
    ]


def test_an_image_of_the_model_is_a_file():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    events = events_of(sse(chunk({"images": [image]}), chunk({}, "stop")))
    assert events[0] == ModelPart(File(id="", mime="image/png", data="AAAA"))


def test_half_of_a_surrogate_pair_is_replaced():
    body = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: [DONE]\n\n'
    assert events_of(body)[0] == ModelText("a?")


# Errors


def fault_of(body: str) -> errors.ProviderError:
    fault = events_of(body)[-1]
    assert isinstance(fault, ModelFault)
    return fault.error


def test_an_error_in_the_middle_of_a_stream_ends_it_with_its_words():
    """W-09: form 3."""
    error = {"error": {"message": "busy", "code": 529}}
    body = sse(chunk({"content": "The answ"}), error, chunk({"content": "no"}))
    events = events_of(body)
    assert [type(event) for event in events] == [ModelText, ModelFault]
    assert isinstance(fault_of(body), errors.OverloadedError)
    assert fault_of(body).text == "The provider reported an error: busy"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "type": "rate_limit_error"}, errors.RateLimitError),
        ({"message": "too long", "code": "context_length_exceeded"}, errors.ContextLengthError),
        ({"message": "no", "code": 401}, errors.AuthenticationError),
        ({"message": "oops", "type": "server_error"}, errors.OverloadedError),
        ("just text", errors.StreamError),
    ],
)
def test_an_error_in_a_stream_is_of_the_class_that_fits(error: Any, kind: type[Exception]):
    assert type(fault_of(sse({"error": error}))) is kind


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "The answer is empty."),
        ("<!DOCTYPE html><p>Log in", "The answer is a web page, not a model's reply."),
        ("{}", "The answer cannot be read as a model's reply: it has '{}'."),
        ('{"a": ', "The answer cannot be read as a model's reply: it has '{\"a\":'."),
        ("hello", "The answer is neither JSON nor a stream of events."),
        (
            "data: {nonsense\n\n",
            "The answer cannot be read as a model's reply: it has '{nonsense'.",
        ),
    ],
)
def test_a_body_that_is_no_answer_is_a_fault(body: str, text: str):
    assert fault_of(body).text == text
    assert fault_of(body).kind == "malformed"


def test_blanks_before_the_answer_are_held_by_nobody():
    """Some servers keep a line alive with them, for as long as it takes."""
    decoder = Decoder()
    for _ in range(50):
        assert decoder.feed(b" \r\n" * 100) == []
    assert len(decoder._held) < 100
    assert decoder.feed(text_reply("Hi").encode())[0] == ModelText("Hi")


def test_a_stream_of_nothing_but_comments_broke_off():
    assert fault_of(": ping\n\n").text == "The answer broke off before it began."
    assert fault_of(": ping\n\n").kind == ""


def test_numbers_and_depths_beyond_all_measure_are_no_trouble():
    digits = "9" * 5000
    for value in (digits, "[" * 5000 + "]" * 5000, '{"error":{"code":' + digits + "}}"):
        events_of(f'data: {{"choices":[{{"delta":{{"tool_calls":[{value}]}}}}]}}\n\n')
        events_of(f"data: {value}\n\n")


def test_a_whole_json_body_is_read_like_a_stream():
    message = {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"id": "k-1", "function": {"name": "tide_at", "arguments": ARO}}],
    }
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    kinds = [type(event) for event in events_of(json.dumps(body))]
    assert kinds == [ModelText, ModelCall, ModelArgs, ModelFinish]


def test_a_json_error_with_status_200_is_a_fault():
    """W-09: variant."""
    error = fault_of(json.dumps({"error": {"message": "No such model", "type": "not_found"}}))
    assert type(error) is errors.NotFoundError
    assert error.text == "The provider reported an error (not_found): No such model"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["choices", "delta", "message", "index", "content", "tool_calls", "function", "error"]
FIELDS += ["id", "name", "arguments", "usage", "finish_reason", "annotations", "images", "custom"]
NAMES = st.sampled_from(FIELDS)
SHAPED = st.recursive(
    JUNK,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=30,
)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(NAMES, SHAPED, max_size=6) | SHAPED)
def test_no_chunk_of_any_shape_makes_the_decoder_raise(value: Any):
    events_of(sse(value, {"choices": [value]}, chunk(value), chunk({"tool_calls": [value]})))
    events_of(json.dumps(value))


@settings(deadline=None)
@given(st.binary(), st.integers(min_value=1, max_value=9))
def test_no_bytes_make_the_decoder_raise(body: bytes, size: int):
    events_of(body, size)
    events_of(b"data: " + body + b"\n\ndata: [DONE]\n\n", size)


# What is asked


def user(*parts: Any) -> Message:
    return Message(id="m-u", role="user", parts=parts)


def text(value: str) -> Text:
    return Text(id="p", text=value)


def done(call: str, tool: str, told: str = "3", **args: Any) -> ToolCall:
    return ToolCall(id=call, tool=tool, state="result", args=args, told=told, outcome="ok")


def reply(*parts: Any) -> Message:
    return Message(id="m-a", role="assistant", parts=parts)


SPEC = ToolSpec(name="rows", description="Count rows.", parameters={"type": "object"})


def body_of(*messages: Message, **fields: Any) -> dict[str, Any]:
    body = OpenAI("gpt-5.1").encode(Request(messages=messages, **fields))
    assert problem(body) == ""
    return body


def test_a_request_has_history_tools_and_settings():
    body = OpenAI("gpt-5.1", temperature=0.5, max_tokens=9, extra={"seed": 1}).encode(
        Request(messages=[user(text("Hi"))], system="Be brief.", tools=[SPEC])
    )
    assert body == {
        "model": "gpt-5.1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "rows",
                    "description": "Count rows.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_completion_tokens": 9,
        "seed": 1,
    }


def test_other_servers_are_told_max_tokens_by_its_older_name():
    body = OpenAI("m", base_url="http://localhost:1/v1", max_tokens=9).encode(
        Request(messages=[user(text("Hi"))])
    )
    assert (body.get("max_tokens"), body.get("max_completion_tokens")) == (9, None)


def test_results_follow_their_calls_in_order_with_arguments_encoded_once():
    """W-03: one decode of the arguments gives an object."""
    body = body_of(
        user(text("Hi")),
        reply(text("Looking."), done("k-1", "rows", "3", table="a"), done("k-2", "rows", "é")),
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "k-1",
                    "type": "function",
                    "function": {"name": "rows", "arguments": '{"table":"a"}'},
                },
                {"id": "k-2", "type": "function", "function": {"name": "rows", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "k-1", "content": "3"},
        {"role": "tool", "tool_call_id": "k-2", "content": "é"},
    ]


def test_text_on_both_sides_of_a_call_is_sent_with_it():
    """W-05: nothing is lost on replay."""
    body = body_of(
        user(text("Hi")),
        reply(text("Checking. "), done("k-1", "rows"), text("Then I'll sum it up.")),
    )
    assert body["messages"][1]["content"] == "Checking. Then I'll sum it up."


def test_a_result_that_says_nothing_gets_a_placeholder():
    body = body_of(user(text("Hi")), reply(done("k-1", "rows", told="")))
    assert body["messages"][-1]["content"] == "(no output)"


def test_reasoning_is_not_sent_back_and_leaves_no_empty_message():
    thought = reply(Reasoning(id="p", text="Hm."))
    body = body_of(user(text("Hi")), thought, user(text("Go on")))
    assert [message["role"] for message in body["messages"]] == ["user", "user"]


@pytest.mark.parametrize("name", ["files.read all()", "x" * 90, "", "<img>"])
def test_a_name_that_the_wire_forbids_is_mapped_in_replay(name: str):
    """W-13: call and result agree, and a strict server accepts the request."""
    body = body_of(user(text("Hi")), reply(done("k-1", name)), user(text("go on")), tools=[SPEC])
    assert len(body["messages"]) == 4


def test_names_that_are_mapped_stay_different():
    """W-13: two names that differ only in forbidden characters."""
    body = body_of(user(text("Hi")), reply(done("k-1", "a b"), done("k-2", "a.b")), tools=[])
    names = [call["function"]["name"] for call in body["messages"][1]["tool_calls"]]
    assert names == ["a_b", "a_b_2"]


def test_a_tool_with_a_forbidden_name_is_called_by_its_own():
    """W-13: the model uses the mapped name, the program sees the tool's."""
    tool = ToolSpec(name="größe", description="", parameters={"type": "object"})
    request = Request(messages=[user(text("Hi"))], tools=[tool])
    provider = OpenAI("m")
    sent = provider.encode(request)["tools"][0]["function"]["name"]
    events = provider.decoder(request).feed(calls_reply(("k-1", sent, "{}")).encode())
    assert [e.name for e in events if isinstance(e, ModelCall)] == ["größe"]


def test_tools_may_be_forbidden_without_being_taken_away():
    body = body_of(user(text("Hi")), tools=[SPEC], choice="none")
    assert (len(body["tools"]), body["tool_choice"]) == (1, "none")


def test_an_image_is_sent_as_a_data_url():
    body = body_of(user(text("See"), File(id="f", mime="image/png", data="AAAA")))
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]


def test_a_text_file_is_sent_as_its_text():
    file = File(id="f", mime="text/csv", name="a.csv", data="YSxi")
    assert body_of(user(file))["messages"][0]["content"] == [
        {"type": "text", "text": "a.csv:\na,b"}
    ]


def test_a_call_that_the_provider_ran_is_not_sent_back():
    ran = ToolCall(id="k-1", tool="search", state="result", outcome="ok", origin="provider")
    body = body_of(user(text("Hi")), reply(text("Found."), ran))
    assert body["messages"][1] == {"role": "assistant", "content": "Found."}


def test_a_tool_that_the_server_ran_is_a_call_of_its_own():
    begun = {"index": 0, "type": "search", "arguments": '{"query":"tides"}'}
    ended = {**begun, "output": "Low at Aro."}
    body = sse(
        chunk({"executed_tools": [begun]}),
        chunk({"executed_tools": [ended]}),
        chunk({"executed_tools": [ended]}),
        chunk({"content": "Low."}, "stop"),
    )
    (call,) = [event.part for event in events_of(body) if isinstance(event, ModelPart)]
    assert isinstance(call, ToolCall)
    assert (call.tool, call.args, call.value) == ("search", {"query": "tides"}, "Low at Aro.")
    assert (call.state, call.origin) == ("result", "provider")


def test_a_copy_of_a_call_with_other_arguments_is_sent_with_them():
    """What is written of a call is kept for the next request, and not for its copies."""
    call = ToolCall(id="c", tool="look", state="result", args={"a": "\ud83d ü"}, told="ok")
    edited = altered(call, args={"a": 2})
    written = []
    for each in (call, call, edited, replace(call, args=None)):
        message = Message(id="m", role="assistant", parts=(each,))
        [asked, _] = OpenAI("m").encode(Request(messages=[message]))["messages"]
        written.append(asked["tool_calls"][0]["function"]["arguments"])
    assert written == ['{"a":"? ü"}'] * 2 + ['{"a":2}', "{}"]


def a_history() -> list[Message]:
    """A question, a reply that calls, and a question."""
    call = ToolCall(
        id="an id/that no vendor likes, and which is much too long for all of them",
        tool="look",
        state="result",
        args={"a": "ü"},
        told="ok",
    )
    asked = (Message(id="u1", role="user", parts=(Text(id="t1", text="Look."),)),)
    reply = Message(id="m", role="assistant", finish="calls", parts=(call,))
    again = Message(id="u2", role="user", parts=(Text(id="t2", text="And now?"),))
    return [*asked, reply, again]


def test_what_one_vendor_demands_of_a_history_is_not_sent_to_the_next():
    """What is written of a reply is kept for the next request, whoever is asked then."""
    history = a_history()
    plain = OpenAI("m", base_url="http://localhost:1/v1").encode(Request(messages=history))
    for model, base_url in (
        ("deepseek-chat", "https://api.deepseek.com"),
        ("mistral-small", "https://api.mistral.ai/v1"),
        ("gpt-5.1", "https://api.openai.com/v1"),
    ):
        suited = OpenAI(model, base_url=base_url).encode(Request(messages=history))["messages"]
        assert suited != plain["messages"]
        fresh = OpenAI(model, base_url=base_url).encode(Request(messages=a_history()))["messages"]
        assert suited == fresh
        asked_again = OpenAI("m", base_url="http://localhost:1/v1").encode(
            Request(messages=history)
        )
        assert asked_again["messages"] == plain["messages"]


def test_a_kept_reply_follows_the_names_of_the_tools():
    """A tool that is called otherwise on the wire is called so in replies that were sent before."""
    history = a_history()
    spec = ToolSpec(name="look", description="", parameters={"type": "object", "properties": {}})
    other = ToolSpec(name="löok", description="", parameters={"type": "object", "properties": {}})
    called = []
    for tools in ([spec], [replace(other, name="l?ok"), spec], [spec]):
        body = OpenAI("m").encode(Request(messages=history, tools=tools))
        called.append(
            [each["function"]["name"] for each in body["tools"]]
            + [body["messages"][1]["tool_calls"][0]["function"]["name"]]
        )
    assert called == [["look", "look"], ["l_ok", "look", "look"], ["look", "look"]]


def test_what_is_kept_of_a_request_cannot_be_changed_in_place():
    """A provider that adds to what `encode` gave would add to all requests after this one."""
    body = OpenAI("m", base_url="http://localhost:1/v1").encode(Request(messages=a_history()))
    with pytest.raises(TypeError, match="change a copy"):
        body["messages"][1]["tool_calls"][0]["id"] = "other"


def test_the_bytes_of_a_body_are_its_json_however_much_of_it_was_written_before():
    """Frozen items are written once; the rest, odd texts included, each time."""
    kept = freeze({"role": "assistant", "content": "ä\ud800"})
    for items in ([], [kept], [{"a": 1}, kept, kept], [{"a": 1.5}], [None, kept]):
        for rest in ({}, {"model": "m\udfff", "n": [1, 2]}):
            body = {"messages": items, **rest}
            written_twice = written(body), written(body)
            expected = json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
            assert [json.loads(each) for each in written_twice] == [expected, expected]


def test_a_provider_of_ones_own_may_change_what_it_gives_and_adds_to_no_later_request():
    class Mine(OpenAI):
        def encode(self, request: Request) -> dict[str, Any]:
            body = super().encode(request)
            for each in (*body["messages"], *body["tools"]):
                each["mark"] = each.get("mark", 0) + 1
            return body

    spec = ToolSpec(name="look", description="", parameters={"type": "object", "properties": {}})
    request = Request(messages=a_history(), tools=[spec])
    mine = Mine("m", base_url="http://localhost:1/v1")
    for _ in range(2):
        body = mine.encode(request)
        assert {each["mark"] for each in (*body["messages"], *body["tools"])} == {1}
    plain = OpenAI("m", base_url="http://localhost:1/v1").encode(request)
    assert not any("mark" in each for each in (*plain["messages"], *plain["tools"]))
