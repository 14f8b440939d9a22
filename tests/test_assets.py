"""What a page fetches by its id: there for as long as the conversation holds it, and not longer."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import nbtools as nb
from nbtools.events import CallEnded, CallProgressed, MessageAdded, MessagesRemoved
from nbtools.messages import Message, ToolCall
from nbtools.testing import Scripted, call
from tests.stage import Page, Strict


def picture() -> dict[str, Any]:
    """A bundle whose picture is too large for the state."""
    return {"image/png": base64.b64encode(os.urandom(60_000)).decode()}


def bytes_of(shown: dict[str, Any]) -> bytes:
    return base64.b64decode(shown["image/png"])


async def test_a_plot_that_moves_leaves_no_pictures_behind():
    frames = [picture() for _ in range(300)]
    page = Page(Strict())
    plot = ToolCall(id="k-1", tool="plot", state="running", origin="provider")
    page.session.emit(MessageAdded(message=Message(id="m1", role="user", parts=(plot,))))
    names = []
    for frame in frames:
        page.session.emit(CallProgressed(call="k-1", display=frame))
        (part,) = page.shown["messages"][0]["parts"]
        names.append(part["display"]["image/png"]["asset"])
    assets = page.bridge.assets
    assert assets.find(names[-1]) == ("image/png", bytes_of(frames[-1]))
    assert sum(assets.find(name) is not None for name in names) <= 65
    assert list(assets.carried(page.session.conversation)) == names[-1:]
    page.session.emit(CallEnded(call="k-1", outcome="ok", told="ok", display=frames[-1]))
    page.session.emit(MessagesRemoved(messages=("m1",)))
    assert not any(map(assets.find, names))


async def test_many_pictures_of_one_conversation_are_all_there():
    frames = [picture() for _ in range(150)]
    page = Page(Strict())
    for number, frame in enumerate(frames):
        plot = ToolCall(id=f"k-{number}", tool="plot", state="result", outcome="ok", display=frame)
        known = Message(id=f"m{number}", role="user", parts=(plot,))
        page.session.emit(MessageAdded(message=known))
    shown = [message["parts"][0]["display"]["image/png"] for message in page.shown["messages"]]
    found = [page.bridge.assets.find(each["asset"]) for each in shown]
    assert found == [("image/png", bytes_of(frame)) for frame in frames]


async def test_a_page_of_a_cleared_chat_holds_nothing_of_what_was_cleared(tmp_path: Path):
    """X-02: a file shrinks with what it is of, and gives nothing away that was cleared."""
    first, second = picture(), picture()
    shown = iter((first, second))

    @nb.tool
    def draw() -> dict[str, Any]:
        """Draw."""
        return next(shown)

    chat = nb.Chat(Scripted([call("draw")], "One.", [call("draw")], "Two."), tools=[draw])
    await chat.send("Draw")
    chat.clear()
    await chat.send("Draw")
    page = chat.to_html(tmp_path / "chat.html").read_text()
    assert second["image/png"] in page
    assert first["image/png"] not in page
