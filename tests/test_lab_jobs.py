"""Work in the background, given time, late values and limits, in a real JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.chat import expect_state, kept_notebook, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
from nbtools.executors import workers
workers.GRACE = 0.1

@nb.tool(background=True)
def fit(folds: int, ctx: nb.ToolContext) -> float:
    """Fit a model."""
    ctx.progress(0.4, "fold 2 of 5")
    print("fold 1 is done")
    gate.wait()
    return 0.93

@nb.tool
def block() -> str:
    """Block a thread until the gate opens."""
    gate.wait()
    return "late"

@nb.tool
def rows(table: str) -> int:
    """Count the rows of a table."""
    return 3
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


def test_a_job_goes_on_beside_the_conversation_and_its_end_is_said(notebook):
    chat = show_chat(notebook, '[call("fit", {"folds": 5})]', '"It runs."', '"Hm."', tools="fit")
    chat.say("Fit it")
    job = chat.area.get_by_role("region", name="Background job job-1 of fit")
    expect(job).to_contain_text("40 % fold 2 of 5")
    expect(job).to_contain_text("fold 1 is done")
    expect(chat.answers.last).to_contain_text("It runs.")
    chat.say("And meanwhile?")
    expect(chat.answers.last).to_contain_text("Hm.")
    notebook.run("gate.set()")
    expect_state(job, "done")
    expect(job).to_contain_text("0.93")
    expect(chat.area.get_by_role("article", name="Note")).to_have_text("job-1 (fit) is done.")
    assert python(notebook, "chat.results['fit']") == 0.93


def test_a_job_is_cancelled_with_its_button(notebook):
    chat = show_chat(notebook, '[call("fit", {"folds": 5})]', '"It runs."', tools="fit")
    chat.say("Fit it")
    chat.button("Cancel job-1").click()
    job = chat.area.get_by_role("region", name="Background job job-1 of fit")
    expect_state(job, "cancelled")
    expect(chat.button("Cancel job-1")).to_have_count(0)
    notebook.run("gate.set()")


def test_a_job_can_be_given_a_minute(notebook):
    chat = show_chat(notebook, '[call("fit", {"folds": 5})]', '"It runs."', tools="fit")
    chat.say("Fit it")
    chat.button("Cancel job-1 if it still runs in a minute").click()
    expect(chat.area.locator(".notice")).to_have_text("job-1 will be ended in 60 s.")
    notebook.run("gate.set()")
    expect_state(chat.area.get_by_role("region", name="Background job job-1 of fit"), "done")


def test_a_running_call_can_be_given_a_minute(notebook):
    chat = show_chat(notebook, '[call("block", {})]', '"So."', tools="block")
    chat.say("Block")
    chat.button("Cancel block if it still runs in a minute").click()
    expect(chat.card("block").locator(".remarks")).to_have_text("It will be ended in 60 s.")
    notebook.run("gate.set()")
    expect_state(chat.card("block"), "done")


def test_a_card_says_that_its_function_runs_on_and_what_came_late(notebook):
    chat = show_chat(notebook, '[call("block", {})]', '"So."', tools="block")
    chat.say("Block")
    chat.button("Cancel block").click()
    remarks = chat.card("block").locator(".remarks")
    expect(remarks).to_contain_text("Its function still runs; what it returns is not used.")
    notebook.run("gate.set()")
    expect(remarks).to_contain_text("A late result (str) was not used")
    expect_state(chat.card("block"), "cancelled")


def test_a_limit_is_said_in_the_answer_that_reached_it(notebook):
    many = ", ".join('call("rows", {"table": "t"})' for _ in range(3))
    chat = show_chat(notebook, f"[{many}]", '"Enough."', tools="rows", limits="nb.Limits(calls=2)")
    chat.say("Count")
    expect(chat.answers.last).to_contain_text("Enough.")
    expect_state(chat.card("rows", 2), "over the limit")
    expect(chat.area.locator(".notice.warning")).to_contain_text(
        "A limit was reached: 2 tool calls in answer to one message."
    )
