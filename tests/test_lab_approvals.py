"""Approvals in JupyterLab: tables of calls, previews that move, rules made and taken back, pins."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.chat import expect_state, kept_notebook, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
data = [1, 2, 30]

def affected(over: int):
    """Show what would go."""
    return [row for row in data if row > over]

@nb.tool(approval=True, preview=affected)
def drop(over: int) -> int:
    """Drop rows."""
    runs.append(affected(over))
    return len(data)

@nb.tool(approval=True)
def grant(user: str, level: int = 1) -> str:
    """Grant access."""
    runs.append((user, level))
    return "granted"
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


def grants(*users: str) -> str:
    calls = ", ".join(f'call("grant", {{"user": "{user}"}})' for user in users)
    return f"[{calls}]"


def test_calls_are_ticked_edited_and_approved_in_a_table(notebook):
    """P-05: each entry names its call; the others wait on."""
    chat = show_chat(notebook, grants("ann", "bob", "cy"), '"So."', tools="grant")
    chat.say("grant")
    chat.button("Decide about 3 calls of grant in a table").click()
    table = chat.area.get_by_role("region", name="Calls of grant that wait")
    table.get_by_role("checkbox", name="Call 1").check()
    table.get_by_role("checkbox", name="Call 3").check()
    table.get_by_role("button", name="Edit call 3").click()
    table.get_by_role("textbox", name="level of call 3").fill("7")
    table.get_by_role("button", name="Approve 2 of 3").click()
    expect_state(chat.card("grant", 0), "done")
    expect_state(chat.card("grant", 1), "needs approval")
    expect_state(chat.card("grant", 2), "done")
    assert sorted(python(notebook, "runs")) == [("ann", 1), ("cy", 7)]
    chat.button("Decline grant").click()
    chat.button("Decline grant").click()
    expect(chat.answers.last).to_have_text("So.")


def test_all_that_wait_are_approved_with_one_click(notebook):
    chat = show_chat(notebook, grants("ann", "bob"), '"So."', tools="grant")
    chat.say("grant")
    chat.button("Approve all 2").click()
    expect(chat.answers.last).to_have_text("So.")
    assert sorted(python(notebook, "runs")) == [("ann", 1), ("bob", 1)]


def test_an_approval_of_a_preview_that_no_longer_holds_runs_nothing(notebook):
    """P-04: the card shows the new one, and can be approved then."""
    chat = show_chat(notebook, '[call("drop", {"over": 10})]', '"So."', tools="drop")
    notebook.run("data[:] = [1, 2, 30]")
    chat.say("drop")
    shown = chat.card("drop").get_by_role("region", name="What drop would do")
    expect(shown).to_contain_text("30")
    notebook.run("data.append(99)")
    chat.button("Approve drop").click()
    expect(shown).to_contain_text("has changed since it was shown")
    expect(shown).to_contain_text("99")
    assert python(notebook, "runs") == []
    chat.button("Approve drop").click()
    expect(chat.answers.last).to_have_text("So.")
    assert python(notebook, "runs") == [[30, 99]]


def test_a_rule_is_made_of_an_approval_after_it_was_shown_and_taken_back(notebook):
    """P-03: what it covers is read before it is confirmed; taken back, it asks again."""
    replies = (grants("ann"), '"One."', grants("ann"), '"Two."', grants("ann"))
    chat = show_chat(notebook, *replies, tools="grant")
    chat.say("grant")
    chat.button("Always allow grant …").click()
    card = chat.card("grant")
    exact = (
        'Allow without asking grant where user is "ann" and level is 1 and nothing else is given'
    )
    expect(card.get_by_role("listitem").first).to_contain_text(exact)
    card.get_by_label("How long").select_option(label="in this chat")
    expect(card.get_by_role("listitem").first).to_contain_text("until it is taken back")
    chat.button("Allow grant by this rule, and run this call").click()
    expect(chat.answers.last).to_have_text("One.")
    chat.say("again")
    expect(chat.answers.last).to_have_text("Two.")
    assert len(python(notebook, "runs")) == 2
    ruled = chat.card("grant", 1)
    expect(ruled).to_contain_text("Decided by a rule: Allow without asking grant")
    ruled.get_by_role("button", name="Take back the rule about grant").click()
    expect(ruled).to_contain_text("it is not in force any more")
    chat.say("and again")
    expect_state(chat.card("grant", 2), "needs approval")
    assert python(notebook, "len(chat.rules)") == 0


def test_a_pinned_message_is_sent_on_and_the_page_marks_what_is_not(notebook):
    """W-14: the page keeps everything."""
    replies = ('"One."', '"Two."', '"Three."')
    chat = show_chat(notebook, *replies, context_turns="1")
    chat.say("first")
    expect(chat.answers).to_have_text(["One."])
    chat.questions.first.hover()
    chat.questions.first.get_by_role("button", name="Keep this in every request").click()
    expect(chat.questions.first).to_contain_text("pinned")
    for text, answer in (("second", "Two."), ("third", "Three.")):
        chat.say(text)
        expect(chat.answers.last).to_have_text(answer)
    expect(chat.log).to_contain_text("The model no longer sees the 2 messages above")
    unseen = python(notebook, "[message.unseen for message in chat.messages]")
    assert unseen == [False, False, True, True, False, False]
