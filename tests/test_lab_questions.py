"""What a running call asks, in a real JupyterLab: the form, the keys, the answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.browser import shoot
from tests.lab.chat import expect_state, kept_notebook, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
FORM = {
    "type": "object",
    "properties": {
        "account": {"type": "string", "title": "Account", "description": "as in the book"},
        "amount": {"type": "number", "title": "Amount", "minimum": 1, "default": 20},
        "speed": {
            "type": "string",
            "title": "How fast",
            "oneOf": [{"const": "d1", "title": "today"}, {"const": "d2", "title": "tomorrow"}],
        },
        "copies": {
            "type": "array",
            "title": "Copies to",
            "items": {"type": "string", "enum": ["Ann", "Bob", "Cy"]},
        },
        "sure": {"type": "boolean", "title": "I have read the terms"},
    },
    "required": ["account"],
}

@nb.tool
async def pay(to: str, ctx: nb.ToolContext) -> str:
    """Pay somebody."""
    answer = await ctx.ask(f"From which account shall {to} be paid?", FORM)
    return f"paid: {answer}"

@nb.tool
async def sign(ctx: nb.ToolContext) -> str:
    """Have something signed."""
    done = await ctx.ask("Please sign there.", link="https://example.org/sign?paper=7")
    return "not signed" if done is None else "signed"
'''


@pytest.fixture(scope="module")
def asking(lab, lab_tab):
    yield from kept_notebook(lab, lab_tab)


def test_a_form_is_filled_with_mouse_and_keyboard_and_answers_the_call(asking):
    chat = show_chat(asking, "call('pay', {'to': 'Ada'})", "'Paid.'", tools="pay", before=TOOLS)
    chat.say("Pay Ada")
    card = chat.card("pay")
    expect_state(card, "asks you")
    expect(card.get_by_text("From which account shall Ada be paid?")).to_be_visible()
    for theme in ("dark", "light"):
        asking.set_theme(theme)
        shoot(card, f"question-{theme}")
    chat.button("Answer pay").click()
    expect(card.get_by_role("alert")).to_contain_text("account: Missing: 'account'.")
    card.get_by_label("Account").fill("savings")
    card.get_by_label("Amount").fill("12.5")
    card.get_by_label("How fast").select_option("tomorrow")
    card.get_by_label("Cy").check()
    card.get_by_label("I have read the terms").focus()
    asking.page.keyboard.press("Space")
    asking.page.keyboard.press("Tab")
    asking.page.keyboard.press("Enter")
    expect_state(card, "done")
    expect(chat.answers.last).to_contain_text("Paid.")
    assert python(asking, "chat.results['pay']") == (
        "paid: {'account': 'savings', 'amount': 12.5, 'speed': 'd2', 'copies': ['Cy'], 'sure': True}"
    )


def test_a_link_is_shown_whole_and_the_person_may_refuse(asking):
    chat = show_chat(asking, "call('sign', {})", "'Well.'", tools="sign", before=TOOLS)
    chat.say("Have it signed")
    card = chat.card("sign")
    expect_state(card, "asks you")
    link = card.get_by_role("link")
    expect(link).to_have_text("https://example.org/sign?paper=7")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    chat.button("Refuse to answer sign").click()
    expect_state(card, "done")
    assert python(asking, "chat.results['sign']") == "not signed"
