"""Requests over HTTP: what goes wrong on the way, waits, retries, and what is never shown."""

from __future__ import annotations

import asyncio
import logging
import pickle
import socket
import threading
import traceback
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from nbtools import errors
from nbtools.events import ModelEvent, ModelFault, ModelFinish, ModelText, ModelUsage
from nbtools.messages import Message, Request, Text, Usage
from nbtools.providers import (
    Anthropic,
    Gemini,
    Ollama,
    OpenAI,
    OpenAIResponses,
    Provider,
    resolve,
)
from nbtools.providers.connections import Timeouts
from nbtools.providers.secrecy import scrub, split_login
from nbtools.providers.vendors import VENDORS, Vendor
from nbtools.providers.waiting import back_off, stated_wait
from tests.servers import Answer, Fault, ModelServer, chunk, fragment, sse, text_reply

KEY = "sk-TEST-hushhush"
HI = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])
pytestmark = pytest.mark.usefixtures("quick")
BUSY = {"error": {"message": "Slow down.", "type": "rate_limit_error"}}


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def provider_of(server: ModelServer, **settings: Any) -> OpenAI:
    return OpenAI("m-1", base_url=server.url, **{"api_key": KEY, **settings})


async def ask(provider: Provider, **settings: Any) -> list[ModelEvent]:
    events = [event async for events in provider.stream(HI, **settings) for event in events]
    await provider.close()
    return events


async def refused(provider: Provider) -> errors.ProviderError:
    with pytest.raises(errors.ProviderError) as caught:
        await ask(provider)
    return caught.value


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ModelText))


async def test_an_answer_is_streamed_with_the_key_in_a_header(server: ModelServer):
    server.queue(text_reply("Hel", "lo"))
    events = await ask(provider_of(server, headers={"x-team": "red"}))
    assert said(events) == "Hello"
    assert events[-1] == ModelFinish("stop", "stop")
    assert server.requests[0]["model"] == "m-1"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["x-team"] == "red"


async def test_each_piece_is_given_when_it_arrives(server: ModelServer):
    gate = threading.Event()
    first, rest = sse(chunk({"content": "one"}), done=False), text_reply(" two")
    server.queue([first, gate, rest])
    stream = provider_of(server).stream(HI)
    assert await anext(stream) == [ModelText("one")]
    gate.set()
    assert said([event async for events in stream for event in events]) == " two"


async def test_connections_are_used_again(server: ModelServer):
    provider = provider_of(server)
    for _ in range(3):
        server.queue(text_reply("Hi"))
        _ = [events async for events in provider.stream(HI)]
    await provider.close()
    assert server.connections == 1


async def test_a_key_is_read_from_the_environment_at_each_request(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    provider = provider_of(server, api_key=None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-late\n")
    server.queue(text_reply("Hi"))
    await ask(provider)
    assert server.headers[0]["authorization"] == "Bearer sk-late"


async def test_a_server_without_keys_is_sent_none(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-elsewhere")
    server.queue(text_reply("Hi"))
    await ask(provider_of(server, api_key=""))
    assert "authorization" not in server.headers[0]


# Statuses


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.BadRequestError),
        (401, errors.AuthenticationError),
        (402, errors.BadRequestError),
        (403, errors.AuthenticationError),
        (404, errors.NotFoundError),
        (413, errors.ContextLengthError),
        (418, errors.BadRequestError),
        (422, errors.BadRequestError),
    ],
)
async def test_a_status_is_an_error_with_the_words_of_the_server(
    server: ModelServer, status: int, kind: type[Exception]
):
    server.queue(Fault(status, {"error": {"message": "Not so.", "type": "odd_request"}}))
    error = await refused(provider_of(server))
    assert type(error) is kind
    assert (error.status, error.kind) == (status, "odd_request")
    assert error.text == f"{server.host} answered {status} (odd_request): Not so."
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "Not so."}, "Not so."),
        ({"message": "Not so."}, "Not so."),
        ({"detail": "Not so."}, "Not so."),
        ({"detail": [{"loc": ["body", "model"], "msg": "Not so."}]}, "body.model: Not so."),
        ([{"error": {"message": "Not so."}}], "Not so."),
        ({"error": {"message": "No.", "metadata": {"raw": "Up there."}}}, "No.: Up there."),
        ("Not so.", "Not so."),
        ("", "no reason was given"),
        ("<html><body>Bad gateway</body></html>", "no reason was given"),
        ("[1", "[1"),
    ],
)
async def test_an_error_body_may_be_of_any_shape(server: ModelServer, body: object, words: str):
    server.queue(Fault(400, body))
    error = await refused(provider_of(server))
    assert error.text == f"{server.host} answered 400: {words}"


