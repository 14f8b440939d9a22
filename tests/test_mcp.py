"""Tools of MCP servers: what is read of an address, of a tool and of a result; servers that are not there."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp.types import Tool as Described
from PIL import Image

import nbtools as nb
from nbtools.endings import finished
from nbtools.errors import ToolDefinitionError, ToolsetError
from nbtools.limits import Limits
from nbtools.messages import ToolCall
from nbtools.testing import call
from nbtools.tools import Toolset, collect
from nbtools.toolsets.mcp_address import read_address
from nbtools.toolsets.mcp_connection import Connection
from nbtools.toolsets.mcp_results import read_failure, read_result
from nbtools.toolsets.mcp_tools import describe
from tests.servers import Fault, ModelServer

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 20).decode()
KEY = "sk-TEST-hushhush"


def address_of(target: Any, **settings: Any) -> Any:
    return read_address(target, **{"env": None, "cwd": None, "headers": None, **settings})


def tool(name: str, schema: Any = None, **hints: bool) -> Described:
    """A tool as a server lists it."""
    read = {"name": name, "description": f"Do {name}.", "inputSchema": schema or {"type": "object"}}
    return Described.model_validate({**read, "annotations": hints})


def made(*described: Described, taken: Any = (), approval: Any = None) -> dict[str, nb.Tool]:
    connection = Connection(address_of("serve"), patience=1.0, on_change=lambda: None)
    tools, _ = describe(
        described, connection, prefix="sea", taken=taken, approval=approval, timeout=5.0
    )
    return {each.name: each for each in tools}


def plain(text: str) -> str:
    return text


def result(*content: Any, **fields: Any) -> CallToolResult:
    return CallToolResult(content=list(content), **fields)


# --- where a server is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "label", "name"),
    [
        ("npx -y @acme/server-filesystem@1.2 /data", "npx -y @acme/server-filesystem@1.2", "filesystem"),
        ("python -m mcp_server_time", "python -m mcp_server_time", "time"),
        (["/usr/bin/node", "/srv/notes-mcp.js", "--all"], "node /srv/notes-mcp.js", "notes"),
        ("docker run -i --rm -e KEY=v acme/mcp", "docker run", "run"),
        ("https://mcp.acme.com/s/t0k3n/mcp?key=1", "https://mcp.acme.com", "acme"),
        ("http://me:pw@localhost:8000/mcp", "http://localhost:8000", "localhost"),
    ],
)  # fmt: skip
def test_a_server_is_named_by_the_beginning_of_its_command_or_by_its_host(
    target: Any, label: str, name: str
):
    address = address_of(target)
    assert (address.label, address.name) == (label, name)


@pytest.mark.parametrize(
    ("target", "settings", "text"),
    [
        ("", {}, "The command is empty"),
        ([], {}, "The command is empty"),
        ("https://acme.com/mcp", {"env": {"A": "b"}}, "a URL takes headers"),
        ("npx server", {"headers": {"A": "b"}}, "a command takes env"),
    ],
)
def test_settings_that_do_not_go_with_the_target_are_refused(
    target: Any, settings: dict[str, Any], text: str
):
    with pytest.raises(ValueError, match=text):
        nb.MCP(target, **settings)


def test_a_target_is_text():
    with pytest.raises(TypeError, match="which are texts"):
        nb.MCP(["serve", 3])  # type: ignore[list-item]


def test_secrets_are_told_from_paths_and_words():
    address = address_of(
        ["serve", "--api-key", "hidden-word", "--root", "/data/2024", "TOKEN=abcdef"],
        env={"GITHUB_PAT": "plainword", "RANDOM": "a1b2c3d4e5f6g7", "ROOT": "/home/me/data1"},
    )
    assert set(address.secrets) == {"hidden-word", "abcdef", "plainword", "a1b2c3d4e5f6g7"}
    said = "hidden-word abcdef plainword a1b2c3d4e5f6g7 /home/me/data1 /data/2024"
    assert address.hide(said) == "[hidden] [hidden] [hidden] [hidden] /home/me/data1 /data/2024"


def test_no_repr_shows_a_secret():
    server = nb.MCP(["serve", "--token", KEY], env={"API_KEY": KEY})
    remote = nb.MCP(f"https://u:{KEY}@acme.com/{KEY}/mcp", headers={"Authorization": KEY})
    shown = f"{server!r} {remote!r} {server._address!r} {vars(remote)!r}"
    assert KEY not in shown
    assert repr(server) == "<MCP 'serve --token [hidden]': not reached>"


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ImportError) as missing:
        nb.MCP("npx server")
    assert str(missing.value) == ("nb.MCP needs the extra `mcp`: pip install 'nbtools-chat[mcp]'")


# --- tools --------------------------------------------------------------------------------------


def test_a_tool_asks_unless_it_says_that_it_only_reads():
    tools = made(
        tool("read", readOnlyHint=True),
        tool("write", destructiveHint=True, idempotentHint=True),
        tool("unsaid"),
        tool("both", readOnlyHint=True, destructiveHint=True),
    )
    told = {name: (each.asks, each.destructive, each.idempotent) for name, each in tools.items()}
    assert told == {
        "read": (None, False, False),
        "write": (True, True, True),
        "unsaid": (True, False, False),
        "both": (None, False, False),
    }


def test_one_policy_may_hold_for_all_tools_of_a_server():
    tools = made(tool("read", readOnlyHint=True), tool("write"), approval=False)
    assert [each.asks for each in tools.values()] == [False, False]
    assert [
        each.asks for each in made(tool("read", readOnlyHint=True), approval=True).values()
    ] == [True]


def test_names_that_clash_or_do_not_fit_are_changed():
    tools = made(tool("read"), tool("a.b/c"), tool("a_b_c"), tool("x" * 80), taken={"read"})
    assert list(tools) == ["sea_read", "a_b_c", "sea_a_b_c", "x" * 64]


def test_a_tool_that_cannot_be_described_is_left_out_and_said():
    odd = tool("odd", {"type": "object", "properties": {"a": {"type": "nonsense"}}})
    connection = Connection(address_of("serve"), patience=1.0, on_change=lambda: None)
    tools, left_out = describe(
        [odd, tool("good")], connection, prefix="", taken=(), approval=None, timeout=None
    )
    assert [each.name for each in tools] == ["good"]
    assert left_out["odd"].startswith("Tool 'odd': its schema ")


class Fleet(Toolset):
    """A toolset that lists what it is told to."""

    label = "fleet"

    def __init__(self, *names: str) -> None:
        self.names = names
        self.loads = 0

    async def load(self) -> None:
        if self.loads < self.revision or not self.loads:
            self.loads += 1
            self.revision = self.loads

    def tools(self, taken: Any = ()) -> list[nb.Tool]:
        if not self.loads:
            return []
        return [_named(f"fleet_{name}" if name in taken else name) for name in self.names]


def _named(name: str) -> nb.Tool:
    return nb.Tool(name, "Do something.", {"type": "object"}, lambda: name)


async def test_a_chat_asks_for_tools_before_its_first_request_and_not_when_it_is_made():
    fleet = Fleet("sail", "row")
    chat = nb.Chat(nb.Scripted([call("sail", {})], "Done."), tools=[fleet, _named("row")])
    assert (fleet.loads, list(chat.tools)) == (0, ["row"])
    await chat.send("Go")
    assert (fleet.loads, list(chat.tools)) == (1, ["sail", "fleet_row", "row"])
    assert chat.results["sail"] == "sail"
    assert [each["name"] for each in chat.snapshot()["tools"]] == ["sail", "fleet_row", "row"]
    chat.close()


async def test_tools_that_a_source_changes_are_taken_up_with_the_next_request():
    fleet = Fleet("sail")
    model = nb.Scripted("One.", "Two.")
    chat = nb.Chat(model, tools=[fleet])
    await chat.send("Go")
    fleet.names, fleet.revision = ("sail", "dive"), 2
    await chat.send("Go on")
    told = [[spec.name for spec in request.tools] for request in model.requests]
    assert told == [["sail"], ["sail", "dive"]]
    chat.close()


class Picky(nb.Scripted):
    """A model that cannot be told of one tool."""

    def check(self, tools: Any) -> None:
        if any(each.name == "dive" for each in tools):
            raise ToolDefinitionError("This model knows nothing of diving.")


async def test_a_tool_that_the_model_cannot_be_told_of_is_left_out_and_said():
    model = Picky("Done.")
    chat = nb.Chat(model, tools=[Fleet("sail", "dive")])
    await chat.send("Go")
    assert [spec.name for spec in model.requests[0].tools] == ["sail"]
    said = [part.text for part in chat.messages[1].parts if part.type == "notice"]
    assert said == ["The tool 'dive' is left out. This model knows nothing of diving."]
    chat.close()


class Absent(Fleet):
    """A toolset that cannot be reached."""

    async def load(self) -> None:
        raise ToolsetError("The MCP server 'fleet' cannot be reached: it is at sea.")


async def test_a_tool_of_a_source_that_was_not_asked_yet_can_be_called_directly():
    fleet, model = Fleet("sail"), nb.Scripted("Never asked.")
    chat = nb.Chat(model, tools=[fleet])
    turn = await chat.send("/sail")
    assert [(each.tool, each.outcome, each.call.origin) for each in turn.calls] == [
        ("sail", "ok", "user")
    ]
    assert (chat.results["sail"], chat.status, model.requests) == ("sail", "ready", [])
    assert (fleet.loads, list(chat.tools)) == (1, ["sail"])
    chat.close()


async def test_a_tool_that_the_source_does_not_have_is_said_on_the_card():
    model = nb.Scripted("Well.")
    chat = nb.Chat(model, tools=[Fleet("sail")])
    turn = await chat.send("/dive depth=3")
    assert (turn.calls[0].outcome, model.requests) == ("unknown", [])
    assert turn.calls[0].error == "'dive' is not a tool. The tools are: sail."
    assert (await chat.send("/dive depth=3")).text == "Well."  # now it is known to be no call
    chat.close()


async def test_what_only_begins_like_a_call_is_said_to_the_model():
    model = nb.Scripted("Hello.")
    chat = nb.Chat(model, tools=[Fleet("sail")])
    assert (await chat.send("/me waves at you")).text == "Hello."
    assert len(chat.calls) == 0
    chat.close()


async def test_a_direct_call_whose_source_cannot_be_reached_says_why():
    model = nb.Scripted("I see.")
    chat = nb.Chat(model, tools=[Absent("sail")])
    turn = await chat.send("/sail")
    why = "The MCP server 'fleet' cannot be reached: it is at sea."
    assert (turn.calls[0].outcome, turn.calls[0].error) == ("unknown", why)
    assert turn.calls[0].told == f"The call was not run. {why}"
    assert (chat.status, model.requests) == ("ready", [])
    chat.close()


async def test_stop_ends_a_direct_call_that_waits_for_its_source():
    chat = nb.Chat(nb.Scripted(), tools=[nb.MCP([sys.executable, "-c", "input()"])])
    turn = chat.send("/sail")
    chat.stop()
    await turn
    assert (chat.status, turn.calls[0].outcome) == ("ready", "cancelled")
    chat.close()


async def test_options_of_a_message_may_name_tools_that_come_with_it():
    model = nb.Scripted([call("sail", {})], "Done.")
    chat = nb.Chat(model, tools=[Fleet("sail", "dive"), _named("row")])
    choice = nb.Settings(tool_choice="sail")
    turn = await chat.send("Go", tools=["sail"], until="sail", settings=choice)
    assert [spec.name for spec in model.requests[0].tools] == ["sail"]
    assert turn.result == "sail"
    chat.close()


@pytest.mark.parametrize(
    "options", [{"tools": ["fly"]}, {"until": "fly"}, {"settings": nb.Settings(tool_choice="fly")}]
)
async def test_a_name_that_no_source_knows_is_said_before_the_model_is_asked(options: Any):
    model = nb.Scripted("Done.")
    chat = nb.Chat(model, tools=[Fleet("sail")])
    for _ in range(2):
        with pytest.raises(ToolsetError, match=r"'fly'.*'sail'"):
            await (chat.resume() if chat.messages else chat.send("Go", **options))
    assert (model.requests, chat.status) == ([], "error")
    with pytest.raises(ValueError, match="'fly'"):
        chat.send("Go", **options)
    assert (await chat.send("Go")).text == "Done."
    chat.close()


async def waiting_for_sail(path: Path) -> None:
    """Save a chat in which a call of a fleet waits."""
    chat = nb.Chat(nb.Scripted([call("sail", {}, id="k-1")]), tools=[Fleet("sail")], approval=True)
    await chat.send("Go")
    assert chat.calls["k-1"].waiting == "approval"
    chat.save(path)
    chat.close()


async def test_a_saved_call_waits_on_for_a_tool_of_a_source(tmp_path: Path):
    path = tmp_path / "chat.json"
    await waiting_for_sail(path)
    fleet, model = Fleet("sail"), nb.Scripted("Done.")
    chat = nb.Chat.load(path, model=model, tools=[fleet], approval=True)
    assert (fleet.loads, chat.calls["k-1"].waiting, model.requests) == (1, "approval", [])
    assert (await chat.calls["k-1"].approve()).text == "Done."
    assert chat.calls["k-1"].outcome == "ok"
    chat.close()


async def test_loading_asks_no_source_that_no_call_waits_for(tmp_path: Path):
    path = tmp_path / "chat.json"
    chat = nb.Chat(nb.Scripted([call("sail", {}, id="k-1")], "Done."), tools=[Fleet("sail")])
    await chat.send("Go")
    chat.save(path)
    chat.close()
    fleet = Fleet("sail")
    again = nb.Chat.load(path, model=nb.Scripted(), tools=[fleet])
    assert (fleet.loads, again.status) == (0, "ready")
    assert (await again.calls["k-1"].rerun()).calls[0].outcome == "ok"
    again.close()


async def test_a_chat_whose_call_waits_for_a_source_that_is_away_is_not_loaded(tmp_path: Path):
    """The call is not ended behind anybody's back: the text says what to do."""
    path = tmp_path / "chat.json"
    await waiting_for_sail(path)
    before = path.read_text()
    with pytest.raises(ToolsetError) as failed:
        nb.Chat.load(path, model=nb.Scripted(), tools=[Absent("sail")])
    assert str(failed.value) == (
        "The MCP server 'fleet' cannot be reached: it is at sea. "
        "A saved call waits for 'sail'; without this source of tools the chat loads, and ends it."
    )
    assert path.read_text() == before
    without = nb.Chat.load(path, model=nb.Scripted())
    assert without.calls["k-1"].outcome == "unknown"
    without.close()


