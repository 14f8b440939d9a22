"""The notebooks in a real JupyterLab: their cells, their cards, and a person who clicks in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.lab.browser import shoot
from tests.lab.notebook import Cell, Notebook

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"

pytestmark = [pytest.mark.browser, pytest.mark.kernel]


class Walk:
    """A notebook of the repository, run cell by cell as a reader does."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self._ids = [cell["id"] for cell in notebook.file["cells"]]

    def cell(self, name: str) -> Cell:
        """Return a cell by its id."""
        return self.notebook.cell(self._ids.index(name))

    def run(self, *names: str) -> Cell:
        """Run cells by their ids; return the last of them."""
        for name in names:
            self.notebook.run_cell(self._ids.index(name))
        return self.cell(names[-1])

    def card(self, name: str, call: str) -> Locator:
        """Return the last card of a cell's chat whose tool and state read so."""
        return self.cell(name).area.get_by_role("region", name=f"Tool call {call}").last


@pytest.fixture
def walk(lab, open_notebook) -> Callable[[str], Walk]:
    def open_copy(name: str) -> Walk:
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", lab.notebooks)
        return Walk(open_notebook(path=f"{name}.ipynb"))

    return open_copy


def test_the_first_notebook_shows_a_tour_a_table_a_refusal_and_progress(walk):
    hello = walk("01_hello")
    chat = hello.run("first-chat").area
    expect(chat.get_by_text("not a language model").first).to_be_visible()
    chat.get_by_role("textbox", name="Message").fill("hello")
    chat.get_by_role("button", name="Send").click()
    chat.get_by_role("button", name="Approve demo_delete").click()
    expect(chat.get_by_text("You approved it")).to_be_visible()
    expect(hello.card("first-chat", "demo_weather, done")).to_contain_text("Monday")
    hello.run("first-tool", "chat-with-a-tool", "by-hand")
    expect(hello.card("chat-with-a-tool", "largest_orders, done")).to_contain_text("104")
    assert hello.run("results").text == "np.float64(280.0)"
    hello.run("invalid")
    refused = hello.card("chat-with-a-tool", "largest_orders, invalid arguments")
    expect(refused).to_contain_text("one of 'north', 'south'")
    hello.run("slow-tool", "slow-tool-runs")
    checked = hello.card("slow-tool", "check_orders, done")
    expect(checked).to_contain_text("6 orders checked")
    checked.get_by_text("Output", exact=True).click()
    expect(checked).to_contain_text("order 105 is below 50")
    shoot(hello.notebook.page, "notebook-hello")
    assert hello.notebook.tab.errors == []


def test_a_reader_decides_in_the_notebook_on_approvals(walk):
    approvals = walk("02_approvals")
    assert approvals.run("data", "chat", "propose").text.startswith("<Turn waiting")
    chat = approvals.cell("chat").area
    chat.get_by_role("button", name="Approve drop_orders").click()
    expect(approvals.card("chat", "drop_orders, done")).to_contain_text("dropped: 2, left: 2")
    assert approvals.run("approve").text == "'dropped: 2, left: 2'"
    expect(chat.get_by_role("button", name="Stop")).to_have_count(0)  # the answer is complete
    approvals.run("decline")
    expect(approvals.card("chat", "drop_orders, declined")).to_contain_text("every order we have")
    approvals.run("edit")
    expect(approvals.card("chat", "drop_orders, done")).to_contain_text(
        "total < 1000 → total < 100"
    )
    assert approvals.run("ask").text == "'ok'"
    shoot(chat, "notebook-approvals")
    assert approvals.notebook.tab.errors == []


def test_waiting_calls_are_counted_and_come_back_from_a_file(walk):
    approvals = walk("02_approvals")
    approvals.run("data", "policy", "several", "several-asked")
    chat = approvals.cell("several").area
    expect(chat.get_by_role("button", name="Approve refund")).to_have_count(3)
    chat.get_by_role("button", name="Approve refund").first.click()
    expect(chat.get_by_text("1 of 3 decided")).to_be_visible()
    assert approvals.run("several-decided").text == "['ok', 'ok', 'declined']"
    answer = chat.get_by_role("article", name="Answer").last
    expect(answer).to_contain_text("Two are paid, one was declined.")
    loaded = approvals.run("keep", "load").area
    loaded.get_by_role("button", name="Approve refund").click()
    expect(approvals.card("load", "refund, done")).to_contain_text("80.00 paid back")
    assert approvals.run("load-decide").text == "'80.00 paid back for order 104'"


def test_the_cards_of_the_notebook_on_renderers_show_tables_figures_and_widgets(walk):
    renderers = walk("03_renderers")
    renderers.run("data", "free", "free-runs")
    expect(renderers.card("free", "order_table, done")).to_contain_text("south")
    expect(renderers.card("free", "plot_totals, done").get_by_role("img")).to_be_visible()
    renderers.run("python", "python-runs")
    waiting = renderers.card("python", "drop_orders, needs approval")
    expect(waiting).to_contain_text("2 rows and 3 columns")
    shoot(waiting, "notebook-renderers-rows")
    renderers.run("python-decided", "failing")
    expect(renderers.card("python", "drop_orders, declined")).to_contain_text("careless")
    renderers.run("widget", "widget-runs")
    slider = renderers.cell("widget").area.get_by_role("slider")
    slider.focus()
    slider.press("End")
    expect(renderers.cell("widget").area.get_by_text("0 of 4 orders")).to_be_visible()
    assert renderers.notebook.tab.errors == []


def test_modules_in_the_notebook_on_renderers_propose_and_the_reader_approves(walk):
    renderers = walk("03_renderers")
    renderers.run("data", "javascript", "javascript-runs")
    sales = renderers.cell("javascript").area
    slider = sales.get_by_role("slider", name="Discount")
    expect(slider).to_be_enabled()
    slider.press("ArrowLeft")
    expect(sales.get_by_role("list", name="Changed arguments")).to_contain_text("percent: 30 → 29")
    sales.get_by_role("button", name="Approve give_discount").click()
    expect(renderers.card("javascript", "give_discount, done")).to_be_visible()
    expect(sales.locator("[slot] p")).to_have_text("order 104 is now 29 % cheaper")
    expect(slider).to_be_disabled()
    renderers.run("published", "published-runs")
    store = renderers.cell("published").area
    expect(renderers.card("published", "order_boxes, needs approval")).to_be_visible()
    store.get_by_role("button", name="count is 3").click()
    expect(store.get_by_role("button", name="count is 4")).to_be_visible()
    store.get_by_role("button", name="Approve order_boxes").click()
    expect(store.get_by_role("article", name="Answer").last).to_contain_text("4 boxes")
    assert renderers.notebook.tab.errors == []