async def test_a_conversation_that_is_too_long_is_told_apart(server: ModelServer):
    message = "This model's maximum context length is 8192 tokens."
    server.queue(Fault(400, {"error": {"message": message, "type": "invalid_request_error"}}))
    assert type(await refused(provider_of(server))) is errors.ContextLengthError


async def test_a_missing_key_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    error = await refused(OpenAI("gpt-5.1"))
    assert str(error) == (
        "No key for api.openai.com. Set the environment variable OPENAI_API_KEY, or pass api_key."
    )


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
async def test_a_vendor_without_its_key_is_sent_nothing(
    server: ModelServer, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
):
    """Whatever left this machine would go through the proxy, which is the server here."""
    monkeypatch.setenv("HTTPS_PROXY", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv(vendor.variable, raising=False)
    error = await refused(resolve(f"{vendor.name}:m-1"))
    assert type(error) is errors.AuthenticationError
    assert f"Set the environment variable {vendor.variable}, or pass api_key." in str(error)
    assert server.connections == 0


@pytest.mark.parametrize("given", [{"api_key": KEY}, {"headers": {"Authorization": "Bearer x"}}])
async def test_a_vendor_whose_key_is_given_is_asked(server: ModelServer, given: dict[str, Any]):
    provider = OpenAI("m", base_url="http://api.groq.com/v1", proxy=server.url, **given)
    server.queue(text_reply("Hi"))
    assert said(await ask(provider)) == "Hi"


MISTAKEN: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"timeout": -1}, ValueError, "timeout is -1; expected a number of seconds above 0, Timeouts"),
    ({"timeout": "9"}, ValueError, "timeout is '9'; expected a number of seconds above 0, Timeo"),
    ({"proxy": "zz"}, ValueError, "proxy is 'zz'; expected an address such as 'http://host:3128'"),
    ({"proxy": "me:secret@zz"}, ValueError, "proxy is 'zz'; expected an address such as"),
    ({"base_url": "me:secret@zz/v1"}, ValueError, "base_url is 'zz/v1'; expected an address such"),
    ({"api_key": b"secret"}, TypeError, "api_key is of the type bytes; expected a text."),
    ({"headers": {"x-a": 5}}, TypeError, "headers['x-a'] is of the type int; expected a text."),
    ({"headers": {"x-a": None}}, TypeError, "headers['x-a'] is of the type NoneType; expected"),
    ({"stop": 5}, ValueError, "stop is 5; expected texts that are not empty."),
    ({"foo": 1}, TypeError, "OpenAI takes no argument 'foo'; expected one of its own, or of the"),
    ({"settings": 5}, TypeError, "OpenAI: settings is 5; expected nbtools.Settings."),
]


@pytest.mark.parametrize(("given", "kind", "text"), MISTAKEN)
def test_an_argument_that_cannot_be_meant_is_named_at_once(
    given: dict[str, Any], kind: type[Exception], text: str
):
    with pytest.raises(kind, match="expected") as caught:
        OpenAI("m-1", **given)
    assert text in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_time_limit_below_zero_is_named():
    with pytest.raises(ValueError, match="idle is -1; expected a number of seconds above 0"):
        Timeouts(idle=-1)


async def test_a_missing_model_gets_the_names_that_there_are(server: ModelServer):
    server.models = ["m-2", "other"]
    server.queue(Fault(404, {"error": {"message": "No model m-1."}}))
    error = await refused(provider_of(server))
    assert error.hint == "It has: m-2, other."
    assert str(error) == f"{server.host} answered 404: No model m-1. It has: m-2, other."