async def test_a_tool_cannot_load_a_chat_that_waits_for_a_source(tmp_path: Path):
    """On the engine's own loop nothing can be waited for."""
    path = tmp_path / "chat.json"
    await waiting_for_sail(path)

    @nb.tool
    async def load() -> None:
        """Load."""
        nb.Chat.load(path, model=nb.Scripted(), tools=[Fleet("sail")])

    chat = nb.Chat(nb.Scripted([call("load", {}, id="k-1")], "So."), tools=[load])
    await chat.send("Go")
    assert chat.calls["k-1"].error == (
        "NbtoolsError: A saved call waits for 'sail', whose source of tools cannot be asked from "
        "here: connect it first, or load the chat from a synchronous function."
    )
    chat.close()


def test_two_tools_of_the_programs_own_still_must_not_share_a_name():
    with pytest.raises(ToolDefinitionError, match="Two tools are called 'row'"):
        collect([_named("row"), _named("row")])


# --- results ------------------------------------------------------------------------------------


def drawn() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (3, 2)).save(buffer, "PNG")
    return buffer.getvalue()


def test_text_is_text_for_everybody():
    faces = read_result(result(TextContent(type="text", text="42")), plain)
    assert (faces.value, faces.model, faces.display) == ("42", "42", {"text/plain": "42"})


