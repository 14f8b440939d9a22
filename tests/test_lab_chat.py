"""One chat in JupyterLab, used as a person uses it: typing, watching, deciding, stopping."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.chat import (
    ChatView,
    expect_state,
    kept_notebook,
    notebook_cells,
    python,
    show_chat,
)

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
@nb.tool
def rows(table: str) -> int:
    """Count the rows of a table."""
    runs.append(("rows", table))
    return 3

@nb.tool(approval=True)
def pay(to: str, amount: int = 10) -> str:
    """Pay somebody."""
    runs.append((to, amount))
    return f"paid {to}"

@nb.tool
async def count() -> int:
    """Count slowly."""
    for number in range(1000):
        runs.append(number)
        await asyncio.sleep(0.02)

@nb.tool
def block() -> str:
    """Block a thread until the gate opens."""
    gate.wait()
    return "late"
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


def test_a_message_is_typed_and_the_answer_streams_in(notebook):
    chat = show_chat(notebook, '[say("Good "), hold(gate), say("morning.")]')
    chat.say("hello")
    expect(chat.answers).to_have_text("Good ")
    expect(chat.button("Stop")).to_be_visible()
    notebook.run("gate.set()")
    expect(chat.answers.locator(".prose")).to_have_text("Good morning.")
    chat.rest()
    expect(chat.questions.locator(".typed")).to_have_text("hello")
    expect(chat.composer).to_have_value("")


def test_arguments_are_shown_while_they_stream(notebook):
    begun = """call("rows", '{"table": "ord')"""
    chat = show_chat(notebook, f"[{begun}, hold(gate)]", tools="rows")
    chat.say("count")
    expect_state(chat.card("rows"), "preparing")
    expect(chat.card("rows").locator("dd")).to_have_text("ord")
    notebook.run("gate.set()")
    expect_state(chat.card("rows"), "invalid arguments")


def test_a_call_without_approval_runs_and_the_answer_follows_it(notebook):
    replies = ('[say("Let me look."), call("rows", {"table": "orders"})]', '"There are 3."')
    chat = show_chat(notebook, *replies, tools="rows")
    chat.say("how many?")
    expect(chat.answers).to_have_count(2)
    expect_state(chat.card("rows"), "done")
    expect(chat.card("rows").locator(".result")).to_have_text("3")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("There are 3.")


def test_the_mouse_approves_what_is_shown_with_defaults_and_coercions(notebook):
    """P-04: the card shows the final arguments, and those are what runs."""
    reply = '[call("pay", {"to": "Ann"}), call("pay", {"to": "Bob", "amount": "25"})]'
    chat = show_chat(notebook, reply, '"Paid."', tools="pay")
    chat.say("pay both")
    first, second = chat.card("pay", 0), chat.card("pay", 1)
    expect(first.locator("dd")).to_have_text(["Ann", "10"])
    expect(second.locator("dd")).to_have_text(["Bob", "25"])
    first.get_by_role("button", name="Approve pay").click()
    expect_state(first, "done")
    expect_state(second, "needs approval")
    second.get_by_role("button", name="Approve pay").click()
    expect_state(second, "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    assert python(notebook, "runs") == [("Ann", 10), ("Bob", 25)]


def test_hidden_characters_in_an_argument_are_made_visible(notebook):
    """P-04: a right-to-left override in an argument cannot be overlooked."""
    reply = r'[call("pay", {"to": "Ann\u202eboB\u200b"})]'
    chat = show_chat(notebook, reply, '"Declined."', tools="pay")
    chat.say("pay")
    expect(chat.card("pay").locator("dd").first).to_have_text("Ann⟨U+202E⟩boB⟨U+200B⟩")
    notebook.run("chat.stop()")


def test_the_keyboard_alone_reaches_approve_and_keeps_the_focus_in_the_chat(notebook):
    chat = show_chat(notebook, '[call("pay", {"to": "Ann"})]', '"Paid."', tools="pay")
    chat.say("pay")
    approve = chat.button("Approve pay")
    expect(approve).to_be_visible()
    chat.log.focus()
    for _ in range(10):
        chat.page.keyboard.press("Tab")
        if approve.evaluate("button => button.getRootNode().activeElement === button"):
            break
    chat.page.keyboard.press("Enter")
    expect_state(chat.card("pay"), "done")
    inside = "document.activeElement?.classList.contains('nbtools-chat')"
    assert chat.page.evaluate(inside) is True
    assert python(notebook, "runs") == [("Ann", 10)]


def test_a_declined_call_gives_its_reason_to_the_model_and_the_others_go_on(notebook):
    """P-01: two parallel calls, one runs, one is declined; both have a result."""
    reply = '[call("rows", {"table": "log"}, id="k-1"), call("pay", {"to": "Ann"}, id="k-2")]'
    chat = show_chat(notebook, reply, '"As you wish."', tools="rows, pay")
    chat.say("go")
    expect_state(chat.card("rows"), "done")
    chat.button("Decline pay").click()
    reason = chat.area.get_by_label("Reason, told to the model (optional)")
    expect(reason).to_be_focused()
    chat.page.keyboard.type("not today")
    chat.page.keyboard.press("Enter")
    expect_state(chat.card("pay"), "declined")
    expect(chat.card("pay")).to_contain_text("not today")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("As you wish.")
    told = "[(part.tool, part.told) for part in chat.model.requests[1].messages[-1].parts]"
    (rows, pay) = python(notebook, told)
    assert rows == ("rows", "3")
    assert "not today" in pay[1]
    assert python(notebook, "runs") == [("rows", "log")]


def test_edited_arguments_are_checked_and_a_wrong_one_is_shown_at_the_field(notebook):
    chat = show_chat(notebook, '[call("pay", {"to": "Ann"})]', '"Paid."', tools="pay")
    chat.say("pay")
    card = chat.card("pay")
    card.get_by_role("button", name="Edit the arguments of pay").click()
    field = card.get_by_label("Arguments of pay, as JSON")
    expect(field).to_be_focused()
    apply = card.get_by_role("button", name="Apply and approve pay")
    field.fill('{"to": "Ann", "amount": ')
    apply.click()
    expect(card.get_by_role("alert")).to_contain_text("This is not JSON")
    field.fill('{"to": "Ann", "amount": "much"}')
    apply.click()
    expect(card.get_by_role("alert")).to_contain_text("amount")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect_state(card, "needs approval")
    assert python(notebook, "runs") == []
    field.fill('{"to": "Bob", "amount": 7}')
    apply.click()
    expect_state(card, "done")
    expect(card.get_by_role("list", name="Changed arguments").get_by_role("listitem")).to_have_text(
        ["you changed to: Ann → Bob", "you changed amount: 10 → 7"]
    )
    assert python(notebook, "runs") == [("Bob", 7)]


def test_several_waiting_calls_are_decided_one_by_one(notebook):
    reply = '[call("pay", {"to": name}) for name in ("Ann", "Bob", "Cid")]'
    chat = show_chat(notebook, reply, '"Done."', tools="pay")
    chat.say("pay all")
    decided = chat.area.locator(".decided")
    expect(decided).to_have_text("0 of 3 decided")
    chat.card("pay", 1).get_by_role("button", name="Approve pay").click()
    expect(decided).to_have_text("1 of 3 decided")
    chat.card("pay", 2).get_by_role("button", name="Decline pay").click()
    chat.card("pay", 2).get_by_role("button", name="Decline pay").click()
    expect(decided).to_have_text("2 of 3 decided")
    assert python(notebook, "[len(chat.model.requests), runs]") == [1, [("Bob", 10)]]
    chat.card("pay", 0).get_by_role("button", name="Approve pay").click()
    expect(decided).to_have_count(0)
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Done.")
    assert python(notebook, "runs") == [("Bob", 10), ("Ann", 10)]


def test_of_two_equal_calls_each_is_decided_for_itself(notebook):
    """P-05: the second is approved and the first declined; a double click runs it once."""
    reply = '[call("pay", {"to": "Ann"}, id="k"), call("pay", {"to": "Ann"}, id="k")]'
    chat = show_chat(notebook, reply, '"Done."', tools="pay")
    chat.say("pay twice")
    first, second = chat.card("pay", 0), chat.card("pay", 1)
    second.get_by_role("button", name="Approve pay").dblclick(delay=5)
    expect_state(second, "done")
    first.get_by_role("button", name="Decline pay").click()
    first.get_by_role("button", name="Decline pay").click()
    expect_state(first, "declined")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Done.")
    assert python(notebook, "runs") == [("Ann", 10)]
    assert python(notebook, "[call.outcome for call in chat.calls]") == ["declined", "ok"]


def test_one_running_call_is_cancelled_and_the_turn_goes_on(notebook):
    reply = '[call("count"), call("rows", {"table": "t"})]'
    chat = show_chat(notebook, reply, '"Only one came."', tools="count, rows")
    chat.say("both")
    chat.button("Cancel count").click()
    expect_state(chat.card("count"), "cancelled")
    expect_state(chat.card("rows"), "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Only one came.")


def test_stop_ends_every_running_tool_and_the_next_message_works(notebook):
    """L-06: an async tool stops counting, a blocked thread's late value changes nothing."""
    chat = show_chat(notebook, '[call("count"), call("block")]', '"Hi."', tools="count, block")
    chat.say("go")
    expect_state(chat.card("count"), "running")
    expect_state(chat.card("block"), "running")
    chat.button("Stop").click()
    expect_state(chat.card("count"), "cancelled")
    expect_state(chat.card("block"), "cancelled")
    chat.rest()
    counted = python(notebook, "len(runs)")
    chat.say("hi")
    expect(chat.answers.locator(".prose").last).to_have_text("Hi.")
    notebook.run("gate.set()")
    assert python(notebook, "len(runs)") == counted
    assert python(notebook, "[call.outcome for call in chat.calls]") == ["cancelled", "cancelled"]
    expect_state(chat.card("block"), "cancelled")


