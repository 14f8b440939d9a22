"""What a large value costs the page: its longest task, the largest message, and the way to a page of rows."""

from __future__ import annotations

import statistics
import time

from common import Measure, judge
from lab import open_notebook, read
from playwright.sync_api import expect

from tests.lab.chat import SETUP, ChatView, chat_cell, expect_state
from tests.lab.notebook import Notebook

PAGES = 10
VALUES = {
    "table of 200,000 x 12": "pd.DataFrame({f'c{n}': np.arange(200_000) * n for n in range(12)})",
    "table of 10,000 columns": "pd.DataFrame(np.zeros((20, 10_000)))",
    "cell of 5 MB": "pd.DataFrame({'a': ['x' * 5_000_000, 'y'] * 10})",
    "list of a million": "list(range(1_000_000))",
    "text of 20 MB": "'x' * 20_000_000",
}
TOOL = """
import numpy as np
import pandas as pd
value = {value}

@nb.tool
def look() -> object:
    "Look."
    return value
"""
WATCH = """() => {
  window.tasks?.disconnect();
  window.longest = 0;
  window.tasks = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  });
  window.tasks.observe({ type: "longtask" });
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))"


def measure(notebook: Notebook, name: str, value: str) -> list[Measure]:
    """Let a call give a value, and look through its pages where it has any."""
    code = chat_cell("[call('look', {})]", "'So.'", tools="look", before=TOOL.format(value=value))
    chat = ChatView(notebook.run(code).area)
    expect(chat.button("Send")).to_be_visible()
    page = notebook.page
    page.evaluate(WATCH)
    notebook.tab.traffic.frames = frames = []
    chat.say("look")
    expect_state(chat.card("look"), "done")
    chat.rest()
    times = turn_pages(chat)
    page.evaluate(PAINTED)
    largest = max(message.size for message in read(frames))
    found = [
        # A task of less than 50 ms is not counted, and is written as 0.
        Measure(name=f"large_values {name}: longest task ms", value=longest(notebook), goal=200),
        Measure(name=f"large_values {name}: largest message kB", value=largest / 1_000, goal=256),
    ]
    if times:
        middle = statistics.median(times) * 1_000
        found.append(Measure(name=f"large_values {name}: ms to a page", value=middle, goal=500))
    return found


def turn_pages(chat: ChatView) -> list[float]:
    """Press the button for the next page again and again; return the seconds each one took."""
    what = "rows" if chat.area.get_by_role("group", name="Pages of rows").count() else "columns"
    pager = chat.area.get_by_role("group", name=f"Pages of {what}")
    times: list[float] = []
    for _ in range(PAGES if pager.count() else 0):
        shown = pager.get_by_role("status")
        before, start = shown.inner_text(), time.perf_counter()
        pager.get_by_role("button", name=f"Next {what}").click()
        expect(shown).not_to_have_text(before)
        times.append(time.perf_counter() - start)
    return times


def longest(notebook: Notebook) -> float:
    """Return the longest task of the page since it is watched, in milliseconds."""
    return float(notebook.page.evaluate("window.longest"))


def main() -> None:
    with open_notebook() as notebook:
        notebook.run(SETUP)
        found = [each for name, value in VALUES.items() for each in measure(notebook, name, value)]
    judge(found)


if __name__ == "__main__":
    main()
