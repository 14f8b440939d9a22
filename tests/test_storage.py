"""A conversation in a file: what is kept, what is not, and how it wakes up."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtools as nb
from nbtools import history, planner, storage
from nbtools.codec import encode
from nbtools.messages import Conversation, Message, Notice, Request, Text, ToolCall
from nbtools.outcomes import sentence
from nbtools.providers.script import Step
from nbtools.testing import call, hold, say
from tests.stage import Strict, problem_of, tools_that_ran
from tests.test_history import MESSAGES, numbered


def saved(path: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return written


async def waiting_chat(path: Path, ran: list[str], *more: Any) -> nb.Chat:
    """A saved chat in which `k-1` waits for approval."""
    model = Strict([say("Well. "), call("wipe_cache", {"force": True}, id="k-1")], *more)
    chat = nb.Chat(model, tools=tools_that_ran(ran), autosave=path)
    await chat.send("Clean up")
    return chat


async def test_a_chat_is_saved_at_each_rest_and_before_each_effect(tmp_path: Path):
    path = tmp_path / "chat.json"
    seen: list[tuple[str, int]] = []

    @nb.tool
    async def look() -> str:
        """Look at the file."""
        messages = saved(path)["conversation"]["messages"]
        seen.append((messages[1]["parts"][0]["state"], len(messages)))
        return "seen"

    chat = nb.Chat(Strict([call("look", id="k-1")], "Done."), tools=[look], autosave=path)
    assert not path.exists()
    await chat.send("Look")
    assert seen == [("running", 2)]
    assert saved(path)["conversation"] == json.loads(json.dumps(encode(chat.conversation)))
    assert os.listdir(tmp_path) == ["chat.json"]  # noqa: PTH208 - no half of a file beside it


async def test_a_folder_that_is_not_there_is_named_at_once(tmp_path: Path):
    with pytest.raises(ValueError, match="autosave: there is no folder"):
        nb.Chat(autosave=tmp_path / "none" / "chat.json")


async def test_a_saved_chat_is_what_it_was_and_goes_on(tmp_path: Path):
    ran: list[str] = []
    model = Strict([call("read_log", {"day": "mon"}, id="k-1")], "Rain.", "Sun.")
    chat = nb.Chat(model, tools=tools_that_ran(ran))
    await chat.send("Read")
    chat.save(tmp_path / "chat.json")
    again = nb.Chat.load(tmp_path / "chat.json", model=model, tools=tools_that_ran(ran))
    assert again.messages == chat.messages
    assert (again.status, len(model.requests), ran) == ("ready", 2, ["read_log mon"])
    turn = await again.send("And?")
    assert (turn.text, model.refused) == ("Sun.", [])
    assert model.told == ["log of mon"]


async def test_a_pending_call_survives_the_end_of_the_program(tmp_path: Path):
    path, ran = tmp_path / "chat.json", list[str]()
    await waiting_chat(path, ran)
    again = nb.Chat.load(path, model=Strict("Done."), tools=tools_that_ran(ran))
    assert (again.status, again.calls["k-1"].waiting, ran) == ("waiting", "approval", [])
    turn = await again.calls["k-1"].approve()
    assert (ran, turn.text) == (["wipe_cache True"], "Done.")


@pytest.mark.parametrize("change", ["gone", "changed"])
async def test_a_pending_call_of_another_tool_ends_as_unknown(tmp_path: Path, change: str):
    path, ran = tmp_path / "chat.json", list[str]()
    await waiting_chat(path, ran)

    @nb.tool(approval=True)
    async def wipe_cache(force: bool = False, everything: bool = True) -> str:
        """Empty the cache."""
        ran.append("another")
        return "wiped"

    tools = [wipe_cache] if change == "changed" else []
    model = Strict("Then not.")
    again = nb.Chat.load(path, model=model, tools=tools)
    (known,) = again.calls
    assert (known.outcome, ran, model.requests) == ("unknown", [], [])
    assert known.error == "'wipe_cache' is not among the tools, or has changed."
    with pytest.raises(nb.AlreadyDecided):
        known.approve()
    assert (await again.resume()).text == "Then not."
    assert model.refused == []


async def test_what_ran_is_interrupted_and_what_streamed_is_incomplete(tmp_path: Path):
    path, started = tmp_path / "chat.json", asyncio.Event()
    loop = asyncio.get_running_loop()

    @nb.tool
    async def slow() -> None:
        """Wait."""
        loop.call_soon_threadsafe(started.set)
        await asyncio.Event().wait()

    chat = nb.Chat(Strict([call("slow", id="k-1")]), tools=[slow], autosave=path)
    chat.send("Go")
    await started.wait()
    model = Strict("I do not know.")
    again = nb.Chat.load(path, model=model, tools=[slow])
    chat.stop()
    (known,) = again.calls
    assert (known.outcome, known.told) == ("interrupted", sentence("interrupted"))
    assert (again.status, model.requests) == ("error", [])
    assert (await again.resume()).text == "I do not know."


async def test_loading_sends_nothing_and_resume_asks_what_was_not_answered(tmp_path: Path):
    path, asked = tmp_path / "chat.json", threading.Event()

    def answer_late(_request: Request) -> list[Step]:
        asked.set()
        return [hold(asyncio.Event())]

    chat = nb.Chat(Strict(answer_late), autosave=path)
    chat.send("Hi")
    await asyncio.to_thread(asked.wait, 10)
    model = Strict("Hello.")
    again = nb.Chat.load(path, model=model)
    chat.stop()
    failure = again.conversation.error
    assert failure is not None
    assert failure.text == "The program ended before the answer came."
    assert (failure.retry, again.status, model.requests) == (True, "error", [])
    assert (await again.resume()).text == "Hello."


async def test_a_file_holds_no_key_no_address_no_code_and_no_drawing(tmp_path: Path):
    path = tmp_path / "chat.json"

    @nb.tool(render=lambda known: f"drawn {known.id}")
    def look() -> str:
        """Look."""
        return "seen"

    chat = nb.Chat(
        Strict([call("look", id="k-1")], "Done."),
        tools=[look],
        system="Be brief.",
        context={"password": "hunter2"},
        autosave=path,
    )
    await chat.send("Look")
    text = path.read_text("utf-8")
    assert not any(word in text for word in ("hunter2", "Be brief", "drawn", "def look", "http"))
    assert set(saved(path)) == {"nbtools", "saved", "tools", "conversation"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a saved chat"),
        ("{", "is not a saved chat"),
        ("[]", "is not a saved chat of format 1"),
        ('{"nbtools": 2}', "is not a saved chat of format 1"),
        ('{"nbtools": 1}', "conversation is None, expected an object"),
        ('{"nbtools": 1, "conversation": {"messages": [{"id": 1}]}}', r"messages\[0\]"),
        ('{"nbtools": 1, "conversation": {"status": "odd"}}', "conversation.status is 'odd'"),
    ],
)
def test_a_file_that_is_no_chat_is_refused_by_what_is_wrong(
    tmp_path: Path, content: str, says: str
):
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=says):
        nb.Chat.load(path)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
def test_a_number_that_no_page_can_read_is_refused(tmp_path: Path, number: str):
    path = tmp_path / "odd.json"
    path.write_text(f'{{"nbtools": 1, "conversation": {{"messages": []}}, "saved": {number}}}')
    with pytest.raises(ValueError, match=f"'odd.json' is not a saved chat: {number} is no number"):
        nb.Chat.load(path)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"state": "error"}, ("error", "failed", "")),
        ({"state": "error", "outcome": "ok"}, ("error", "failed", "")),
        (
            {"state": "error", "outcome": "declined", "waiting": "approval"},
            ("error", "declined", ""),
        ),
        ({"state": "result", "outcome": "timeout"}, ("result", "ok", "")),
        ({"state": "result"}, ("result", "ok", "")),
        ({"state": "pending", "waiting": "approval", "outcome": "ok"}, ("pending", "", "approval")),
    ],
)
async def test_a_call_that_ended_in_no_way_there_is_has_an_end(
    tmp_path: Path, said: dict[str, str], read: tuple[str, str, str]
):
    """Histories that come from outside are repaired on load."""
    path, ran = tmp_path / "chat.json", list[str]()
    await waiting_chat(path, ran)
    file = saved(path)
    part = file["conversation"]["messages"][1]["parts"][1]
    part.update({"waiting": "", **said})
    path.write_text(json.dumps(file))
    again = nb.Chat.load(path, model=Strict("So."), tools=tools_that_ran(ran))
    known = again.calls["k-1"]
    assert (known.state, known.outcome, known.waiting) == read
    assert "wipe_cache" in again._static()["text/plain"]
    again.to_html(tmp_path / "chat.html")


async def test_bytes_in_a_result_are_saved_loaded_and_replayed(tmp_path: Path):
    """R-02: save the chat, load it, send another message."""
    path = tmp_path / "chat.json"

    @nb.tool
    def thumb() -> bytes:
        """Draw."""
        return b"\x89PNG\x00\xff"

    @nb.tool
    def pack() -> dict[str, object]:
        """Pack."""
        return {"blob": b"\xff\x00", "n": 2}

    model = Strict([call("thumb", id="k-1"), call("pack", id="k-2")], "So.", "Yes.")
    chat = nb.Chat(model, tools=[thumb, pack], autosave=path)
    await chat.send("Draw")
    again = nb.Chat.load(path, model=model, tools=[thumb, pack])
    assert again.messages == chat.messages
    assert (await again.send("And?")).text == "Yes."
    assert model.refused == []
    assert all("\\x" not in told and len(told) < 200 for told in model.told)


def test_half_a_file_is_never_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "chat.json"
    storage.save(path, Conversation(), {})
    before = path.read_text("utf-8")
    monkeypatch.setattr(Path, "replace", raise_full)
    with pytest.raises(OSError, match="full"):
        storage.save(path, Conversation(messages=(Message(id="m", role="user"),)), {})
    assert path.read_text("utf-8") == before


def raise_full(*_: object) -> None:
    raise OSError("The disk is full.")


async def test_a_disk_that_is_full_is_told_once_and_the_chat_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chat = nb.Chat(Strict("One.", "Two."), autosave=tmp_path / "chat.json")
    monkeypatch.setattr(Path, "replace", raise_full)
    assert (await chat.send("Hi")).text == "One."
    assert (await chat.send("And?")).text == "Two."
    told = [
        part.text for known in chat.messages for part in known.parts if isinstance(part, Notice)
    ]
    assert told == ["This chat could not be saved. OSError: The disk is full."]


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(messages=st.lists(MESSAGES, max_size=5), same_ids=st.booleans())
def test_whatever_a_file_holds_it_rests_and_can_be_sent(
    tmp_path_factory: pytest.TempPathFactory, messages: list[Message], same_ids: bool
):
    """Histories that come from outside are repaired on load."""
    known = numbered(messages)
    if same_ids:
        known = tuple(
            replace(m, id="m", parts=tuple(replace(part, id="p") for part in m.parts))
            for m in known
        )
    path = tmp_path_factory.mktemp("odd") / "chat.json"
    try:
        storage.save(path, Conversation(messages=known), {"look": "mark"})
    except UnicodeEncodeError:
        return  # half a surrogate pair never enters a conversation through the decoder
    loaded = storage.load(path, {"look": "mark"})
    ids = [part.id for message in loaded.messages for part in message.parts]
    assert len(set(ids)) == len(ids)
    assert all(call.state == "pending" for call in planner.open_calls(loaded))
    assert not any(map(planner.is_open, loaded.messages))
    sent = history.prepare(loaded)
    assert not sent or problem_of(Request(messages=sent)) == ""


def test_a_call_that_waits_in_a_reply_that_broke_off_is_closed(tmp_path: Path):
    waits = ToolCall(id="k-1", tool="look", state="pending", waiting="approval", args={})
    broken = Message(id="m2", role="assistant", parts=(waits,), finish="cut")
    asked = Message(id="m1", role="user", parts=(Text(id="p1", text="Hi"),))
    path = tmp_path / "chat.json"
    storage.save(path, Conversation(messages=(asked, broken)), {"look": "mark"})
    loaded = storage.load(path, {"look": "mark"})
    (known,) = loaded.messages[1].parts
    assert isinstance(known, ToolCall)
    assert (known.state, known.outcome) == ("error", "incomplete")
