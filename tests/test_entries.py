"""The entries for checks: `encode` and `decode` take what a check has at hand, and never raise for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

import nbtools as nb
from nbtools.providers.wires import Wire
from nbtools.testing import call, decode, encode, say
from tests.servers import chunk, fragment, sse, text_reply

WIRES: tuple[Wire, ...] = get_args(Wire)
BODY = text_reply("Good ", "day.").encode()


@pytest.mark.parametrize("given", [bytes, bytearray, memoryview, lambda body: body.decode()])
@pytest.mark.parametrize("size", [None, 1, 7, 10_000])
def test_a_body_may_be_of_any_kind(given: Callable[[bytes], Any], size: int | None):
    assert decode("openai-chat", 200, {}, given(BODY), chunk=size)["text"] == "Good day."


@pytest.mark.parametrize("headers", [None, [], {"content-encoding": "gzip"}])
def test_headers_of_any_kind_change_nothing(headers: Any):
    assert decode("openai-chat", 200, headers, BODY)["text"] == "Good day."


def test_pieces_have_at_least_one_byte():
    with pytest.raises(ValueError, match="chunk is -1"):
        decode("openai-chat", 200, {}, BODY, chunk=-1)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [200, 204, 302, 400, 429, 503])
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"7", b"\xff", b"{" * 9_000])
def test_an_answer_of_any_kind_has_the_same_shape(wire: Wire, status: int, body: bytes):
    answer = decode(wire, status, {}, body)
    assert answer["text"] == ""
    assert answer["error"]["where"] == ("body" if status < 300 else "http")
    assert answer["error"]["status"] == status


def test_arguments_nested_too_deep_are_not_read():
    deep = "[" * 100_000
    body = sse(fragment(0, "k-1", "f", deep), chunk({}, "tool_calls"))
    (found,) = decode("openai-chat", 200, {}, body.encode())["tool_calls"]
    assert (found["arguments"], found["arguments_raw"]) == (None, deep)


@pytest.mark.parametrize("given", ["", None])
def test_an_id_is_told_as_it_came(given: str | None):
    body = sse(fragment(0, given, "f", "{}"), chunk({}, "tool_calls"))
    (found,) = decode("openai-chat", 200, {}, body.encode())["tool_calls"]
    assert found["id"] == given


def test_another_wire_is_named():
    for wire in ("openai", None, ["anthropic"]):
        with pytest.raises(ValueError, match="expected one of openai-chat, openai-responses"):
            decode(wire, 200, {}, b"")  # type: ignore[arg-type]


@nb.tool
def rows(table: str) -> int:
    """Count the rows of a table."""
    return 3


async def waiting_chat() -> nb.Chat:
    model = nb.Scripted([say("I look."), call("rows", {"table": "a"}, id="k-1")], "Three.")
    chat = nb.Chat(model, tools=[rows], approval=True)
    await chat.send("How many?")
    return chat


@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_may_be_given_in_every_form(wire: Wire):
    chat = await waiting_chat()
    body = encode(wire, chat.conversation, [rows])
    assert "How many?" in json.dumps(body)
    assert (
        json.dumps(body).count("so it was not run") == 1
    )  # it waits, and has a result all the same
    assert encode(wire, chat.messages, [rows]) == body
    assert encode(wire, list(chat.messages), [rows]) == body
    assert encode(wire, chat, [rows]) == body


@pytest.mark.parametrize("wire", WIRES)
async def test_tools_may_be_given_in_every_form(wire: Wire):
    chat = await waiting_chat()
    body = encode(wire, chat.messages, [rows])
    for tools in ((rows,), chat.tools, [rows.spec], iter([rows]), [rows.function]):
        assert encode(wire, chat.messages, tools) == body
    bare = encode(wire, chat.messages)
    assert bare != body
    assert bare == encode(wire, chat.messages, None) == encode(wire, chat.messages, [])