@pytest.mark.parametrize(
    ("text", "hint", "shown"),
    [
        ("model not found", "It has: qwen3", "model not found. It has: qwen3."),
        ("No model.", "Which one?", "No model. Which one?"),
        ('It says "no."', "Ask again.", 'It says "no." Ask again.'),
        ("model not found\n", "", "model not found"),
        ("", "Ask again", "Ask again"),
    ],
)
def test_an_error_and_its_hint_read_as_sentences(text: str, hint: str, shown: str):
    assert str(errors.ProviderError(text, hint=hint)) == shown


async def test_a_wrong_address_gets_a_hint(server: ModelServer):
    server.queue(Fault(404, "<html>Not found</html>"))
    assert (await refused(provider_of(server))).hint == "Check base_url: it usually ends in /v1."


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (OpenAI, "it usually ends in /v1."),
        (OpenAIResponses, "it usually ends in /v1."),
        (Anthropic, "it is the server's, with or without /v1."),
        (Gemini, "it usually ends in /v1beta."),
        (Ollama, "it is the server's, without a path."),
    ],
)
@pytest.mark.parametrize("page", [Fault(404, "<html>"), Answer(pieces=["<html>"]), Answer()])
async def test_the_hint_about_an_address_is_that_of_the_wire(
    server: ModelServer, make: Any, hint: str, page: Answer
):
    server.queue(page)
    error = await refused(make("m", base_url=server.url, api_key="k"))
    assert error.hint.endswith(f"Check base_url: {hint}")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("status", [413, 502, 503])
async def test_a_page_of_a_gateway_says_nothing_about_the_address(server: ModelServer, status: int):
    server.queue(*[Fault(status, "<html>Bad gateway</html>")] * 3)
    assert (await refused(provider_of(server))).hint == ""


async def test_a_redirect_to_a_login_page_is_named(server: ModelServer):
    server.queue(Fault(302, location="https://sso.example/login?next=%2Fsecret"))
    error = await refused(provider_of(server))
    assert type(error) is errors.AuthenticationError
    assert error.text == (
        f"{server.host} answered 302: it redirects to sso.example/login instead of answering."
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<!doctype html><h1>Welcome</h1>", "The answer is a web page, not a model's reply."),
        ("", "The answer is empty."),
        ("{}", "The answer cannot be read as a model's reply: it has '{}'."),
    ],
)
async def test_a_good_status_with_a_body_that_is_no_answer_is_an_error(
    server: ModelServer, body: str, words: str
):
    server.queue(Answer(pieces=[body]))
    error = await refused(provider_of(server))
    assert (type(error), error.text) == (errors.StreamError, words)
    assert len(server.requests) == 1


# No connection


async def test_a_refused_connection_is_said_in_plain_words():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = await refused(OpenAI("m", base_url=f"http://127.0.0.1:{port}/v1"))
    assert type(error) is errors.ConnectionError
    assert str(error) == (
        f"Nothing answers at 127.0.0.1:{port}. Is the server running, and the port right?"
    )


async def test_a_host_that_does_not_exist_is_said_in_plain_words():
    error = await refused(OpenAI("m", base_url="http://nowhere.invalid/v1"))
    assert error.text == "There is no host 'nowhere.invalid', or no network."


@pytest.mark.parametrize(
    "address",
    [
        "localhost:11434",
        "ftp://host/v1",
        "/v1",
        "http://",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://a host/v1",
        "http://host/v1\nX-Header: 1",
        "http://me:pass-hushhush@host:port/v1?key=hushhush",
    ],
)
def test_an_address_that_is_none_is_refused_at_once(address: str):
    with pytest.raises(ValueError, match="expected an address such as") as caught:
        OpenAI("m", base_url=address)
    assert "hushhush" not in str(caught.value)


async def test_what_stands_behind_a_cross_in_an_address_is_no_part_of_it(server: ModelServer):
    server.queue(text_reply("Hi"))
    assert await ask(OpenAI("m", base_url=f"{server.url}#top", api_key=""))
    assert server.paths == ["/v1/chat/completions"]


async def test_a_silent_server_is_given_up(server: ModelServer):
    server.queue([threading.Event()])
    error = await refused(provider_of(server, timeout=0.1))
    assert type(error) is errors.ConnectionError
    assert error.text == f"{server.host} sent nothing for 0.1 seconds."
    assert len(server.requests) == 1


