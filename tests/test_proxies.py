"""Which proxy is gone through, and what a person reads where that leads nowhere."""

from __future__ import annotations

import socket
import sys
import traceback

import pytest

from nbtools import errors
from nbtools.events import ModelText
from nbtools.messages import Message, Request, Text
from nbtools.providers import OpenAI
from nbtools.providers.proxies import proxy_for
from tests.servers import Answer, ModelServer, text_reply

HI = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])
PROXIED = "http://model.invalid/v1"
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, quick: None) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def said(provider: OpenAI) -> str:
    events = [event async for now in provider.stream(HI) for event in now]
    await provider.close()
    return "".join(event.text for event in events if isinstance(event, ModelText))


async def refused(provider: OpenAI) -> errors.ConnectionError:
    with pytest.raises(errors.ConnectionError) as caught:
        await said(provider)
    assert "hushhush" not in "".join(traceback.format_exception(caught.value))
    return caught.value


ENVIRONMENTS = [
    ({"HTTP_PROXY": "http://h:1"}, PROXIED, "http://h:1"),
    ({"http_proxy": " h:1 "}, PROXIED, "http://h:1"),
    ({"ALL_PROXY": "socks5://h:1"}, PROXIED, "socks5://h:1"),
    ({"HTTPS_PROXY": "http://h:1"}, PROXIED, None),
    ({"HTTPS_PROXY": "http://h:1", "HTTP_PROXY": "nonsense://"}, "https://a.b/v1", "http://h:1"),
    ({}, PROXIED, None),
]
SPARED = [
    ("*", PROXIED),
    ("localhost, *", PROXIED),
    ("other,model.invalid", PROXIED),
    ("other, .invalid", PROXIED),
    (".model.invalid", PROXIED),
    ("http://model.invalid", PROXIED),
    ("model.invalid:8080", "http://model.invalid:8080/v1"),
    ("model.invalid:80", PROXIED),
    ("model.invalid:443", "https://model.invalid/v1"),
    ("*.invalid", PROXIED),
    ("https://model.invalid/", PROXIED),
    ("10.0.0.7", "http://10.0.0.7:1/v1"),
    ("10.0.0.0/8", "http://10.0.0.7:1/v1"),
    ("fd00::/8", "http://[fd00::1]:8080/v1"),
    ("fd00::1", "http://[fd00::1]:8080/v1"),
    ("[fd00::1]", "http://[fd00::1]:8080/v1"),
    ("[fd00::1]:8080", "http://[fd00::1]:8080/v1"),
    ("fd00::80", "http://[fd00::80]/v1"),
]


@pytest.mark.parametrize(("named", "address", "proxy"), ENVIRONMENTS)
def test_the_environment_names_the_proxy(
    named: dict[str, str], address: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
):
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(address) == proxy


@pytest.mark.parametrize(("spared", "address"), SPARED)
def test_the_environment_names_what_needs_none(
    spared: str, address: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ALL_PROXY", "http://h:1")
    assert proxy_for(address) == "http://h:1"
    monkeypatch.setenv("NO_PROXY", spared)
    assert proxy_for(address) is None
    assert proxy_for("http://elsewhere.example/v1") == (
        None if spared.endswith("*") else "http://h:1"
    )


@pytest.mark.parametrize("own", [True, False])
async def test_a_request_goes_through_the_proxy(own: bool, monkeypatch: pytest.MonkeyPatch):
    async with ModelServer(text_reply("Hi")) as server:
        proxy = f"http://me:hushhush@{server.host}"
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9" if own else proxy)
        given = {"proxy": f" {proxy} "} if own else {}
        provider = OpenAI("m", base_url=PROXIED, api_key="", **given)  # type: ignore[arg-type]
        assert await said(provider) == "Hi"
        assert server.headers[0]["proxy-authorization"].startswith("Basic ")
        assert server.headers[0]["host"] == "model.invalid"


USELESS = ["http://me:hushhush#x@h:1", "http://me:hushhush/x@h:1", "ftp://h:1", "http://h:port"]


@pytest.mark.parametrize("proxy", USELESS)
async def test_a_proxy_of_no_use_is_named_without_its_login(
    proxy: str, monkeypatch: pytest.MonkeyPatch
):
    expected = "expected an address such as 'http://host:3128', where a password has %23 for #"
    with pytest.raises(ValueError, match=r"^proxy is '") as caught:
        OpenAI("m", proxy=proxy)
    assert expected in str(caught.value)
    assert "hushhush" not in str(caught.value)
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = await refused(OpenAI("m", base_url=PROXIED, api_key=""))
    assert error.text.startswith("The proxy '")
    assert expected in error.text
    assert "HTTPS_PROXY" in error.hint


async def test_a_socks_proxy_says_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:hushhush@h:1")
    error = await refused(OpenAI("m", base_url=PROXIED, api_key=""))
    assert str(error) == (
        "The proxy 'h:1' speaks SOCKS, for which socksio is needed. Run: pip install socksio."
    )


async def test_a_proxy_that_does_not_answer_is_not_taken_for_the_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
        provider = OpenAI("m", base_url=PROXIED, api_key="", proxy=f"http://me:hushhush@{host}")
        error = await refused(provider)
    assert error.text == f"No connection to the proxy {host}."
    provider = OpenAI("m", base_url=PROXIED, api_key="", proxy="http://proxy.invalid:1")
    assert (await refused(provider)).text == "No connection to the proxy proxy.invalid:1."


async def test_a_proxy_that_lets_nothing_pass_says_why():
    async with ModelServer(Answer(status=407), judge=lambda _: "") as server:
        provider = OpenAI(
            "m", base_url="https://model.invalid/v1", api_key="", proxy=f"http://{server.host}"
        )
        error = await refused(provider)
    assert error.text.startswith(f"The proxy {server.host} does not pass the request on: 501 ")
    assert error.kind == "ProxyError"


async def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/place.pem")
    error = await refused(OpenAI("m", base_url="https://model.invalid/v1", api_key=""))
    assert error.text.startswith("The certificates of SSL_CERT_FILE='/no/such/place.pem'")
    assert "could not be read: [Errno 2] No such file" in error.text


@pytest.mark.parametrize("spared", ["model.invalid:8080", "del.invalid", "10.0.0.0/8", "/", ""])
def test_what_is_not_named_goes_through_the_proxy(spared: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALL_PROXY", "http://h:1")
    monkeypatch.setenv("NO_PROXY", spared)
    assert proxy_for(PROXIED) == "http://h:1"
