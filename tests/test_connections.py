"""The way to a server: a client or a proxy of one's own, and how long things may take."""

from __future__ import annotations

import asyncio
import logging
import pickle
import shutil
import ssl
import threading
import traceback
import warnings
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest

import nbtools as nb
from nbtools import errors
from nbtools.events import ModelEvent, ModelFault, ModelText
from nbtools.messages import Message, Request, Text, ToolSpec
from nbtools.providers import Anthropic, Gemini, Ollama, OpenAI, OpenAIResponses
from nbtools.providers.http import HttpProvider
from tests.servers import Answer, ModelServer, chunk, sse, text_reply

HI = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])
WIRES = ["OpenAI", "OpenAIResponses", "Anthropic", "Gemini", "Ollama"]


async def ask(provider: HttpProvider) -> list[ModelEvent]:
    events = [event async for now in provider.stream(HI) for event in now]
    await provider.close()
    return events


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ModelText))


async def test_a_client_of_the_user_is_used_and_stays_open():
    async with (
        ModelServer(text_reply("Hi"), text_reply("Ho")) as server,
        httpx.AsyncClient(headers={"x-mine": "yes"}) as client,
    ):
        provider = OpenAI("m", base_url=server.url, api_key="", client=client)
        assert (said(await ask(provider)), said(await ask(provider))) == ("Hi", "Ho")
        assert not client.is_closed
        assert [headers["x-mine"] for headers in server.headers] == ["yes", "yes"]


async def test_a_client_that_the_user_goes_on_using_serves_every_loop():
    """L-05: idle connections of one loop are not taken up by another."""
    async with (
        ModelServer(*[text_reply("Hi")] * 6, judge=lambda _: "") as server,
        httpx.AsyncClient() as client,
    ):
        chat = nb.Chat(nb.OpenAI("m", base_url=server.url, api_key="", client=client))
        for _ in range(3):
            answer = await client.post(f"{server.url}/chat/completions", json={})
            assert answer.status_code == 200
            assert (await chat.send("Hello")).text == "Hi"
    assert server.connections == 2


def test_a_client_of_the_user_serves_loops_one_after_the_other():
    """L-05: variant."""
    with ModelServer(*[text_reply("Hi")] * 4) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        provider = OpenAI("m", base_url=server.url, api_key="", client=httpx.AsyncClient())
        for _ in range(2):
            assert said(asyncio.run(ask(provider))) == "Hi"
        assert said(_in_a_thread(lambda: asyncio.run(ask(provider)))) == "Hi"


def _in_a_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


async def test_hooks_and_transports_of_the_user_are_the_users():
    asked: list[str] = []

    class Counting(httpx.AsyncBaseTransport):
        closed = False

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, text=text_reply("Hi"))

        async def aclose(self) -> None:
            self.closed = True

    async def note(request: httpx.Request) -> None:
        asked.append(request.url.path)

    transport = Counting()
    client = httpx.AsyncClient(
        event_hooks={"request": [note]}, mounts={"http://model.invalid": transport}
    )
    provider = OpenAI("m", base_url="http://model.invalid/v1", api_key="", client=client)
    assert said(await ask(provider)) == "Hi"
    await provider.close()
    assert (asked, transport.closed) == (["/v1/chat/completions"], False)
    await client.aclose()
    with pytest.raises(RuntimeError, match="client has been closed"):
        await ask(provider)


@pytest.mark.parametrize("own", [True, False])
async def test_the_log_of_the_http_client_has_no_query_and_no_header_of_ours(
    own: bool, caplog: pytest.LogCaptureFixture
):
    """X-01: it writes whole addresses at level INFO, and headers at level DEBUG."""
    caplog.set_level(logging.DEBUG)
    away = Answer(status=302, headers={"location": "https://a.example/?token=hushhush"})
    async with ModelServer(away, text_reply("Hi")) as server, httpx.AsyncClient() as client:
        given = {"client": client} if own else {}
        address = f"{server.url}?api-key=key-hushhush"
        provider = OpenAI("m", base_url=address, api_key="sk-hushhush-abcdef", **given)  # type: ignore[arg-type]
        with pytest.raises(errors.ProviderError):
            await ask(provider)
        assert said(await ask(provider)) == "Hi"
        assert server.paths[0].endswith("?api-key=key-hushhush")
        assert (f"{server.url}/chat/completions" in caplog.text) is own
        assert "send_request_headers" in caplog.text
        assert "hushhush" not in caplog.text
        await client.get(f"{server.url}/models?mine=hushhush")
    assert "mine=hushhush" in caplog.text  # the user's own requests are the user's affair


@pytest.mark.usefixtures("quick")
async def test_the_password_of_a_proxy_is_shown_nowhere():
    """X-01: variant."""
    provider = OpenAI(
        "m",
        base_url="http://model.invalid/v1",
        api_key="",
        proxy="http://me:pass-hushhush@127.0.0.1:9",
    )
    with pytest.raises(errors.ConnectionError) as caught:
        await ask(provider)
    shown = "".join(traceback.format_exception(caught.value)) + repr(provider)
    assert "hushhush" not in shown
    assert b"hushhush" not in pickle.dumps(provider)


