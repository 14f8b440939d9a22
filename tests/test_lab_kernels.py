"""What depends on how clicks travel, on every kernel: asking, awaiting, interrupting, busy cells."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.chat import ChatView, expect_state, kept_notebook, notebook_cells, python, show_chat
from tests.lab.kernels import ALL_KERNELS, NEWEST

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
@nb.tool(approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    gc.collect()
    runs.append(to)
    print(f"paying {to}")
    return f"paid {to}"

def busy_until(name):
    """Block the main thread until a file of that name lies beside the notebook."""
    import pathlib
    print("busy")
    while not pathlib.Path(name).exists():
        time.sleep(0.02)
'''
PAY = '[call("pay", {"to": "Ann"})]'
WITHOUT_CLICKS = "kernel-6.29"
"""While a cell blocks there, no click reaches Python by any way."""


@pytest.fixture(scope="module", params=ALL_KERNELS)
def kernel(request):
    return request.param


@pytest.fixture(scope="module")
def notebook(lab, lab_tab, kernel):
    for kept in kept_notebook(lab, lab_tab, kernel):
        kept.run(TOOLS)
        yield kept


def release(notebook, name: str) -> None:
    (notebook.server.notebooks / name).touch()


def wait_for_text(cell, text: str) -> None:
    expect(cell.area.locator(".jp-OutputArea")).to_contain_text(text)


def test_a_click_runs_the_call_and_the_answer_needs_no_cell(notebook):
    """L-04: the answer arrives though no cell runs; what the tool prints is on its card."""
    answer = '[say("word " * 50, every=5, delay=0.01)]'
    chat = show_chat(notebook, PAY, answer, tools="pay")
    cell_outputs = len(notebook.cell(0).outputs)
    chat.say("pay")
    chat.button("Approve pay").click()
    expect_state(chat.card("pay"), "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text(("word " * 50).strip())
    chat.card("pay").get_by_text("Output", exact=True).click()
    expect(chat.card("pay").locator("details", has_text="Output").locator("pre")).to_have_text(
        "paying Ann\n"
    )
    assert len(notebook.cell(0).outputs) == cell_outputs
    assert python(notebook, "runs") == ["Ann"]


def test_an_awaited_turn_returns_when_a_call_waits_and_a_click_goes_on(notebook):
    """L-03: `await chat.send(…)` never waits for the click, so nothing can hang."""
    chat = show_chat(notebook, PAY, '"Paid."', tools="pay")
    cell = notebook.run(
        "turn = await chat.send('pay')\nprint(turn.status, len(turn.calls.pending))"
    )
    assert cell.text == "waiting 1\n"
    chat.button("Approve pay").click()
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    assert python(notebook, "runs") == ["Ann"]


def test_a_blocking_ask_takes_the_click_or_asks_at_the_keyboard(notebook, kernel):
    """L-03: a click decides where clicks reach a busy kernel, else the cell asks."""
    chat = show_chat(notebook, PAY, '"Paid."', tools="pay")
    cell = notebook.start("turn = chat.ask('pay')\nprint(turn.text)")
    expect(chat.button("Approve pay")).to_be_visible()
    if kernel == WITHOUT_CLICKS:
        question = cell.area.locator(".jp-Stdin")
        expect(question).to_contain_text("Approve pay(to='Ann')?", timeout=10_000)
        question.locator("input").fill("y")
        question.locator("input").press("Enter")
    else:
        chat.button("Approve pay").click()
    cell.wait(20)
    assert cell.text.endswith("Paid.\n")
    expect_state(chat.card("pay"), "done")
    assert python(notebook, "runs") == ["Ann"]


def test_an_interrupted_ask_stops_the_turn_and_the_kernel_goes_on(notebook):
    """L-01: the cell ends, the call is cancelled, and the kernel answers."""
    chat = show_chat(notebook, PAY, tools="pay")
    cell = notebook.start("chat.ask('pay')")
    expect(chat.button("Approve pay")).to_be_visible()
    notebook.interrupt()
    assert "KeyboardInterrupt" in cell.wait(20).text
    expect_state(chat.card("pay"), "cancelled")
    expect(chat.button("Approve pay")).to_have_count(0)
    assert notebook.run("1 + 1").text == "2"
    assert python(notebook, "[chat.status, runs]") == ["ready", []]


def test_asking_works_beside_tasks_awaits_and_threads(notebook):
    """L-01: the kernel's own loop is left as it was."""
    show_chat(notebook, '"a"', '"b"', '"c"')
    notebook.run(
        "ticks = []\n"
        "async def tick():\n"
        "    while True:\n"
        "        ticks.append(1)\n"
        "        await asyncio.sleep(0.01)\n"
        "ticking = asyncio.create_task(tick())"
    )
    cell = notebook.run(
        "first = chat.ask('1').text\n"
        "await asyncio.sleep(0)\n"
        "second = chat.ask('2').text\n"
        "third = await asyncio.to_thread(lambda: chat.ask('3').text)\n"
        "print(first, second, third)"
    )
    assert cell.text == "a b c\n"
    assert notebook.run("1 + 1").text == "2"
    cell = notebook.run(
        "before = len(ticks)\nwhile len(ticks) == before: await asyncio.sleep(0.01)\n"
        "ticking.cancel(); print('ticks')"
    )
    assert cell.text == "ticks\n"


