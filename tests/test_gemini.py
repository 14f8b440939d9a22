"""The Gemini wire: what is made of an answer, and what a request looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import errors
from nbtools.events import (
    ModelCall,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import (
    File,
    Message,
    Notice,
    Reasoning,
    Request,
    Source,
    Text,
    ToolCall,
    ToolSpec,
)
from nbtools.messages import Usage as Used
from nbtools.providers import Gemini
from nbtools.providers.gemini import Decoder
from nbtools.testing import decode
from tests.replay import asked, events_of, replied
from tests.servers import Fault, ModelServer, sse

Body = dict[str, Any]
ARO = {"port": "Aro"}
TIDE = ToolSpec(
    name="tide_at",
    description="Tell the tide.",
    parameters={"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
)


def chunk(*parts: Body, finish: str | None = None, **fields: Any) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": list(parts)}, **fields}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate]}


def call(name: str = "tide_at", args: Body | None = None, **fields: Any) -> Body:
    return {"functionCall": {"name": name, **({} if args is None else {"args": args})}, **fields}


def answer(*chunks: Body) -> str:
    return sse(*chunks, done=False)


def calls_of(body: str) -> list[tuple[str, Any]]:
    """Give name and arguments of each call, and check that every cut agrees."""
    whole, bytewise = (decode("gemini", 200, {}, body.encode(), chunk=size) for size in (None, 1))
    assert whole == bytewise
    return [(found["name"], found["arguments"]) for found in whole["tool_calls"]]


def contents_of(*messages: Message, model: str = "gemini-2.5-flash") -> list[Body]:
    contents: list[Body] = Gemini(model).encode(Request(messages=[asked("Hi"), *messages]))[
        "contents"
    ]
    return contents[1:]


# Answers


def test_text_thought_usage_and_end_are_read():
    usage = {
        "promptTokenCount": 9,
        "candidatesTokenCount": 3,
        "totalTokenCount": 17,
        "thoughtsTokenCount": 5,
        "cachedContentTokenCount": 4,
    }
    body = answer(
        chunk({"text": "Hm.", "thought": True}),
        chunk({"text": "Good "}),
        {**chunk({"text": "day."}, finish="STOP"), "usageMetadata": usage},
    )
    assert events_of(Decoder(), body) == [
        ModelReasoning("Hm."),
        ModelReasoning(sealed={"wire": "gemini"}),
        ModelText("Good day."),
        ModelUsage(Used(input=9, output=3, total=17, cached=4, reasoning=5)),
        ModelFinish("stop", "STOP"),
    ]


def test_several_parts_of_one_chunk_are_all_read():
    body = answer(chunk({"text": "Both."}, call(args=ARO), call(args=ARO), finish="STOP"))
    assert calls_of(body) == [("tide_at", ARO), ("tide_at", ARO)]


def test_parallel_calls_without_ids_stay_apart():
    """W-04: each in its own chunk, each the first part of it."""
    body = answer(chunk(call(args=ARO)), chunk(call(args={"port": "Moss"}), finish="STOP"))
    assert calls_of(body) == [("tide_at", ARO), ("tide_at", {"port": "Moss"})]


def test_a_call_without_arguments_is_a_call():
    """W-02: no field for them."""
    assert calls_of(answer(chunk(call("moon_phase"), finish="STOP"))) == [("moon_phase", {})]


def test_a_call_ends_with_calls_whatever_the_word():
    """W-06: body A."""
    body = answer(chunk(call(args=ARO), finish="STOP"))
    assert events_of(Decoder(), body)[-1] == ModelFinish("calls", "STOP")


def test_text_and_calls_come_in_the_order_of_the_stream():
    """W-05: text, call, text."""
    body = answer(
        chunk({"text": "Checking. "}, call(args={})), chunk({"text": "Then."}, finish="STOP")
    )
    parts = replied(Decoder(), body).parts
    assert [part.type for part in parts] == ["text", "tool-call", "text"]


PIECES = [
    {"jsonPath": "$.where.ports[0]", "stringValue": "A", "willContinue": True},
    {"jsonPath": "$.where.ports[0]", "stringValue": "ro"},
    {"jsonPath": "$.where.ports[1]", "stringValue": "Moss"},
    {"jsonPath": "$.days", "numberValue": 3},
    {"jsonPath": "$['all of it']", "boolValue": True},
    {"jsonPath": "$.note", "nullValue": None},
]


def test_arguments_in_pieces_are_put_in_their_places():
    body = answer(
        chunk({"functionCall": {"name": "tide_at", "willContinue": True}}),
        *(chunk({"functionCall": {"partialArgs": [p], "willContinue": True}}) for p in PIECES),
        chunk({"functionCall": {}}),
        chunk({"functionCall": {"name": "tide_at", "args": ARO}}, finish="STOP"),
    )
    where = {"ports": ["Aro", "Moss"]}
    first = {"where": where, "days": 3, "all of it": True, "note": None}
    assert calls_of(body) == [("tide_at", first), ("tide_at", ARO)]


def test_a_piece_without_a_readable_place_is_passed_over():
    pieces = [{"jsonPath": "$.ports[99999]", "stringValue": "A"}, {"jsonPath": 3}, "odd", None]
    body = answer(chunk({"functionCall": {"name": "f", "partialArgs": pieces}}, finish="STOP"))
    assert calls_of(body) == [("f", {"ports": []})]


def test_a_piece_whose_place_is_too_deep_is_passed_over():
    pieces = [{"jsonPath": "$" + ".a" * 5_000, "stringValue": "A"}]
    body = answer(chunk({"functionCall": {"name": "f", "partialArgs": pieces}}, finish="STOP"))
    assert calls_of(body) == [("f", {})]


@pytest.mark.parametrize(("args", "read"), [(json.dumps(ARO), ARO), ([1], [1]), (7, 7)])
def test_arguments_that_are_no_object_are_never_taken_for_none(args: Any, read: Any):
    """W-03: what cannot be meant is told to the model, and no call runs without its arguments."""
    body = answer(chunk({"functionCall": {"name": "f", "args": args}}, finish="STOP"))
    assert calls_of(body) == [("f", read)]


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filter"),
        ("RECITATION", "filter"),
        ("MALFORMED_FUNCTION_CALL", "failed"),
        ("OTHER", "other"),
        ("A_NEW_WORD", "other"),
    ],
)
def test_the_end_is_told_in_our_words_and_the_servers(word: str, finish: Any):
    """W-06: with its own word kept."""
    body = answer(chunk({"text": "So"}, finish=word))
    assert events_of(Decoder(), body)[-1] == ModelFinish(finish, word)


def test_a_blocked_question_is_one_that_was_withheld():
    body = answer({"promptFeedback": {"blockReason": "SAFETY"}})
    assert events_of(Decoder(), body) == [ModelFinish("filter", "blockReason:SAFETY")]


def test_a_call_that_the_model_could_not_write_is_told_with_the_servers_words():
    said = "Malformed function call: tide_at(port="
    body = answer(chunk(finish="MALFORMED_FUNCTION_CALL", finishMessage=said))
    (notice,) = [e.part for e in events_of(Decoder(), body) if isinstance(e, ModelPart)]
    assert isinstance(notice, Notice)
    assert (notice.hint, notice.retry) == (said, True)


def test_a_stream_without_a_word_for_the_end_broke_off():
    """W-11: form a."""
    events = events_of(Decoder(), answer(chunk({"text": "The sum is 4"})))
    assert events == [ModelText("The sum is 4")]


def test_an_error_inside_a_stream_ends_it_with_its_words():
    """W-09."""
    error = {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}
    fault = events_of(Decoder(), answer(chunk({"text": "The answ"}), error))[-1]
    assert isinstance(fault, ModelFault)
    assert type(fault.error) is errors.OverloadedError
    assert fault.error.text == "The provider reported an error (UNAVAILABLE): busy"


def test_an_array_of_chunks_is_read_like_a_stream():
    chunks = [chunk({"text": "Good "}), chunk({"text": "day."}, finish="STOP")]
    events = events_of(Decoder(), json.dumps(chunks))
    assert "".join(e.text for e in events if isinstance(e, ModelText)) == "Good day."
    assert events[-1] == ModelFinish("stop", "STOP")


def test_only_the_first_candidate_is_read():
    other = {"candidates": [{"index": 1, "content": {"parts": [{"text": "no"}]}}]}
    body = answer(other, chunk({"text": "yes"}, finish="STOP"))
    assert events_of(Decoder(), body)[0] == ModelText("yes")


def test_the_first_candidate_is_read_wherever_it_stands():
    first = {"index": 0, "content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}
    second = {"index": 1, "content": {"parts": [{"text": "no"}]}}
    body = answer({"candidates": [second, first]})
    assert events_of(Decoder(), body) == [ModelText("yes"), ModelFinish("stop", "STOP")]


def test_sources_and_searches_are_shown_after_the_text():
    grounding = {
        "webSearchQueries": ["tides"],
        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
    }
    parts = replied(
        Decoder(), answer(chunk({"text": "Hi"}, finish="STOP", groundingMetadata=grounding))
    ).parts
    assert isinstance(parts[1], ToolCall)
    assert (parts[1].tool, parts[1].origin, parts[1].args) == (
        "google_search",
        "provider",
        {"queries": ["tides"]},
    )
    assert isinstance(parts[2], Source)
    assert (parts[2].url, parts[2].title) == ("https://a.example", "A")


def test_code_that_the_provider_ran_is_one_call_with_its_output():
    code = {"executableCode": {"language": "PYTHON", "code": "print(2)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}}
    message = replied(Decoder(), answer(chunk(code), chunk(result, finish="STOP")))
    (part,) = message.parts
    assert isinstance(part, ToolCall)
    shown = (part.tool, part.origin, part.state, part.value)
    assert shown == ("code_execution", "provider", "result", "2\n")
    assert contents_of(message) == [{"role": "model", "parts": [code, result]}]


def test_code_that_failed_is_an_error_of_its_call():
    code = {"executableCode": {"language": "PYTHON", "code": "1/0"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}
    (part,) = replied(Decoder(), answer(chunk(code, result, finish="STOP"))).parts
    assert isinstance(part, ToolCall)
    assert (part.state, part.outcome, part.error) == ("error", "failed", "ZeroDivisionError")


def test_a_picture_is_a_file_and_goes_back_with_its_signature():
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "c2ln"}
    message = replied(Decoder(), answer(chunk(picture, finish="STOP")))
    assert [part.type for part in message.parts] == ["file"]
    assert contents_of(message) == [{"role": "model", "parts": [picture]}]


# Requests


def test_a_request_has_history_tools_and_settings():
    provider = Gemini("gemini-2.5-flash", temperature=0.5, max_tokens=9, seed=1, stop=["END"])
    request = Request(messages=[asked("Hi")], system="Be brief.", tools=[TIDE])
    assert provider.encode(request) == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "tide_at",
                        "description": "Tell the tide.",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"port": {"type": "STRING"}},
                            "propertyOrdering": ["port"],
                            "required": ["port"],
                        },
                    }
                ]
            }
        ],
        "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 9,
            "seed": 1,
            "stopSequences": ["END"],
        },
    }


@pytest.mark.parametrize(
    ("model", "reasoning", "expected"),
    [
        ("gemini-2.5-flash", "low", {"thinkingBudget": 2_048, "includeThoughts": True}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0, "includeThoughts": False}),
        ("gemini-2.5-flash", 100, {"thinkingBudget": 100, "includeThoughts": True}),
        ("gemini-3-pro-preview", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3-pro-preview", "max", {"thinkingLevel": "high", "includeThoughts": True}),
    ],
)
def test_how_much_to_think_is_said_as_the_model_takes_it(
    model: str, reasoning: Any, expected: Body
):
    body = Gemini(model, reasoning=reasoning).encode(Request(messages=[asked("Hi")]))
    assert body["generationConfig"]["thinkingConfig"] == expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("tide_at", {"mode": "ANY", "allowedFunctionNames": ["tide_at"]}),
    ],
)
def test_the_choice_of_tools_is_a_mode(choice: str, expected: Body):
    provider = Gemini("gemini-2.5-flash", tool_choice=choice)
    body = provider.encode(Request(messages=[asked("Hi")], tools=[TIDE]))
    assert body["toolConfig"] == {"functionCallingConfig": expected}


def test_results_follow_their_calls_as_one_turn_of_the_user():
    message = replied(
        Decoder(),
        answer(chunk({"text": "Both."}, call(args=ARO), call("moon_phase"), finish="STOP")),
    )
    result = {"result": "low"}
    assert contents_of(message, asked("And now?")) == [
        {"role": "model", "parts": [{"text": "Both."}, call(args=ARO), call("moon_phase", {})]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "tide_at", "response": result}},
                {"functionResponse": {"name": "moon_phase", "response": result}},
                {"text": "And now?"},
            ],
        },
    ]


def test_ids_that_the_server_gave_go_back_and_others_are_not_made_up():
    given = {"functionCall": {"id": "g-1", "name": "tide_at", "args": ARO}}
    parts = contents_of(replied(Decoder(), answer(chunk(given, finish="STOP"))))
    assert parts[0]["parts"] == [given]
    assert parts[1]["parts"][0]["functionResponse"]["id"] == "g-1"


SIGNED = answer(
    chunk({"text": "Think", "thought": True}),
    chunk({"text": "ing.", "thought": True, "thoughtSignature": "dGhvdWdodA"}),
    chunk({"text": "I look "}),
    chunk({"text": "it up."}, call(args=ARO, thoughtSignature="Y2FsbA")),
    chunk(call(args={"port": "Moss"})),
    chunk({"text": "", "thoughtSignature": "ZW5k"}, finish="STOP"),
)


@pytest.mark.parametrize("size", [None, 7, 1])
def test_signatures_go_back_in_their_places(size: int | None):
    """W-12: neither joined with other parts nor moved, an empty text with a signature too."""
    parts = contents_of(replied(Decoder(), SIGNED, size=size))[0]["parts"]
    assert parts == [
        {"text": "Think", "thought": True},
        {"text": "ing.", "thought": True, "thoughtSignature": "dGhvdWdodA"},
        {"text": "I look it up."},
        call(args=ARO, thoughtSignature="Y2FsbA"),
        call(args={"port": "Moss"}),
        {"text": "", "thoughtSignature": "ZW5k"},
    ]


def test_a_thought_that_was_cut_short_is_harmless():
    """W-16: no part of it needs a signature."""
    parts = contents_of(replied(Decoder(), answer(chunk({"text": "First I", "thought": True}))))
    assert parts == [{"role": "model", "parts": [{"text": "First I", "thought": True}]}]


def test_calls_of_other_models_pass_the_check_of_signatures():
    """W-12: newer models refuse a call without one."""
    foreign = ToolCall(id="k-1", tool="tide_at", state="result", outcome="ok", args=ARO, told="low")
    message = Message(
        id="m-a",
        role="assistant",
        parts=(Reasoning(id="r", text="Hm.", sealed={"wire": "anthropic"}), foreign),
    )
    newer = contents_of(message, model="gemini-3-pro-preview")[0]["parts"]
    older = contents_of(message)[0]["parts"]
    assert newer == [call(args=ARO, thoughtSignature="skip_thought_signature_validator")]
    assert older == [call(args=ARO)]


def test_an_empty_result_gets_a_placeholder_and_an_error_is_called_one():
    ended = ToolCall(id="k", tool="tide_at", state="error", outcome="failed", args={}, told="No.")
    empty = ToolCall(id="l", tool="tide_at", state="result", outcome="ok", args={}, told="")
    results = contents_of(Message(id="m-a", role="assistant", parts=(ended, empty)))[1]["parts"]
    responses = [result["functionResponse"]["response"] for result in results]
    assert responses == [{"error": "No."}, {"result": "(no output)"}]


def test_blank_texts_are_not_sent():
    """W-15."""
    blank = Message(id="m-a", role="assistant", parts=(Text(id="p", text=""),))
    assert contents_of(blank) == []


def test_files_are_sent_as_their_bytes_or_their_text():
    files = (
        File(id="f", mime="image/png", data="AAAA"),
        File(id="g", mime="text/csv", name="a.csv", data="YSxi"),
    )
    body = Gemini("m").encode(Request(messages=[Message(id="m", role="user", parts=files)]))
    assert body["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"text": "a.csv:\na,b"},
    ]


def test_a_name_that_the_wire_forbids_is_mapped_both_ways():
    """W-13: names begin with a letter here."""
    tool = ToolSpec(name="2d plot", description="", parameters={"type": "object"})
    provider, request = Gemini("m"), Request(messages=[asked("Hi")], tools=[tool])
    sent = provider.encode(request)["tools"][0]["functionDeclarations"][0]["name"]
    assert sent == "_2d_plot"
    events = events_of(provider.decoder(request), answer(chunk(call(sent), finish="STOP")))
    assert [e.name for e in events if isinstance(e, ModelCall)] == ["2d plot"]


# Over HTTP


async def test_the_key_is_in_a_header_and_never_in_the_address(monkeypatch: pytest.MonkeyPatch):
    """X-01: the address holds the model and the form of the answer."""
    monkeypatch.setenv("GEMINI_API_KEY", "")
    monkeypatch.setenv("GOOGLE_API_KEY", " AIza-secret-of-mine\n")
    with ModelServer(answer(chunk({"text": "Hi"}, finish="STOP"))) as server:
        provider = Gemini("gemini-2.5-flash", base_url=f"http://{server.host}/v1beta")
        request = Request(messages=[asked("Hi")])
        events = [each async for events in provider.stream(request) for each in events]
        await provider.close()
    assert events[0] == ModelText("Hi")
    assert server.headers[0]["x-goog-api-key"] == "AIza-secret-of-mine"
    assert server.paths == ["/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"]


async def test_a_key_that_is_not_valid_is_a_matter_of_authentication():
    """The server answers 400 for it."""
    error = {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT",
            "details": [{"reason": "API_KEY_INVALID"}],
        }
    }
    with ModelServer(Fault(400, error)) as server:
        provider = Gemini("m", base_url=server.url, api_key="AIza-nonsense")
        with pytest.raises(errors.AuthenticationError) as caught:
            [_ async for _ in provider.stream(Request(messages=[asked("Hi")]))]
        await provider.close()
    assert caught.value.hint == "Check the key."


async def test_the_wait_that_the_body_asks_for_is_kept():
    """W-10: no header says it."""
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.25s"}
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [delay]}}
    waits: list[float] = []
    with ModelServer(Fault(429, error), answer(chunk({"text": "Hi"}, finish="STOP"))) as server:
        provider = Gemini("m", base_url=server.url, api_key="k")
        request = Request(messages=[asked("Hi")])
        stream = provider.stream(request, on_wait=lambda seconds, _: waits.append(seconds))
        events = [each async for events in stream for each in events]
        await provider.close()
    assert (waits, events[0]) == ([0.25], ModelText("Hi"))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=3,
)
FIELDS = ["candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall"]
FIELDS += ["name", "args", "partialArgs", "jsonPath", "stringValue", "willContinue", "inlineData"]
FIELDS += ["executableCode", "codeExecutionResult", "toolCall", "toolResponse", "finishReason"]
FIELDS += ["groundingMetadata", "groundingChunks", "usageMetadata", "promptFeedback", "error"]
NAMES = st.sampled_from(FIELDS)
SHAPED = st.recursive(
    JUNK,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(NAMES, SHAPED, max_size=6))
def test_no_chunk_of_any_shape_makes_the_decoder_raise(value: Any):
    events_of(Decoder(), sse(value, chunk(value, {**value, "text": "a"}), {"candidates": [value]}))
    events_of(Decoder(), sse(chunk({"functionCall": value}, value, {"toolCall": value}, value)))
    events_of(Decoder(), json.dumps(value))
