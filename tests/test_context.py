"""What the next request holds: trimmed, pinned, and marked on the page."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.errors import ContextLengthError, IllegalMove
from nbtools.history import estimate_rest, estimate_tokens, trim
from nbtools.messages import Message, Text, ToolCall, ToolSpec
from nbtools.testing import call
from tests.stage import Page, Strict, texts, tools_that_ran


def user(number: int, text: str = "Hi", **fields: Any) -> Message:
    name = f"u{number}"
    return Message(id=name, role="user", parts=(Text(id=f"p-{name}", text=text),), **fields)


def reply(number: int, **fields: Any) -> Message:
    ended = ToolCall(id=f"k{number}", tool="look", state="result", args={}, told="seen")
    return Message(id=f"a{number}", role="assistant", parts=(ended,), finish="calls", **fields)


def ids(messages: tuple[Message, ...]) -> list[str]:
    return [message.id for message in messages]


TURNS = tuple(message for n in range(1, 5) for message in (user(n), reply(n)))


@pytest.mark.parametrize(
    ("turns", "first"), [(None, "u1"), (9, "u1"), (4, "u1"), (3, "u2"), (1, "u4"), (0, "u4")]
)
def test_the_newest_turns_are_kept_whole(turns: int | None, first: str) -> None:
    """W-14: counted in turns; the running one always stays."""
    kept = trim(TURNS, None, turns=turns)
    assert kept == TURNS[ids(TURNS).index(first) :]


@pytest.mark.parametrize("place", [2, 3])
def test_a_pinned_message_keeps_its_turn(place: int) -> None:
    """W-14: with its question or its answer, a call never without its result."""
    pinned = tuple(
        Message(id=it.id, role=it.role, parts=it.parts, finish=it.finish, pinned=n == place)
        for n, it in enumerate(TURNS)
    )
    assert ids(trim(pinned, None, turns=1)) == ["u2", "a2", "u4", "a4"]
    size = estimate_tokens(TURNS[0]) + estimate_tokens(TURNS[1])
    assert ids(trim(pinned, 2 * size)) == ["u2", "a2", "u4", "a4"]
    assert ids(trim(pinned, size)) == ["u2", "a2", "u4", "a4"]


def test_what_the_rest_of_the_request_takes_counts() -> None:
    """The system text and the tools need room too."""
    size = estimate_tokens(TURNS[0]) + estimate_tokens(TURNS[1])
    assert ids(trim(TURNS, 4 * size)) == ids(TURNS)
    assert ids(trim(TURNS, 4 * size, reserved=1))[0] == "u2"
    with pytest.raises(ContextLengthError, match="instructions and the tools alone are about 50"):
        trim(TURNS, size, reserved=5 * size)
    spec = ToolSpec(name="abcd", description="efgh", parameters={"a": 1})
    assert estimate_rest("12345678", [spec]) == (8 + 8 + len('{"a":1}')) // 4


def seen(page: Page) -> list[tuple[str, bool]]:
    """Give the texts of the page, and whether the model sees them still."""
    return [
        (part["text"], message.get("unseen", False))
        for message in page.shown["messages"]
        for part in message["parts"]
        if part["type"] == "text"
    ]


async def test_the_page_keeps_everything_and_marks_what_the_model_no_longer_sees() -> None:
    """Only between rounds, and taken back when the message is sent again."""
    model = Strict("One.", "Two.", [call("read_log", {"day": "mon"}, id="k-1")], "Three.", "Four.")
    page = Page(model, tools_that_ran([]), context_turns=2)
    await page.say("first")
    await page.say("second")
    assert not any(unseen for _, unseen in seen(page))
    await page.say("third")
    assert seen(page)[:4] == [
        ("first", True),
        ("One.", True),
        ("second", False),
        ("Two.", False),
    ]
    assert texts(tuple(model.requests[-1].messages)) == ["second", "Two.", "third"]
    first = page.session.conversation.messages[0].id
    assert page.command("pin", message=first, pinned=True)["ok"]
    await page.say("fourth")
    assert texts(tuple(model.requests[-1].messages)) == [
        "first",
        "One.",
        "third",
        "Three.",
        "fourth",
    ]
    assert [text for text, unseen in seen(page) if unseen] == ["second", "Two."]
    assert model.refused == []


async def test_pinning_names_a_message_that_there_is() -> None:
    """Anything else is refused."""
    page = Page(Strict("One."))
    await page.say("first")
    with pytest.raises(IllegalMove, match=r"There is no message 'm9'\."):
        page.session.pin("m9")
    first = page.session.conversation.messages[0].id
    assert page.command("pin", message=first, pinned="yes")["error"] == "invalid"
    page.session.pin(first)
    page.session.pin(first, pinned=False)
    assert page.shown["messages"][0].get("pinned") is None
