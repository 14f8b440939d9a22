"""An empty chat offers what this machine could use."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import nbtools as nb
from nbtools.providers import discovery
from nbtools.providers.vendors import LOCAL_SERVERS, VENDORS
from nbtools.testing import hold
from tests.page_copy import PageCopy
from tests.stage import Page, RecordingComm, Strict, comms
from tests.test_chat import Front, notices

__all__ = ["comms"]

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "NBTOOLS_GGUF",
    *(vendor.variable for vendor in VENDORS),
)
NAME = "ollama:qwen3:8b"


class Ollama(BaseHTTPRequestHandler):
    """Says who it is, and which model it has; other addresses hear that there is nothing."""

    answers: ClassVar = {
        "/": "Ollama is running",
        "/api/tags": json.dumps({"models": [{"name": "qwen3:8b"}]}),
    }
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.answers.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write((body or "").encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, and no server at any usual port."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    nowhere = [
        type(known)(name=known.name, title=known.title, address="http://127.0.0.1:9/v1")
        for known in LOCAL_SERVERS
    ]
    monkeypatch.setattr(discovery, "LOCAL_SERVERS", nowhere)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that says it is Ollama; gives its address."""
    handler: Any = type("Handler", (Ollama,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    host = f"127.0.0.1:{server.server_port}"
    monkeypatch.setenv("OLLAMA_HOST", host)
    monkeypatch.setattr(Ollama, "asked", handler.asked, raising=False)
    yield host
    server.shutdown()
    thread.join()
    server.server_close()


class Clicking(Front):
    """A page whose commands are answered one after the other."""

    def __init__(self, chat: nb.Chat) -> None:
        super().__init__(chat)
        self.acks: dict[str, dict[str, Any]] = {}
        self.came = threading.Condition()
        self.play = self._note

    def _note(self, message: dict[str, Any]) -> None:
        with self.came:
            self.acks |= {ack["ack"]: ack for ack in message.get("acks", ())}
            self.came.notify_all()

    async def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """Send a command; return Python's answer."""
        self.post(command, **fields)
        return await asyncio.to_thread(self._answer, f"c{self._count}")

    def _answer(self, command_id: str) -> dict[str, Any]:
        with self.came:
            assert self.came.wait_for(lambda: command_id in self.acks, 10)
            return {name: each for name, each in self.acks[command_id].items() if name != "ack"}


async def test_nothing_is_looked_for_before_a_person_asks(comms: list[RecordingComm], ollama: str):
    chat = nb.Chat()
    assert "choices" not in chat.snapshot()
    assert Ollama.asked == []
    assert await Clicking(chat).ask("choices") == {"ok": True}
    assert Ollama.asked == ["/", "/api/tags"]


async def test_usable_models_come_first_and_the_others_say_why(
    comms: list[RecordingComm], ollama: str, monkeypatch: pytest.MonkeyPatch
):
    """X-01: of a key the page gets the name of its variable, and nothing else."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-TEST-hushhush")
    front = Clicking(nb.Chat())
    await front.ask("choices")
    choices = front.copy.settings["choices"]
    assert choices[:2] == [
        {
            "name": "anthropic:claude-sonnet-5",
            "ready": True,
            "why": "ANTHROPIC_API_KEY is set",
        },
        {"name": NAME, "ready": True, "why": f"answers at {ollama}, with 1 model"},
    ]
    others = [each for each in choices if not each["ready"]]
    assert others[0] == {"name": "OpenAI", "ready": False, "why": "OPENAI_API_KEY is not set"}
    assert len(choices) == len(others) + 2
    assert "hushhush" not in json.dumps(front.comm.custom)
    assert front.copy.state == PageCopy(front.chat.snapshot()).state


async def test_a_click_does_what_assigning_the_model_does(comms: list[RecordingComm], ollama: str):
    chat = nb.Chat()
    front = Clicking(chat)
    await front.ask("choices")
    assert await front.ask("choose", model=NAME) == {"ok": True}
    assert (chat.model.label, chat.model.host) == (NAME, ollama)
    assert front.copy.settings["model"] == {"label": NAME, "host": ollama, "demo": False}
    assert notices(chat) == [f"The model is now {NAME}."]
    assert front.copy.settings["choices"] is None
    assert Ollama.asked == ["/", "/api/tags"]


async def test_only_a_usable_model_that_is_offered_can_be_chosen(
    comms: list[RecordingComm], ollama: str
):
    front = Clicking(nb.Chat())
    answer = await front.ask("choose", model=NAME)
    assert answer["text"] == f"{NAME!r} is not offered here; expected to look for models first."
    await front.ask("choices")
    for name in ("OpenAI", "openai:m @ https://elsewhere.example/v1", "auto"):
        answer = await front.ask("choose", model=name)
        assert answer["text"] == f"{name!r} is not offered here; expected one of {NAME}."
    assert front.chat.model.label == "demo"


async def test_what_is_offered_goes_with_the_first_message(comms: list[RecordingComm], ollama: str):
    gate = asyncio.Event()
    chat = nb.Chat(Strict([hold(gate)]))
    front = Clicking(chat)
    await front.ask("choices")
    turn = chat.send("Hi")
    late = "Models are offered in an empty chat; in this one, assign chat.model."
    assert await front.ask("choices") == {"ok": False, "error": "late", "text": late}
    answer = await front.ask("choose", model=NAME)
    assert (answer["ok"], chat.model.label) == (False, "scripted")
    assert front.copy.settings["choices"] is None
    chat.stop()
    await turn


async def test_a_repeated_command_looks_once_and_is_answered_once_it_is_known(
    comms: list[RecordingComm], ollama: str
):
    front = Clicking(nb.Chat())
    front.post("choices")
    front._count -= 1
    assert await front.ask("choices") == {"ok": True}
    assert Ollama.asked == ["/", "/api/tags"]


async def test_a_look_that_fails_is_told_where_it_was_asked_for(
    comms: list[RecordingComm], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(discovery, "LOCAL_SERVERS", ())
    answer = await Clicking(nb.Chat()).ask("choices")
    text = "Looking for models failed. ValueError: zip() argument 2 is longer than argument 1"
    assert answer == {"ok": False, "error": "invalid", "text": text}


async def test_a_chat_without_a_choice_says_so():
    page = Page(Strict("Hello."))
    answer = page.command("choose", model=NAME)
    assert answer["text"] == "This chat offers no choice of models."
