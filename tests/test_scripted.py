"""The scripted model: it says what was written, when it was written."""

from __future__ import annotations

import asyncio
import threading

import pytest

from nbtools.errors import OverloadedError, ProviderError
from nbtools.events import (
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelReasoning,
    ModelText,
    ModelUsage,
)
from nbtools.messages import Message, Request, Text, ToolSpec, Usage
from nbtools.testing import (
    Reply,
    Scripted,
    call,
    cut,
    decode,
    encode,
    fault,
    finish,
    hold,
    say,
    think,
    usage,
    wait,
)

HI = Request(messages=[Message(id="m", role="user", parts=(Text(id="p", text="Hi"),))])


async def said(*replies: Reply) -> list[ModelEvent]:
    return [event async for events in Scripted(*replies).stream(HI) for event in events]


async def test_a_text_alone_is_a_reply():
    assert await said("Hello.") == [ModelText("Hello."), ModelFinish("stop")]


async def test_text_comes_in_pieces():
    assert await said([say("Hello.", every=4), think("Hm.")]) == [
        ModelText("Hell"),
        ModelText("o."),
        ModelReasoning("Hm."),
        ModelFinish("stop"),
    ]


async def test_calls_end_the_reply_as_calls():
    events = await said([call("rows", {"n": 1}, id="k-1", every=4), call("rows", "{bad", id="")])
    calls = [(e.id, e.name) for e in events if isinstance(e, ModelCall)]
    assert calls == [("k-1", "rows"), ("", "rows")]
    assert [e.text for e in events if isinstance(e, ModelArgs)] == ['{"n"', ": 1}", "{bad"]
    assert events[-1] == ModelFinish("calls")


async def test_calls_have_different_ids_of_their_own():
    events = await said([call("rows"), call("rows")])
    first, second = [event.id for event in events if isinstance(event, ModelCall)]
    assert first != second
    assert first.startswith("call-")


async def test_a_reply_may_break_off_or_end_badly():
    assert await said([say("The sum"), cut(), say("no")]) == [ModelText("The sum")]
    assert (await said([say("The sum"), finish("length", "max")]))[-1] == (
        ModelFinish("length", "max")
    )


async def test_an_error_comes_before_or_within_a_reply():
    error = OverloadedError("busy")
    with pytest.raises(OverloadedError):
        await said([fault(error)])
    assert await said([say("The"), fault(error)]) == [ModelText("The"), ModelFault(error)]


async def test_usage_is_reported():
    assert (await said([usage(input=3, output=4)]))[0] == ModelUsage(Usage(input=3, output=4))


@pytest.mark.parametrize("gate", [threading.Event(), asyncio.Event()])
async def test_a_gate_holds_the_reply(gate: threading.Event | asyncio.Event):
    stream = Scripted([say("one"), hold(gate), wait(0), say("two")]).stream(HI)
    assert await anext(stream) == [ModelText("one")]
    rest = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.02)
    assert not rest.done()
    gate.set()
    assert await rest == [ModelText("two")]
    await stream.aclose()


async def test_a_reply_may_depend_on_the_request():
    model = Scripted(lambda request: f"You said {request.messages[0].parts[0].text}.")  # type: ignore[union-attr]
    events = [event async for events in model.stream(HI) for event in events]
    assert events[0] == ModelText("You said Hi.")
    assert model.requests == [HI]


async def test_a_script_that_has_ended_says_so():
    model = Scripted("one")
    _ = [events async for events in model.stream(HI)]
    with pytest.raises(ProviderError, match="has 1 replies, and this is request 2"):
        _ = [events async for events in model.stream(HI)]


def test_the_wires_can_be_read_and_written_without_a_network():
    tool = ToolSpec(name="rows", description="", parameters={"type": "object"})
    body = encode("openai-chat", HI.messages, [tool], model="m", temperature=0)
    assert (body["model"], body["temperature"], len(body["tools"])) == ("m", 0, 1)
    answer = decode("openai-chat", 500, {}, b'{"error": {"message": "Oops.", "code": 5}}')
    assert answer["error"] == {
        "where": "http",
        "status": 500,
        "type": None,
        "code": "5",
        "message": "Oops.",
    }


def test_a_wire_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="no wire 'telegraph'; expected"):
        decode("telegraph", 200, {}, b"")  # type: ignore[arg-type]
