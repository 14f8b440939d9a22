"""A chat in a notebook as a person sees it, and the cells that make one."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.lab.browser import Tab
from tests.lab.kernels import NEWEST
from tests.lab.notebook import Notebook
from tests.lab.server import LabServer

SETUP = """
import asyncio, gc, threading, time
import nbtools as nb
from nbtools import errors
from nbtools.testing import Scripted, call, cut, fault, finish, hold, say, think
"""


def chat_cell(*replies: str, tools: str = "", before: str = "", **options: str) -> str:
    """Write the code of a cell that makes and shows a chat with a scripted model.

    Args:
        replies: The source of each reply.
        tools: The source of the list of tools, without brackets.
        before: Code that comes first, such as the tools.
        options: The source of further arguments of `nb.Chat`.
    """
    further = "".join(f", {name}={value}" for name, value in options.items())
    script = ",\n    ".join(replies)
    made = f"chat = nb.Chat(Scripted(\n    {script}\n), tools=[{tools}]{further})"
    return f"gate = threading.Event()\nruns = []\n{before}\n{made}\nchat"


@dataclass(frozen=True, slots=True)
class ChatView:
    """One view of a chat on a page.

    Args:
        area: The element that holds it.
    """

    area: Locator

    @property
    def page(self) -> Page:
        """Playwright's page."""
        return self.area.page

    @property
    def composer(self) -> Locator:
        """The field for messages."""
        return self.area.get_by_role("textbox", name="Message", exact=True)

    @property
    def log(self) -> Locator:
        """The conversation in its scroll box."""
        return self.area.get_by_role("log")

    @property
    def answers(self) -> Locator:
        """The messages of the model."""
        return self.area.get_by_role("article", name="Answer")

    @property
    def questions(self) -> Locator:
        """The messages of the user that Python has."""
        return self.area.get_by_role("article", name="You", exact=True)

    @property
    def cards(self) -> Locator:
        """Every tool call."""
        return self.area.locator(".card")

    def card(self, tool: str, number: int = 0) -> Locator:
        """One tool call, by its tool and its place among the calls of that tool."""
        return self.area.locator(".card", has=self.page.get_by_text(tool, exact=True)).nth(number)

    def button(self, name: str) -> Locator:
        """A button by its accessible name."""
        return self.area.get_by_role("button", name=name, exact=True)

    def say(self, text: str) -> None:
        """Type a message and send it with Enter."""
        self.composer.fill(text)
        self.composer.press("Enter")

    def rest(self) -> None:
        """Wait until the page shows that no answer is under way."""
        expect(self.button("Send")).to_be_visible()


def expect_state(card: Locator, words: str) -> None:
    """Wait until a card names its state in these words."""
    expect(card.locator(".state")).to_have_text(words)


def kept_notebook(server: LabServer, tab: Tab, kernel: str = NEWEST) -> Iterator[Notebook]:
    """Open a notebook for the tests of a whole module; each of them adds its own cells."""
    notebook = Notebook(server, tab, server.write_notebook((), kernel))
    notebook.open_beside()
    notebook.run(SETUP)
    yield notebook
    notebook.close()


def show_chat(notebook: Notebook, *replies: str, **options: str) -> ChatView:
    """Run the cell that `chat_cell` writes and return the view that it shows."""
    cell = notebook.run(chat_cell(*replies, **options))
    view = ChatView(cell.area)
    expect(view.button("Send")).to_be_visible()
    return view


def python(notebook: Notebook, expression: str) -> Any:
    """Evaluate an expression in the kernel and return its value."""
    return literal_eval(notebook.run(f"print(repr({expression}))").text)


def notebook_cells(notebook: Notebook) -> list[str]:
    """Return the source of every cell of the notebook in front, in order."""
    sources: list[str] = notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".map((cell) => cell.model.sharedModel.getSource())"
    )
    return sources


def execute_quietly(notebook: Notebook, code: str) -> None:
    """Run code in the kernel of the notebook in front; no cell, focus or scroll changes."""
    notebook.page.evaluate(
        "async (code) => { const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext"
        ".session; await kernel.requestExecute({ code, silent: true }).done; }",
        code,
    )
