"""A model in this process: real tokens of a small one, and what is said where there is none."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools import errors
from nbtools.events import ModelArgs, ModelCall, ModelEvent, ModelFinish, ModelText
from nbtools.messages import Request
from tests.replay import asked

ROOT = Path(__file__).parents[1]
WEIGHTS = Path(
    os.environ.get("NBTOOLS_GGUF") or ROOT / ".venvs" / "weights" / "SmolLM2-135M-Instruct.Q4_1.gguf"
)  # fmt: skip


@nb.tool
def count_rows(table: str) -> int:
    """Count the rows of a table."""
    return 3


@nb.tool(approval=True)
def drop_rows(table: str, where: str) -> int:
    """Delete the rows of a table that match a condition."""
    return 0


TOOLS = [count_rows, drop_rows]


@pytest.fixture(scope="module")
def loaded() -> Iterator[nb.Local]:
    """The model, loaded once for all tests."""
    pytest.importorskip("xllamacpp", reason="nbtools-chat[local] is not installed")
    if not WEIGHTS.is_file():
        pytest.skip("the weights are not there: run scripts/test --prepare")
    model = nb.Local(WEIGHTS, temperature=0, max_tokens=60)
    model.start()
    yield model
    asyncio.run(model.close())


@pytest.fixture
async def model(loaded: nb.Local) -> AsyncIterator[nb.Local]:
    yield loaded
    await loaded._clients.close()


async def ask(model: nb.Local, text: str, *tools: nb.Tool) -> list[list[ModelEvent]]:
    request = Request(messages=[asked(text)], tools=[tool.spec for tool in tools])
    return [list(events) async for events in model.stream(request)]


def text_of(pieces: list[list[ModelEvent]], kind: Any = ModelText) -> str:
    return "".join(event.text for events in pieces for event in events if isinstance(event, kind))


# Real tokens


@pytest.mark.realmodel
async def test_an_answer_streams(model: nb.Local):
    pieces = await ask(model, "Say hello to a data scientist in one sentence.")
    assert len(text_of(pieces).split()) > 3
    assert len(pieces) > 5
    assert isinstance(pieces[-1][-1], ModelFinish)


@pytest.mark.realmodel
async def test_the_event_loop_goes_on_while_it_computes(model: nb.Local):
    late: list[float] = []

    async def watch() -> None:
        while True:
            due = time.monotonic() + 0.005
            await asyncio.sleep(0.005)
            late.append(time.monotonic() - due)

    watching = asyncio.create_task(watch())
    await ask(model, "Tell me a story of a lighthouse.")
    watching.cancel()
    assert len(late) > 20
    assert sorted(late)[int(len(late) * 0.95)] < 0.05


@pytest.mark.realmodel
async def test_a_call_streams_under_a_grammar(model: nb.Local):
    pieces = await ask(model, "Count the rows of orders", *TOOLS)
    calls = [event for events in pieces for event in events if isinstance(event, ModelCall)]
    assert [call.name for call in calls] == ["count_rows"]
    assert set(count_rows.check(json.loads(text_of(pieces, ModelArgs)))) == {"table"}
    assert sum(any(isinstance(e, ModelArgs) for e in events) for events in pieces) > 1


@pytest.mark.realmodel
async def test_a_chat_waits_for_the_person_and_goes_on(model: nb.Local):
    """The words about what was done are the chat's own; so small a model errs."""
    chat = nb.Chat(model, tools=TOOLS)
    await chat.send("Delete the rows of orders where price < 0")
    assert chat.status == "waiting"
    turn = await chat.calls.pending[0].decline("Not today.")
    assert chat.calls[0].outcome == "declined"
    assert turn.messages[-1].finish == "stop"
    chat.close()


@pytest.mark.realmodel
async def test_stop_ends_the_computing(model: nb.Local):
    chat = nb.Chat(model)
    async for event in chat.stream("Tell me a long story of a lighthouse and its keeper."):
        if event.type == "text-delta":
            chat.stop()
    await asyncio.sleep(0.3)
    before = time.process_time()
    await asyncio.sleep(0.5)  # what is measured is that nothing is computed meanwhile
    assert time.process_time() - before < 0.2
    assert chat.messages[-1].finish == "stopped"
    chat.close()


@pytest.mark.realmodel
async def test_a_question_beyond_the_context_is_named_as_such(model: nb.Local):
    with pytest.raises(errors.ContextLengthError):
        await ask(model, "word " * 6_000)


@pytest.mark.realmodel
def test_nobody_else_on_the_machine_may_ask(model: nb.Local):
    """X-01: the key is made at each start and shown nowhere."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{model._base}/completions", data=b"{}")
    assert caught.value.code == 401
    caught.value.close()
    assert model._api_key
    assert model._api_key not in repr(model)


@pytest.mark.realmodel
@pytest.mark.usefixtures("loaded")
async def test_it_can_be_let_go_and_loaded_again():
    model = nb.Local(WEIGHTS, temperature=0, max_tokens=5)
    first = text_of(await ask(model, "Hello"))
    await model.close()
    assert model._server is None
    assert text_of(await ask(model, "Hello")) == first
    await model.close()


# Where there is none


def test_nothing_leaves_the_process():
    model = nb.Local("a/b.gguf")
    assert (model.host, model.label) == ("", "local:b.gguf")


async def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(errors.NotFoundError, match=r"There is no file '.*none\.gguf'"):
        await ask(nb.Local(tmp_path / "none.gguf"), "Hello")


async def test_a_file_that_is_no_model_is_named(tmp_path: Path):
    pytest.importorskip("xllamacpp")
    (tmp_path / "bad.gguf").write_text("hello")
    with pytest.raises(errors.ProviderError) as caught:
        await ask(nb.Local(tmp_path / "bad.gguf"), "Hello")
    assert str(caught.value) == (
        "llama.cpp cannot load 'bad.gguf'. Is it a whole GGUF file, and is there memory for it?"
    )


def test_a_copy_of_it_holds_neither_model_nor_key():
    copy = pickle.loads(pickle.dumps(nb.Local("a/b.gguf", context=512)))
    assert (copy.label, copy._context, copy._server, copy._api_key) == (
        "local:b.gguf",
        512,
        None,
        None,
    )
