"""Bodies that no server meant to send: recorded or hand-made ones, broken at random.

Every mutation is made from a seed, so that one that does harm can be made again.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from itertools import count

from nbtools import codec
from nbtools.assembly import Assembly
from nbtools.events import MessageStarted, ModelEvent, ModelFault, ModelFinish
from nbtools.history import prepare
from nbtools.jsontext import dumps
from nbtools.messages import Conversation, Message, Text
from nbtools.providers.wires import Wire, decoder_of
from nbtools.reducer import reduce
from nbtools.testing import encode
from tests import anthropic_wire as messages
from tests.recordings import cases, load
from tests.replay import events_of
from tests.servers import calls_reply, chunk, sse, text_reply

WIRES: list[Wire] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]
LARGEST = 12_000
"""Bytes of the largest recording that is broken; more of the same teaches nothing."""

_ITEM = {"type": "function_call", "id": "fc-1", "call_id": "k-1", "name": "rows", "arguments": ""}
_ARGUED = {"item_id": "fc-1", "output_index": 0, "delta": '{"n": 1}'}
HAND_MADE: dict[Wire, list[str]] = {
    "openai-chat": [
        text_reply("Tide ", "is low."),
        calls_reply(("k-1", "rows", '{"n": 1}'), ("k-2", "rows", "{}")),
        sse(chunk({"reasoning_content": "Hm.", "annotations": []}), {"error": {"message": "x"}}),
    ],
    "openai-responses": [
        sse(
            {"type": "response.created", "response": {"id": "r-1", "status": "in_progress"}},
            {"type": "response.output_text.delta", "item_id": "m-1", "delta": "Low."},
            {"type": "response.output_item.added", "output_index": 0, "item": _ITEM},
            {"type": "response.function_call_arguments.delta", **_ARGUED},
            {"type": "response.output_item.done", "output_index": 0, "item": _ITEM},
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        ),
    ],
    "anthropic": [
        messages.reply(
            messages.thinking(0, "Hm.", "c2ln"),
            messages.text(1, "Low."),
            messages.tool_use(2, "tu-1", "rows", '{"n"', ": 1}"),
            reason="tool_use",
        ),
    ],
    "gemini": [
        sse(
            {"candidates": [{"content": {"parts": [{"text": "Low."}]}}]},
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {"text": "Hm.", "thought": True},
                                {"functionCall": {"name": "rows", "args": {"n": 1}}},
                            ]
                        },
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1},
            },
            done=False,
        ),
    ],
    "ollama": [
        "".join(
            json.dumps(line) + "\n"
            for line in (
                {"message": {"role": "assistant", "content": "Low.", "thinking": "Hm."}},
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [{"function": {"name": "rows", "arguments": {"n": 1}}}],
                    }
                },
                {"done": True, "done_reason": "stop", "eval_count": 3, "prompt_eval_count": 1},
            )
        ),
    ],
}

_VALUES = [
    "null", "true", "-1", "0", "1e999", "3.5", '""', '"x"', "[]", "[null]", "{}", '{"a":[]}',
    '[[{"type":"text"}]]', '"\\ud800"', "NaN", "[" * 300, "18446744073709551616", '"\\u0000"',
]  # fmt: skip
_PIECES = [
    b"\n", b"\n\n", b"\r", b"data:", b"data: ", b"event: error\n", b"data: [DONE]\n\n", b":\n",
    b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b'"', b"\\", b"\x00", b",",
]  # fmt: skip
_VALUE = re.compile(rb'(?<=[:,\[])\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|\{\}|\[\])')
_NAME = re.compile(rb'"[A-Za-z_]+"(?=\s*:)')


def seeds(wire: Wire) -> list[bytes]:
    """Bodies to break: the recordings that are not too long, where they are there, and a few."""
    recorded = [load(wire, case)[1] for case in cases(wire)]
    return [
        *(body for body in recorded if 0 < len(body) <= LARGEST),
        *(body.encode() for body in HAND_MADE[wire]),
    ]


def mutated(body: bytes, chance: random.Random) -> bytes:
    """Break a body in one to four places."""
    for _ in range(chance.randint(1, 4)):
        body = chance.choice(_MUTATIONS)(body, chance)
    return body


def absorb(wire: Wire, body: bytes, size: int | None = None) -> list[ModelEvent]:
    """Read a body as its provider would, make a message of it and send that back.

    Raises whatever is raised on the way, and AssertionError for events that nobody could use.
    """
    events = events_of(decoder_of(wire), body, size)
    ends = [event for event in events if isinstance(event, ModelFinish | ModelFault)]
    assert len(ends) <= 1, ends
    assert not ends or events[-1] is ends[0], events
    message = _message(events)
    dumps(codec.encode(message)).encode()
    question = Message(id="m-u", role="user", parts=(Text(id="p-u", text="Hi"),))
    dumps(encode(wire, prepare(Conversation(messages=(question, message, question)))))
    return events


def _message(events: list[ModelEvent]) -> Message:
    """Make the message that the events become; its calls have come to nothing."""
    numbers = count(1)
    assembly = Assembly("m-a", lambda _: False, lambda: f"p-{next(numbers)}")
    conversation = reduce(Conversation(), MessageStarted(message="m-a"))
    for event in (*assembly.feed(events), assembly.end()):
        conversation = reduce(conversation, event)
    return conversation.messages[0]


def _flip(body: bytes, chance: random.Random) -> bytes:
    if not body:
        return body
    place = chance.randrange(len(body))
    return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]


def _cut(body: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(body))
    return body[:start] + body[start + chance.choice([1, 2, 7, 50, len(body)]) :]


def _repeat(body: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(body))
    piece = body[start : start + chance.choice([1, 10, 200])]
    place = chance.randint(0, len(body))
    return body[:place] + piece + body[place:]


def _insert(body: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(body))
    return body[:place] + chance.choice(_PIECES) + body[place:]


def _shuffle_events(body: bytes, chance: random.Random) -> bytes:
    events = body.split(b"\n\n")
    chance.shuffle(events)
    return b"\n\n".join(events)


def _retype(body: bytes, chance: random.Random) -> bytes:
    """Put a value of any kind in the place of another; this is what finds most."""
    found = list(_VALUE.finditer(body))
    if not found:
        return body
    match = chance.choice(found)
    value = chance.choice(_VALUES).encode()
    return body[: match.start(1)] + value + body[match.end(1) :]


def _rename(body: bytes, chance: random.Random) -> bytes:
    """Give a field the name of another one."""
    found = list(_NAME.finditer(body))
    if not found:
        return body
    match, other = chance.choice(found), chance.choice(found)
    return body[: match.start()] + other.group() + body[match.end() :]


Mutation = Callable[[bytes, random.Random], bytes]
_MUTATIONS: list[Mutation] = [
    _flip, _cut, _repeat, _insert, _shuffle_events, _retype, _retype, _retype, _rename,
]  # fmt: skip
