"""A key, a header, a login and the hidden context are nowhere but where they belong."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import nbtools as nb
from nbtools.errors import ProviderError
from nbtools.testing import call
from nbtools.tools import ToolContext
from tests.servers import Fault, ModelServer, calls_reply, text_reply
from tests.stage import RecordingComm, Strict, comms

__all__ = ["comms"]

SECRET = "hushhush"
KEY, HEADER, LOGIN = "sk-TEST-hushhush", "Token header-hushhush", "ann:pass-hushhush"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


class Identity:
    """What a program hands to its tools."""

    token = "identity-hushhush"

    def __repr__(self) -> str:
        return f"Identity({self.token})"


@nb.tool
def whoami(ctx: ToolContext[Identity]) -> str:
    """Say who asks."""
    assert ctx.context.token == "identity-hushhush"
    return "somebody"


def chat_of(server: ModelServer, path: Path, **login: str) -> nb.Chat:
    address = server.url.replace("http://", f"http://{login.get('login', '')}", 1)
    provider = nb.OpenAI(
        "m-1",
        api_key=login.get("key"),
        base_url=f"{address}?code={SECRET}" if login.get("query") else address,
        headers={"Authorization": login["header"]} if "header" in login else None,
    )
    return nb.Chat(provider, tools=[whoami], context=Identity(), autosave=path)


WAYS = [{"key": KEY}, {"key": "", "header": HEADER}, {"key": "", "login": f"{LOGIN}@"}]


@pytest.mark.parametrize("way", WAYS, ids=["key", "header", "login"])
async def test_no_secret_leaves_the_chat_except_to_its_server(
    way: dict[str, str],
    server: ModelServer,
    tmp_path: Path,
    comms: list[RecordingComm],
    caplog: pytest.LogCaptureFixture,
):
    """X-01: repr, pickle, file, page, comm, log, error, its chain; a refusal that quotes the key."""
    caplog.set_level(logging.DEBUG)
    quoted = {"error": {"message": f"Bad login: {' '.join(way.values())}.", "type": "auth"}}
    server.queue(calls_reply(("k-1", "whoami", "{}")), text_reply("You are."), Fault(401, quoted))
    chat = chat_of(server, tmp_path / "chat.json", **way)
    turn = await chat.send("Who am I?")
    with pytest.raises(ProviderError) as caught:
        await chat.send("And now?")
    page = chat.to_html(tmp_path / "page.html").read_text("utf-8")
    page = page.split('<script type="text/plain" id="runtime">')[0]
    places = {
        "repr": repr([chat, turn, chat.model, chat._session.settings, chat.calls, chat.results]),
        "text": f"{caught.value} {caught.value!r} {vars(caught.value)}",
        "chain": "".join(traceback.format_exception(caught.value)),
        "file": (tmp_path / "chat.json").read_text("utf-8"),
        "page": page,
        "comm": json.dumps([known.traffic for known in comms], default=str),
        "state": json.dumps(chat.snapshot()),
        "bundle": json.dumps(chat._repr_mimebundle_()),
        "pickle": repr(pickle.loads(pickle.dumps(chat.conversation))),
        "log": caplog.text,
        "traits": repr({name: getattr(chat, name) for name in chat.keys if name != "_esm"}),
    }
    assert [name for name, text in places.items() if SECRET in text] == []
    assert any("authorization" in sent for sent in server.headers)
    assert SECRET in server.headers[0]["authorization"] or "login" in way


async def test_an_address_is_shown_without_its_query(server: ModelServer, tmp_path: Path):
    """X-01: errors show addresses without a query."""
    chat = chat_of(server, tmp_path / "chat.json", key=KEY, query="yes")
    server.queue(Fault(404, {"error": {"message": f"Not at {server.url}?code={SECRET}"}}))
    with pytest.raises(ProviderError) as caught:
        await chat.send("Hi")
    assert SECRET not in str(caught.value)
    assert SECRET not in json.dumps(chat.snapshot())
    assert SECRET not in chat.model.host


async def test_a_tool_that_fails_gives_away_no_path_and_no_context(tmp_path: Path):
    @nb.tool
    def fail(ctx: ToolContext[Identity]) -> None:
        """Fail."""
        raise FileNotFoundError(2, "No such file", __file__)

    model = Strict([call("fail", id="k-1")], "So.")
    chat = nb.Chat(model, tools=[fail], context=Identity())
    await chat.send("Try")
    assert model.told == [
        "The tool failed: FileNotFoundError: [Errno 2] No such file: 'test_secrets.py'"
    ]
    assert SECRET not in json.dumps(chat.snapshot())


async def test_a_tool_may_hide_its_message_from_the_model_and_not_from_the_person():
    def fail() -> None:
        raise ValueError("password identity-hushhush refused")

    model = Strict([call("fail", id="k-1")], "So.")
    chat = nb.Chat(model, tools=[nb.Tool("fail", "Fail.", function=fail, errors="generic")])
    await chat.send("Try")
    assert model.told == ["The tool failed: The tool failed."]
    assert chat.calls[0].error == "ValueError: password identity-hushhush refused"
