"""A model that another one stands in for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

import nbtools as nb
from nbtools import errors
from nbtools.events import ModelEvent, ModelFault, ModelFinish, ModelPart, ModelText
from nbtools.messages import Message, Notice, Request, Text
from nbtools.providers import OpenAI
from nbtools.testing import Scripted, fault, say
from tests.servers import Fault, ModelServer, text_reply
from tests.stage import Page

REQUEST = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])
PASSING: list[errors.ProviderError] = [
    errors.RateLimitError("Too fast.", wait=60.0),
    errors.OverloadedError("Busy."),
    errors.ConnectionError("Nobody there."),
]


def model(*replies: Any, label: str = "one") -> Scripted:
    return Scripted(*replies, label=label)


async def heard(provider: nb.Fallback) -> list[ModelEvent]:
    return [event async for events in provider.stream(REQUEST) for event in events]


@pytest.mark.parametrize("error", PASSING)
async def test_the_next_model_answers_while_the_first_cannot(error: errors.ProviderError):
    first, second = model([fault(error)]), model("Here.", label="two")
    note = Notice(id="", level="warning", text=f"{error.text} Asking two instead.")
    assert await heard(nb.Fallback(first, second)) == [
        ModelPart(note),
        ModelText("Here."),
        ModelFinish("stop"),
    ]
    assert (len(first.requests), len(second.requests)) == (1, 1)


@pytest.mark.parametrize(
    "error",
    [errors.BadRequestError("No."), errors.AuthenticationError("No."), errors.NotFoundError("No.")],
)
async def test_a_request_that_is_refused_is_not_asked_elsewhere(error: errors.ProviderError):
    second = model("Here.")
    with pytest.raises(type(error)):
        await heard(nb.Fallback(model([fault(error)]), second))
    assert second.requests == []


async def test_a_failure_after_something_was_shown_is_kept():
    busy = errors.OverloadedError("Busy.")
    second = model("Here.")
    events = await heard(nb.Fallback(model([say("The answ"), fault(busy)]), second))
    assert events == [ModelText("The answ"), ModelFault(busy)]
    assert second.requests == []


async def test_the_error_of_the_last_one_is_raised():
    last = errors.RateLimitError("Too fast too.")
    busy = [fault(errors.OverloadedError("Busy."))]
    with pytest.raises(errors.RateLimitError, match="Too fast too"):
        await heard(nb.Fallback(model(busy), model([fault(last)])))


@pytest.mark.usefixtures("quick")
async def test_only_the_last_one_is_waited_for():
    """W-10: a stand-in is asked at once, whatever the first asks to wait."""
    limited = Fault(429, {"error": {"message": "slow"}}, retry_after="90")
    soon = Fault(429, {"error": {"message": "slow"}}, retry_after="0")
    async with ModelServer(limited) as one, ModelServer(soon, text_reply("Hi")) as two:
        waits: list[tuple[float, str]] = []
        chain = nb.Fallback(
            OpenAI("a", base_url=one.url, api_key=""), OpenAI("b", base_url=two.url, api_key="")
        )
        stream = chain.stream(REQUEST, on_wait=lambda *wait: waits.append(wait))
        events = [event async for now in stream for event in now]
        await chain.close()
    assert [event.text for event in events if isinstance(event, ModelText)] == ["Hi"]
    assert (len(one.requests), len(two.requests)) == (1, 2)
    assert len(waits) == 1


async def test_the_chat_says_who_was_asked_instead():
    chain = nb.Fallback(model([fault(PASSING[1])]), model("Here.", label="two"))
    page = Page(chain)
    await page.say("Hi")
    (_, reply) = page.session.conversation.messages
    assert [part.text for part in reply.parts if isinstance(part, Notice | Text)] == [
        "Busy. Asking two instead.",
        "Here.",
    ]
    assert page.shown["status"] == "ready"


async def test_a_stream_that_is_not_read_on_is_closed():
    closed: list[str] = []

    class Watched(Scripted):
        async def stream(
            self, request: Request, **options: Any
        ) -> AsyncGenerator[list[ModelEvent]]:
            try:
                async for events in super().stream(request, **options):
                    yield events
            finally:
                closed.append(self.label)

    stream = nb.Fallback(Watched([say("a", every=1), say("b")]), model("c")).stream(REQUEST)
    await anext(stream)
    await stream.aclose()
    assert closed == ["scripted"]


def test_a_chain_is_named_by_its_models():
    chain = nb.Fallback("openai:gpt-5.1", "anthropic:claude-sonnet-5")
    assert chain.label == "openai:gpt-5.1, else anthropic:claude-sonnet-5"
    assert chain.host == "api.openai.com, api.anthropic.com"


def test_a_tool_that_one_of_them_cannot_be_told_of_is_named():
    @nb.tool
    def tag(extra: dict[str, float]) -> str:
        """Tag a row."""
        return str(extra)

    chain = nb.Fallback("openai:gpt-5.1", "gemini:gemini-2.5-flash")
    with pytest.raises(nb.ToolDefinitionError, match=r"'tag'.*'extra'"):
        chain.check([tag.spec])


def test_one_model_is_no_chain():
    with pytest.raises(ValueError, match="two models or more, and was given 1"):
        nb.Fallback("openai:gpt-5.1")
