"""What a chat looks like: pictures for a person to look at, and contrast that is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.lab.browser import VIEWPORT, shoot
from tests.lab.chat import ChatView, execute_quietly, expect_state, kept_notebook, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

CONTRAST = (Path(__file__).parent / "lab" / "contrast.js").read_text()
LEAST = 4.5
WIDTHS = (320, 1000)
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
TOOLS = '''
import pandas as pd
from nbtools.messages import Conversation, Message, Text, ToolCall

@nb.tool
def orders(region: str) -> pd.DataFrame:
    """Look up the orders of a region."""
    return pd.DataFrame(
        {"id": range(1, 41), "customer": ["Ann", "Bob"] * 20, "total": [9.5, 120.25] * 20}
    )

@nb.tool
def plot(column: str) -> object:
    """Plot a column."""
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(5, 2.4))
    axes.plot([1, 3, 2, 5, 4])
    axes.set_title(column)
    return figure

@nb.tool
def clean(table: str, ctx: nb.ToolContext) -> str:
    """Clean a table."""
    ctx.progress(0.4, "reading 2 of 5 files")
    print("reading orders.csv\\nreading customers.csv")
    gate.wait()
    return "cleaned"

@nb.tool(approval=True, destructive=True)
def drop_rows(table: str, where: str, limit: int = 100) -> int:
    """Delete the rows of a table that match a condition."""
    raise ValueError("The table orders is locked by another session.")

@nb.tool(approval=True)
def send_mail(to: str, subject: str) -> str:
    """Send a mail."""
    return "sent"

PROSE = """## What I found

