"""Chat Completions, second rounds: what was thought goes back to where it came from, as it came."""

from __future__ import annotations

import json
from typing import Any

import pytest

import nbtools as nb
from nbtools import codec
from nbtools.messages import Conversation, Message, Request, ToolSpec
from nbtools.providers import OpenAI
from nbtools.testing import decode
from tests.replay import Heard, asked, replied
from tests.servers import ModelServer, chunk, fragment, sse, text_reply

Body = dict[str, Any]
ARO = '{"port":"Aro"}'
TIDE = ToolSpec(name="tide_at", description="", parameters={"type": "object"})
DEEPSEEK = OpenAI("deepseek-x", base_url="https://api.deepseek.com/v1", api_key="k")
ROUTER = OpenAI("google/gemini-3-pro", base_url="https://openrouter.ai/api/v1", api_key="k")
QUESTION = Request(messages=[asked("Hi")], tools=[TIDE])


def after(model: OpenAI, body: str, size: int | None = None) -> list[Message]:
    """A conversation with one round, after it was saved and loaded."""
    messages = (asked("Hi"), replied(Heard(model, QUESTION), body, size=size))
    saved = json.loads(json.dumps(codec.encode(Conversation(messages=messages), saved=True)))
    return list(codec.decode_conversation(saved).messages)


def reply_to(model: OpenAI, history: list[Message]) -> Body:
    """The reply as the next request holds it."""
    body: Body = model.encode(Request(messages=[*history, asked("And now?")], tools=[TIDE]))
    return next(each for each in body["messages"] if each["role"] == "assistant")


def called(*before: Body) -> str:
    return sse(*before, fragment(0, "call_1", "tide_at", ARO), chunk({}, "tool_calls"))


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_a_text_goes_back_in_the_field_it_came_in(field: str, size: int | None):
    """W-12: DeepSeek refuses a second round without it."""
    body = called(chunk({field: "Need ", "content": None}), chunk({field: "the tide."}))
    found = reply_to(DEEPSEEK, after(DEEPSEEK, body, size))
    assert found["tool_calls"][0]["id"] == "call_1"
    assert found[field] == "Need the tide."


def test_thoughts_with_text_between_them_go_back_joined():
    body = sse(
        chunk({"reasoning_content": "One."}),
        chunk({"content": "Then "}),
        chunk({"reasoning_content": "Two."}),
        chunk({"content": "this."}),
        chunk({}, "stop"),
    )
    found = reply_to(DEEPSEEK, after(DEEPSEEK, body))
    assert (found["content"], found["reasoning_content"]) == ("Then this.", "One.Two.")


@pytest.mark.parametrize(
    "other",
    [
        OpenAI("deepseek-x", base_url="https://elsewhere.example/v1"),
        OpenAI("another", base_url="https://openrouter.ai/api/v1"),
        OpenAI("gpt-5.1"),
    ],
)
def test_another_server_or_model_is_sent_none_of_it(other: OpenAI):
    """W-12: variant; servers refuse fields that they do not know, and signatures of others."""
    details = {"type": "reasoning.encrypted", "data": "b3BhcXVl"}
    extra = {"google": {"thought_signature": "c2ln"}}
    call = {"index": 0, "id": "call_1", "function": {"name": "tide_at"}, "extra_content": extra}
    body = sse(
        chunk({"reasoning_content": "Hm.", "reasoning_details": [details]}),
        chunk({"tool_calls": [call], "extra_content": extra}),
        chunk({}, "tool_calls"),
    )
    found = reply_to(other, after(ROUTER, body))
    assert set(found) == {"role", "content", "tool_calls"}
    assert set(found["tool_calls"][0]) == {"id", "type", "function"}


def test_signed_details_go_back_as_they_came_and_joined_from_their_pieces():
    """W-12: OpenRouter."""

    def piece(kind: str, **fields: Any) -> Body:
        return chunk({"reasoning_details": [{"type": f"reasoning.{kind}", "index": 0, **fields}]})

    body = sse(
        chunk(
            {"reasoning": "Need", "reasoning_details": [{"type": "reasoning.text", "text": "Need"}]}
        ),
        piece("text", text="Need "),
        piece("text", text="it.", signature=None),
        piece("text", signature="c2ln", format="anthropic-claude-v1"),
        piece("encrypted", data="YQ==", id="call_1"),
        piece("encrypted", data="Yg==", id="call_2"),
        fragment(0, "call_1", "tide_at", ARO),
        chunk({}, "tool_calls"),
    )
    found = reply_to(ROUTER, after(ROUTER, body))
    text = {"type": "reasoning.text", "index": 0, "text": "Need it.", "signature": "c2ln"}
    sealed = {"type": "reasoning.encrypted", "index": 0}
    assert found["reasoning_details"] == [
        {"type": "reasoning.text", "text": "Need"},
        {**text, "format": "anthropic-claude-v1"},
        {**sealed, "data": "YQ==", "id": "call_1"},
        {**sealed, "data": "Yg==", "id": "call_2"},
    ]
    assert "reasoning" not in found


def test_details_that_nobody_signed_are_the_text_again():
    detail = {"type": "reasoning.text", "text": "Hm.", "index": 0, "signature": None}
    body = called(chunk({"reasoning": "Hm.", "reasoning_details": [detail]}))
    found = reply_to(ROUTER, after(ROUTER, body))
    assert found["reasoning"] == "Hm."
    assert "reasoning_details" not in found