def test_a_structured_value_is_the_value_and_is_drawn_as_data():
    value = {"low": 0.4, "high": 3.0}
    text = TextContent(type="text", text=json.dumps(value))
    faces = read_result(result(text, structured_content=value), plain)
    assert (faces.value, faces.model) == (value, '{"low": 0.4, "high": 3.0}')
    assert faces.display["application/json"] == value


def test_a_structured_value_without_text_is_told_to_the_model():
    faces = read_result(result(structured_content={"n": 1}), plain)
    assert faces.model == '{"n":1}'


def test_a_value_that_was_wrapped_to_be_an_object_is_unwrapped():
    text = TextContent(type="text", text="three")
    assert read_result(result(text, structured_content={"result": "three"}), plain).value == "three"
    whole = TextContent(type="text", text='{"result": 3}')
    kept = read_result(result(whole, structured_content={"result": 3}), plain)
    assert kept.value == {"result": 3}


def test_a_picture_is_shown_and_named_to_the_model():
    picture = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    faces = read_result(result(TextContent(type="text", text="Look:"), picture), plain)
    assert faces.model == faces.value
    assert faces.value == ["Look:", base64.b64decode(PIXEL)]
    text, drawn = faces.display["application/vnd.nbtools.several+json"]
    assert (text["text/plain"], drawn["image/png"]) == ("Look:", PIXEL)


