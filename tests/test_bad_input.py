"""What goes wrong on the way to a model, each with a clear error and a chat that goes on."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbtools as nb
from nbtools import errors
from nbtools.messages import Text
from nbtools.testing import Scripted
from tests.servers import Answer, ModelServer, text_reply

EXPIRED = Path(__file__).with_name("expired.pem")


@pytest.fixture
def expired_host() -> Iterator[str]:
    """Serve one TLS handshake after another with a certificate that ended in 2020."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(EXPIRED)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


async def fails(model: nb.OpenAI) -> errors.ProviderError:
    """Ask, check that nothing was lost and that the next model answers; give the error."""
    chat = nb.Chat(model)
    with pytest.raises(errors.ProviderError) as caught:
        await chat.send("hello")
    assert [part.text for part in chat.messages[0].parts if isinstance(part, Text)] == ["hello"]
    assert chat.status == "error"
    chat.model = Scripted("Here I am.")
    turn = await chat.send("again")
    assert turn.text == "Here I am."
    return caught.value


@pytest.mark.usefixtures("quick")
async def test_an_expired_certificate_is_said_in_words(expired_host: str) -> None:
    model = nb.OpenAI("m", base_url=f"https://{expired_host}/v1", api_key="sk-TEST-hushhush")
    error = await fails(model)
    assert isinstance(error, errors.ConnectionError)
    assert "its certificate was not accepted" in str(error)
    assert expired_host in str(error)
    assert "hushhush" not in str(error)


@pytest.mark.parametrize(
    "key", ["sk-TEST-hushhush\n", "sk-TEST-hushhush\r\n", " sk-TEST-hushhush "]
)
async def test_a_key_with_white_space_around_it_is_the_key(key: str) -> None:
    with ModelServer(text_reply("Hi.")) as server:
        chat = nb.Chat(nb.OpenAI("m", base_url=server.url, api_key=key))
        turn = await chat.send("hello")
        sent = server.headers[0]
    assert turn.text == "Hi."
    assert {name.lower(): value for name, value in sent.items()}["authorization"] == (
        "Bearer sk-TEST-hushhush"
    )


@pytest.mark.usefixtures("quick")
async def test_a_line_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtools.providers.sse.LIMIT", 100_000)
    endless = Answer(pieces=["data: " + "x" * 60_000, *["x" * 60_000] * 3])
    with ModelServer(endless, endless, endless) as server:  # it is tried again
        error = await fails(nb.OpenAI("m", base_url=server.url, api_key="k"))
    assert isinstance(error, errors.StreamError)
    assert "100,000" in str(error)
