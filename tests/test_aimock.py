"""The Chat Completions wire against a scripted server that nobody here wrote."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import errors
from nbtools.assembly import Assembly
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFinish,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Message, Request, Text, ToolCall, ToolSpec, Usage
from nbtools.providers import OpenAI

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "js" / "node_modules" / ".bin" / "llmock"
INSTALL = "@copilotkit/aimock is not installed: run `npm ci` in js/."
TIDE = ToolSpec(
    name="tide_at",
    description="Tell the tide.",
    parameters={
        "type": "object",
        "properties": {"port": {"type": "string"}},
        "required": ["port"],
    },
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start the server; give its address."""
    if not PROGRAM.exists() or shutil.which("node") is None:
        pytest.fail(INSTALL)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    fixtures = ROOT / "tests" / "aimock.json"
    options = ["-h", "127.0.0.1", "-p", str(port), "-f", str(fixtures), "--validate-on-load"]
    with subprocess.Popen(
        [PROGRAM, *options, "--strict"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def _wait_for(port: int) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("The scripted server did not start within 20 seconds.")


def journal(address: str) -> list[dict[str, Any]]:
    """Give the bodies of all requests so far."""
    with urllib.request.urlopen(f"{address}/__aimock/journal") as response:
        entries = json.load(response)
    entries = entries if isinstance(entries, list) else entries["entries"]
    return [entry["body"] for entry in entries]


def user(text: str) -> Message:
    return Message(id="m-u", role="user", parts=(Text(id="p", text=text),))


async def ask(address: str, *messages: Message, on_wait: Any = None) -> list[ModelEvent]:
    provider = OpenAI("gpt-5.1", base_url=f"{address}/v1", api_key="sk-test")
    request = Request(messages=messages, tools=[TIDE])
    stream = provider.stream(request, on_wait=on_wait)
    events = [event async for events in stream for event in events]
    await provider.close()
    return events


def text_of(events: list[ModelEvent], kind: Any = ModelText) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


async def test_a_text_arrives_whole_with_its_usage(address: str):
    events = await ask(address, user("greet"))
    assert text_of(events) == "Good day. This sentence comes in several pieces."
    used = [event.usage for event in events if isinstance(event, ModelUsage)]
    assert used == [Usage(input=12, output=9, total=21)]
    assert events[-1] == ModelFinish("stop", "stop")
    assert journal(address)[-1]["stream_options"] == {"include_usage": True}


async def test_reasoning_comes_before_the_answer(address: str):
    events = await ask(address, user("think"))
    assert text_of(events, ModelReasoning) == "Three and four."
    assert text_of(events) == "It is seven."


async def test_two_calls_and_their_results_make_a_second_request(address: str):
    question = user("tides of two ports")
    assembly = Assembly("m-a", lambda _: False, iter("abcdefgh").__next__)
    events = await ask(address, question)
    assembly.feed(events)
    assert text_of(events) == "I look both up."
    calls = [event for event in events if isinstance(event, ModelCall)]
    raws = [
        "".join(e.text for e in events if isinstance(e, ModelArgs) and e.key is c.key)
        for c in calls
    ]
    assert [(c.id, c.name, json.loads(raw)) for c, raw in zip(calls, raws, strict=True)] == [
        ("call_aro", "tide_at", {"port": "Aro"}),
        ("call_moss", "tide_at", {"port": "Moss"}),
    ]
    assert assembly.end().finish == "calls"
    parts = tuple(
        ToolCall(
            id=c.id, tool=c.name, state="result", args=json.loads(raw), told="low", outcome="ok"
        )
        for c, raw in zip(calls, raws, strict=True)
    )
    answer = await ask(address, question, Message(id="m-a", role="assistant", parts=parts))
    assert text_of(answer) == "Aro is low, and Moss is high."
    sent = [(m["role"], m.get("tool_call_id")) for m in journal(address)[-1]["messages"]]
    assert sent == [
        ("user", None),
        ("assistant", None),
        ("tool", "call_aro"),
        ("tool", "call_moss"),
    ]


@pytest.mark.parametrize("question", ["break off in the text", "break off in a call"])
async def test_a_stream_that_breaks_off_is_no_finished_answer(address: str, question: str):
    """W-11: bodies A and B, from another server."""
    events = await ask(address, user(question))
    assert events
    assert not [event for event in events if isinstance(event, ModelFinish)]
    assembly = Assembly("m-a", lambda _: False, iter("abcdefgh").__next__)
    assembly.feed(events)
    assert assembly.end().finish == "cut"


async def test_a_rate_limit_is_waited_for(address: str):
    """W-10: `Retry-After: 1`."""
    waits: list[tuple[float, str]] = []
    events = await ask(address, user("too fast"), on_wait=lambda *wait: waits.append(wait))
    assert text_of(events) == "Now it works."
    assert [seconds for seconds, _ in waits] == [1.0]


async def test_a_refusal_has_the_words_of_the_server(address: str):
    with pytest.raises(errors.BadRequestError, match="No such parameter") as caught:
        await ask(address, user("bad request"))
    assert caught.value.kind == "invalid_request_error"


async def test_a_malformed_body_is_an_error(address: str):
    with pytest.raises(errors.StreamError) as caught:
        await ask(address, user("garbage"))
    assert caught.value.kind == "malformed"


async def test_a_dropped_connection_is_an_error(address: str):
    with pytest.raises(errors.ConnectionError, match="broke the connection before it answered"):
        await ask(address, user("drop"))
