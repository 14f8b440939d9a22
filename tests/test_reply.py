"""The body of one answer: what is read ahead, how a wait ends, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import anyio
import httpx
import pytest

from nbtools.events import ModelEvent, ModelFault, ModelFinish, ModelText
from nbtools.messages import Message, Request, Text
from nbtools.providers import OpenAI
from nbtools.providers.connections import Timeouts
from nbtools.providers.openai_decoder import Decoder
from nbtools.providers.reply import _AHEAD, Reply
from tests.servers import ModelServer, chunk, sse, text_reply

HI = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])
Source = Callable[[], AsyncGenerator[bytes, None]]


class Body(httpx.AsyncByteStream):
    """A body made here, which notes that it was closed."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.source()

    async def aclose(self) -> None:
        self.closed += 1


def token(text: str) -> bytes:
    return sse(chunk({"content": text}), done=False).encode()


def stream_of(body: Body, **settings: float) -> AsyncGenerator[list[ModelEvent], None]:
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    )
    provider = OpenAI("m", base_url="http://here/v1", api_key="", client=client, **settings)  # type: ignore[arg-type]
    return provider.stream(HI)


async def told(body: Body, **settings: float) -> list[list[ModelEvent]]:
    return [events async for events in stream_of(body, **settings)]


def alone() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


async def test_what_arrives_together_is_told_together():
    async def source() -> AsyncGenerator[bytes, None]:
        for text in "one":
            yield token(text)
        yield b""
        yield text_reply("!").encode()

    body = Body(source)
    assert await told(body) == [[ModelText("one!"), ModelFinish("stop", "stop")]]
    assert body.closed == 1
    assert alone()


async def test_what_arrives_alone_is_told_at_once():
    heard = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        await heard.wait()
        yield token("b")
        yield text_reply("c").encode()

    stream = stream_of(Body(source))
    assert await anext(stream) == [ModelText("a")]
    heard.set()
    assert await anext(stream) == [ModelText("bc"), ModelFinish("stop", "stop")]
    assert [events async for events in stream] == []


async def test_a_stop_while_it_waits_ends_the_reading_and_closes_the_body():
    waits, ended = asyncio.Event(), []

    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        try:
            waits.set()
            await asyncio.Event().wait()
        finally:
            ended.append("source")

    body = Body(source)
    task = asyncio.create_task(told(body))
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended, body.closed) == (["source"], 1)
    assert alone()


async def test_a_stop_before_the_reading_began_closes_the_body():
    body = Body(lambda: pytest.fail("somebody reads it"))
    reply = Reply(httpx.Response(200, stream=body), Decoder(), Timeouts(), "here")
    await reply.close()
    assert body.closed == 1
    assert alone()


async def test_a_second_stop_while_the_first_one_lasts_closes_the_body_all_the_same():
    waits, ending, end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        try:
            waits.set()
            await asyncio.Event().wait()
        finally:
            ending.set()
            await end.wait()

    body = Body(source)
    task = asyncio.create_task(told(body))
    await waits.wait()
    task.cancel()
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert body.closed == 1
    end.set()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})


async def test_a_stream_that_is_left_early_ends_the_reading():
    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        await asyncio.Event().wait()

    body = Body(source)
    stream = stream_of(body)
    assert await anext(stream) == [ModelText("a")]
    await stream.aclose()
    assert body.closed == 1
    assert alone()


async def test_what_came_before_a_break_is_told_before_it():
    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        yield token("b")
        raise httpx.ReadError("gone")

    body = Body(source)
    assert await told(body) == [[ModelText("ab")]]
    assert body.closed == 1


@pytest.mark.parametrize("kind", [ZeroDivisionError, asyncio.CancelledError])
async def test_an_error_that_no_connection_makes_is_raised_after_what_came_before_it(
    kind: type[BaseException],
):
    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        raise kind

    body = Body(source)
    stream = stream_of(body)
    assert await anext(stream) == [ModelText("a")]
    with pytest.raises(kind):
        await anext(stream)
    assert body.closed == 1


async def test_a_silence_ends_the_reading_and_cancels_nobody():
    ended = []

    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("source")

    body = Body(source)
    first, [fault] = await told(body, timeout=0.05)
    assert first == [ModelText("a")]
    assert isinstance(fault, ModelFault)
    assert fault.error.text == "here sent nothing for 0.05 seconds."
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert (ended, body.closed) == (["source"], 1)
    assert alone()


async def test_a_pause_of_who_listens_is_no_silence_of_the_server():
    go = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        yield token("a")
        await go.wait()
        yield text_reply("b").encode()

    stream = stream_of(Body(source), timeout=0.1)
    assert await anext(stream) == [ModelText("a")]
    await asyncio.sleep(0.25)  # the pause itself is what is tested
    asyncio.get_running_loop().call_later(0.05, go.set)
    assert await anext(stream) == [ModelText("b"), ModelFinish("stop", "stop")]


async def test_only_so_much_is_read_before_somebody_takes_it():
    piece = token("x" * 10_000)
    read = 0

    async def source() -> AsyncGenerator[bytes, None]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield piece
        yield text_reply("").encode()

    stream = stream_of(Body(source))
    [first] = await anext(stream)
    assert isinstance(first, ModelText)
    most = _AHEAD // len(piece) + 1
    for _ in range(10):
        await asyncio.sleep(0)
    assert read <= 2 * most
    rest = [event async for events in stream for event in events]
    texts = [event.text for event in (first, *rest) if isinstance(event, ModelText)]
    assert "".join(texts) == "x" * 1_000_000
    assert rest[-1] == ModelFinish("stop", "stop")


async def test_each_piece_may_be_taken_by_another_task_and_within_another_scope():
    gate = threading.Event()
    async with ModelServer([sse(chunk({"content": "a"}), done=False), gate, text_reply("b")]) as at:
        provider = OpenAI("m", base_url=at.url, api_key="")
        stream = provider.stream(HI)
        with anyio.CancelScope():
            first = await asyncio.create_task(anext(stream))
        gate.set()
        rest = [event async for events in stream for event in events]
        assert first == [ModelText("a")]
        assert rest == [ModelText("b"), ModelFinish("stop", "stop")]
        await provider.close()