def test_a_failed_request_is_shown_and_tried_again(notebook):
    failure = 'errors.ConnectionError("The server is away.", hint="Wait.")'
    chat = show_chat(notebook, f"fault({failure})", '"Here I am."')
    chat.say("hello?")
    alert = chat.log.get_by_role("alert")
    expect(alert).to_contain_text("The server is away.")
    expect(alert).to_contain_text("Wait.")
    chat.button("Try again").click()
    expect(chat.answers.locator(".prose").last).to_have_text("Here I am.")
    expect(chat.log.get_by_role("alert")).to_have_count(0)
    expect(chat.questions).to_have_count(1)


def test_a_message_while_a_call_waits_is_no_approval(notebook):
    """P-09: the composer says so first, the call ends as not answered and never runs."""
    chat = show_chat(notebook, '[call("pay", {"to": "Ann"})]', '"Four."', tools="pay")
    chat.say("pay")
    expect(chat.area.locator(".hints")).to_contain_text("Sending closes 1 waiting call.")
    chat.say("yes")
    expect_state(chat.card("pay"), "not answered")
    expect(chat.button("Approve pay")).to_have_count(0)
    expect(chat.answers.locator(".prose").last).to_have_text("Four.")
    assert python(notebook, "runs") == []


@pytest.mark.parametrize("ending", ["stop", "clear"])
def test_a_click_that_comes_after_the_end_says_so_and_runs_nothing(notebook, ending):
    """P-09: stopping or clearing from Python is faster than the click on Approve."""
    chat = show_chat(notebook, '[call("pay", {"to": "Ann"})]', '"No."', tools="pay")
    chat.say("pay")
    expect(chat.button("Approve pay")).to_be_visible()
    session = "chat._session"
    notebook.run(
        f"{session}.engine.post(gate.wait); {session}.engine.post({session}.{ending})"
    )  # the engine stands still, so that the click finds the button
    chat.button("Approve pay").click()
    notebook.run("gate.set()")
    if ending == "stop":
        expect_state(chat.card("pay"), "cancelled")
        expect(chat.card("pay").get_by_role("alert")).to_contain_text("over already (cancelled)")
    else:
        expect(chat.cards).to_have_count(0)
    chat.rest()
    assert python(notebook, "runs") == []


