"""The audit: every call, who decided, what came of it; whatever happens to the kernel."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.audit import Audit
from nbtools.events import MessageAdded
from nbtools.messages import Message, ToolCall
from nbtools.outcomes import sentence
from nbtools.testing import call, cut, say
from tests.stage import Page, Strict, tools_that_ran

READ = call("read_log", {"day": "mon"}, id="k-1")
WIPE = call("wipe_cache", {"force": True}, id="k-2")


def page_with(audit: Audit, *replies: Any, ran: list[str] | None = None) -> Page:
    page = Page(Strict(*replies), tools_that_ran([] if ran is None else ran))
    page.session.audit = audit
    return page


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def row_of(page: Page, name: str) -> dict[str, Any]:
    return next(row for row in page.session.audit.rows() if row["call"] == name)


async def test_a_row_says_who_decided_what_and_what_came_of_it() -> None:
    """Proposed and effective arguments, when, for how long."""
    page = page_with(Audit(chat="c-1"), [READ, WIPE], "Done.")
    await page.say("Go")
    page.approve("k-2", args={"force": False})
    await page.session.rest()
    read, wiped = page.session.audit.rows()
    assert (read["state"], read["outcome"], read["by"], read["told"]) == (
        "result",
        "ok",
        "",
        "log of mon",
    )
    assert (wiped["by"], wiped["proposed"], wiped["args"]) == (
        "person",
        {"force": True},
        {"force": False},
    )
    assert wiped["asked"] <= wiped["decided"] <= wiped["started"] <= wiped["ended"]
    assert wiped["waited"] == wiped["decided"] - wiped["asked"]
    assert wiped["seconds"] == wiped["ended"] - wiped["started"]
    assert (wiped["chat"], wiped["model"], wiped["origin"]) == ("c-1", "scripted", "model")


def moving() -> nb.Tool:
    """A tool that changes what it is asked for: a default, a number from text."""

    @nb.tool(approval=True)
    async def move(distance: int, unit: str = "km") -> str:
        """Move."""
        return f"{distance} {unit}"

    return move


async def test_a_row_holds_what_the_model_proposed_beside_what_ran(tmp_path: Path) -> None:
    """Before defaults, coercion and edits: in memory and in every line of the file."""
    path = tmp_path / "audit.jsonl"
    asked = [call("move", {"distance": "7"}, id="k-1"), call("move", {"distance": "8"}, id="k-2")]
    page = Page(Strict(asked, "Done."), [moving()])
    page.session.audit = Audit(path)
    await page.say("Go")
    page.approve("k-1")
    page.approve("k-2", args={"distance": 3})
    await page.session.rest()
    rows = {row["call"]: (row["proposed"], row["args"]) for row in page.session.audit.rows()}
    assert rows == {
        "k-1": ({"distance": "7"}, {"distance": 7, "unit": "km"}),
        "k-2": ({"distance": "8"}, {"distance": 3, "unit": "km"}),
    }
    written = [(line["proposed"], line["args"]) for line in lines(path) if line["call"] == "k-1"]
    assert written == [({"distance": "7"}, None)] + [rows["k-1"]] * 3
    whole = nb.read_audit(path).to_dict("records")
    assert {row["call"]: (row["proposed"], row["args"]) for row in whole} == rows


async def test_what_was_proposed_is_kept_however_often_a_person_edits() -> None:
    """An empty proposal is one too; the model is told of the last edit."""

    @nb.tool(approval=True)
    async def wait(seconds: int | None = None) -> str:
        """Wait."""
        return f"{seconds}"

    schema = {"type": "object", "properties": {"seconds": {"type": "integer"}}}
    tool = nb.Tool("wait", "Wait.", schema, wait.function, approval=True)
    page = page_with(Audit(), [call("wait", {}, id="k-1")], "Done.")
    page.session.settings.tools["wait"] = tool
    await page.say("Go")
    assert page.call("k-1").args == {}
    for seconds in (1, 2):
        page.session.propose("k-1", {"seconds": seconds})
        assert page.call("k-1").proposed == {}
    page.approve("k-1")
    await page.session.rest()
    row = row_of(page, "k-1")
    assert (row["proposed"], row["args"]) == ({}, {"seconds": 2})


async def test_calls_that_did_not_run_hold_what_was_proposed_where_it_can_be_read() -> None:
    """What cannot be read stands in `raw` as it came."""
    calls = [
        call("wipe_cache", '{"force": "perhaps"}', id="k-1"),
        call("none", {"a": 1}, id="k-2"),
        call("read_log", '{"day": ', id="k-3"),
        call("wipe_cache", "", id="k-4"),
    ]
    page = page_with(Audit(), calls, "So.")
    await page.say("Go")
    page.command("decline", call="k-4")
    await page.session.rest()
    rows = [row_of(page, f"k-{number}") for number in (1, 2, 3, 4)]
    assert [(row["proposed"], row["args"], row["raw"]) for row in rows] == [
        ({"force": "perhaps"}, None, '{"force": "perhaps"}'),
        ({"a": 1}, None, '{"a": 1}'),
        (None, None, '{"day": '),
        ({}, {"force": False}, ""),
    ]


async def test_a_call_that_the_provider_ran_has_its_arguments_too() -> None:
    """It was proposed and run with them; nobody here had a say."""
    searched = ToolCall(
        id="s-1",
        tool="search",
        state="result",
        outcome="ok",
        args={"q": "tide"},
        origin="provider",
    )
    page = page_with(Audit())
    audit, session = page.session.audit, page.session
    reply = Message(id="m-9", role="assistant", parts=(searched,), finish="stop")
    session.emit(MessageAdded(message=reply))
    (row,) = audit.rows()
    assert (row["proposed"], row["args"], row["origin"]) == (
        {"q": "tide"},
        {"q": "tide"},
        "provider",
    )


async def test_what_came_of_a_call_in_the_background_is_what_came_of_its_job(
    tmp_path: Path,
) -> None:
    """It runs until its job has ended, also for whoever reads the file of a killed kernel."""
    gate, path = threading.Event(), tmp_path / "audit.jsonl"

    @nb.tool(background=True)
    def fit(n: int) -> int:
        """Fit."""
        gate.wait()
        return 10 // n

    asked = [call("fit", {"n": 2}, id="k-1"), call("fit", {"n": 0}, id="k-2")]
    chat = nb.Chat(nb.Scripted(asked, "They run."), tools=[fit], audit=path)
    await chat.send("Go")
    begun = nb.read_audit(path).to_dict("records")
    assert [(row["job"], row["state"], row["outcome"], row["ended"]) for row in begun] == [
        ("job-1", "running", "", None),
        ("job-2", "running", "", None),
    ]
    gate.set()
    for job in chat.jobs:
        await job
    rows = chat.audit().to_dict("records")
    assert [(row["state"], row["outcome"], row["told"][:30]) for row in rows] == [
        ("result", "ok", "5"),
        ("error", "failed", "The tool failed: ZeroDivisionE"),
    ]
    assert all(row["started"] < row["ended"] for row in rows)
    assert nb.read_audit(path).to_dict("records") == rows
    chat.close()


async def test_a_row_names_the_rule_that_decided() -> None:
    """To allow and to refuse."""
    page = page_with(Audit(), [READ, WIPE], "Done.")
    allowed = page.session.rules.allow("wipe_cache", reason="a cache")
    refused = page.session.rules.refuse("read_log", reason="private")
    await page.say("Go")
    wiped, read = row_of(page, "k-2"), row_of(page, "k-1")
    assert (wiped["by"], wiped["rule"], wiped["reason"]) == ("rule", allowed.id, "a cache")
    assert (read["by"], read["rule"], read["outcome"]) == ("rule", refused.id, "declined")
    assert read["args"] == {"day": "mon"}
    assert read["decided"] == pytest.approx(read["ended"], abs=1)


async def test_calls_that_never_ran_are_in_the_audit_too() -> None:
    """Invalid, unknown, cut off, unanswered, and those of a conversation that was cleared."""
    replies = [
        [call("wipe_cache", '{"force": "perhaps"}', id="k-1"), call("none", {}, id="k-2")],
        "So.",
        [say("Well"), call("read_log", {"day": "tue"}, id="k-3"), cut()],
        [call("wipe_cache", {}, id="k-4")],
        "So.",
    ]
    page = page_with(Audit(), *replies)
    for text in ("One", "Two", "Three", "Four"):
        await page.say(text)
    page.session.clear()
    rows = {row["call"]: row for row in page.session.audit.rows()}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "k-1": "invalid",
        "k-2": "unknown",
        "k-3": "incomplete",
        "k-4": "unanswered",
    }
    assert (rows["k-1"]["args"], rows["k-1"]["raw"]) == (None, '{"force": "perhaps"}')
    assert rows["k-4"]["told"] == sentence("unanswered")


async def test_the_file_holds_a_line_before_each_effect(tmp_path: Path) -> None:
    """When the body is entered, its start is on disk."""
    path = tmp_path / "audit.jsonl"
    seen: list[list[dict[str, Any]]] = []

    @nb.tool(approval=True)
    async def look(day: str) -> str:
        """Look."""
        seen.append(lines(path))
        return "seen"

    page = Page(Strict([call("look", {"day": "mon"}, id="k-1")], "Done."), [look])
    page.session.audit = Audit(path)
    await page.say("Go")
    assert [line["state"] for line in lines(path)] == ["streaming", "pending approval"]
    page.approve("k-1")
    await page.session.rest()
    ((*_, last),) = seen
    assert (last["state"], last["args"], last["by"]) == ("running", {"day": "mon"}, "person")
    states = [line["state"] for line in lines(path)]
    assert states == ["streaming", "pending approval", "running", "result"]
    assert lines(path)[-1]["told"] == "seen"


async def test_a_call_whose_start_cannot_be_written_does_not_run(tmp_path: Path) -> None:
    """The card says why, the model is told, and the chat goes on."""
    ran: list[str] = []
    folder = tmp_path / "gone"
    page = page_with(Audit(folder / "audit.jsonl"), [READ], "Done.", ran=ran)
    await page.say("Go")
    known = page.call("k-1")
    assert (ran, known.outcome, page.texts[-1]) == ([], "failed", "Done.")
    assert known.error.startswith("The audit could not be written. FileNotFoundError")
    assert known.error.endswith("So the call was not run.")


async def test_values_are_redacted_before_they_are_kept_or_written(tmp_path: Path) -> None:
    """The contents alone: who decided what stays as it was."""
    path = tmp_path / "audit.jsonl"

    def redact(row: dict[str, Any]) -> dict[str, Any]:
        for field in ("proposed", "args"):
            row[field] = row[field] and dict.fromkeys(row[field], "…")
        return {**row, "raw": "", "told": "", "tool": "other", "by": "nobody"}

    page = page_with(Audit(path, redact=redact), [READ], "Done.")
    await page.say("Go")
    row = row_of(page, "k-1")
    assert (row["args"], row["told"], row["tool"], row["by"]) == ({"day": "…"}, "", "read_log", "")
    assert (row["proposed"], row["raw"]) == ({"day": "…"}, "")
    assert "mon" not in path.read_text()
    assert page.call("k-1").args == {"day": "mon"}


@pytest.mark.parametrize("said", [None, ValueError("no"), {"args": object()}, 7])
async def test_what_cannot_be_redacted_is_withheld(said: Any, tmp_path: Path) -> None:
    """A redaction that fails gives nothing away."""

    def redact(row: dict[str, Any]) -> dict[str, Any]:
        if isinstance(said, Exception):
            raise said
        return said  # type: ignore[no-any-return]

    path = tmp_path / "audit.jsonl"
    page = page_with(Audit(path, redact=redact), [READ], "Done.")
    await page.say("Go")
    row = row_of(page, "k-1")
    assert (row["proposed"], row["args"]) == ("(withheld: the redaction failed)",) * 2
    assert "mon" not in path.read_text()
    assert page.call("k-1").outcome == "ok"


def test_a_chat_gives_its_audit_as_a_table(tmp_path: Path) -> None:
    """With pandas as a DataFrame; the file reads the same."""
    path = tmp_path / "audit.jsonl"
    chat = nb.Chat(nb.Demo(pace=0), tools=tools_that_ran([]), audit=path)
    chat.ask("/read_log day=mon")
    table = chat.audit()
    assert list(table["tool"]) == ["read_log"]
    assert list(table["outcome"]) == ["ok"]
    assert nb.read_audit(path).to_dict("records") == table.to_dict("records")
    chat.close()


def test_without_pandas_a_table_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas is no dependency."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    chat = nb.Chat(nb.Demo(pace=0), tools=tools_that_ran([]))
    chat.ask("/read_log day=mon")
    ((row,), rules) = chat.audit(), chat.rules.table()
    assert (row["tool"], row["args"], rules) == ("read_log", {"day": "mon"}, [])
    chat.close()


def test_files_that_are_written_on_stay_where_they_are_when_a_cell_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    tools = tools_that_ran([])
    chat = nb.Chat(nb.Scripted([READ], "Done."), tools=tools, audit="a.jsonl", autosave="c.json")
    monkeypatch.chdir(tmp_path / "other")
    chat.ask("Go")
    chat.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "c.json", "other"]
    assert list((tmp_path / "other").iterdir()) == []


def test_an_audit_needs_its_folder(tmp_path: Path) -> None:
    """Known when the chat is made, not when the first call runs."""
    with pytest.raises(ValueError, match="audit: there is no folder"):
        nb.Chat(audit=tmp_path / "none" / "audit.jsonl")


def test_half_a_line_of_a_killed_kernel_is_skipped_and_not_written_on(tmp_path: Path) -> None:
    """What comes later starts a line of its own."""
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"chat":"c","call":"k-0","tool":"a"}\n{"chat":"c","ca\xff')
    chat = nb.Chat(nb.Demo(pace=0), tools=tools_that_ran([]), audit=path)
    chat.ask("/read_log day=mon")
    assert list(nb.read_audit(path)["tool"]) == ["a", "read_log"]
    chat.close()


KILLED = """
import json, os, signal, sys
from pathlib import Path
import nbtools as nb

