"""What a model, a tool or a person puts into a chat: hostile text, floods, and long answers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.lab.chat import (
    ChatView,
    execute_quietly,
    expect_state,
    kept_notebook,
    python,
    show_chat,
)

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

HOSTILE = """<img src=x onerror="window.__hit=1">

[ok](javascript:window.__hit=1)

<svg><script>window.__hit=1</script></svg>

[docs](https://example.org/a)

![p](https://example.org/beacon?q=secret)

<style>body{display:none}</style>

[data](data:text/html,<script>window.__hit=1</script>)
"""
TOOLS = f'''
HOSTILE = {HOSTILE!r}

@nb.tool(approval=True)
def echo(text: str) -> str:
    """Say it again."""
    print(text)
    return text

@nb.tool
def fail(text: str, ctx: nb.ToolContext) -> str:
    """Fail with these words."""
    ctx.progress(0.5, text)
    raise ValueError(text)

def rows() -> object:
    gate.wait()
    return [dict(n=n, square=n * n) for n in range(20)]

@nb.tool
def tall() -> object:
    """Give a table, once it may."""
    return rows()

@nb.tool(background=True)
def tall_job() -> object:
    """Give a table, once it may."""
    return rows()

@nb.tool
def quick(n: int) -> int:
    """Give a number."""
    return n

@nb.tool
def big() -> str:
    """Return twelve megabytes."""
    return "y" * 12_000_000
'''
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
WHERE = "() => document.querySelector('.jp-WindowedPanel-outer').scrollTop"


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


def test_hostile_text_is_only_text_wherever_it_stands(notebook):
    """F-04: in answers, reasoning, arguments, results, errors, names, reasons and titles."""
    asked: list[str] = []
    notebook.page.route(
        "https://example.org/**", lambda route: (asked.append(route.request.url), route.abort())
    )
    chat = show_chat(
        notebook,
        "[think(HOSTILE, every=3), say(HOSTILE, every=3), call('echo', {'text': HOSTILE}),"
        " call('echo', {'text': HOSTILE}), call('fail', {'text': HOSTILE}), call(HOSTILE, {})]",
        "fault(errors.ConnectionError(HOSTILE, hint=HOSTILE))",
        tools="echo, fail",
    )
    notebook.run("chat.model.label = HOSTILE; chat.model = chat.model; chat.system = HOSTILE")
    chat.say(HOSTILE.replace("\n\n", " "))
    expect_state(chat.card("fail"), "failed")
    chat.card("echo", 0).get_by_role("button", name="Approve echo").click()
    expect_state(chat.card("echo", 0), "done")
    chat.card("echo", 1).get_by_role("button", name="Decline echo").click()
    chat.card("echo", 1).get_by_role("textbox").fill(HOSTILE.replace("\n\n", " "))
    chat.page.keyboard.press("Enter")
    expect_state(chat.card("echo", 1), "declined")
    inside = chat.area.locator(".nbtools-chat")
    for summary in inside.locator("summary").all():
        if not summary.evaluate("summary => summary.parentElement.open"):
            summary.click()
    expect(chat.button("Try again")).to_be_visible()
    assert notebook.page.evaluate("window.__hit === undefined")
    assert notebook.page.evaluate("getComputedStyle(document.body).display") != "none"
    assert inside.locator("script, style, svg script, [onerror], iframe, object").count() == 0
    links = inside.locator("a[href]").all()
    assert {link.get_attribute("href") for link in links} == {"https://example.org/a"}
    for link in links:
        assert link.get_attribute("target") == "_blank"
        assert "noopener" in (link.get_attribute("rel") or "")
    assert asked == []
    notebook.page.unroute("https://example.org/**")


def test_a_remote_image_is_fetched_by_a_click_alone(notebook):
    """F-04: until then there is a button that says where the image would come from."""
    asked: list[str] = []
    picture = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"

    def answer(route):
        asked.append(route.request.url)
        route.fulfill(content_type="image/svg+xml", body=picture)

    notebook.page.route("https://example.org/**", answer)
    chat = show_chat(notebook, "'Look: ![a cat](https://example.org/cat.png)'")
    chat.say("show")
    button = chat.answers.get_by_role("button", name="example.org")
    expect(button).to_be_visible()
    assert asked == []
    button.click()
    expect(chat.answers.get_by_role("img", name="a cat")).to_be_visible()
    assert asked == ["https://example.org/cat.png"]
    notebook.page.unroute("https://example.org/**")


def test_the_view_stays_where_the_reader_scrolled_to(notebook):
    """F-03: text streams on below; only End, or the button, follows it again."""
    reply = (
        "[say('\\n\\n'.join(f'first {n}' for n in range(60))), hold(gate),"
        " say('\\n\\n' + '\\n\\n'.join(f'then {n}' for n in range(100)), every=40, delay=0.005),"
        " hold(further), say('\\n\\nThe end.')]"
    )
    chat = show_chat(notebook, reply, before="further = threading.Event()")
    chat.say("go on")
    expect(chat.answers).to_contain_text("first 59")
    chat.log.hover()
    notebook.page.mouse.wheel(0, -400)
    jump = chat.button("Jump to end")
    expect(jump).to_be_visible()
    place, page = chat.log.evaluate("log => log.scrollTop"), notebook.page.evaluate(WHERE)
    execute_quietly(notebook, "gate.set()")
    expect(chat.answers).to_contain_text("then 99")
    assert abs(chat.log.evaluate("log => log.scrollTop") - place) <= 1
    chat.log.focus()
    notebook.page.keyboard.press("End")
    expect(jump).to_have_count(0)
    execute_quietly(notebook, "further.set()")
    expect(chat.answers).to_contain_text("The end.")
    expect(chat.answers.get_by_text("The end.")).to_be_in_viewport()
    chat.rest()
    gap = "log => log.scrollHeight - log.scrollTop - log.clientHeight"
    notebook.page.wait_for_function(
        "log => log.scrollHeight - log.scrollTop - log.clientHeight <= 8",
        arg=chat.log.element_handle(),
    )
    assert chat.log.evaluate(gap) <= 8
    assert notebook.page.evaluate(WHERE) == page


def reader_at(chat: ChatView, text: str) -> Locator:
    """Let a reader wheel up until a text stands in the view; return its element."""
    chat.log.hover()
    found = chat.log.get_by_text(text, exact=True)
    for _ in range(60):
        box, view = found.bounding_box(), chat.log.bounding_box()
        assert box is not None
        assert view is not None
        if view["y"] + 40 < box["y"] < view["y"] + view["height"] / 2:
            return found
        chat.page.mouse.wheel(0, -150 if box["y"] < view["y"] + 40 else 60)
        chat.page.evaluate(PAINTED)
    raise AssertionError(f"{text!r} is not in the view")


def top_of(element: Locator) -> float:
    top: float = element.evaluate("element => element.getBoundingClientRect().top")
    return top


@pytest.fixture(params=[True, False], ids=["held by the browser", "held by the page"])
def hold(notebook, request):
    """Give what is done to a chat, in a browser that holds what is read, and in one that does not."""
    if request.param:
        yield lambda _chat: None
        return
    notebook.page.evaluate(WITHOUT_ANCHORS)
    yield lambda chat: chat.log.evaluate("log => { log.style.overflowAnchor = 'none'; }")
    notebook.page.evaluate("() => { CSS.supports = CSS.before; }")


WITHOUT_ANCHORS = """() => {
  CSS.before = CSS.supports;
  CSS.supports = (name, ...rest) => name !== "overflow-anchor" && CSS.before(name, ...rest);
}"""


def test_a_tall_card_above_the_view_moves_nothing_in_it(notebook, hold):
    """F-03: a call that ends later than those below it."""
    calls = ", ".join(["call('tall')", *(f"call('quick', {{'n': {n}}})" for n in range(30))])
    chat = show_chat(notebook, f"[{calls}]", "'So.'", tools="tall, quick")
    chat.say("go")
    hold(chat)
    expect_state(chat.card("quick", 29), "done")
    row = reader_at(chat, "n: 12")
    before, page = top_of(row), notebook.page.evaluate(WHERE)
    height = chat.log.evaluate("log => log.scrollHeight")
    execute_quietly(notebook, "gate.set()")
    expect_state(chat.card("tall"), "done")
    notebook.page.wait_for_function(
        "([log, height]) => log.scrollHeight > height + 200",
        arg=[chat.log.element_handle(), height],
    )
    notebook.page.evaluate(PAINTED)
    assert abs(top_of(row) - before) <= 1
    assert notebook.page.evaluate(WHERE) == page


def test_the_end_of_a_job_far_above_the_view_moves_nothing_in_it(notebook):
    """F-03: its card is in a part of a long history that the browser does not lay out."""
    long = "'\\n\\n'.join(f'line {n}.' for n in range(8))"
    answers = [f"say({long})"] * 24
    chat = show_chat(notebook, "[call('tall_job')]", "'Begun.'", *answers, tools="tall_job")
    chat.say("go")
    expect(chat.answers.last).to_contain_text("Begun.")
    for number in range(23):
        chat.say(f"message {number}")
        expect(chat.answers).to_have_count(number + 3)
        chat.rest()
    row = reader_at(chat, "message 14")
    before, page = top_of(row), notebook.page.evaluate(WHERE)
    execute_quietly(notebook, "gate.set()")
    expect(chat.area.locator(".card table")).to_have_count(1)
    notebook.page.evaluate(PAINTED)
    assert abs(top_of(row) - before) <= 1
    assert notebook.page.evaluate(WHERE) == page


def test_a_picture_that_loads_late_above_the_view_moves_nothing_in_it(notebook, hold):
    """F-03: the picture is asked for, and comes when the reader has gone on."""
    held: list[Route] = []

    def hold_back(route: Route) -> None:
        held.append(route)

    notebook.page.route("https://example.org/**", hold_back)
    picture = "'Look: ![a map](https://example.org/map.svg)'"
    lines = "''.join(f'\\n\\nline {n}.' for n in range(80))"
    chat = show_chat(notebook, f"[say({picture} + {lines})]")
    chat.say("show")
    hold(chat)
    expect(chat.answers).to_contain_text("line 79.")
    chat.log.evaluate("log => { log.scrollTop = 0; }")
    with notebook.page.expect_request("https://example.org/map.svg"):
        chat.answers.get_by_role("button", name="example.org").click()
    row = reader_at(chat, "line 40.")
    before, page = top_of(row), notebook.page.evaluate(WHERE)
    height = chat.log.evaluate("log => log.scrollHeight")
    picture = "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='400'/>"
    held[0].fulfill(content_type="image/svg+xml", body=picture)
    notebook.page.wait_for_function(
        "([log, height]) => log.scrollHeight > height + 300",
        arg=[chat.log.element_handle(), height],
    )
    notebook.page.evaluate(PAINTED)
    assert abs(top_of(row) - before) <= 1
    assert notebook.page.evaluate(WHERE) == page
    notebook.page.unroute("https://example.org/**")


def test_three_floods_of_single_characters_arrive_whole(notebook):
    """F-06: 5,000 deltas in a second from each of three chats, under the server's own limits."""
    cell = notebook.run(
        "from IPython.display import display\n"
        "chats = [nb.Chat(Scripted(say('x' * 5000, every=1)), tools=[]) for _ in range(3)]\n"
        "display(*chats)"
    )
    views = [ChatView(cell.area.locator(".nbtools-chat").nth(number)) for number in range(3)]
    for view in views:
        expect(view.button("Send")).to_be_visible()
    notebook.tab.traffic.reset()
    execute_quietly(notebook, "turns = [chat.send('go') for chat in chats]")
    for view in views:
        expect(view.answers.locator(".prose")).to_have_text("x" * 5000, timeout=20_000)
        view.rest()
    assert notebook.tab.traffic.received_messages < 250


def test_a_result_of_twelve_megabytes_is_cut_with_a_note_and_the_chat_goes_on(notebook):
    """F-06: the big value stays in Python, the page gets its beginning."""
    notebook.tab.traffic.reset()
    chat = show_chat(notebook, "[call('big')]", "'That was big.'", tools="big")
    chat.say("go")
    expect_state(chat.card("big"), "done")
    expect(chat.answers.locator(".prose").last).to_have_text("That was big.")
    card = chat.card("big")
    expect(card).to_contain_text(
        "The page has the first 65,506 of 12,000,000 characters. All of it is in Python: chat.res"
    )
    card.get_by_role("button", name="Show all 65,536 characters that the page has").click()
    expect(card).to_contain_text("… (11,934,494 more characters)")
    assert notebook.tab.traffic.received_bytes < 1_000_000
    assert python(notebook, "len(chat.results['big'])") == 12_000_000


def test_a_paste_of_twelve_megabytes_is_refused_with_a_note(notebook):
    """F-06: the draft stays, nothing is sent, and the next message works."""
    chat = show_chat(notebook, "'Here.'")
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.page.evaluate("() => navigator.clipboard.writeText('z'.repeat(12_000_000))")
    chat.composer.fill("short")
    notebook.tab.traffic.reset()
    chat.composer.press("Control+V")
    expect(chat.area.locator(".hints")).to_contain_text("This text is over 1 MB")
    expect(chat.composer).to_have_value("short")
    assert notebook.tab.traffic.sent_bytes < 10_000
    chat.composer.press("Enter")
    expect(chat.answers.locator(".prose")).to_have_text("Here.")
