"""Large values on cards in JupyterLab: pages of a table, what is cut, by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.lab.browser import VIEWPORT, shoot
from tests.lab.chat import SETUP, ChatView, kept_notebook, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
import numpy as np
import pandas as pd

cities = np.array(["Berlin", "Lisbon", "Osaka", "Quito"])
ids = np.arange(200_000)
ORDERS = pd.DataFrame({
    "id": ids, "city": cities[ids % 4], "total": (ids * 7919 % 100_000) / 100,
    "day": np.datetime64("2026-01-01") + ids % 365, "paid": ids % 3 == 0,
    **{f"part_{n}": (ids * (n + 3)) % 1000 / 10 for n in range(7)},
}).sort_values("total", ascending=False, kind="stable")
WIDE = pd.DataFrame(np.arange(30_000).reshape(3, 10_000)).add_prefix("g")
MAIL = pd.DataFrame({"id": [1, 2, 3], "body": ["word " * 1_000_000, "short", "last"]})

@nb.tool
def look(what: str) -> object:
    """Look at something large."""
    return {"orders": ORDERS, "wide": WIDE, "mail": MAIL, "numbers": range_of, "wall": WALL,
            "nested": {"names": ["Ann", "Bob"] * 9_000}}[what]

WALL = "It was a long day. " * 1_000_000

range_of = list(range(0, 3_000_000, 3))
'''


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


@pytest.fixture(autouse=True)
def no_script_errors(notebook):
    yield
    assert notebook.tab.errors == []


def shown(notebook, what: str) -> ChatView:
    """Show a chat whose one call gave something large."""
    chat = show_chat(notebook, f"[call('look', {{'what': '{what}'}})]", "'There.'", tools="look")
    chat.say("look")
    expect(chat.answers.last).to_contain_text("There.")
    return chat


def ranges(chat: ChatView) -> Locator:
    return chat.card("look").locator(".pager").get_by_role("status")


def place(what: str, first: str, last: str, of: str) -> str:
    return f"{what} {first}\u2013{last} of {of}"


def first_row(view: ChatView) -> Locator:
    return view.card("look").locator("tbody tr").first


def test_a_table_of_200000_rows_is_looked_through_page_by_page(notebook):
    """R-04: sorted as the object is; Python has all of it by the call's id."""
    chat = shown(notebook, "orders")
    expect(ranges(chat)).to_have_text(place("Rows", "1", "20", "200,000"))
    expect(first_row(chat)).to_contain_text("999.99")
    chat.button("Next rows").click()
    expect(ranges(chat)).to_have_text(place("Rows", "21", "40", "200,000"))
    expected = python(notebook, "str(chat.results['look'].iloc[20]['id'])")
    expect(first_row(chat).get_by_role("cell").first).to_have_text(expected)
    chat.button("Last rows").click()
    expect(ranges(chat)).to_have_text(place("Rows", "199,981", "200,000", "200,000"))
    expect(chat.button("Next rows")).to_have_attribute("aria-disabled", "true")
    chat.button("First rows").click()
    expect(ranges(chat)).to_have_text(place("Rows", "1", "20", "200,000"))
    whole = chat.card("look").locator("figcaption").get_by_text("All of it is in Python: ")
    expression = whole.inner_text().partition("Python: ")[2]
    assert python(notebook, f"{expression} is ORDERS")


def test_the_pages_of_a_table_are_reached_by_keyboard(notebook):
    """The focus stays on the button, also where it leads no further."""
    chat = shown(notebook, "orders")
    chat.card("look").locator(".data-scroll").focus()
    for name in ("First rows", "Previous rows", "Next rows"):
        notebook.page.keyboard.press("Tab")
        expect(chat.button(name)).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(ranges(chat)).to_have_text(place("Rows", "21", "40", "200,000"))
    notebook.page.keyboard.press("Shift+Tab")
    notebook.page.keyboard.press("Space")
    expect(ranges(chat)).to_have_text(place("Rows", "1", "20", "200,000"))
    expect(chat.button("Previous rows")).to_be_focused()


def test_two_views_look_at_different_pages(notebook):
    chat = shown(notebook, "orders")
    cell = notebook.run("chat")
    other = ChatView(cell.area)
    other.button("Last rows").click()
    expect(ranges(other)).to_have_text(place("Rows", "199,981", "200,000", "200,000"))
    expect(ranges(chat)).to_have_text(place("Rows", "1", "20", "200,000"))


def test_rows_that_were_let_go_of_are_missed_in_words_and_the_page_stays(notebook):
    chat = shown(notebook, "orders")
    notebook.run("del chat.results['look']")
    before = first_row(chat).inner_text()
    chat.button("Next rows").click()
    alert = chat.card("look").get_by_role("alert")
    expect(alert).to_contain_text("The rows are not in the kernel any more")
    expect(ranges(chat)).to_have_text(place("Rows", "1", "20", "200,000"))
    assert first_row(chat).inner_text() == before


def test_ten_thousand_columns_are_looked_through_too(notebook):
    """R-04: the variant of a wide table."""
    chat = shown(notebook, "wide")
    expect(ranges(chat)).to_have_text(place("Columns", "1", "20", "10,000"))
    chat.button("Last columns").click()
    expect(ranges(chat)).to_have_text(place("Columns", "9,981", "10,000", "10,000"))
    expect(chat.card("look").get_by_role("columnheader").last).to_have_text("g9999")


def test_a_million_numbers_are_a_table_of_pages(notebook):
    """R-04: the variant of a long list."""
    chat = shown(notebook, "numbers")
    chat.button("Last rows").click()
    expect(ranges(chat)).to_have_text(place("Rows", "999,981", "1,000,000", "1,000,000"))
    expect(chat.card("look").locator("tbody tr").last).to_have_text("9999992999997")


def test_a_huge_cell_leaves_the_rows_beside_it_in_sight(notebook):
    """R-04: the variant of one cell of 5 MB."""
    chat = shown(notebook, "mail")
    rows = chat.card("look").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("more characters)")
    expect(rows.last).to_have_text("3last")
    expect(chat.card("look")).to_contain_text("All of it is in Python: chat.results[")


def test_without_its_kernel_a_table_keeps_its_page_and_has_no_buttons(open_notebook):
    notebook = open_notebook()
    notebook.run(SETUP + TOOLS)
    chat = shown(notebook, "orders")
    chat.button("Next rows").click()
    expect(ranges(chat)).to_have_text(place("Rows", "21", "40", "200,000"))
    before = first_row(chat).inner_text()
    notebook.restart()
    expect(chat.area).to_contain_text("No kernel answers.")
    expect(chat.card("look").locator(".pager button")).to_have_count(0)
    expect(ranges(chat)).to_have_text(place("Rows", "21", "40", "200,000"))
    assert first_row(chat).inner_text() == before


@pytest.mark.parametrize("what", ["orders", "wide", "mail", "wall", "nested"])
def test_large_values_look_calm_in_both_themes_and_in_a_narrow_place(notebook, what):
    chat = shown(notebook, what)
    card = chat.card("look")
    notebook.command("application:toggle-left-area")
    for theme in ("dark", "light"):
        notebook.set_theme(theme)
        shoot(card, f"table-{what}-{theme}")
    notebook.set_viewport(440)
    shoot(card, f"table-{what}-narrow")
    assert card.evaluate("card => card.scrollWidth - card.clientWidth") == 0
    notebook.set_viewport(**VIEWPORT)
    notebook.command("application:toggle-left-area")