def test_a_picture_is_given_to_the_model_and_it_is_told_whether_the_person_sees_it():
    content = drawn()
    texts = {}
    audiences: list[Any] = [None, ["assistant"], ["user"]]
    for audience in audiences:
        image = ImageContent(
            type="image",
            data=base64.b64encode(content).decode(),
            mime_type="image/png",
            annotations=Annotations(audience=audience) if audience else None,
        )
        faces = read_result(result(TextContent(type="text", text="Look:"), image), plain)
        end = finished(ToolCall(id="k-1", tool="look"), faces, Limits())
        texts[str(audience)] = (end.told, len(end.pictures))
    named = f"Look:\n\nA picture (image/png, {len(content)} bytes)"
    assert texts == {
        "None": (f"{named} was shown to the user.", 1),
        "['assistant']": (f"{named}.", 1),
        "['user']": ("Look:", 0),
    }


def test_a_picture_that_is_broken_or_of_another_type_is_said():
    broken = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    end = finished(ToolCall(id="k", tool="t"), read_result(result(broken), plain), Limits())
    assert end.pictures == ()
    assert end.told.startswith(
        "A picture (image/png, 28 bytes) was shown to the user.\n"
        "(You are not given this picture: it is broken ("
    )
    other = ImageContent(type="image", data="UEs=", mime_type="image/tiff")
    assert read_result(result(other), plain).model == (
        "2 bytes of image/tiff, kept for Python. You are not given this picture: "
        "models take only PNG, JPEG, GIF and WebP."
    )