async def test_a_server_that_falls_silent_keeps_what_it_said(server: ModelServer):
    server.queue(Answer(pieces=[sse(chunk({"content": "The sum"}), done=False)], end="silent"))
    events = await ask(provider_of(server, timeout=Timeouts(idle=0.1)))
    assert events[0] == ModelText("The sum")
    assert isinstance(events[1], ModelFault)
    assert events[1].error.text == f"{server.host} sent nothing for 0.1 seconds."


async def test_comments_count_as_life(server: ModelServer):
    """W-08: timing; ten comments over twice the limit, then the answer."""
    server.queue([*(piece for _ in range(10) for piece in (": wait\n\n", 0.05)), text_reply("Hi")])
    assert said(await ask(provider_of(server, timeout=0.25))) == "Hi"


async def test_a_connection_that_stays_open_after_the_end_is_let_go(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("nbtools.providers.reply._GRACE", 0.05)
    server.queue(Answer(pieces=[text_reply("Hi")], end="silent"))
    assert (await ask(provider_of(server)))[-1] == ModelFinish("stop", "stop")


async def test_a_server_that_goes_on_after_the_end_is_let_go(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("nbtools.providers.reply._GRACE", 0.1)
    signs = [piece for _ in range(100) for piece in (": still here\n\n", 0.02)]
    server.queue([text_reply("Hi"), *signs])
    async with asyncio.timeout(1):
        assert (await ask(provider_of(server)))[-1] == ModelFinish("stop", "stop")


async def test_an_error_inside_an_answer_ends_the_reading_at_once(server: ModelServer):
    broken = sse(chunk({"content": "one"}), {"error": {"message": "busy"}}, done=False)
    server.queue(Answer(pieces=[broken], end="silent"))
    async with asyncio.timeout(0.5):
        assert isinstance((await ask(provider_of(server)))[-1], ModelFault)


async def test_a_stopped_request_ends_at_once(server: ModelServer):
    gate = threading.Event()
    server.queue([sse(chunk({"content": "one"}), done=False), gate])
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in provider.stream(HI):
            begun.set()

    provider = provider_of(server)
    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    gate.set()
    await provider.close()


# The end of a stream


@pytest.mark.parametrize(
    "begun",
    [chunk({"content": "The sum is 4"}), fragment(0, "k-1", "remove_file", '{"path":"re')],
)
@pytest.mark.parametrize("end", ["whole", "cut"])
async def test_an_answer_that_breaks_off_has_no_finish(server: ModelServer, begun: Any, end: Any):
    """W-11: bodies A and B, closed cleanly and in the middle."""
    server.queue(Answer(pieces=[sse(begun, done=False)], end=end))
    events = await ask(provider_of(server))
    assert not [event for event in events if isinstance(event, ModelFinish | ModelFault)]
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_after_the_finish_does_no_harm(server: ModelServer):
    whole = sse(chunk({"content": "Hi"}), chunk({}, "stop"), done=False)
    server.queue(Answer(pieces=[whole], end="cut"))
    assert (await ask(provider_of(server)))[-1] == ModelFinish("stop", "stop")


# Trying again


@pytest.fixture
def waits() -> list[tuple[float, str]]:
    return []


@pytest.mark.parametrize("stated", ["soon", "-5", "nan", "Fri, 31 Dec 9999999 23:59:59 GMT", ""])
async def test_an_unreadable_wait_falls_back_to_our_own(
    server: ModelServer, waits: list[tuple[float, str]], stated: str
):
    """W-10: `soon`, a date in the year 9999999, a negative number."""
    server.queue(Fault(429, BUSY, retry_after=stated), text_reply("Hi"))
    events = await ask(provider_of(server), on_wait=lambda *wait: waits.append(wait))
    assert said(events) == "Hi"
    assert len(waits) == 1
    assert 0 < waits[0][0] < 0.1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_a_stated_wait_is_kept_and_told(
    server: ModelServer, waits: list[tuple[float, str]], status: int
):
    """W-10: a stated wait below the cap, on any status that may pass."""
    server.queue(Fault(status, BUSY, retry_after_ms="30"), text_reply("Hi"))
    events = await ask(provider_of(server), on_wait=lambda *wait: waits.append(wait))
    assert said(events) == "Hi"
    text = f"{server.host} answered {status} (rate_limit_error): Slow down."
    assert waits == [(0.03, text)]


async def test_a_wait_beyond_the_cap_fails_at_once_and_names_it(server: ModelServer):
    """W-10: `Retry-After: 90000`."""
    server.queue(Fault(429, BUSY, retry_after="90000"))
    error = await refused(provider_of(server))
    assert error.wait == 90000
    assert error.hint == "It asks to wait 90,000 seconds."


async def test_a_wait_can_be_stopped(server: ModelServer):
    """W-10: Stop in the middle of a wait."""
    server.queue(Fault(429, BUSY, retry_after="60"))
    waiting = asyncio.Event()
    asking = ask(provider_of(server), on_wait=lambda *_: waiting.set())
    task = asyncio.create_task(asking)
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)


async def test_a_request_is_repeated_twice_at_most(server: ModelServer):
    server.queue(*[Fault(503, BUSY)] * 3)
    assert type(await refused(provider_of(server))) is errors.OverloadedError
    assert len(server.requests) == 3


async def test_a_connection_that_breaks_before_the_answer_is_tried_again(server: ModelServer):
    server.queue(Answer(end="reset"), text_reply("Hi"))
    assert said(await ask(provider_of(server))) == "Hi"


async def test_an_error_as_the_first_event_is_tried_again(server: ModelServer):
    """W-09: form 2."""
    server.queue(sse({"error": {"message": "busy", "code": 529}}), text_reply("Hi"))
    assert said(await ask(provider_of(server))) == "Hi"


async def test_tokens_alone_are_no_word_of_the_model(server: ModelServer):
    """W-09: some servers count them in every chunk, from the first one on."""
    counted = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}
    busy = sse({"error": {"message": "busy", "code": 529}})
    server.queue(
        [sse(counted, done=False), 0.05, busy], [sse(counted, done=False), text_reply("Hi")]
    )
    events = await ask(provider_of(server))
    assert said(events) == "Hi"
    assert events[0] == ModelUsage(Usage(input=9, output=0))


