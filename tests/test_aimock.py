"""Every wire against a scripted server that nobody here wrote, in its strict mode."""

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

import nbtools as nb
from nbtools import errors
from nbtools.assembly import Assembly
from nbtools.events import ModelEvent, ModelFinish, ModelReasoning, ModelText, ModelUsage
from nbtools.messages import Message, Request, Text, ToolSpec, Usage
from nbtools.providers.http import HttpProvider
from tests.stage import Page

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


MAKERS: dict[str, tuple[str, str, str]] = {
    "openai-chat": ("OpenAI", "gpt-5.1", "/v1"),
    "openai-responses": ("OpenAIResponses", "gpt-5.1", "/v1"),
    "anthropic": ("Anthropic", "claude-sonnet-5", ""),
    "gemini": ("Gemini", "gemini-2.5-flash", "/v1beta"),
    "ollama": ("Ollama", "qwen3:8b", ""),
}


@pytest.fixture(params=MAKERS)
def model(request: pytest.FixtureRequest, address: str) -> HttpProvider:
    """Make a provider of each wire that asks the server."""
    return provider_of(request.param, address)


def provider_of(wire: str, address: str) -> HttpProvider:
    name, model, path = MAKERS[wire]
    made: HttpProvider = getattr(nb, name)(model, base_url=f"{address}{path}", api_key="sk-test")
    return made


def journal(address: str) -> list[dict[str, Any]]:
    """Give the bodies of all requests so far."""
    with urllib.request.urlopen(f"{address}/__aimock/journal") as response:
        entries = json.load(response)
    entries = entries if isinstance(entries, list) else entries["entries"]
    return [entry["body"] for entry in entries]


def user(text: str) -> Message:
    return Message(id="m-u", role="user", parts=(Text(id="p", text=text),))


async def ask(provider: HttpProvider, *messages: Message, on_wait: Any = None) -> list[ModelEvent]:
    request = Request(messages=messages, tools=[TIDE])
    stream = provider.stream(request, on_wait=on_wait)
    try:
        return [event async for events in stream for event in events]
    finally:
        await provider.close()


def text_of(events: list[ModelEvent], kind: Any = ModelText) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


async def test_a_text_arrives_whole_with_its_end(model: HttpProvider):
    events = await ask(model, user("greet"))
    assert text_of(events) == "Good day. This sentence comes in several pieces."
    assert [e.finish for e in events if isinstance(e, ModelFinish)] == ["stop"]


async def test_usage_is_asked_for_and_read(address: str):
    events = await ask(provider_of("openai-chat", address), user("greet"))
    used = [event.usage for event in events if isinstance(event, ModelUsage)]
    assert used == [Usage(input=12, output=9, total=21)]
    assert journal(address)[-1]["stream_options"] == {"include_usage": True}


async def test_reasoning_comes_before_the_answer(model: HttpProvider):
    if isinstance(model, nb.Ollama):
        pytest.skip("The server has a name of its own for what Ollama calls `thinking`.")
    events = await ask(model, user("think"))
    assert text_of(events, ModelReasoning) == "Three and four."
    assert text_of(events) == "It is seven."


async def test_two_calls_and_their_results_make_a_second_request(model: HttpProvider):
    asked: list[str] = []

    @nb.tool
    def tide_at(port: str) -> str:
        """Tell the tide.

        Args:
            port: The port.
        """
        asked.append(port)
        return {"Aro": "low", "Moss": "high"}[port]

    page = Page(model, [tide_at])
    await page.say("tides of two ports")
    await model.close()
    assert sorted(asked) == ["Aro", "Moss"]
    assert page.texts == [
        "tides of two ports",
        "I look both up.",
        "Aro is low, and Moss is high.",
    ]
    assert [(call.args, call.told) for call in page.calls] == [
        ({"port": "Aro"}, "low"),
        ({"port": "Moss"}, "high"),
    ]
    assert page.shown["status"] == "ready"


@pytest.mark.parametrize("question", ["break off in the text", "break off in a call"])
async def test_a_stream_that_breaks_off_is_no_finished_answer(model: HttpProvider, question: str):
    """W-11: bodies A and B, from another server."""
    if isinstance(model, nb.Ollama | nb.Gemini) and question.endswith("call"):
        pytest.skip("On this wire a call comes in one piece.")
    events = await ask(model, user(question))
    assert events
    assert not [event for event in events if isinstance(event, ModelFinish)]
    assembly = Assembly("m-a", lambda _: False, map(str, range(99)).__next__)
    assembly.feed(events)
    assert assembly.end().finish == "cut"


async def test_a_rate_limit_is_waited_for(address: str):
    """W-10: `Retry-After: 1`."""
    waits: list[tuple[float, str]] = []
    provider = provider_of("openai-chat", address)
    events = await ask(provider, user("too fast"), on_wait=lambda *wait: waits.append(wait))
    assert text_of(events) == "Now it works."
    assert [seconds for seconds, _ in waits] == [1.0]


async def test_a_refusal_has_the_words_of_the_server(model: HttpProvider):
    with pytest.raises(errors.BadRequestError, match="No such parameter"):
        await ask(model, user("bad request"))


async def test_a_malformed_body_is_an_error(model: HttpProvider):
    with pytest.raises(errors.StreamError) as caught:
        await ask(model, user("garbage"))
    assert caught.value.kind == "malformed"


@pytest.mark.usefixtures("quick")
async def test_a_dropped_connection_is_an_error(model: HttpProvider):
    with pytest.raises(errors.ConnectionError, match="broke the connection before it answered"):
        await ask(model, user("drop"))