async def test_a_login_in_the_address_stands_before_a_key():
    async with ModelServer(text_reply("Hi")) as server:
        address = server.url.replace("//", "//me:w%C3%B6rd-hushhush@")
        assert said(await ask(OpenAI("m", base_url=address, api_key="k"))) == "Hi"
        pair = b64encode("me:wörd-hushhush".encode()).decode()
        assert server.headers[0]["authorization"] == f"Basic {pair}"


async def test_connecting_the_first_word_and_a_pause_have_limits_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
):
    connecting: list[float] = []
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def noted(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        connecting.append(request.extensions["timeout"]["connect"])
        return await send(self, request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", noted)
    limits = nb.Timeouts(connect=3.0, first=5.0, idle=0.1)
    pause: list[Any] = [sse(chunk({"content": "one"}), done=False), threading.Event()]
    async with ModelServer(pause) as server:
        provider = OpenAI("m", base_url=server.url, api_key="", timeout=limits)
        events = await ask(provider)
    assert connecting == [3.0]
    assert events[0] == ModelText("one")
    assert isinstance(events[1], ModelFault)
    assert events[1].error.text == f"{server.host} sent nothing for 0.1 seconds."


@pytest.mark.parametrize("name", WIRES)
async def test_every_wire_takes_the_same_ways(name: str):
    """Headers, client, timeouts and settings are arguments of each of them."""
    asked: list[Any] = []

    def answer(body: Any) -> Answer:
        asked.append(body)
        return Answer(status=400, pieces=['{"error": {"message": "No."}}'])

    async with ModelServer(answer, judge=lambda _: "") as server, httpx.AsyncClient() as client:
        kind: Any = getattr(nb, name)
        provider = kind(
            "m",
            base_url=server.url,
            api_key="k",
            headers={"x-mine": "yes"},
            timeout=2.0,
            proxy=None,
            client=client,
            settings=nb.Settings(extra={"from": "settings"}),
            max_tokens=9,
        )
        with pytest.raises(errors.BadRequestError, match=r"No\."):
            await ask(provider)
    assert asked[0]["from"] == "settings"
    assert server.headers[0]["x-mine"] == "yes"
    assert provider.settings.max_tokens == 9


async def test_cookies_are_neither_kept_nor_sent():
    baked = Answer(pieces=[text_reply("Hi")], headers={"set-cookie": "sticky=1; Path=/"})
    async with ModelServer(baked, text_reply("Ho")) as server:
        provider = OpenAI("m", base_url=server.url, api_key="")
        texts = [said([e async for now in provider.stream(HI) for e in now]) for _ in range(2)]
        assert texts == ["Hi", "Ho"]
        assert "cookie" not in server.headers[1]
        await provider.close()


async def test_a_request_that_could_not_be_written_leaves_nothing_to_the_next():
    async with ModelServer(text_reply("Hi")) as server:
        provider = OpenAI("m", base_url="http://\u00fc_.invalid/v1", api_key="")
        for _ in range(2):  # the second time, too
            with pytest.raises(Exception, match=r"\u00fc_\.invalid|Invalid IDNA"):
                await ask(provider)
        provider = OpenAI("m", base_url=server.url, api_key="", headers={"x-\u00fc": "1"})
        with pytest.raises(errors.AuthenticationError, match="'x-\u00fc' has characters"):
            await ask(provider)
        assert server.connections == 0


async def test_each_request_has_the_headers_of_its_own_time(monkeypatch: pytest.MonkeyPatch):
    async with ModelServer(*[text_reply("Hi")] * 3) as server:
        provider = OpenAI("m", base_url=server.url)
        for key in ("one", "one", "two"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            assert said([e async for now in provider.stream(HI) for e in now]) == "Hi"
        sent = [(h["authorization"], h["host"], h["content-length"]) for h in server.headers]
        length = sent[0][2]
        assert sent == [(f"Bearer {key}", server.host, length) for key in ("one", "one", "two")]
        await provider.close()


@pytest.mark.parametrize("name", ["OpenAI", "OpenAIResponses"])
def test_azure_is_given_its_key_in_its_own_header(name: str):
    provider: Any = getattr(nb, name)("m", base_url="https://me.openai.azure.com/openai/v1")
    assert provider._authorization("k") == {"api-key": "k"}


@pytest.mark.parametrize("make", [OpenAI, OpenAIResponses, Anthropic, Gemini, Ollama])
def test_tools_in_extra_are_added_to_those_of_the_chat(make: Any):
    tool = ToolSpec(name="rows", description="", parameters={"type": "object"})
    request = Request(messages=HI.messages, tools=[tool])
    own = make("m").encode(request)["tools"]
    search = {"type": "browser_search"}
    assert make("m", extra={"tools": [search]}).encode(request)["tools"] == [*own, search]


async def test_the_certificates_are_read_once_and_again_when_others_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Reading them takes 25 ms, in which no chat of the process moves."""
    read: list[Any] = []
    make_context = ssl.create_default_context

    def counted(**places: Any) -> ssl.SSLContext:
        read.append(places["cafile"])
        return make_context(**places)

    monkeypatch.setattr(ssl, "create_default_context", counted)
    own = [str(shutil.copy(certifi.where(), tmp_path / name)) for name in ("a.pem", "b.pem")]
    for named in own:
        monkeypatch.setenv("SSL_CERT_FILE", named)
        for _ in range(3):
            provider = OpenAI("m", base_url="https://model.invalid/v1", api_key="")
            await provider._clients._of_this_loop(provider._address("/models"))
            await provider.close()
    assert read == own