async def test_an_error_after_the_first_word_is_not_tried_again(server: ModelServer):
    """W-09: form 3."""
    error = {"error": {"message": "busy", "type": "overloaded_error"}}
    server.queue(sse(chunk({"content": "The answ"}), error))
    events = await ask(provider_of(server))
    assert said(events) == "The answ"
    assert isinstance(events[-1], ModelFault)
    assert events[-1].error.kind == "overloaded_error"
    assert len(server.requests) == 1


async def test_an_empty_account_is_not_tried_again(server: ModelServer):
    server.queue(Fault(429, {"error": {"message": "No.", "code": "insufficient_quota"}}))
    error = await refused(provider_of(server))
    assert error.hint == "The account has no credit left; see its billing page."
    assert len(server.requests) == 1


NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=3), usegmt=True)}, 3),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=3), usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Fri, 31 Dec 9999999 23:59:59 GMT"}, None),
        ({}, None),
    ],
)
def test_a_stated_wait_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None):
    """W-10: the header itself."""
    assert stated_wait(headers, NOW) == seconds


def test_our_own_waits_grow_and_are_bounded():
    assert [back_off(attempt) <= 10 for attempt in range(50)] == [True] * 50


# Loops


def test_one_provider_serves_two_loops_one_after_the_other():
    """L-05: `asyncio.run` twice, then a thread with a loop of its own."""
    with ModelServer(*[text_reply("Hi")] * 3) as server:
        provider = provider_of(server)

        async def once() -> str:
            return said([e async for events in provider.stream(HI) for e in events])

        answers = [asyncio.run(once()), asyncio.run(once())]
        thread = threading.Thread(target=lambda: answers.append(asyncio.run(once())))
        thread.start()
        thread.join()
        assert answers == ["Hi"] * 3


def test_a_loop_may_end_while_a_stream_is_open():
    """L-05: variant."""
    gate = threading.Event()
    with ModelServer([sse(chunk({"content": "one"}), done=False), gate]) as server:
        provider = provider_of(server)

        async def begin() -> list[ModelEvent]:
            return await anext(provider.stream(HI))

        assert asyncio.run(begin()) == [ModelText("one")]
        gate.set()


# Secrets


