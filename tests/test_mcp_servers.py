"""MCP servers that nobody here wrote, and one on the SDK's own classes: over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.events import CallProgressed
from nbtools.face.turns import CallHandle
from nbtools.messages import Json
from nbtools.testing import call

pytestmark = pytest.mark.kernel

HERE = Path(__file__).with_name("mcp")
SERVERS = HERE / "node_modules" / "@modelcontextprotocol"
HARBOUR = [sys.executable, str(HERE / "harbour.py")]
KEY = "t0psecret-hushhush"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not SERVERS.is_dir(),
    reason="the servers of npm are not installed: scripts/test does that",
)


def node(server: str, *args: str) -> list[str]:
    return ["node", str(SERVERS / server / "dist" / "index.js"), *args]


@contextmanager
def serving(*command: str, port: int) -> Iterator[str]:
    """A server over HTTP; gives its address once it listens."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, **quiet)  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


Started = Callable[..., nb.MCP]


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """Give `nb.MCP`, whose servers end with the test."""
    made: list[nb.MCP] = []

    def start(target: Any, **settings: Any) -> nb.MCP:
        made.append(nb.MCP(target, **settings))
        return made[-1]

    yield start
    for each in made:
        await each.close()


def chat_with(mcp: nb.MCP, *replies: Any) -> nb.Chat:
    return nb.Chat(nb.Scripted(*replies), tools=[mcp])


async def until(chat: nb.Chat, holds: Callable[[], object]) -> None:
    """Wait for what the chat will show; each event is a chance."""
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()
    session = chat._session
    end = session.subscribe(lambda *_: loop.call_soon_threadsafe(changed.set))
    async with asyncio.timeout(30):
        while not holds():
            changed.clear()
            await changed.wait()
    end()


async def eventually(holds: Callable[[], object]) -> None:
    """Wait for what another process does, which tells nobody."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - there is no event of another process
            await asyncio.sleep(0.02)


def link_of(mcp: nb.MCP) -> Any:
    assert mcp._connection is not None
    assert mcp._connection._link is not None
    return mcp._connection._link


async def asked(chat: nb.Chat, call_id: str) -> CallHandle:
    await chat.calls[call_id].approve()
    return chat.calls[call_id]


# --- the SDK's own server, both ways ------------------------------------------------------------


@pytest.fixture(params=["stdio", "http"])
def harbour(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "stdio":
        yield HARBOUR
        return
    port = free_port()
    with serving(*HARBOUR, str(port), port=port) as url:
        yield url


async def test_a_server_of_the_new_protocol_works_both_ways(harbour: Any, started: Started):
    mcp = started(harbour, approval=False)
    calls = [
        call("tide", {"port": "Aro"}, id="k-1"),
        call("unload", {"crates": 3}, id="k-2"),
        call("moor", {"ship": "Gull"}, id="k-3"),
        call("refuse", {"reason": "No berth."}, id="k-4"),
        call("tide", {"harbour": "Aro"}, id="k-5"),
    ]
    chat = chat_with(mcp, calls, "Done.")
    seen: list[tuple[float | None, str]] = []
    chat._session.subscribe(
        lambda event, _: (
            seen.append((event.progress.fraction, event.progress.text))
            if isinstance(event, CallProgressed) and event.progress and event.call == "k-2"
            else None
        )
    )
    await chat.send("Go")
    assert link_of(mcp).client.protocol_version == "2026-07-28"
    question = chat.calls["k-3"].question
    assert question is not None
    assert (question.text, chat.status) == ("Which berth for the Gull?", "waiting")
    await chat.calls["k-3"].answer(number=4, night=True)
    assert [known.outcome for known in chat.calls] == ["ok", "ok", "ok", "failed", "invalid"]
    assert chat.results["k-1"] == {"low": 0.4, "high": 3.0}
    assert chat.results["k-2"] == ["crate 1", "crate 2", "crate 3"]
    assert chat.results["k-3"] == "The Gull lies at 4 for the night."
    assert chat.calls["k-4"].told == "Error executing tool refuse: No berth."
    assert seen == [(1 / 3, "crate 1"), (2 / 3, "crate 2"), (1.0, "crate 3")]
    chat.close()


PLAIN = """
import json, os, sys

