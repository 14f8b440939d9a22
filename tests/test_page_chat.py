"""A chat outside JupyterLab: in Notebook 7, and in a plain page with the html-manager."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from nbtools.frontend import runtime_code
from tests.lab.chat import SETUP, ChatView, chat_cell, expect_state, notebook_cells

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

CONTRAST = (Path(__file__).parent / "lab" / "contrast.js").read_text()
TOOLS = '''
import anywidget
import ipywidgets
import traitlets

@nb.tool(approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    runs.append(to)
    return f"paid {to}"

@nb.tool
def slider() -> object:
    """Show a slider with its label."""
    global shown
    shown = ipywidgets.IntSlider(value=3)
    text = ipywidgets.Label()
    ipywidgets.dlink((shown, "value"), (text, "value"), str)
    return ipywidgets.HBox([shown, text])

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      const draw = () => { button.textContent = `count is ${model.get("value")}`; };
      button.onclick = () => { model.set("value", model.get("value") + 1); model.save_changes(); };
      model.on("change:value", draw);
      draw();
      el.append(button);
    } };
    """
    value = traitlets.Int(0).tag(sync=True)

@nb.tool
def counter() -> object:
    """Show an anywidget."""
    return Counter(value=5)
'''
WORK = "call('pay', {'to': 'Ann'}), call('slider'), call('counter')"
REPLIES = (f"[say('Let me '), hold(gate), say('**see**.'), {WORK}]", "'All done.'")


def check_a_turn(owner, cell) -> None:
    """Stream, approve, and use the live widgets of a chat, whatever shows it."""
    chat = ChatView(cell.area)
    chat.say("go")
    expect(chat.answers.locator(".prose")).to_have_text("Let me ")
    owner.run("gate.set()")
    expect(chat.answers.locator("strong")).to_have_text("see")
    expect_state(chat.card("pay"), "needs approval")
    chat.button("Approve pay").click()
    expect_state(chat.card("pay"), "done")
    expect(chat.answers.last).to_contain_text("All done.")
    chat.rest()
    button = chat.area.get_by_role("button", name="count is")
    button.click()
    expect(button).to_have_text("count is 6")
    label = chat.area.locator(".widget-hbox > .widget-label")
    expect(label).to_have_text("3")
    owner.run("shown.value = 8")
    expect(label).to_have_text("8")
    assert owner.run("print(runs)").text == "['Ann']\n"
    assert owner.tab.errors == []


def test_a_chat_in_notebook_7_streams_asks_and_holds_live_widgets(open_notebook):
    """F-01: no key that is typed into it reaches the notebook, either."""
    notebook = open_notebook(application="notebook")
    notebook.tab.console.clear()  # of what the application says as it starts
    notebook.run(SETUP + TOOLS)
    cell = notebook.run(chat_cell(*REPLIES, tools="pay, slider, counter"))
    cells = notebook_cells(notebook)
    chat = ChatView(cell.area)
    chat.composer.click()  # as a reader does it: Notebook 7 may still select the next cell
    expect(chat.composer).to_be_focused()
    notebook.page.keyboard.type("abddxcvmyz00")
    expect(chat.composer).to_have_value("abddxcvmyz00")
    notebook.page.keyboard.press("Escape")
    expect(chat.composer).to_be_focused()
    notebook.page.keyboard.type("dd")
    expect(chat.composer).to_have_value("abddxcvmyz00dd")
    assert notebook_cells(notebook) == cells
    expect(cell.area.locator(".nbt-static")).to_be_hidden()
    check_a_turn(notebook, cell)


def test_a_chat_in_a_plain_page_streams_asks_and_holds_live_widgets(widget_page):
    widget_page.run(SETUP + TOOLS)
    check_a_turn(widget_page, widget_page.run(chat_cell(*REPLIES, tools="pay, slider, counter")))


def test_a_plain_page_that_is_loaded_again_shows_the_waiting_call(widget_page):
    """P-07: outside JupyterLab."""
    widget_page.run(SETUP + TOOLS)
    cell = widget_page.run(chat_cell("[call('pay', {'to': 'Ann'})]", "'Paid.'", tools="pay"))
    (view,) = cell.views
    ChatView(cell.area).say("pay")
    expect_state(ChatView(cell.area).card("pay"), "needs approval")
    widget_page.load()
    chat = ChatView(widget_page.show(view).area)
    expect(chat.cards).to_have_count(1)
    chat.button("Approve pay").click()
    expect(chat.answers.last).to_contain_text("Paid.")
    assert widget_page.run("print(runs)").text == "['Ann']\n"


NO_COLOURS = """() => {
  const used = window.harnessCode.match(/--jp-[\\w-]+/g);
  for (const name of new Set(used)) document.documentElement.style.setProperty(name, "initial");
  document.documentElement.style.colorScheme = "light dark";
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("coloured", [True, False])
def test_text_and_controls_are_readable_whatever_colours_the_page_gives(
    widget_page, scheme, coloured
):
    """F-08: a page with light colours of its own, and one without any that follows the system."""
    page = widget_page.page
    page.emulate_media(color_scheme=scheme)
    if not coloured:
        page.evaluate("code => { window.harnessCode = code; }", runtime_code())
        page.evaluate(NO_COLOURS)
    widget_page.run(SETUP + TOOLS)
    said = "think('Hm.'), say('See [here](https://example.org). `code`')"
    fails = "call('missing', {})"
    replies = f"[{said}, call('pay', {{'to': 'A'}}), {fails}]"
    chat = ChatView(widget_page.run(chat_cell(replies, tools="pay")).area)
    chat.say("go")
    expect_state(chat.card("pay"), "needs approval")
    host = chat.area.locator(".nbtools-chat")
    assert host.evaluate(f"(host) => ({CONTRAST})(host, 4.5)") == []
    back = host.locator("section").first.evaluate("chat => getComputedStyle(chat).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (coloured or scheme == "light")