def test_an_error_with_a_picture_is_words():
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    failed = result(TextContent(type="text", text="No."), image)
    assert read_failure(failed, plain) == "No.\n\n(A picture that came with it is left out.)"


def test_an_error_without_words_is_told_by_its_structured_value():
    assert (
        read_failure(result(structured_content={"code": 7}, is_error=True), plain) == '{"code":7}'
    )
    assert read_failure(result(is_error=True), plain) == "The tool failed without saying why."


def test_resources_are_shown_as_what_they_are_and_never_as_a_page():
    def resource(mime: str, text: str) -> EmbeddedResource:
        held = TextResourceContents(uri="file:///a", mime_type=mime, text=text)
        return EmbeddedResource(type="resource", resource=held)

    shown = [
        read_result(result(each), plain).display
        for each in (
            resource("text/markdown", "# Hi"),
            resource("application/json", '{"a": 1}'),
            resource("text/html", "<b>Hi</b>"),
        )
    ]
    assert shown[0] == {"text/markdown": "# Hi", "text/plain": "# Hi"}
    assert shown[1]["application/json"] == {"a": 1}
    assert shown[2] == {"text/plain": "<b>Hi</b>"}


def test_what_nobody_can_draw_is_named_and_kept():
    sound = AudioContent(
        type="audio", data=base64.b64encode(b"RIFF").decode(), mime_type="audio/wav"
    )
    blob = BlobResourceContents(uri="file:///b", mime_type="application/zip", blob="UEs=")
    link = ResourceLink(type="resource_link", uri="file:///c.csv", name="c.csv")
    faces = read_result(
        result(sound, EmbeddedResource(type="resource", resource=blob), link), plain
    )
    assert faces.value == [b"RIFF", b"PK", "file:///c.csv"]
    assert faces.model == (
        "4 bytes of audio/wav, kept for Python.\n\n"
        "2 bytes of application/zip, kept for Python.\n\n"
        "Resource c.csv: file:///c.csv"
    )


def test_data_that_is_no_base64_is_said():
    broken = ImageContent(type="image", data="%%%", mime_type="image/png")
    assert read_result(result(broken), plain).model == (
        "Data of type image/png that cannot be read: it is no base64."
    )