def test_a_message_written_during_an_answer_waits_visibly_and_can_be_taken_back(notebook):
    chat = show_chat(notebook, '[say("One"), hold(gate)]', '"Two"')
    chat.say("first")
    expect(chat.answers).to_have_text("One")
    chat.say("second")
    waiting = chat.area.get_by_role("article", name="Your next message")
    expect(waiting).to_contain_text("goes out when the turn ends")
    chat.button("Remove the waiting message").click()
    expect(waiting).to_have_count(0)
    expect(chat.composer).to_have_value("second")
    chat.composer.press("Enter")
    expect(waiting).to_contain_text("second")
    notebook.run("gate.set()")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Two")
    expect(chat.questions.locator(".typed")).to_have_text(["first", "second"])


def test_a_call_that_needs_an_answer_takes_no_key_from_the_composer(notebook):
    replies = ('[hold(gate), call("ask_person", {})]', '"So it is."')
    tool = 'nb.Tool("ask_person", "Ask the person.", {"type": "object", "properties": {}})'
    chat = show_chat(notebook, *replies, tools=tool)
    chat.say("go")
    expect(chat.button("Stop")).to_be_visible()
    notebook.run("threading.Timer(0.2, gate.set).start()")
    chat.composer.focus()
    typed = ""
    while not chat.card("ask_person").get_by_label("Result of ask_person").is_visible():
        typed += "x"
        notebook.page.keyboard.type("x")
    expect(chat.composer).to_be_focused()
    expect(chat.composer).to_have_value(typed)
    chat.composer.fill("")
    chat.card("ask_person").get_by_label("Result of ask_person").fill('{"yes": 1}')
    chat.button("Answer ask_person").click()
    expect_state(chat.card("ask_person"), "done")
    assert python(notebook, "chat.results['ask_person']") == {"yes": 1}


