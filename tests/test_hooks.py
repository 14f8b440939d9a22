"""Functions that hear what happens: each kind, in order, and never in the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nbtools as nb
from nbtools.messages import Message, Notice, Usage
from nbtools.testing import Scripted, call, cut, fault, say, usage


@nb.tool
async def look(n: int, ctx: nb.ToolContext[None]) -> int:
    """Look."""
    ctx.progress(0.5, "half way")
    if n < 0:
        raise nb.ToolError("Too small.")
    return n


def chat_with(*replies: Any, **settings: Any) -> nb.Chat:
    return nb.Chat(Scripted(*replies), tools=[look], **settings)


class Heard:
    """Writes down what hooks hear."""

    def __init__(self, chat: nb.Chat, *kinds: Any) -> None:
        self.values: list[Any] = []
        self._more = threading.Condition()
        for kind in kinds:
            chat.on(kind, self.note)

    def note(self, value: Any) -> None:
        with self._more:
            self.values.append(value)
            self._more.notify_all()

    async def until(self, count: int) -> list[Any]:
        """Wait until so many were heard."""

        def wait() -> bool:
            with self._more:
                return self._more.wait_for(lambda: len(self.values) >= count, timeout=20)

        assert await asyncio.to_thread(wait)
        return self.values


async def test_a_call_is_heard_of_when_it_is_named_starts_goes_on_and_ends():
    chat = chat_with([call("look", {"n": 3}, every=1)], "Seen.")
    kinds = ("identified", "started", "progress", "settled")
    heard = {kind: Heard(chat, kind) for kind in kinds}
    await chat.send("Look")
    for kind in kinds:
        assert [handle.tool for handle in await heard[kind].until(1)] == ["look"]
    assert heard["settled"].values[0].result == 3
    chat.close()


async def test_a_hook_hears_of_things_in_their_order():
    chat = chat_with([call("look", {"n": n}, id=f"k-{n}") for n in range(9)], "Seen.")
    heard = Heard(chat, "identified")
    await chat.send("Look")
    assert [handle.id for handle in await heard.until(9)] == [f"k-{n}" for n in range(9)]
    chat.close()


async def test_each_call_settles_once_whatever_ends_it():
    chat = chat_with(
        [
            call("look", {"n": 1}, id="ok"),
            call("look", {"n": -1}, id="failed"),
            call("none", {}, id="unknown"),
        ],
        [call("look", {"n": 1}, id="cut"), cut()],
    )
    heard = Heard(chat, "settled")
    with pytest.raises(nb.ProviderError):
        await chat.send("Look")
    outcomes = {handle.id: handle.outcome for handle in await heard.until(4)}
    assert outcomes == {"ok": "ok", "failed": "failed", "unknown": "unknown", "cut": "incomplete"}
    chat.clear()
    assert len(heard.values) == 4
    chat.close()


async def test_complete_messages_and_their_tokens_are_heard_of():
    chat = chat_with([say("Hi."), usage(input=3, output=1)])
    messages, used = Heard(chat, "message"), Heard(chat, "usage")
    await chat.send("Hello")
    said: list[Message] = await messages.until(2)
    assert [message.role for message in said] == ["user", "assistant"]
    assert said[1].finish == "stop"
    assert await used.until(1) == [Usage(input=3, output=1)]
    chat.close()


async def test_a_limit_and_an_error_are_heard_of():
    chat = chat_with(
        [call("look", {"n": 1}), call("look", {"n": 2})],
        [fault(nb.ProviderError("Down."))],
        limits=nb.Limits(calls=1),
    )
    limits, errors = Heard(chat, "limit"), Heard(chat, "error")
    with pytest.raises(nb.ProviderError):
        await chat.send("Look")
    assert [notice.limit for notice in await limits.until(1)] == ["calls"]
    assert [failure.text for failure in await errors.until(1)] == ["Down."]
    chat.close()


async def test_what_a_request_leaves_out_is_heard_of():
    chat = nb.Chat(Scripted("One.", "Two."), context_limit=30)
    heard = Heard(chat, "trimmed")
    await chat.send("x" * 80)
    await chat.send("y" * 80)
    assert await heard.until(1) == [tuple(message.id for message in chat.messages[:2])]
    chat.close()


async def test_an_async_hook_runs_and_a_slow_one_holds_up_nothing():
    gate, heard = asyncio.Event(), []
    loop = asyncio.get_running_loop()
    released = threading.Event()
    chat = chat_with("One.", "Two.")

    async def quick(message: Message) -> None:
        heard.append(message.role)
        if len(heard) == 4:
            loop.call_soon_threadsafe(gate.set)

    chat.on("message", lambda _: released.wait())
    chat.on("message", quick)
    await chat.send("Hello")
    await chat.send("Hello again")
    await gate.wait()
    assert heard == ["user", "assistant"] * 2
    released.set()
    chat.close()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_hook_that_exits_hears_on(is_async: bool):
    chat = chat_with("One.", "Two.")
    seen: list[str] = []

    def leave(message: Message) -> None:
        seen.append(message.role)
        raise SystemExit(3)

    async def leave_later(message: Message) -> None:
        leave(message)

    chat.on("message", leave_later if is_async else leave)
    heard = Heard(chat, "error", "message")
    await chat.send("Hello")
    await chat.send("Hello again")
    await heard.until(4)
    texts = [text for message in chat.messages for text in notices(message)]
    assert len(texts) == 1
    assert texts[0].startswith("A hook of the kind 'message' failed. ")
    assert "SystemExit" in texts[0]
    assert seen == ["user", "assistant"] * 2
    chat.close()


async def test_a_hook_that_raises_is_shown_once_and_hears_on(caplog: pytest.LogCaptureFixture):
    chat = chat_with("One.", "Two.")
    seen: list[object] = []
    shown = asyncio.Event()
    loop = asyncio.get_running_loop()

    def broken(message: Message) -> None:
        seen.append(message)
        raise ValueError("broken hook")

    def note(event: Any, _: Any) -> None:
        if isinstance(getattr(event, "message", None), Message) and notices(event.message):
            loop.call_soon_threadsafe(shown.set)

    chat._session.subscribe(note)
    chat.on("message", broken)
    heard = Heard(chat, "message")
    await chat.send("Hello")
    await chat.send("Hello again")
    await heard.until(4)
    await shown.wait()
    texts = [text for message in chat.messages for text in notices(message)]
    assert texts == ["A hook of the kind 'message' failed. ValueError: broken hook"]
    assert "A hook of the kind 'message' failed." in caplog.text
    assert chat.status == "ready"
    chat.close()


def notices(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Notice)]


async def test_what_on_returns_ends_it():
    chat = chat_with("One.", "Two.")
    first: list[object] = []
    end: Callable[[], None] = chat.on("message", first.append)
    second = Heard(chat, "message")
    await chat.send("Hello")
    await second.until(2)
    end()
    end()
    await chat.send("Hello again")
    await second.until(4)
    assert len(first) == 2
    chat.close()


async def test_a_kind_that_there_is_not_and_a_hook_that_is_no_function_are_named():
    chat = chat_with()
    kind: Any = "done"
    with pytest.raises(ValueError, match="hook is 5; expected a function of one value"):
        chat.on("message", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no kind 'done' of hook; expected one of 'identified'"):
        chat.on(kind, print)
    chat.close()