def test_each_reader_gets_what_is_meant_for_it():
    for_model = TextContent(
        type="text", text="for the model", annotations=Annotations(audience=["assistant"])
    )
    for_person = TextContent(
        type="text", text="for the person", annotations=Annotations(audience=["user"])
    )
    faces = read_result(result(for_model, for_person), plain)
    assert (faces.model, faces.display) == ("for the model", {"text/plain": "for the person"})


def test_nothing_at_all_is_a_result():
    faces = read_result(result(), plain)
    assert (faces.value, faces.model, faces.display) == (None, "(no output)", None)


def test_known_secrets_are_taken_out_of_what_a_server_says():
    hide = address_of("serve", env={"API_KEY": KEY}).hide
    text = TextContent(type="text", text=f"the key is {KEY}")
    faces = read_result(result(text, structured_content={"env": [KEY, 1]}), hide)
    assert (faces.value, faces.model) == ({"env": ["[hidden]", 1]}, "the key is [hidden]")
    assert read_failure(result(text, is_error=True), hide) == "the key is [hidden]"


# --- servers that are not there -----------------------------------------------------------------


async def why_not(target: Any, **settings: Any) -> str:
    with pytest.raises(ToolsetError) as failed:
        await nb.MCP(target, **settings).connect()
    return failed.value.text


async def test_a_program_that_is_not_there_is_named():
    assert await why_not(["/no/such/program", "x"]) == (
        "The MCP server 'program x' cannot be started: there is no such program or folder."
    )


async def test_a_server_that_ends_at_once_is_quoted_without_its_secrets(tmp_path: Path):
    file = tmp_path / "server.py"
    file.write_text(f"import sys; sys.exit('no licence for {KEY}')")
    text = await why_not([sys.executable, str(file)])
    assert text.endswith("ended before it answered. It wrote: no licence for [hidden]")
    assert str(file) in text


async def test_the_model_is_not_told_where_on_this_machine_a_server_lies(tmp_path: Path):
    """Neither by its command nor by what it wrote; the person is."""
    file = tmp_path / "server.py"
    file.write_text("import sys; sys.exit(f'cannot read {__file__}')")
    assert str(tmp_path) in await why_not([sys.executable, str(file)])
    connection = Connection(
        address_of([sys.executable, str(file)]), patience=20.0, on_change=lambda: None
    )
    with pytest.raises(nb.ToolError) as failed:
        await connection.call("tide", {}, nb.ToolContext(None))
    assert str(failed.value).endswith(
        "server.py' ended before it answered. It wrote: cannot read server.py"
    )
    assert str(tmp_path) not in str(failed.value)


async def test_an_address_where_nobody_listens_is_named():
    text = await why_not("http://127.0.0.1:9/mcp")
    assert text.startswith("The MCP server 'http://127.0.0.1:9' cannot be reached: ")


async def test_a_server_that_refuses_is_told_by_its_status():
    with ModelServer(Fault(401, "no"), Fault(401, "no")) as server:
        text = await why_not(server.url, headers={"Authorization": f"Bearer {KEY}"})
    assert text.endswith("refused the connection with HTTP status 401.")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_server_that_says_nothing_is_given_up():
    silent = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    assert (await why_not(silent, start_timeout=0.5)).endswith("did not answer within 0.5 s.")


async def test_a_chat_whose_tools_cannot_be_had_says_so_and_tries_again():
    model = nb.Scripted("Never asked.")
    chat = nb.Chat(model, tools=[nb.MCP(["/no/such/program"])])
    with pytest.raises(ToolsetError, match="there is no such program"):
        await chat.send("Go")
    failure = chat.conversation.error
    assert failure is not None
    assert (failure.kind, failure.retry) == ("ToolsetError", True)
    chat.tools = [_named("row")]
    await chat.resume()
    assert ([spec.name for spec in model.requests[0].tools], chat.status) == (["row"], "ready")
    chat.close()


async def test_a_chat_can_be_stopped_while_it_waits_for_tools():
    chat = nb.Chat(nb.Scripted("Never asked."), tools=[nb.MCP([sys.executable, "-c", "input()"])])
    turn = chat.send("Go")
    chat.stop()
    await turn
    assert chat.status == "ready"
    chat.close()