def test_no_key_is_lost_while_a_turn_ends(notebook):
    """F-01: what is typed from the middle of a turn until after it stands in the field, whole."""
    answer = '[call("rows", {"table": "t"})]', '[say("word " * 40, every=5, delay=0.02)]'
    chat = show_chat(notebook, *answer, tools="rows")
    cells = notebook_cells(notebook)
    chat.say("go")
    expect(chat.button("Stop")).to_be_visible()
    typed = ""
    while chat.button("Stop").is_visible() or len(typed) % 200:
        typed += (letters := "abcdd xx m y 00 ")
        notebook.page.keyboard.type(letters)
        assert len(typed) < 20_000
    expect(chat.composer).to_be_focused()
    expect(chat.composer).to_have_value(typed)
    assert notebook_cells(notebook) == cells
    chat.composer.fill("")


def test_a_chat_within_another_widget_is_as_live_and_shows_no_transcript(notebook):
    reply = '[say("Paying. "), call("pay", {"to": "Ann"})]'
    first = show_chat(notebook, reply, '"Paid."', tools="pay")
    boxed = notebook.run("from ipywidgets import Label, VBox\nVBox([Label('above'), chat])")
    chat = ChatView(boxed.area)
    chat.say("pay")
    chat.button("Approve pay").click()
    expect_state(chat.card("pay"), "done")
    expect_state(first.card("pay"), "done")
    expect(chat.answers.nth(1).locator(".prose")).to_have_text("Paid.")
    chat.rest()
    assert [output["output_type"] for output in boxed.outputs] == ["execute_result"]
    expect(chat.area.locator(".nbt-static")).to_have_count(0)
    assert python(notebook, "runs") == [("Ann", 10)]