def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"self": {"type": "string"}}}
        return {"tools": [{"name": name, "inputSchema": schema} for name in ("echo", "refuse")]}
    if params.get("name") == "echo":
        said = {"pid": os.getpid(), **params["arguments"]}
        return {"content": [{"type": "text", "text": json.dumps(said)}]}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        given = answer(asked["method"], asked.get("params") or {})
        code = -32000 if asked["method"] == "tools/call" else -32601
        end = {"result": given} if given else {"error": {"code": code, "message": "No quay."}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **end}), flush=True)
"""


IMPORTED_WHERE = """
import asyncio, sys, threading
import nbtools as nb

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "jsonschema":
            where.append(threading.current_thread())

async def thread():
    return threading.current_thread()

where = []
sys.meta_path.insert(0, Watch())
mcp = nb.MCP(sys.argv[1:])
asyncio.run(mcp.connect())
from nbtools.executors import engine
(found,) = where
print(found in (threading.main_thread(), engine().submit(thread()).result()), len(mcp.tools()))
"""


def test_what_checks_the_tools_is_imported_in_a_thread_of_its_own():
    command = [sys.executable, "-c", IMPORTED_WHERE, *HARBOUR]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    on_a_loop, tools = said.split()
    assert on_a_loop == "False"
    assert int(tools) > 0


async def test_a_server_that_refuses_with_a_code_of_its_own_is_not_lost(started: Started):
    """The SDK has the same code for a connection that is gone. Any name may be that of an argument."""
    mcp = started([sys.executable, "-c", PLAIN], approval=False)
    calls = [call("echo", {"self": "a"}), call("refuse", {}), call("echo", {"self": "b"})]
    chat = chat_with(mcp, *[[each] for each in calls], "Done.")
    await chat.send("Go")
    first, refused, last = chat.calls
    assert (refused.outcome, refused.told) == ("failed", "No quay.")
    said = [json.loads(str(known.result)) for known in (first, last)]
    assert [each["self"] for each in said] == ["a", "b"]
    assert said[0]["pid"] == said[1]["pid"]
    chat.close()


async def test_a_cancelled_call_is_cancelled_on_the_server(
    harbour: Any, started: Started, tmp_path: Path
):
    note = tmp_path / "note"
    mcp = started(harbour, approval=False)
    first = [call("wait_for_tide", {"note": str(note)}, id="k-1")]
    chat = chat_with(mcp, first, "Well.", [call("tide", {"port": "Bo"}, id="k-2")], "Done.")
    turn = chat.send("Wait")
    await until(chat, lambda: len(chat.calls) and chat.calls["k-1"].state == "running")
    await eventually(lambda: note.exists() and note.read_text() == "waiting")
    chat.calls["k-1"].cancel()
    await turn
    assert (chat.calls["k-1"].outcome, turn.text) == ("cancelled", "Well.")
    await eventually(lambda: note.read_text() == "cancelled")
    await chat.send("Go on")
    assert chat.results["k-2"] == {"low": 0.4, "high": 2.0}
    chat.close()


async def test_a_call_that_ends_while_the_server_asks_leaves_the_server_as_it_is(
    harbour: Any, started: Started
):
    mcp = started(harbour, approval=False)
    moor, pid = (
        call("moor", {"ship": "Gull"}, id="k-2"),
        [call("process", {}, id=f"k-{n}") for n in (1, 3)],
    )
    chat = chat_with(mcp, pid[:1], [moor], "Well.", pid[1:], "Done.")
    await chat.send("Moor her")
    assert chat.calls["k-2"].question is not None
    await chat.calls["k-2"].cancel()
    assert chat.calls["k-2"].outcome == "cancelled"
    await chat.send("Go on")
    assert chat.results["k-1"] == chat.results["k-3"]
    chat.close()


async def test_a_call_that_waits_is_taken_up_from_a_file(started: Started, tmp_path: Path):
    file = tmp_path / "chat.json"
    chat = chat_with(started(HARBOUR), [call("scuttle", {"ship": "Gull"}, id="k-1")])
    await chat.send("Sink her")
    chat.save(file)
    chat.close()
    again = nb.Chat.load(file, model=nb.Scripted("Done."), tools=[started(HARBOUR)])
    assert (again.calls["k-1"].waiting, again.calls["k-1"].call.destructive) == ("approval", True)
    await again.calls["k-1"].approve()
    assert again.results["k-1"] == "The Gull is gone."
    again.close()


async def test_a_tool_is_called_directly_before_anything_was_said(started: Started):
    chat = chat_with(started(HARBOUR), "Never asked.")
    turn = await chat.send("/tide port=Aro")
    assert (turn.calls[0].outcome, turn.calls[0].result) == ("ok", {"low": 0.4, "high": 3.0})
    chat.close()


async def test_a_server_that_dies_gives_one_failed_card_and_is_reached_anew(started: Started):
    mcp = started(HARBOUR, approval=False)
    chat = chat_with(mcp, [call("burn", {}, id="k-1")], [call("tide", {"port": "Bo"})], "Done.")
    await chat.send("Go")
    burnt = chat.calls["k-1"]
    assert burnt.outcome == "failed"
    assert "was lost while it worked on this call" in burnt.told
    assert "It wrote: The harbour is on fire, says [hidden]." in burnt.told
    assert chat.results["tide"] == {"low": 0.4, "high": 2.0}
    chat.close()


async def test_a_server_that_died_between_two_calls_is_not_noticed(started: Started):
    mcp = started(HARBOUR, approval=False)
    chat = chat_with(mcp, [call("process", {})], "One.", [call("tide", {"port": "Bo"})], "Two.")
    await chat.send("Go")
    link = link_of(mcp)
    os.kill(int(str(chat.results["process"])), signal.SIGKILL)
    await eventually(lambda: link.lost)
    await chat.send("Again")
    assert [known.outcome for known in chat.calls] == ["ok", "ok"], chat.calls[-1].told
    chat.close()


async def test_a_server_that_hangs_gives_one_failed_card_and_is_reached_anew(started: Started):
    mcp = started(HARBOUR, approval=False, timeout=12)
    chat = chat_with(mcp, [call("freeze", {}, id="k-1")], [call("tide", {"port": "Bo"})], "Done.")
    turn = chat.send("Go")
    await until(chat, lambda: len(chat.calls) and chat.calls["k-1"].state == "running")
    chat.calls["k-1"].cancel(after=0.5)
    await turn
    assert [known.outcome for known in chat.calls] == ["timeout", "ok"]
    chat.close()


async def test_a_server_that_was_away_goes_on_when_it_is_back(started: Started):
    port = free_port()
    tide = [call("tide", {"port": "Bo"})]
    with serving(*HARBOUR, str(port), port=port) as url:
        chat = chat_with(started(url), tide, "One.", tide, "Two.", tide, "Three.")
        await chat.send("Go")
    await chat.send("While it is away")
    with serving(*HARBOUR, str(port), port=port):
        await chat.send("Again")
    assert [known.outcome for known in chat.calls] == ["ok", "failed", "ok"]
    assert f"http://127.0.0.1:{port}" in chat.calls[1].told
    chat.close()


@needs_node
async def test_a_session_that_a_restarted_server_does_not_know_is_opened_anew(started: Started):
    port = free_port()
    everything = node("server-everything", "streamableHttp")
    echo = [call("echo", {"message": "hi"})]
    with serving(*everything, port=port) as url:
        chat = chat_with(started(url), echo, "One.", echo, "Two.")
        await chat.send("Go")
    with serving(*everything, port=port):
        await chat.send("Again")
    assert [known.outcome for known in chat.calls] == ["ok", "ok"], chat.calls[-1].told
    chat.close()


# --- servers of npm, which speak the older protocol ---------------------------------------------


@pytest.fixture(params=["stdio", "http"])
def everything(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "stdio":
        yield node("server-everything")
        return
    port = free_port()
    with serving(*node("server-everything", "streamableHttp"), port=port) as url:
        yield url


@needs_node
async def test_a_server_of_the_older_protocol_works_both_ways(everything: Any, started: Started):
    secret = {} if isinstance(everything, str) else {"env": {"API_TOKEN": KEY}}
    mcp = await started(everything, **secret).connect()
    calls = [
        call("echo", {"message": "hi"}, id="k-1"),
        call("get-structured-content", {"location": "New York"}, id="k-2"),
        call("get-tiny-image", {}, id="k-3"),
        call("get-resource-links", {"count": 1}, id="k-4"),
        call("get-env", {}, id="k-5"),
        call("trigger-long-running-operation", {"duration": 0.2, "steps": 2}, id="k-6"),
        call("trigger-elicitation-request", {}, id="k-7"),
    ]
    chat = chat_with(mcp, calls, "Done.")
    await chat.send("Go")
    assert [known.state for known in chat.calls] == ["result"] * 6 + ["pending"]
    assert chat.results["k-1"] == "Echo: hi"
    assert chat.results["k-2"]["temperature"] == 33  # type: ignore[index]
    drawn: dict[str, Json] = dict(chat.calls["k-3"].call.display or {})
    assert "image/png" in drawn["application/vnd.nbtools.several+json"][1]
    assert [given.mime for given in chat.calls["k-3"].pictures] == ["image/png"]
    assert "demo://resource/dynamic/blob/1" in chat.calls["k-4"].told
    assert KEY not in json.dumps(chat.snapshot())
    assert ("[hidden]" in chat.calls["k-5"].told) is bool(secret)
    await asking_is_answered(chat, "k-7")
    chat.close()


async def asking_is_answered(chat: nb.Chat, call_id: str) -> None:
    asking = await asked(chat, call_id)
    assert asking.question is not None
    assert asking.question.form is not None
    assert asking.question.form["required"] == ["name"]
    await asking.answer(name="Ada", check=True)
    assert asking.outcome == "ok"
    assert "- Name: Ada" in asking.told


@needs_node
async def test_files_are_read_at_once_and_written_when_approved(started: Started, tmp_path: Path):
    mcp = started(node("server-filesystem", str(tmp_path)))
    target = tmp_path / "note.txt"
    target.write_text("tide at nine")
    calls = [
        call("read_text_file", {"path": str(target)}, id="k-1"),
        call("write_file", {"path": str(target), "content": "tide at ten"}, id="k-2"),
        call("read_text_file", {"path": "/etc/hostname"}, id="k-3"),
    ]
    chat = chat_with(mcp, calls, "Done.")
    await chat.send("Go")
    assert chat.calls["k-1"].told == "tide at nine"
    assert (chat.calls["k-2"].waiting, chat.calls["k-2"].call.destructive) == ("approval", True)
    assert chat.calls["k-3"].outcome == "failed"
    assert "Access denied" in chat.calls["k-3"].told
    await asked(chat, "k-2")
    assert target.read_text() == "tide at ten"
    chat.close()


@needs_node
async def test_tools_are_chosen_by_name_and_a_name_that_is_not_there_is_said(started: Started):
    command = node("server-everything")
    some = await started(command, tools=["echo", "get-sum"]).connect()
    assert [each.name for each in some.tools()] == ["echo", "get-sum"]
    with pytest.raises(nb.ProviderError, match="has no tool 'shout'; it has: echo, "):
        await started(command, tools=["shout"]).connect()


async def test_a_server_that_nobody_here_wrote_tells_the_time(started: Started):
    mcp = started([sys.executable, "-m", "mcp_server_time", "--local-timezone", "Etc/UTC"])
    chat = chat_with(mcp, [call("get_current_time", {"timezone": "Etc/UTC"}, id="k-1")], "Done.")
    await chat.send("What time is it?")
    while chat.calls.pending:
        await chat.calls.pending.approve()
    assert json.loads(chat.calls["k-1"].told)["timezone"] == "Etc/UTC"
    chat.close()
