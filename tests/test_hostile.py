"""What a person, a model or a tool's own code may do that nobody expected."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

import nbtools as nb
from nbtools.errors import ProviderError
from nbtools.testing import Scripted, call
from tests.stage import Page


@nb.tool(approval=True)
def configure(opts: dict[str, Any], v: Any = 0) -> str:
    """Configure."""
    return repr((opts, v))


async def test_an_edit_that_python_calls_equal_is_an_edit():
    """P-04: what runs is what was approved, and False is not 0."""
    model = Scripted([call("configure", {"opts": {"dry_run": 0}, "v": 1})], "ok")
    chat = nb.Chat(model, tools=[configure])
    await chat.send("x")
    await chat.calls[0].approve({"opts": {"dry_run": False}, "v": True})
    assert chat.calls[0].result == "({'dry_run': False}, True)"
    assert chat.calls[0].call.proposed == {"opts": {"dry_run": 0}, "v": 1}


async def test_arguments_nested_too_deeply_are_refused_with_an_answer():
    page = Page(Scripted([call("configure", {"opts": {}})], "ok"), tools=[configure])
    await page.say("x")
    waiting = page.calls[0]
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    ack = page.command(
        "approve", call=waiting.id, approved=True, digest=waiting.digest, args={"opts": {"a": deep}}
    )
    assert ack["ok"] is False
    assert ack["error"] == "invalid"
    assert page.calls[0].state == "pending"


@pytest.mark.parametrize("code", [SystemExit(3), asyncio.CancelledError(), ValueError("no")])
async def test_a_parse_that_raises_anything_ends_its_call_alone(code):
    def parse(_: object) -> None:
        raise code

    @nb.tool(parse=parse)
    def read(a: int = 1) -> int:
        """Read."""
        return a

    chat = nb.Chat(Scripted([call("read")], "Sorry."), tools=[read])
    turn = await asyncio.wait_for(chat.send("x"), 20)
    assert turn.text == "Sorry."
    assert chat.calls[0].outcome == "invalid"


async def test_a_tool_that_exits_has_failed_and_nobody_cancelled_it():
    @nb.tool
    def leave() -> None:
        """Leave."""
        sys.exit(3)

    chat = nb.Chat(Scripted([call("leave")], "Oh."), tools=[leave])
    await chat.send("x")
    assert chat.calls[0].outcome == "failed"
    assert chat.calls[0].told == "The tool failed: SystemExit: 3"


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


async def test_an_exception_whose_own_code_exits_ends_its_call_alone():
    """R-03: the kind of `__str__` that raises, at its worst."""

    @nb.tool
    def first() -> None:
        """Fail."""
        raise UnspeakableError

    @nb.tool
    async def second() -> None:
        """Fail."""
        raise ExceptionGroup("several", [UnspeakableError(), ValueError("no")])

    chat = nb.Chat(Scripted([call("first"), call("second")], "Oh."), tools=[first, second])
    assert (await chat.send("x")).text == "Oh."
    assert [known.outcome for known in chat.calls] == ["failed", "failed"]
    assert chat.calls[0].error == "UnspeakableError"
    assert chat.calls[1].error.startswith("ExceptionGroup: several")
    assert chat.calls[1].error.endswith("UnspeakableError; ValueError: no")


async def test_a_picture_that_is_no_base64_is_left_out_and_the_page_goes_on():
    """A page must never be sent what cannot be written: it would hear nothing more."""

    @nb.tool
    def draw() -> dict[str, object]:
        """Draw."""
        return {"image/png": "A" * 70_001, "text/plain": "a chart"}

    page = Page(Scripted([call("draw")], "Done."), tools=[draw])
    await page.say("x")
    (card,) = page.shown["messages"][1]["parts"]
    said = "a chart\n(image/png is no base64 text, which a picture has to be.)"
    assert card["display"] == {"text/plain": said}
    assert page.shown["messages"][2]["parts"][0]["text"] == "Done."


async def test_half_a_surrogate_pair_stops_no_saving(tmp_path):
    file = tmp_path / "chat.json"
    chat = nb.Chat(Scripted("half \ud83d", "whole"), autosave=file)
    await chat.send("a")
    turn = await chat.send("b")
    assert turn.text == "whole"
    saved = json.loads(file.read_text(encoding="utf-8"))["conversation"]["messages"]
    assert [message["parts"][0]["text"] for message in saved] == ["a", "half \ufffd", "b", "whole"]
    chat.to_html(tmp_path / "chat.html")
    assert list(tmp_path.glob(".*.part")) == []


def test_a_loaded_chat_whose_tool_is_gone_says_nothing_of_faults(tmp_path, caplog):
    chat = nb.Chat(Scripted([call("configure", {"opts": {}})], "ok"), tools=[configure])
    chat.send("x").rested.result()
    chat.save(tmp_path / "chat.json")
    loaded = nb.Chat.load(tmp_path / "chat.json", model=Scripted("ok"))
    assert loaded.calls[0].outcome == "unknown"
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("text", ["[" * 100_000, "not JSON", '{"nbtools": 99}'])
def test_a_damaged_file_is_refused_in_words(tmp_path, text):
    (tmp_path / "chat.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"'chat.json' is not a saved chat"):
        nb.Chat.load(tmp_path / "chat.json")


def test_errors_are_a_tree():
    assert issubclass(nb.ProviderError, nb.NbtoolsError)
    assert nb.ProviderError is ProviderError
