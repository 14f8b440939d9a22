"""Between kernel and page: patches and snapshots, commands and their answers."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools import codec, events
from nbtools.bridge import Bridge
from nbtools.display import together
from nbtools.events import CallProgressed, MessageAdded, MessagesRemoved
from nbtools.executors import Engine
from nbtools.jsontext import dumps
from nbtools.messages import Message, Text, ToolCall
from nbtools.publisher import Publisher
from nbtools.runner import Settings
from nbtools.session import Session
from nbtools.testing import call, hold, say
from nbtools.tools import ToolContext
from tests.page_copy import PageCopy
from tests.stage import Page, Strict, run_jumping, tools_that_ran

PATCHES = Path(__file__).with_name("patches.json")
STORIES = sorted(Path(__file__).with_name("stories").glob("*.json"))
KINDS = {kind.__dataclass_fields__["type"].default: kind for kind in events.EVENT_TYPES}


async def pending_page(ran: list[str] | None = None) -> Page:
    """A page on which one call waits for approval."""
    model = Strict([call("wipe_cache", {"force": True}, id="k-1")], "Done.")
    page = Page(model, tools_that_ran([] if ran is None else ran))
    await page.say("Clean up")
    return page


# --- patches ------------------------------------------------------------------------------------


async def test_a_snapshot_is_sent_only_when_the_page_asks() -> None:
    page = Page(Strict([say("word " * 200, every=5)]))
    await page.say("Talk")
    page.flush()
    assert not any("state" in message for message in page.sent)
    page.command("sync")
    (state,) = [message["state"] for message in page.sent if "state" in message]
    assert PageCopy(state).state == page.shown
    assert (state["boot"], state["chat"], state["seq"]) == ("boot", "chat", page.copy.seq)


async def test_what_changed_just_before_a_sync_is_in_its_snapshot_and_not_sent_again() -> None:
    page = await pending_page()
    page.session.stop()
    page.command("sync")
    (place,) = [place for place, message in enumerate(page.sent) if "state" in message]
    assert page.sent[place]["state"]["conversation"]["messages"][1]["finish"] == "stopped"
    assert not any("ops" in message for message in page.sent[place:])


async def test_text_travels_once_and_costs_the_same_after_a_long_conversation() -> None:
    async def bytes_of(answer: str, earlier: int) -> int:
        page = Page(Strict([say(answer, every=4)]))
        for number in range(earlier):
            part = Text(id=f"t{number}", text="earlier " * 20)
            page.session.emit(
                MessageAdded(message=Message(id=f"q{number}", role="user", parts=(part,)))
            )
        page.flush()
        page.sent.clear()
        await page.say("Talk")
        page.flush()
        return sum(len(dumps(message)) for message in page.sent)

    answer = "Four" * 500
    short, long = await bytes_of(answer, 0), await bytes_of(answer, 200)
    assert short < 3 * len(answer)
    assert abs(long - short) < 200


def test_fifty_parallel_calls_never_send_more_than_twenty_messages_a_second() -> None:
    @nb.tool
    async def tick(ctx: ToolContext[Any], n: int) -> int:
        """Report often."""
        for step in range(20):
            ctx.progress(step / 20, f"step {step}")
            await asyncio.sleep(0.01)
        return n

    async def walk() -> Page:
        calls = [call("tick", {"n": n}, id=f"k-{n}") for n in range(50)]
        page = Page(Strict(calls, [say("All done. " * 50, every=3, delay=0.01)]), [tick])
        page.bridge.receive(
            {"id": "c1", "chat": "chat", "boot": "boot", "command": "send", "text": "Go"}
        )
        await page.session.rest()
        await asyncio.sleep(1)
        return page

    page = run_jumping(walk())
    assert [known.value for known in page.calls] == list(range(50))
    gaps = [later - earlier for earlier, later in pairwise(page.times)]
    assert len(page.times) > 20
    assert min(gaps) >= 0.05 - 1e-9
    assert page.copy.state == PageCopy(dict(page.bridge.snapshot())).state


def test_the_chats_of_a_process_share_the_messages() -> None:
    async def walk() -> list[float]:
        loop = asyncio.get_running_loop()
        publisher, times = Publisher(loop), list[float]()
        chats = []
        for number in range(5):
            model = Strict([say("word " * 100, every=5, delay=0.01)])
            session = Session(Settings(provider=model), Engine(loop))
            Bridge(
                session,
                lambda *_: times.append(loop.time()),
                publisher,
                boot="b",
                chat=str(number),
                describe=dict,
            )
            chats.append(session)
        for session in chats:
            session.send(session.user_parts("Go"))
        await asyncio.gather(*(session.rest() for session in chats))
        await asyncio.sleep(1)
        return times

    times = run_jumping(walk())
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 0.05 - 1e-9


def test_a_chat_whose_message_cannot_be_sent_does_not_hold_up_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        dirty = False

        def flush(self) -> bool:
            raise OSError("The socket is gone.")

    async def walk() -> Page:
        page = Page(Strict("Hi."))
        page.bridge._publisher.request(Broken())
        page.session.send(page.session.user_parts("Hello"))
        await page.session.rest()
        await asyncio.sleep(1)
        return page

    page = run_jumping(walk())
    assert [message["parts"][0]["text"] for message in page.copy.state["messages"]] == [
        "Hello",
        "Hi.",
    ]
    assert "could not be sent" in caplog.text


def test_two_quick_changes_show_the_last_one() -> None:
    """F-07: variant; the last change wins on the page, with nothing in between."""

    async def walk() -> Page:
        page = Page(Strict())
        call_part = ToolCall(id="k-1", tool="look", state="running", origin="provider")
        page.session.emit(MessageAdded(message=Message(id="m1", role="user", parts=(call_part,))))
        for text in ("half", "nearly", "whole"):
            page.session.emit(CallProgressed(call="k-1", output=text))
        page.flush()
        return page

    page = run_jumping(walk())
    assert page.copy.state["messages"][0]["parts"][0]["output"] == "halfnearlywhole"


async def test_large_pictures_are_fetched_and_small_ones_travel_along() -> None:
    large = base64.b64encode(os.urandom(90_000)).decode()
    page = Page(Strict())
    shown = {"image/png": large, "text/plain": "a picture"}
    drawn = ToolCall(id="k-1", tool="plot", state="result", outcome="ok", display=shown, told="ok")
    page.session.emit(MessageAdded(message=Message(id="m1", role="user", parts=(drawn,))))
    (part,) = page.shown["messages"][0]["parts"]
    reference = part["display"]["image/png"]
    assert reference == {"asset": reference["asset"], "size": 90_000}
    assert page.command("asset", asset=reference["asset"])["ok"]
    page.command("asset", asset="gone")
    assets = [message for message in page.sent if "asset" in message]
    assert assets == [{"asset": reference["asset"], "mime": "image/png"}, {"asset": "gone"}]


async def test_large_pictures_among_several_are_fetched_too() -> None:
    large = base64.b64encode(os.urandom(90_000)).decode()
    page = Page(Strict())
    shown = together([{"image/png": large}, {"image/png": "iVBORw0KGgo="}])
    drawn = ToolCall(id="k-1", tool="plot", state="result", outcome="ok", display=shown, told="ok")
    page.session.emit(MessageAdded(message=Message(id="m1", role="user", parts=(drawn,))))
    (part,) = page.shown["messages"][0]["parts"]
    first, second = part["display"]["application/vnd.nbtools.several+json"]
    assert first["image/png"] == {"asset": first["image/png"]["asset"], "size": 90_000}
    assert second == {"image/png": "iVBORw0KGgo="}
    assert large not in json.dumps(page.bridge.snapshot())


async def test_the_page_gets_what_the_model_was_told_of_a_call() -> None:
    ran: list[str] = []
    page = Page(Strict([call("read_log", {"day": "mon"})], "Done."), tools_that_ran(ran))
    await page.say("Read")
    assert page.calls[0].told == "log of mon"
    assert '"told": "log of mon"' in json.dumps(page.shown)


# --- commands -----------------------------------------------------------------------------------


async def test_a_repeated_command_is_answered_as_at_first_and_carried_out_once() -> None:
    page = Page(Strict("One.", "Two."))
    payload = {"id": "m1", "chat": "chat", "boot": "boot", "command": "send", "text": "Hi"}
    assert page.post(payload) == {"ack": "m1", "ok": True}
    await page.session.rest()
    assert page.post(payload) == {"ack": "m1", "ok": True}
    await page.session.rest()
    assert page.texts == ["Hi", "One."]


@pytest.mark.parametrize("field", ["boot", "chat"])
async def test_a_command_of_another_kernel_or_chat_is_refused(field: str) -> None:
    page = await pending_page()
    payload = {"id": "m1", "chat": "chat", "boot": "boot", "command": "approve", "call": "k-1"}
    payload |= {"approved": True, "digest": page.call("k-1").digest, field: "another"}  # type: ignore[dict-item]
    assert page.post(payload)["error"] == "foreign"
    assert page.call("k-1").state == "pending"


COMMANDS: dict[str, dict[str, Any]] = {
    "send": {"text": "Hi"},
    "approve": {"call": "k-1", "approved": True, "digest": "d", "args": {}},
    "decline": {"call": "k-1", "reason": "no"},
    "answer": {"call": "k-1"},
    "cancel": {"call": "k-1"},
    "rerun": {"call": "k-1", "args": {}},
    "edit_message": {"message": "m1", "text": "Hi"},
    "regenerate": {"message": "m1"},
    "act": {"call": "k-1", "changes": {}},
    "asset": {"asset": "a"},
    "pong": {"ping": 1},
}
WRONG = [0, 1.5, True, None, "", "text", [], ["k-1"], {}, {"a": 1}]


def misfits() -> Iterator[tuple[str, str, Any]]:
    for command, fields in COMMANDS.items():
        for field, right in fields.items():
            for value in WRONG:
                optional = value is None and field == "args"
                if type(value) is not type(right) and not optional:
                    yield command, field, value


async def test_a_field_of_another_type_is_refused_by_name() -> None:
    page = await pending_page()
    before = page.session.conversation
    for command, field, value in misfits():
        answer = page.command(command, **{**COMMANDS[command], field: value})
        assert (answer["ok"], answer["error"], answer["field"]) == (False, "invalid", field)
        assert f"{field!r} of {command!r} cannot be " in answer["text"]
    assert page.session.conversation is before


@pytest.mark.parametrize(
    "payload",
    [None, 1, "send", [], ["send"], {}, {"id": 1}, {"id": "m1"}, {"id": "m1", "chat": "chat"},
     {"id": "m1", "chat": "chat", "boot": "boot"},
     {"id": "m1", "chat": "chat", "boot": "boot", "command": None},
     {"id": "m1", "chat": "chat", "boot": "boot", "command": "eval", "code": "1"},
     {"id": "m1", "chat": "chat", "boot": "boot", "command": "stop", "hard": True},
     {"id": "m1", "chat": "chat", "boot": "boot", "command": "send"}],
)  # fmt: skip
async def test_what_is_no_command_changes_nothing_and_is_logged(
    payload: object, caplog: pytest.LogCaptureFixture
) -> None:
    page = await pending_page()
    before = page.session.conversation
    answer = page.post(payload)
    assert page.session.conversation is before
    assert answer.get("error", "invalid") == "invalid"
    assert "refused (invalid)" in caplog.text


async def test_half_of_a_surrogate_pair_from_the_page_is_replaced():
    page = await pending_page()
    page.command("decline", call="k-1", reason="no \ud83d")
    await page.session.rest()
    await page.say("well \udc00")
    written = dumps([page.shown, page.call("k-1").told]).encode()
    assert "no \ufffd" in written.decode()
    assert "well \ufffd" in written.decode()


async def test_an_answer_comes_in_the_message_of_the_patch_that_the_command_caused() -> None:
    page = await pending_page()
    page.command("decline", call="k-1", reason="not now")
    (message,) = [m for m in page.sent if any(a["ack"] == "c2" for a in m.get("acks", ()))]
    (changed,) = [op for op in message["ops"] if op[0] == "part"]
    assert changed[2]["outcome"] == "declined"


async def test_a_ping_is_answered_by_the_page() -> None:
    page = await pending_page()
    page.bridge.ping()
    page.flush()
    assert page.sent[-1] == {"ping": 1}
    assert not page.bridge.pong.is_set()
    assert page.command("pong", ping=1) == {}
    assert page.bridge.pong.is_set()


async def test_a_message_that_is_empty_or_far_too_long_is_refused() -> None:
    page = Page(Strict())
    assert page.command("send", text=" \n")["field"] == "text"
    answer = page.command("send", text="x" * 12_000_000)
    assert answer["text"] == "A message can have 1,000,000 characters, not 12,000,000."
    assert page.session.conversation.messages == ()


async def test_the_page_is_told_that_the_chat_is_busy() -> None:
    gate = asyncio.Event()
    page = Page(Strict([say("Well"), hold(gate)]))
    page.command("send", text="Hi")
    await asyncio.sleep(0)
    for command, fields in [
        ("send", {"text": "And"}),
        ("resend", {}),
        ("edit_message", {"message": "m1", "text": "Or"}),
    ]:
        assert page.command(command, **fields)["error"] == "busy"
    assert page.command("stop")["ok"]


async def test_a_renderer_proposes_arguments_and_the_person_still_decides() -> None:
    ran: list[str] = []
    page = await pending_page(ran)
    old = page.call("k-1").digest
    assert page.command("act", call="k-1", changes={"force": False})["ok"]
    shown = page.call("k-1")
    assert (shown.state, shown.args, shown.proposed) == (
        "pending",
        {"force": False},
        {"force": True},
    )
    assert page.approve("k-1", digest=old)["error"] == "late"
    assert ran == []
    page.approve("k-1")
    await page.session.rest()
    assert ran == ["wipe_cache False"]


async def test_a_renderer_cannot_propose_what_does_not_fit() -> None:
    page = await pending_page()
    answer = page.command("act", call="k-1", changes={"force": [1]})
    assert (answer["error"], answer["field"]) == ("invalid", "force")
    assert page.call("k-1").args == {"force": True}


async def test_what_a_renderer_sends_for_a_finished_call_needs_a_taker() -> None:
    page = await pending_page()
    page.command("decline", call="k-1")
    await page.session.rest()
    answer = page.command("act", call="k-1", changes={"zoom": 2})
    assert answer["text"] == "Nothing in Python takes what this renderer sends."


# --- one fixture for both languages -------------------------------------------------------------


def recorded_run(story: dict[str, Any]) -> dict[str, Any]:
    """Play a story event by event, each in a patch of its own."""

    async def play() -> dict[str, Any]:
        page = Page(Strict())
        first = dict(page.bridge.snapshot())
        for event in story["events"]:
            page.session.emit(codec.decode(KINDS[event["type"]], event, "event"))
            page.session.flush()
            page.bridge.flush()
        last = dict(page.bridge.snapshot())
        return {"name": story["name"], "first": first, "messages": page.sent, "last": last}

    return run_jumping(play())


def recorded_runs() -> str:
    stories = [json.loads(path.read_text("utf-8")) for path in STORIES]
    runs = [recorded_run(story) for story in stories if "error" not in story]
    lines = ",\n".join(dumps(run) for run in runs)
    return f"[\n{lines}\n]\n"


def test_the_recorded_patches_are_current() -> None:
    """The front end's tests read the same file; `NBTOOLS_RECORD=1` writes it anew."""
    if os.environ.get("NBTOOLS_RECORD"):
        PATCHES.write_text(recorded_runs(), encoding="utf-8")
    assert PATCHES.read_text("utf-8") == recorded_runs()


def test_the_recorded_patches_lead_to_their_last_snapshot() -> None:
    for run in json.loads(PATCHES.read_text("utf-8")):
        copy = PageCopy(run["first"])
        for message in run["messages"]:
            copy.receive(message)
        assert copy.state == PageCopy(run["last"]).state, run["name"]
        assert copy.seq == run["last"]["seq"]


async def test_a_message_that_comes_back_behind_a_new_one_stands_there_on_the_page_too() -> None:
    page = Page(Strict("Hi."))
    await page.say("Hello")
    asked, reply = page.session.conversation.messages
    new = Message(id="m-new", role="user", parts=(Text(id="p-new", text="New"),))
    page.session.emit(MessagesRemoved(messages=(asked.id, reply.id)))
    for message in (new, asked):
        page.session.emit(MessageAdded(message=message))
    page.flush()
    assert [message["id"] for message in page.copy.state["messages"]] == ["m-new", asked.id]