def test_what_stands_beside_a_call_and_a_message_goes_back():
    """W-12: Google's signatures."""
    extra = {"google": {"thought_signature": "c2ln"}}
    function = {"name": "tide_at", "arguments": ARO}
    calls = [
        {"index": 0, "id": "call_1", "function": function, "extra_content": extra},
        {"index": 1, "id": "call_2", "function": function},
    ]
    body = sse(chunk({"tool_calls": calls}), chunk({"extra_content": extra}, "tool_calls"))
    found = reply_to(ROUTER, after(ROUTER, body))
    assert [call.get("extra_content") for call in found["tool_calls"]] == [extra, None]
    assert found["extra_content"] == extra


@pytest.mark.parametrize("odd", [None, "x", 7, [], {}, [None, 7, {}], [{"type": 7, "index": []}]])
def test_odd_material_raises_nothing(odd: Any):
    call = {"id": "k", "function": {"name": "f"}, "extra_content": odd}
    delta = {"reasoning_details": odd, "extra_content": odd, "reasoning": odd, "tool_calls": [call]}
    found = reply_to(ROUTER, after(ROUTER, sse(chunk(delta), chunk(delta), chunk({}, "stop"))))
    assert found["tool_calls"][0]["id"] == "k"
    assert decode("openai-chat", 200, {}, sse(chunk(delta)).encode())["reasoning"] in {"", "x"}


def test_a_saved_file_does_not_say_which_server_thought():
    saved = json.dumps(
        codec.encode(
            Conversation(
                messages=tuple(after(DEEPSEEK, called(chunk({"reasoning_content": "Hm."}))))
            ),
            saved=True,
        )
    )
    assert '"field": "reasoning_content"' in saved
    assert "api.deepseek.com" not in saved


async def test_a_chat_sends_with_the_results_what_was_thought():
    @nb.tool
    def tide_at(port: str) -> str:
        """Tell the tide."""
        return "low"

    first = called(chunk({"reasoning_content": "Need the tide."}))
    async with ModelServer(first, text_reply("It is low.")) as server:
        model = nb.OpenAI("m", base_url=server.url, api_key="")
        turn = await nb.Chat(model, tools=[tide_at]).send("How is the tide?")
        assert turn.text == "It is low."
        assert server.requests[1]["messages"][1]["reasoning_content"] == "Need the tide."


# What single vendors demand


def test_deepseek_is_sent_a_thought_with_every_reply():
    """It refuses replies without one, and those of other models have none."""
    body = sse(chunk({"content": "Hello."}), chunk({}, "stop"))
    assert reply_to(DEEPSEEK, after(ROUTER, body))["reasoning_content"] == ""


MISTRAL = OpenAI("mistral-medium-latest", base_url="https://api.mistral.ai/v1", api_key="k")


@pytest.mark.parametrize("model", ["mistral-medium-latest", "mistralai/Mixtral-8x7B", "devstral"])
@pytest.mark.parametrize("given", ["call_1", "a" * 60, "D681PevKs"])
def test_mistral_is_sent_ids_that_it_takes(given: str, model: str):
    server = OpenAI(model, base_url="http://localhost:8000/v1")
    body = sse(fragment(0, given, "tide_at", ARO), chunk({}, "tool_calls"))
    request = Request(messages=after(ROUTER, body), tools=[TIDE])
    asks, result = server.encode(request)["messages"][1:]
    found = asks["tool_calls"][0]["id"]
    assert found == result["tool_call_id"]
    assert len(found) == 9
    assert found.isalnum()
    assert (found == given) == (given == "D681PevKs")
    assert server.encode(request)["messages"][1]["tool_calls"][0]["id"] == found


def test_mistral_hears_a_word_of_the_model_between_a_result_and_the_user():
    history = [*after(ROUTER, called()), asked("And now?")]
    messages = MISTRAL.encode(Request(messages=history, tools=[TIDE]))["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant", "user"]
    other = ROUTER.encode(Request(messages=history, tools=[TIDE]))["messages"]
    assert [each["role"] for each in other] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(("host", "most"), [("api.openai.com", 40), ("localhost:8000", 46)])
def test_openai_is_sent_ids_of_40_characters_at_most(host: str, most: int):
    given = "chatcmpl-tool-" + "a" * 32
    body = sse(fragment(0, given, "tide_at", ARO), chunk({}, "tool_calls"))
    server = OpenAI("gpt-5.1", base_url=f"https://{host}/v1", api_key="k")
    asks, result = server.encode(Request(messages=after(ROUTER, body)))["messages"][1:]
    assert asks["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == most


@pytest.mark.parametrize(
    ("host", "limit", "seed"),
    [
        ("api.openai.com", "max_completion_tokens", "seed"),
        ("mine.openai.azure.com/openai", "max_completion_tokens", "seed"),
        ("api.mistral.ai", "max_tokens", "random_seed"),
        ("localhost:8000", "max_tokens", "seed"),
    ],
)
def test_settings_have_the_names_that_the_vendor_knows(host: str, limit: str, seed: str):
    """A name that it does not know makes it refuse the request."""
    server = OpenAI("m", base_url=f"https://{host}/v1", api_key="k", max_tokens=5, seed=7)
    body = server.encode(QUESTION)
    assert (body[limit], body[seed]) == (5, 7)
    assert len({"max_tokens", "max_completion_tokens", "seed", "random_seed"} & set(body)) == 2
