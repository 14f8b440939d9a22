"""Names of models, and what this machine could use."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest

import nbtools as nb
from nbtools.providers import OpenAI, discovery, resolve
from nbtools.providers.anthropic import Anthropic
from nbtools.providers.http import HttpProvider
from nbtools.providers.vendors import LOCAL_SERVERS, Vendor

VARIABLES = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "TOGETHER_API_KEY",
    "OLLAMA_HOST",
    "OPENAI_BASE_URL",
    "NBTOOLS_GGUF",
]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, and no server at any usual port."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    serve(monkeypatch, "127.0.0.1:9", "127.0.0.1:9")


class Local:
    """A server on this machine that answers GET requests as it was told."""

    def __init__(self, answers: dict[str, Any], name: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = answers.get(self.path)
                body = found if isinstance(found, str) else json.dumps(found)
                self.send_response(404 if found is None else 200)
                self.end_headers()
                self.wfile.write(body.encode())

            def version_string(self) -> str:
                return name

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        options = {"poll_interval": 0.02}
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs=options)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def serve(monkeypatch: pytest.MonkeyPatch, lmstudio: str, llama: str) -> None:
    """Say where the servers of this machine are."""
    servers = [
        Vendor(name=known.name, title=known.title, address=f"http://{host}/v1")
        for known, host in zip(LOCAL_SERVERS, (lmstudio, llama), strict=True)
    ]
    monkeypatch.setattr(discovery, "LOCAL_SERVERS", servers)


def row(title: str) -> discovery.Availability:
    return next(each for each in nb.providers.available() if each.title == title)


def test_a_key_is_looked_up_by_its_name_and_not_shown(monkeypatch: pytest.MonkeyPatch):
    """X-01: the table has names of variables, and no values."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-TEST-hushhush")
    table = nb.providers.available()
    assert (table[0].title, table[0].reason) == ("Anthropic", "ANTHROPIC_API_KEY is set")
    assert row("OpenAI").reason == "OPENAI_API_KEY is not set"
    assert "hushhush" not in repr(table) + table._repr_html_()


def test_either_of_two_variables_will_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    assert row("Google Gemini").reason == "GOOGLE_API_KEY is set"


def test_an_empty_key_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    assert not row("OpenAI").usable


def test_ollama_has_to_say_who_it_is(monkeypatch: pytest.MonkeyPatch):
    assert row("Ollama").reason == "no Ollama answers at 127.0.0.1:9"
    tags = {"models": [{"name": "qwen3:8b"}, {"name": "llama3"}]}
    with Local({"/": "Ollama is running", "/api/tags": tags}, "Go") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        found = row("Ollama")
    assert (found.usable, found.model) == (True, "ollama:qwen3:8b")
    assert found.reason == f"answers at {server.host}, with 2 models"
    with Local({"/": "Hello", "/api/tags": tags}, "Go") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert not row("Ollama").usable


@pytest.mark.parametrize(
    ("answers", "usable"),
    [
        ({"/lmstudio-greeting": {"lmstudio": True}}, True),
        ({"/lmstudio-greeting": {"lmstudio": "no"}}, False),
        ({"/lmstudio-greeting": "<html>"}, False),
        ({}, False),
    ],
)
def test_lm_studio_has_to_say_who_it_is(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], usable: bool
):
    with Local({**answers, "/v1/models": {"data": [{"id": "m"}]}}, "x") as server:
        serve(monkeypatch, server.host, "127.0.0.1:9")
        assert row("LM Studio").usable is usable


@pytest.mark.parametrize(("name", "usable"), [("llama.cpp", True), ("SimpleHTTP/0.6", False)])
def test_llama_server_has_to_say_who_it_is(
    monkeypatch: pytest.MonkeyPatch, name: str, usable: bool
):
    answers = {"/health": {"status": "ok"}, "/v1/models": {"data": [{"id": "m"}]}}
    with Local(answers, name) as server:
        serve(monkeypatch, "127.0.0.1:9", server.host)
        assert row("llama-server").usable is usable


def test_the_table_shows_itself():
    table = nb.providers.available()
    assert repr(table).splitlines()[0].split() == ["provider", "why", "model"]
    assert table._repr_html_().count("<tr>") == len(table) + 1


def test_auto_takes_the_first_that_can_be_used(monkeypatch: pytest.MonkeyPatch):
    assert isinstance(resolve("auto"), nb.Demo)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert isinstance(resolve("auto"), Anthropic)


# Names


@pytest.mark.parametrize(
    ("name", "label", "host"),
    [
        ("anthropic:claude-sonnet-5", "anthropic:claude-sonnet-5", "api.anthropic.com"),
        ("claude-sonnet-5", "anthropic:claude-sonnet-5", "api.anthropic.com"),
        ("openai:ft:gpt:me", "openai:ft:gpt:me", "api.openai.com"),
        ("openai:m @ https://host.example/v1", "openai:m", "host.example"),
        ("openai:m @ localhost:8000/v1", "openai:m", "localhost:8000"),
        ("openai:m @ host.example/v1", "openai:m", "host.example"),
        ("groq:openai/gpt-oss-120b", "groq:openai/gpt-oss-120b", "api.groq.com"),
        ("lmstudio:m", "lmstudio:m", "127.0.0.1:1234"),
        ("llama-server:m @ box:8080/v1", "llama-server:m", "box:8080"),
    ],
)
def test_a_name_leads_to_its_provider(name: str, label: str, host: str):
    provider = resolve(name)
    assert (provider.label, provider.host) == (label, host)


@pytest.mark.parametrize("joined", [" @ ", "@", " @", "@ "])
def test_an_address_may_follow_without_blanks(joined: str):
    provider = resolve(f"openai:m{joined}http://host:8000/v1")
    assert isinstance(provider, HttpProvider)
    assert (provider.model, provider._base) == ("m", "http://host:8000/v1")
    assert resolve("openai:@cf/meta/llama @ http://host/v1").model == "@cf/meta/llama"  # type: ignore[attr-defined]


def test_an_address_without_a_scheme_is_completed():
    provider = resolve("openai:m @ 10.0.0.7/v1")
    assert isinstance(provider, HttpProvider)
    assert provider._base == "http://10.0.0.7/v1"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5.1", "write 'openai:gpt-5.1' or 'openai-responses:gpt-5.1'."),
        ("qwen3:8b", "write 'ollama:qwen3:8b' or 'groq:qwen3:8b' or 'openrouter:qwen3:8b'."),
        ("gpt-oss-20b", "write 'ollama:gpt-oss-20b' or"),
        ("mistral-large", "write 'mistral:mistral-large' or 'ollama:mistral-large' or"),
        ("devstral", "write 'mistral:devstral' or"),
        ("deepseek-r1:8b", "write 'deepseek:deepseek-r1:8b' or 'ollama:deepseek-r1:8b' or"),
    ],
)
def test_a_name_that_could_be_several_says_which(name: str, words: str):
    with pytest.raises(ValueError, match="could be several") as caught:
        resolve(name)
    assert words in str(caught.value)


def test_the_key_of_one_vendor_is_never_sent_to_another(monkeypatch: pytest.MonkeyPatch):
    """X-01: the address decides which variable is read."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TEST-hushhush")
    for name in ("groq:m", "lmstudio:m", "openai:m @ https://openrouter.ai/api/v1"):
        provider = resolve(name)
        assert isinstance(provider, OpenAI)
        assert provider._key() == ""
    azure = OpenAI("m", base_url="https://me.openai.azure.com/openai/v1")
    assert (
        azure._key_hint() == "Set the environment variable AZURE_OPENAI_API_KEY, or pass api_key."
    )