nb.Chat, nb.Demo  # imported once, and not by every kernel

@nb.tool(approval=True)
def act(n: int) -> int:
    "Act."
    open("effect", "a").write(f"{n}\\n")
    return n

def live(folder, count):
    folder.mkdir()
    os.chdir(folder)
    chat = nb.Chat(nb.Demo(pace=0), tools=[act], audit="audit.jsonl")
    seen = []

    def kill(event, conversation):
        seen.append(event)
        if len(seen) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    chat._session.subscribe(kill)
    chat.ask("/act n=1", approve=lambda call: True)
    return len(seen)

def end(folder, count):
    kernel = os.fork()
    if kernel == 0:
        sys.exit(live(folder, count))
    return os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])

folder = Path(sys.argv[1])
total = end(folder / "all", 0)
print(json.dumps([end(folder / str(count), count) for count in range(1, total + 1)]))
"""


def test_the_audit_survives_a_kernel_that_is_killed_at_any_point(tmp_path: Path) -> None:
    """Whatever was done is in the file, with who approved it; every line but the last is whole."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    done = subprocess.run(
        [sys.executable, script, tmp_path], check=True, stdout=subprocess.PIPE, timeout=60
    )
    ends = json.loads(done.stdout)
    assert (len(ends) > 6, set(ends)) == (True, {-9})
    for count in range(1, len(ends) + 1):
        path, effect = (tmp_path / str(count) / name for name in ("audit.jsonl", "effect"))
        rows = nb.read_audit(path).to_dict("records") if path.exists() else []
        if effect.exists():
            (row,) = rows
            assert (row["state"], row["by"], row["args"]) in [
                ("running", "python", {"n": 1}),
                ("result", "python", {"n": 1}),
            ]