The table `orders` has **40 rows**; two of them are *odd*. See [the manual](https://example.org/a).

1. Look at the totals
2. Drop what is double

| customer | total |
|---|---:|
| Ann | 9.50 |
| Bob | 120.25 |

> A quotation, for the look of it.

```python
import pandas as pd
orders = pd.read_csv("orders.csv").query("total > 100")
```
"""
OUTCOMES = {
    "failed": "ValueError: no", "timeout": "It took over 5 s.", "cancelled": "", "declined": "",
    "expired": "", "invalid": "amount: expected a number", "unknown": "No such tool.",
    "unanswered": "", "incomplete": "", "interrupted": "", "limit": "Five rounds.",
}
'''
WORDS = [
    "failed",
    "timed out",
    "cancelled",
    "declined",
    "expired",
    "invalid arguments",
    "no such tool",
    "not answered",
    "cut off",
    "interrupted",
    "over the limit",
    "done",
]


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


@pytest.fixture(autouse=True)
def plain_window(notebook):
    notebook.command("application:toggle-left-area")
    yield
    notebook.set_theme("light")
    notebook.set_viewport(**VIEWPORT)
    notebook.command("application:toggle-left-area")


def weak(chat: ChatView) -> list[list[str]]:
    """Return what stands out too little from its background in a chat."""
    found: list[list[str]] = chat.area.locator(".nbtools-chat").first.evaluate(
        f"(host) => ({CONTRAST})(host, {LEAST})"
    )
    return found


def look(notebook, chat: ChatView, moment: str) -> None:
    """Take pictures in both themes and both widths; check the contrast in each theme."""
    for theme in ("dark", "light"):
        notebook.set_theme(theme)
        assert (moment, theme, weak(chat)) == (moment, theme, [])
        for width in WIDTHS:
            host = chat.area.locator(".nbtools-chat").first
            fit(notebook, host, width)
            assert (moment, width, overflow(host)) == (moment, width, 0)
            shoot(host, f"{moment}-{theme}-{width}")


def fit(notebook, host: Locator, width: int) -> None:
    """Make the window so wide that a chat has a given width, in CSS pixels."""
    for _ in range(5):  # what is around it takes another width in a narrow window
        missing = width - host.evaluate("host => host.offsetWidth")
        notebook.set_viewport(notebook.page.viewport_size["width"] + missing)
        notebook.page.evaluate(PAINTED)
    expect(host).to_have_js_property("offsetWidth", width)


def overflow(host: Locator) -> int:
    """Return by how many pixels a chat is wider than its place."""
    wide: int = host.evaluate("host => Math.max(0, host.scrollWidth - host.clientWidth)")
    return wide


def test_a_chat_that_streams(notebook):
    """F-08: contrast of text and controls in both themes, switched while it is shown."""
    reply = (
        "[think('The user wants to know what is in the table.'), say(PROSE),"
        """ call('drop_rows', '{"table": "orders", "where": "total < 1'), hold(gate)]"""
    )
    chat = show_chat(notebook, reply, tools="drop_rows")
    chat.say("What is in the table `orders`, and is any of it wrong?")
    expect_state(chat.card("drop_rows"), "preparing")
    look(notebook, chat, "streaming")
    execute_quietly(notebook, "gate.set()")


def test_a_chat_that_waits(notebook):
    """F-08: several calls wait and one runs; fields for editing and declining are open."""
    drop = "call('drop_rows', {'table': 'orders', 'where': 'total < 100 AND customer IS NULL'})"
    mail = "call('send_mail', {'to': 'ann@example.org', 'subject': 'Orders'})"
    reply = f"[say('I would do this.'), {drop}, {mail}, {mail}, call('clean', {{'table': 'o'}})]"
    chat = show_chat(notebook, reply, tools="drop_rows, send_mail, clean")
    chat.say("Clean it up")
    expect_state(chat.card("clean"), "running")
    look(notebook, chat, "waiting")
    chat.card("send_mail", 0).get_by_role("button", name="Edit the arguments of send_mail").click()
    field = chat.card("send_mail", 0).get_by_role("textbox")
    field.fill('{"to": 1}')
    chat.button("Apply and approve send_mail").click()
    expect(chat.card("send_mail", 0).get_by_role("alert")).to_be_visible()
    chat.card("send_mail", 1).get_by_role("button", name="Decline send_mail").click()
    look(notebook, chat, "editing")
    execute_quietly(notebook, "gate.set()")


def test_a_chat_that_fails(notebook):
    drop = "call('drop_rows', {'table': 'orders', 'where': 'total < 1'})"
    failure = "errors.RateLimitError('The server asks for a pause.', hint='Try in 20 seconds.')"
    chat = show_chat(notebook, f"[{drop}]", f"[fault({failure})]", tools="drop_rows")
    chat.say("Drop the cheap ones")
    chat.button("Approve drop_rows").click()
    expect(chat.button("Try again")).to_be_visible()
    expect_state(chat.card("drop_rows"), "failed")
    look(notebook, chat, "failing")


def test_a_chat_that_is_done(notebook):
    calls = "call('orders', {'region': 'north'}), call('plot', {'column': 'total'})"
    chat = show_chat(notebook, f"[{calls}]", "[say(PROSE)]", tools="orders, plot")
    chat.say("Show me the orders of the north")
    expect(chat.answers.last.get_by_role("heading")).to_be_visible()
    expect(chat.card("plot").get_by_role("img")).to_be_visible()
    look(notebook, chat, "done")
    chat.log.evaluate("log => { log.scrollTop = 0; }")
    shoot(chat.area.locator(".nbtools-chat").first, "done-top")


def test_every_outcome_has_its_own_words(notebook):
    """F-08: no two outcomes are told apart by colour alone."""
    notebook.run(
        "calls = tuple(ToolCall(id=f'c{n}', tool='rows', state='error', outcome=o, error=text,"
        " args={'table': 'orders'}) for n, (o, text) in enumerate(OUTCOMES.items()))\n"
        "done = ToolCall(id='c99', tool='rows', state='result', outcome='ok', value=3, args={})\n"
        "kept = Conversation(messages=(Message(id='m1', role='user', parts=(Text(id='p1',"
        " text='All of them'),)), Message(id='m2', role='assistant', finish='calls',"
        " parts=(*calls, done)), Message(id='m3', role='assistant', finish='stop',"
        " parts=(Text(id='p2', text='So it went.'),))))"
    )
    chat = show_chat(notebook, conversation="kept")
    expect(chat.cards.locator(".state")).to_have_text(WORDS)
    look(notebook, chat, "outcomes")


def test_an_empty_chat(notebook):
    chat = show_chat(notebook, tools="orders, drop_rows, clean")
    look(notebook, chat, "empty")
