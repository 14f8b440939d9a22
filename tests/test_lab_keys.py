"""Keys in a chat act on the chat alone, and compositions end as their writers expect."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, expect

from tests.lab.chat import expect_state, kept_notebook, notebook_cells, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

CELL_KEYS = "abddxcvmyz00jk"
"""Each of them acts on cells where it reaches the notebook in command mode."""

TOOLS = '''
@nb.tool(approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    runs.append(to)
    return to

FIELDS = """
export default {
  render({ model, el }) {
    const closed = document.createElement("div");
    const hidden = document.createElement("input");
    closed.attachShadow({ mode: "closed", delegatesFocus: true }).append(hidden);
    const input = document.createElement("input");
    const editable = document.createElement("div");
    editable.contentEditable = "true";
    const button = document.createElement("button");
    button.textContent = "own";
    el.append(input, editable, button, closed);
    for (const [index, field] of [...el.children].entries()) field.dataset.field = index;
    closed.readHidden = () => hidden.value;
  },
};
"""
'''
PAY = '[say("Selectable text."), call("pay", {"to": "Ann"})]'


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


@contextmanager
def unharmed(notebook):
    """Check that the cells stay as they are, none runs, and the kernel lives on."""
    mark = python(notebook, "id(runs)")  # a chat's cell that runs again makes another list
    before = notebook_cells(notebook)
    yield
    expect(notebook.page.get_by_role("dialog")).to_have_count(0)
    assert notebook_cells(notebook) == before
    assert python(notebook, "id(runs)") == mark


def press_all(place: Locator) -> None:
    """Press every key that acts on cells, and those that leave a field."""
    place.focus()
    for _ in range(2):
        place.page.keyboard.type(CELL_KEYS)
        for key in ("Escape", "ArrowUp", "ArrowDown", "ArrowLeft", "End"):
            place.page.keyboard.press(key)


def test_keys_typed_into_the_composer_stay_there(notebook):
    """F-01: the text lands in the field, Escape keeps the draft, no cell changes or runs."""
    chat = show_chat(notebook, '"Hello."')
    with unharmed(notebook):
        press_all(chat.composer)
        expect(chat.composer).to_have_value(CELL_KEYS * 2)
        chat.page.keyboard.press("Shift+Enter")
        chat.page.keyboard.type("x")
        expect(chat.composer).to_have_value(f"{CELL_KEYS * 2}\nx")
        expect(chat.questions).to_have_count(0)
        chat.page.keyboard.press("Control+Enter")
        expect(chat.questions).to_have_count(1)


def test_keys_on_buttons_cards_and_messages_reach_no_cell(notebook):
    """F-01: the focus is on Approve, on the card, on the conversation, in the decline field."""
    chat = show_chat(notebook, PAY, tools="pay")
    chat.say("pay")
    with unharmed(notebook):
        press_all(chat.button("Approve pay"))
        press_all(chat.card("pay"))
        chat.answers.get_by_text("Selectable text.").dblclick()
        chat.page.keyboard.type("cxdd")
        press_all(chat.log)
        chat.button("Decline pay").press("Enter")
        reason = chat.card("pay").get_by_role("textbox")
        press_all(reason)
        expect(reason).to_have_value(CELL_KEYS * 2)
        expect_state(chat.card("pay"), "needs approval")


def test_keys_after_the_focused_button_has_gone_reach_no_cell(notebook):
    """F-01: the buttons of a call vanish when it moves on, and the next key is already typed."""
    chat = show_chat(notebook, PAY, '"Paid."', tools="pay")
    chat.say("pay")
    expect(chat.button("Approve pay")).to_be_visible()
    with unharmed(notebook):
        chat.button("Approve pay").focus()
        chat.page.keyboard.press("Enter")
        chat.page.keyboard.type(CELL_KEYS)
        expect_state(chat.card("pay"), "done")
        chat.page.keyboard.type(CELL_KEYS)
        chat.button("Clear the conversation").press("Enter")
        chat.button("Keep").press("Enter")
        chat.page.keyboard.type(CELL_KEYS)


def test_keys_in_the_fields_of_a_renderer_reach_no_cell(notebook):
    """F-01: a field, a contenteditable, a button and a field in a closed shadow root."""
    chat = show_chat(notebook, PAY, tools="pay")
    notebook.run("chat.renderer('pay', esm=FIELDS)")
    chat.say("pay")
    fields = chat.area.locator("[data-field]")
    expect(fields).to_have_count(4)
    with unharmed(notebook):
        for index in range(4):
            press_all(fields.nth(index))
        expect(fields.nth(0)).to_have_value(CELL_KEYS * 2)
        assert fields.nth(3).evaluate("closed => closed.readHidden()") == CELL_KEYS * 2


@pytest.mark.parametrize("order", ["chromium", "safari"])
def test_the_enter_that_ends_a_composition_sends_nothing(notebook, order):
    """F-02: only the next plain Enter sends, and one is enough."""
    chat = show_chat(notebook, '"はい"')
    keyboard = chat.page.context.new_cdp_session(chat.page)
    confirm = {"type": "rawKeyDown", "key": "Enter", "windowsVirtualKeyCode": 229}
    chat.composer.focus()
    keyboard.send(
        "Input.imeSetComposition", {"text": "にほn", "selectionStart": 3, "selectionEnd": 3}
    )
    if order == "chromium":
        keyboard.send("Input.dispatchKeyEvent", confirm)
        keyboard.send("Input.insertText", {"text": "日本"})
    else:
        keyboard.send("Input.insertText", {"text": "日本"})
        keyboard.send("Input.dispatchKeyEvent", confirm)
    expect(chat.composer).to_have_value("日本")
    chat.page.keyboard.press("Enter")
    expect(chat.questions.locator(".typed")).to_have_text(["日本"])
    expect(chat.answers.locator(".prose")).to_have_text("はい")
    expect(chat.composer).to_have_value("")
    assert python(notebook, "len(chat.model.requests)") == 1