def test_a_busy_cell_holds_up_no_update_and_keeps_a_click_once(notebook, kernel):
    """L-03: while a cell blocks, text streams on; a click is handled once, late at the most."""
    chat = show_chat(
        notebook,
        '[hold(gate), say("word " * 20, every=5, delay=0.02), call("pay", {"to": "Ann"})]',
        '"Paid."',
        tools="pay",
    )
    chat.say("pay")
    expect(chat.button("Stop")).to_be_visible()
    name = f"release-{kernel}"
    cell = notebook.start(f"gate.set(); busy_until({name!r})")
    wait_for_text(cell, "busy")
    expect(chat.answers.locator(".prose")).to_have_text(("word " * 20).strip())
    approve = chat.button("Approve pay")
    approve.click()
    if kernel == WITHOUT_CLICKS:
        expect(approve).to_have_attribute("aria-disabled", "true")
        approve.click(force=True)  # a second click, which shall count for nothing
        expect(chat.card("pay")).to_contain_text("sent, waits for the kernel", timeout=10_000)
        expect(chat.area.locator(".standing")).to_have_text("kernel is busy")
    else:
        expect_state(chat.card("pay"), "done")
    release(notebook, name)
    cell.wait(20)
    expect_state(chat.card("pay"), "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    expect(chat.area.get_by_text("kernel is busy")).to_have_count(0)
    assert python(notebook, "runs") == ["Ann"]


def test_a_message_sent_while_a_cell_blocks_is_answered_once(notebook, kernel):
    """L-03: Send in a busy cell."""
    chat = show_chat(notebook, '"Here."', '"Twice."')
    name = f"send-{kernel}"
    cell = notebook.start(f"busy_until({name!r})")
    wait_for_text(cell, "busy")
    chat.say("anybody?")
    if kernel == WITHOUT_CLICKS:
        outgoing = chat.area.get_by_role("article", name="Your next message")
        expect(outgoing).to_contain_text("sent, waits for the kernel", timeout=10_000)
    else:
        expect(chat.answers.locator(".prose")).to_have_text("Here.")
    release(notebook, name)
    cell.wait(20)
    expect(chat.answers.locator(".prose")).to_have_text("Here.")
    expect(chat.questions).to_have_count(1)
    assert python(notebook, "len(chat.model.requests)") == 1


def test_the_reply_route_is_freed_where_the_kernel_has_one(notebook, kernel):
    """The one-line remedy: ipykernel 7.4 alone notes where the page's messages go."""
    chat = show_chat(notebook, '"Here."')
    chat.say("hello")
    expect(chat.answers.locator(".prose")).to_have_text("Here.")
    noted = python(notebook, "hasattr(chat.comm, '_reply_subshell_for')")
    assert noted is (kernel == NEWEST)
    assert python(notebook, "getattr(chat.comm, '_reply_subshell_for', None)") is None


def test_a_reload_of_the_page_shows_one_live_card_that_runs_once(notebook):
    """P-07: on every kernel."""
    chat = show_chat(notebook, PAY, '"Paid."', tools="pay")
    chat.say("pay")
    expect(chat.button("Approve pay")).to_be_visible()
    notebook.save()
    notebook.load()
    chat = ChatView(notebook.cell(len(notebook_cells(notebook)) - 1).area)
    expect(chat.cards).to_have_count(1)
    chat.button("Approve pay").click()
    expect_state(chat.card("pay"), "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    assert python(notebook, "runs") == ["Ann"]
