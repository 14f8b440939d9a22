"""A chat outside JupyterLab: in Notebook 7, and in a plain page with the html-manager."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from nbtools.frontend import runtime_code
from tests.lab.browser import shoot
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


def press_until_focused(page: Page, key: str, target: Locator) -> None:
    """Press a key until it has led the focus to an element."""
    for _ in range(40):
        page.keyboard.press(key)
        if target.evaluate("it => it.getRootNode().activeElement === it"):
            return
    raise AssertionError(f"{key} does not lead to {target}")


def test_a_call_is_approved_and_another_declined_with_keys_alone_in_notebook_7(open_notebook):
    """P-01 by keyboard: no key of it reaches the notebook, and the focus stays in the chat."""
    notebook = open_notebook(application="notebook")
    notebook.tab.console.clear()
    notebook.run(SETUP + TOOLS)
    calls = "call('pay', {'to': 'Ann'}), call('pay', {'to': 'Bob'})"
    cell = notebook.run(chat_cell(f"[{calls}]", "'So.'", tools="pay"))
    cells = notebook_cells(notebook)
    chat, keyboard = ChatView(cell.area), notebook.page.keyboard
    chat.composer.click()
    keyboard.type("pay them")
    keyboard.press("Enter")
    expect_state(chat.card("pay", 1), "needs approval")
    approve = chat.card("pay", 0).get_by_role("button", name="Approve pay")
    press_until_focused(notebook.page, "Shift+Tab", approve)
    shoot(chat.area.locator(".nbtools-chat"), "notebook7-approve-by-key")
    keyboard.press("Enter")
    expect_state(chat.card("pay", 0), "done")
    decline = chat.card("pay", 1).get_by_role("button", name="Decline pay")
    press_until_focused(notebook.page, "Tab", decline)
    keyboard.press("Space")
    expect(chat.card("pay", 1).get_by_role("textbox")).to_be_focused()
    keyboard.type("add xx")
    shoot(chat.area.locator(".nbtools-chat"), "notebook7-decline-by-key")
    keyboard.press("Enter")
    expect_state(chat.card("pay", 1), "declined")
    expect(chat.card("pay", 1)).to_contain_text("add xx")
    expect(chat.answers.last).to_contain_text("So.")
    assert chat.area.locator(".nbtools-chat").evaluate("host => host === document.activeElement")
    assert notebook_cells(notebook) == cells
    assert notebook.run("print(runs)").text == "['Ann']\n"
    assert notebook.tab.errors == []


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


CONTRAST_THEMES = {
    "vscode-high-contrast": {
        "editor-background": "#000000",
        "editor-foreground": "#ffffff",
        "button-background": "#000000",
        "button-foreground": "#ffffff",
        "button-border": "#6fc3df",
        "contrastBorder": "#6fc3df",
        "contrastActiveBorder": "#f38518",
        "focusBorder": "#f38518",
        "errorForeground": "#f48771",
        "editorWarning-foreground": "#ffd370",
        "testing-iconPassed": "#73c991",
        "textLink-foreground": "#21a6ff",
    },
    "vscode-high-contrast-light": {
        "editor-background": "#ffffff",
        "editor-foreground": "#292929",
        "button-background": "#0f4a85",
        "button-foreground": "#ffffff",
        "button-border": "#0f4a85",
        "contrastBorder": "#0f4a85",
        "contrastActiveBorder": "#006bbd",
        "focusBorder": "#006bbd",
        "errorForeground": "#b5200d",
        "editorWarning-foreground": "#895503",
        "testing-iconPassed": "#007100",
        "textLink-foreground": "#0f4a85",
    },
}
"""What VS Code's own themes of high contrast set on the page of a notebook's outputs."""

WEAR = """([name, colours]) => {
  document.body.className = `vscode-body ${name}`;
  document.body.dataset.vscodeThemeKind = name;
  document.body.style.background = colours["editor-background"];
  for (const [key, colour] of Object.entries(colours))
    document.documentElement.style.setProperty(`--vscode-${key}`, colour);
}"""


@pytest.mark.parametrize("theme", CONTRAST_THEMES)
def test_the_high_contrast_themes_of_vs_code_draw_every_edge_and_stay_readable(widget_page, theme):
    """F-08: the edges have the theme's colour, and so has what is focused."""
    page, colours = widget_page.page, CONTRAST_THEMES[theme]
    page.evaluate("code => { window.harnessCode = code; }", runtime_code())
    page.evaluate(NO_COLOURS)
    page.evaluate(WEAR, [theme, colours])
    widget_page.run(SETUP + TOOLS)
    rows = "[{'id': n, 'to': 'Ann'} for n in range(60)]"
    table = f"@nb.tool\ndef list_all() -> list:\n    'List.'\n    return {rows}"
    calls = "call('list_all', {}), call('missing', {}), call('pay', {'to': 'Ann'})"
    replies = f"[say('See [here](https://example.org). `code`'), {calls}]"
    chat = ChatView(widget_page.run(chat_cell(replies, tools="pay, list_all", before=table)).area)
    chat.say("go")
    expect_state(chat.card("pay"), "needs approval")
    approve = chat.button("Approve pay")
    press_until_focused(page, "Shift+Tab", approve)
    host = chat.area.locator(".nbtools-chat")
    shoot(host, f"plain-{theme}")
    edge, active = (rgb(colours[name]) for name in ("contrastBorder", "contrastActiveBorder"))
    border = "it => getComputedStyle(it).borderTopColor"
    for part in (chat.card("list_all"), chat.composer, approve, chat.button("Decline pay")):
        assert part.evaluate(border) == edge
    assert chat.card("pay").evaluate(border) == active
    assert approve.evaluate("it => getComputedStyle(it).outlineColor") == active
    assert host.evaluate(f"(host) => ({CONTRAST})(host, 4.5)") == []


def rgb(colour: str) -> str:
    """Write a colour as a browser computes it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
