"""One chat seen again: after a reload, in a second view, in a second tab, after a restart."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.chat import SETUP, ChatView, chat_cell, expect_state, kept_notebook, python

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
@nb.tool(approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    runs.append(to)
    return f"paid {to}"

@nb.tool
def rows() -> int:
    """Count rows."""
    runs.append("rows")
    return 3
'''
PAY = '[call("pay", {"to": "Ann"})]'


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


def test_a_pending_call_survives_a_reload_and_runs_once(notebook):
    """P-07: exactly one live card; Approve runs the tool once; a later reload shows the end."""
    cell = notebook.run(chat_cell(PAY, '"Paid."', tools="pay"))
    chat = ChatView(cell.area)
    chat.say("pay")
    expect_state(chat.card("pay"), "needs approval")
    notebook.save()
    notebook.load()
    chat = ChatView(cell.area)
    expect(chat.cards).to_have_count(1)
    chat.button("Approve pay").click()
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    notebook.load()
    chat = ChatView(cell.area)
    expect_state(chat.card("pay"), "done")
    expect(chat.button("Approve pay")).to_have_count(0)
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    expect(cell.area.locator(".nbt-static")).to_be_hidden()
    assert python(notebook, "runs") == ["Ann"]


def test_a_reload_during_a_stream_shows_where_it_is_and_goes_on(notebook):
    """P-07, W-05: the parts keep their order while streaming, after a reload and after the end."""
    reply = '[say("Checking. "), call("rows"), say("Then I sum up"), hold(gate), say(" all.")]'
    cell = notebook.run(chat_cell(reply, '"Three."', tools="rows"))
    notebook.save()
    chat = ChatView(cell.area)
    chat.say("go")
    expect(chat.answers.locator(".prose")).to_have_text(["Checking. ", "Then I sum up"])
    assert order(chat) == ["prose", "card", "prose"]
    notebook.load()
    chat = ChatView(cell.area)
    expect(chat.answers.locator(".prose")).to_have_text(["Checking. ", "Then I sum up"])
    expect_state(chat.card("rows"), "preparing")
    assert order(chat) == ["prose", "card", "prose"]
    notebook.run("gate.set()")
    expect(chat.answers.first.locator(".prose").last).to_have_text("Then I sum up all.")
    expect(chat.answers.locator(".prose").last).to_have_text("Three.")
    assert order(chat) == ["prose", "card", "prose"]
    assert python(notebook, "runs") == ["rows"]


def order(chat: ChatView) -> list[str]:
    """Return what the first answer consists of, in the order of the page."""
    kinds: list[str] = chat.answers.first.evaluate(
        "answer => [...answer.children].map((each) => each.classList[0])"
        ".filter((name) => ['prose', 'card'].includes(name))"
    )
    return kinds


def test_a_second_view_shows_the_same_chat_and_either_decides(notebook):
    cell = notebook.run(chat_cell(PAY, '"Paid."', tools="pay"))
    first = ChatView(cell.area)
    first.say("pay")
    second = ChatView(notebook.view_output(cell))
    expect_state(second.card("pay"), "needs approval")
    second.button("Approve pay").click()
    expect_state(second.card("pay"), "done")
    expect_state(first.card("pay"), "done")
    expect(first.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    notebook.page.locator(".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon").last.click()
    assert python(notebook, "runs") == ["Ann"]


def test_of_two_tabs_the_first_decision_wins_and_both_show_it(notebook, browser: Browser):
    """P-05: Approve in one tab, Decline in the other; there is one run."""
    cell = notebook.run(chat_cell(PAY, '"Paid."', tools="pay"))
    first = ChatView(cell.area)
    first.say("pay")
    expect_state(first.card("pay"), "needs approval")
    notebook.save()
    other = notebook.in_another_tab(browser)
    second = ChatView(other.cell(cell.index).area)
    expect_state(second.card("pay"), "needs approval")
    second.button("Decline pay").click()
    notebook.run("chat._session.engine.post(gate.wait)")  # both clicks come before either is read
    first.button("Approve pay").click()
    second.button("Decline pay").click()
    notebook.run("gate.set()")
    expect_state(first.card("pay"), "done")
    expect_state(second.card("pay"), "done")
    expect(second.card("pay").get_by_role("alert")).to_contain_text("already")
    assert python(notebook, "runs") == ["Ann"]
    other.page.context.close()


def test_a_browser_that_is_closed_during_a_stream_finds_the_answer_when_it_is_back(
    notebook, browser: Browser
):
    cell = notebook.run(chat_cell('[say("One, "), hold(gate), say("two.")]', '"More."'))
    notebook.save()
    closed = notebook.in_another_tab(browser)
    chat = ChatView(closed.cell(cell.index).area)
    chat.say("count")
    expect(chat.answers.locator(".prose")).to_have_text("One, ")
    closed.page.context.close()
    notebook.run("gate.set()")
    back = notebook.in_another_tab(browser)
    chat = ChatView(back.cell(cell.index).area)
    expect(chat.answers.locator(".prose")).to_have_text("One, two.")
    chat.say("more")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("More.")
    expect(ChatView(cell.area).answers.nth(1).locator(".prose")).to_have_text("More.")
    back.page.context.close()


def test_after_a_restart_of_the_kernel_a_waiting_call_has_no_buttons(open_notebook):
    """P-07: the card says what it was waiting for, and nothing pretends to listen."""
    notebook = open_notebook()
    notebook.run(SETUP + TOOLS)
    chat = ChatView(notebook.run(chat_cell(PAY, '"Paid."', tools="pay")).area)
    chat.say("pay")
    expect(chat.button("Approve pay")).to_be_visible()
    notebook.restart()
    expect(chat.card("pay")).to_contain_text("This call was waiting for approval.")
    for name in ("Approve pay", "Decline pay", "Send", "Stop"):
        expect(chat.button(name)).to_have_count(0)
    expect(chat.composer).to_be_disabled()
    expect(chat.area.get_by_text("no kernel", exact=True)).to_be_visible()
    expect(chat.area.locator(".hints")).to_contain_text("No kernel answers.")
    notebook.run("'alive'")
    expect(chat.button("Approve pay")).to_have_count(0)