async def test_a_key_is_in_no_repr_pickle_error_or_log(
    server: ModelServer, caplog: pytest.LogCaptureFixture
):
    """X-01: the server quotes the key in a refusal and in a stream."""
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"Bad key {KEY} or sk-TE**hushhush", "type": f"bad_{KEY}"}}
    server.queue(Fault(401, echo), sse(chunk({"content": "So"}), echo))
    provider = provider_of(server, headers={"x-pass": "word-hushhush"})
    error = await refused(provider)
    events = await ask(provider)
    chain = "".join(traceback.format_exception(error))
    shown = [repr(provider), str(error), repr(error), error.kind, chain, caplog.text]
    shown += [repr(error.__context__), repr(events[-1]), str(vars(events[-1].error))]  # type: ignore[union-attr]
    assert [text for text in shown if "hushhush" in text] == []
    assert b"hushhush" not in pickle.dumps(provider)
    assert pickle.loads(pickle.dumps(provider)).label == "openai:m-1"


async def test_a_login_in_the_address_is_used_and_never_shown(
    server: ModelServer, caplog: pytest.LogCaptureFixture
):
    """X-01: variant, user:password in base_url."""
    caplog.set_level(logging.DEBUG)
    server.queue(Fault(400, "No."))
    address = server.url.replace("//", "//ann:pass-hushhush@")
    provider = OpenAI("m", base_url=address)
    error = await refused(provider)
    assert server.headers[0]["authorization"].startswith("Basic ")
    assert "hushhush" not in f"{error}{provider!r}{provider.host}{caplog.text}{vars(error)}"


async def test_a_header_of_the_user_replaces_ours_and_is_never_shown(server: ModelServer):
    """X-01: variant, a custom Authorization header."""
    server.queue(Fault(401, {"error": f"No token word-hushhush of {KEY} is answered here."}))
    error = await refused(provider_of(server, headers={"Authorization": "Token word-hushhush"}))
    assert server.headers[0]["authorization"] == "Token word-hushhush"
    assert error.text.endswith("No token [hidden] of [hidden] is answered here.")


async def test_a_key_that_cannot_be_a_header_is_refused_without_showing_it(server: ModelServer):
    error = await refused(provider_of(server, api_key="sk-42…42"))
    assert error.text == "The header 'authorization' has characters that cannot be sent."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key=sk-abcdefghijklmnop1234 no", "key=[hidden] no"),
        ("Incorrect API key: sk-pr********9ABC.", "Incorrect API key: [hidden]."),
        ("at https://host/v1?key=abc#x now", "at https://host/v1 now"),
        ("at https://ann:pw@host/v1", "at https://host/v1"),
        ("Authorization: Bearer abcdef", "Authorization: Bearer [hidden]"),
        ("It was answered in red.", "It was answered in red."),
        ("A model's context is 8192.", "A model's context is 8192."),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str):
    assert scrub(text, ["red"]) == shown


def test_a_login_is_split_from_an_address():
    assert split_login("https://a:b%40c@h/v1?q=1") == ("https://h/v1?q=1", ("a", "b@c"))


# Names of models


def test_a_model_is_found_by_its_name():
    provider = resolve("openai:gpt-5.1")
    assert (provider.label, provider.host) == ("openai:gpt-5.1", "api.openai.com")


def test_a_model_may_name_its_server():
    provider = resolve("openai:llama3.2 @ http://localhost:11434/v1")
    assert (provider.label, provider.host) == ("openai:llama3.2", "localhost:11434")


def test_no_model_is_the_demo_and_a_provider_is_itself():
    given = OpenAI("m")
    assert resolve(None).demo
    assert resolve("demo").demo
    assert resolve(given) is given


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-5.1", "could be several: write 'openai:gpt-5.1' or 'openai-responses:gpt-5.1'"),
        ("nobody:x", "expected one of 'openai:…', 'openai-responses:…', 'anthropic:…'"),
        ("openai:", "expected one of 'openai:…'"),
        ("", "expected one of 'openai:…'"),
    ],
)
def test_an_unknown_model_is_answered_with_what_there_is(model: str, words: str):
    with pytest.raises(ValueError, match=words):
        resolve(model)


def test_a_model_of_another_type_is_refused():
    with pytest.raises(TypeError, match="expected a provider"):
        resolve(3)  # type: ignore[arg-type]
