"""A conversation that began on one wire goes on on another: calls and results survive."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

import nbtools as nb
from nbtools import codec
from nbtools.events import ModelReasoning
from nbtools.messages import Conversation, Message, Notice, Reasoning, Request, ToolSpec
from nbtools.providers import Anthropic, Gemini, Ollama, OpenAI, OpenAIResponses
from nbtools.providers.anthropic import Decoder as AnthropicDecoder
from nbtools.providers.gemini import Decoder as GeminiDecoder
from nbtools.providers.ollama import Decoder as OllamaDecoder
from nbtools.providers.openai import Decoder as OpenAIDecoder
from nbtools.providers.responses import Decoder as ResponsesDecoder
from nbtools.providers.sealing import left_behind
from nbtools.providers.wires import Wire
from nbtools.testing import encode
from tests.replay import Heard, asked, replied
from tests.servers import ModelServer, chunk, fragment, sse

SECRET = "c2VjcmV0LW9mLXRoZS13aXJl"
ARO = '{"port":"Aro"}'
TIDE = ToolSpec(name="tide_at", description="", parameters={"type": "object"})


def named(*events: dict[str, Any]) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def block(index: int, content: Any, *deltas: Any) -> list[dict[str, Any]]:
    start = {"type": "content_block_start", "index": index, "content_block": content}
    pieces = [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
    return [start, *pieces, {"type": "content_block_stop", "index": index}]


CHAT = sse(
    chunk({"reasoning_content": "Hm."}),
    chunk({"content": "I look it up."}),
    fragment(0, "call_chat", "tide_at", ARO),
    chunk({}, "tool_calls"),
)
MESSAGES = named(
    {"type": "message_start", "message": {"id": "m-1", "content": [], "usage": {}}},
    *block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": SECRET},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look it up."}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "tide_at", "input": {}},
        {"type": "input_json_delta", "partial_json": ARO},
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    {"type": "message_stop"},
)
OUTPUT = [
    {
        "type": "reasoning",
        "id": "rs-1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": SECRET,
    },
    {
        "type": "message",
        "id": "msg-1",
        "content": [{"type": "output_text", "text": "I look it up."}],
    },
    {
        "type": "function_call",
        "id": "fc-1",
        "call_id": "call_1",
        "name": "tide_at",
        "arguments": ARO,
    },
]
RESPONSES = json.dumps({"status": "completed", "output": OUTPUT})
GEMINI = json.dumps(
    {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"text": "I look it up."},
                        {
                            "functionCall": {"name": "tide_at", "args": {"port": "Aro"}},
                            "thoughtSignature": SECRET,
                        },
                    ]
                },
                "finishReason": "STOP",
            }
        ]
    }
)
CALL = {"function": {"name": "tide_at", "arguments": {"port": "Aro"}}}
OLLAMA = json.dumps(
    {
        "message": {"thinking": "Hm.", "content": "I look it up.", "tool_calls": [CALL]},
        "done": True,
        "done_reason": "stop",
    }
)

REPLIES: dict[Wire, tuple[Any, str]] = {
    "openai-chat": (OpenAIDecoder, CHAT),
    "openai-responses": (ResponsesDecoder, RESPONSES),
    "anthropic": (AnthropicDecoder, MESSAGES),
    "gemini": (GeminiDecoder, GEMINI),
    "ollama": (OllamaDecoder, OLLAMA),
}
SIGNING: tuple[Wire, ...] = ("openai-responses", "anthropic", "gemini")


def begun(wire: Wire) -> list[Message]:
    """A conversation with one round on a wire, after it was saved and loaded."""
    read, body = REPLIES[wire]
    messages = (asked("How is the tide?"), replied(read(), body, told="It is low."))
    saved = json.loads(json.dumps(codec.encode(Conversation(messages=messages), saved=True)))
    return list(codec.decode_conversation(saved).messages)


@pytest.mark.parametrize(("first", "second"), list(permutations(REPLIES, 2)))
def test_calls_and_results_survive_and_sealed_material_does_not(first: Wire, second: Wire):
    """W-12: variant, switched to another provider."""
    body = json.dumps(encode(second, [*begun(first), asked("And now?")], [TIDE]))
    for survivor in ("How is the tide?", "I look it up.", "tide_at", "Aro", "It is low."):
        assert survivor in body
    assert SECRET not in body
    assert "Hm." not in body


@pytest.mark.parametrize("wire", SIGNING)
def test_what_a_wire_sealed_goes_back_to_it_after_another_one_answered(wire: Wire):
    """W-12: there and back, with a round on every other wire between."""
    others = [message for other in REPLIES if other != wire for message in begun(other)]
    conversation = [*begun(wire), *(_renamed(each, n) for n, each in enumerate(others))]
    body = json.dumps(encode(wire, [*conversation, asked("And now?")], [TIDE]))
    assert body.count(SECRET) == 1


def _renamed(message: Message, number: int) -> Message:
    parts = tuple(replace(part, id=f"{part.id}-{number}") for part in message.parts)
    return replace(message, id=f"{message.id}-{number}", parts=parts)


def test_what_is_left_behind_is_counted():
    assert left_behind(begun("anthropic"), "gemini") == (
        "It is not sent what only the model before it can read: 1 thought."
    )
    assert left_behind(begun("anthropic"), "anthropic") == ""
    assert "1 thought" in left_behind(begun("openai-chat"), "gemini")


@pytest.mark.parametrize(
    "model",
    [OpenAI("m", base_url="http://localhost:1"), OpenAIResponses("m"), Gemini("m"), Ollama("m")],
    ids=lambda model: model.label,
)
async def test_a_change_of_model_says_what_is_left_behind(model: Any):
    chat = nb.Chat(
        Anthropic("m", api_key="k"), conversation=Conversation(messages=tuple(begun("anthropic")))
    )
    chat.model = model
    (notice,) = chat.messages[-1].parts
    assert isinstance(notice, Notice)
    assert notice.text == (
        f"The model is now {model.label}. "
        "It is not sent what only the model before it can read: 1 thought."
    )
    chat.close()


def test_unsealed_thoughts_are_never_told_to_be_left_behind():
    thought = Message(id="m", role="assistant", parts=(Reasoning(id="r", text="Hm."),))
    assert left_behind([thought], "gemini") == ""


def test_every_wire_has_a_name_of_its_own():
    providers = (OpenAI("m"), OpenAIResponses("m"), Anthropic("m"), Gemini("m"), Ollama("m"))
    assert [provider.wire for provider in providers] == list(REPLIES)
    assert all(provider.encode(Request(messages=[asked("Hi")])) for provider in providers)


@pytest.mark.parametrize(
    ("make", "body"),
    [(Anthropic, MESSAGES), (OpenAIResponses, RESPONSES), (Gemini, GEMINI)],
    ids=["anthropic", "openai-responses", "gemini"],
)
def test_another_server_of_the_same_wire_is_not_sent_what_it_would_refuse(make: Any, body: str):
    """W-12: a signature that is not its own makes it refuse every later request."""
    one, two = (make("m", base_url=f"https://{host}.example/v1") for host in ("one", "two"))
    request = Request(messages=[asked("Hi")], tools=[TIDE])
    history = [asked("Hi"), replied(Heard(one, request), body), asked("And now?")]
    sent = {model: json.dumps(model.encode(Request(messages=history))) for model in (one, two)}
    assert SECRET in sent[one]
    assert SECRET not in sent[two]
    assert "tide_at" in sent[two]
    expected = "" if make is Gemini else "1 thought"
    assert expected in left_behind(history, two.wire, two.origin)
    assert left_behind(history, one.wire, one.origin) == ""


async def test_what_is_sealed_is_marked_as_it_streams():
    async with ModelServer(MESSAGES, judge=lambda _: "") as server:
        model = Anthropic("m", api_key="k", base_url=server.url)
        stream = model.stream(Request(messages=[asked("Hi")]))
        events = [event async for events in stream for event in events]
        sealed = [event.sealed for event in events if isinstance(event, ModelReasoning)]
        assert sealed[-1] == {"wire": "anthropic", "signature": SECRET, "origin": model.origin}


def test_a_mark_names_no_server():
    model = OpenAI("secret-model", base_url="https://secret.example/v1")
    assert not {"secret", "example"} & set(model.origin.split())
    assert model.origin != OpenAI("secret-model").origin
    assert model.origin != OpenAI("other", base_url="https://secret.example/v1").origin
    assert Anthropic("m").origin == Anthropic("n").origin
