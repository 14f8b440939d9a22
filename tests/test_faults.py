"""The fault matrix: what each wire makes of a server that misbehaves, one that nobody here wrote.

`llmock` also judges the client: whether it waits, backs off, gives up and trusts what it should not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtools as nb
from nbtools import errors
from nbtools.events import ModelCall, ModelEvent, ModelFault, ModelFinish, ModelText
from nbtools.messages import Message, Request, Text, ToolSpec
from nbtools.providers.http import HttpProvider
from tests.stage import Page

pytest.importorskip("llmock")

TIDE = ToolSpec(
    name="tide_at",
    description="Tell the tide.",
    parameters={
        "type": "object",
        "properties": {"port": {"type": "string"}},
        "required": ["port"],
    },
)
QUICK = nb.Timeouts(first=2.0, idle=0.3)
MAKERS: dict[str, tuple[str, str, str]] = {
    "openai-chat": ("OpenAI", "openai", ""),
    "openai-responses": ("OpenAIResponses", "openai", ""),
    "anthropic": ("Anthropic", "anthropic", ""),
    "gemini": ("Gemini", "gemini", "/v1beta"),
}

Make = Callable[[], HttpProvider]


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest, llmock: Any) -> Make:
    """Make a provider of each wire that asks the server."""
    name, vendor, below = MAKERS[request.param]
    address = llmock.base_url(vendor) + below

    def make_provider() -> HttpProvider:
        kind = getattr(nb, name)
        made: HttpProvider = kind("model-1", base_url=address, api_key="k", timeout=QUICK)
        return made

    return make_provider


async def ask(make: Make, *tools: ToolSpec) -> tuple[list[ModelEvent], list[float]]:
    """Ask once; give what was said, and the waits."""
    provider, waits = make(), []
    question = Message(id="m", role="user", parts=(Text(id="p", text="Tide at Aro?"),))
    request = Request(messages=[question], tools=tools)
    try:
        stream = provider.stream(request, on_wait=lambda seconds, _: waits.append(seconds))
        return [event async for events in stream for event in events], waits
    finally:
        await provider.close()


def finishes(events: list[ModelEvent]) -> list[str]:
    return [event.finish for event in events if isinstance(event, ModelFinish)]


def words(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ModelText))


async def test_a_good_answer_is_a_good_answer(make: Make, llmock: Any):
    llmock.reply("Low tide at Aro, high tide at Moss.")
    events, _ = await ask(make)
    assert (words(events), finishes(events)) == ("Low tide at Aro, high tide at Moss.", ["stop"])
    llmock.assert_resilient(strict=True)


async def test_a_call_is_a_call(make: Make, llmock: Any):
    llmock.call_tool("tide_at", {"port": "Aro"})
    events, _ = await ask(make, TIDE)
    calls = [event.name for event in events if isinstance(event, ModelCall)]
    assert (calls, finishes(events)) == (["tide_at"], ["calls"])


@pytest.mark.parametrize("fault", ["truncate", "disconnect"])
async def test_a_stream_that_ends_early_is_not_finished(make: Make, llmock: Any, fault: str):
    """W-11: silently, or with the connection."""
    llmock.reply("Low tide at Aro, high tide at Moss, and nothing at all at Bergen.")
    getattr(llmock, fault)(after_chunks=6)
    events, _ = await ask(make)
    assert finishes(events) == []


async def test_a_stream_that_stalls_is_given_up(make: Make, llmock: Any):
    llmock.reply("Low tide at Aro, high tide at Moss, and nothing at all at Bergen.")
    llmock.stall(after_chunks=6, seconds=2.0)
    events, _ = await ask(make)
    (fault,) = [event.error for event in events if isinstance(event, ModelFault)]
    assert (type(fault), fault.kind) == (errors.ConnectionError, "timeout")


async def test_a_corrupt_chunk_ends_the_answer_with_an_error(make: Make, llmock: Any):
    llmock.reply("Low tide at Aro, high tide at Moss, and nothing at all at Bergen.")
    llmock.corrupt(after_chunks=6)
    events, _ = await ask(make)
    (fault,) = [event.error for event in events if isinstance(event, ModelFault)]
    assert (type(fault), fault.kind) == (errors.StreamError, "malformed")
    assert finishes(events) == []
    llmock.assert_resilient()  # strictly it wants another try, which would show the text twice


async def test_a_rate_limit_is_waited_for_as_long_as_it_says(make: Make, llmock: Any):
    """W-10: on every wire."""
    llmock.rate_limit(times=1, retry_after=0.2).reply("Low.")
    events, waits = await ask(make)
    assert (words(events), waits) == ("Low.", [0.2])
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_an_overload_is_tried_again(make: Make, llmock: Any, status: int):
    llmock.fail(status, times=1, retry_after=0.01).reply("Low.")
    events, waits = await ask(make)
    assert (words(events), len(waits)) == ("Low.", 1)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.BadRequestError),
        (401, errors.AuthenticationError),
        (403, errors.AuthenticationError),
        (404, errors.NotFoundError),
        (422, errors.BadRequestError),
    ],
)
async def test_a_refusal_is_not_tried_again(
    make: Make, llmock: Any, status: int, kind: type[errors.ProviderError]
):
    llmock.fail(status, times=1, message="No.")
    with pytest.raises(kind, match=r"No\."):
        await ask(make)
    llmock.assert_resilient(strict=True)


async def test_a_prompt_that_is_too_long_is_told_apart(make: Make, llmock: Any):
    llmock.context_overflow()
    with pytest.raises(errors.ContextLengthError):
        await ask(make)


@pytest.mark.parametrize(
    ("fault", "outcome"), [("malformed_arguments", "invalid"), ("unknown_tool", "unknown")]
)
async def test_a_broken_call_is_not_run_and_the_model_is_told(
    make: Make, llmock: Any, fault: str, outcome: str
):
    ran: list[str] = []

    @nb.tool
    def tide_at(port: str) -> str:
        """Tell the tide."""
        ran.append(port)
        return "low"

    llmock.break_tool_call(fault)
    provider = make()
    page = Page(provider, [tide_at])
    await page.say("Tide at Aro?")
    await provider.close()
    assert (ran, page.calls[0].outcome, page.shown["status"]) == ([], outcome, "ready")
    assert page.texts[1:]
    llmock.assert_resilient()
