"""A notebook that was saved: with and without the state of its widgets, with and without trust."""

from __future__ import annotations

import json

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, expect

from tests.lab.browser import new_tab
from tests.lab.chat import SETUP, ChatView, chat_cell, expect_state
from tests.lab.notebook import Notebook
from tests.test_lab_content import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = f'''
HOSTILE = {HOSTILE!r}

@nb.tool
def rows(table: str) -> list:
    """Read rows."""
    return [{{"id": 1, "name": "Ann"}}]

@nb.tool(approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return to

@nb.tool
def big() -> str:
    """Return two megabytes."""
    return "y" * 2_000_000
'''
REPLIES = (
    "[say('Let me **look**.'), call('rows', {'table': 'orders'}), call('pay', {'to': 'Ann'})]",
    "'There is one row.'",
)


def hold_a_conversation(notebook) -> ChatView:
    """Make a chat whose turn is finished, and leave it on the page."""
    notebook.run(SETUP + TOOLS)
    chat = ChatView(notebook.run(chat_cell(*REPLIES, tools="rows, pay")).area)
    chat.say("What is there?")
    chat.button("Approve pay").click()
    expect(chat.answers.last).to_contain_text("There is one row.")
    chat.rest()
    return chat


def expect_static(area) -> None:
    """Check that the still transcript is what can be read."""
    expect(area.locator("details").first).to_be_visible()
    expect(area).to_contain_text("What is there?")
    expect(area).to_contain_text("pay — done")
    expect(area).to_contain_text("There is one row.")
    expect(area.get_by_role("button", name="Send")).to_have_count(0)


@pytest.fixture(scope="module")
def saved(lab, lab_tab) -> dict[bool, str]:
    """Give the paths of two notebooks, by whether the state of their widgets was saved too."""
    return {state: save_one(lab, lab_tab, state=state) for state in (True, False)}


def save_one(lab, lab_tab, *, state: bool) -> str:
    notebook = Notebook(lab, lab_tab, lab.write_notebook())
    notebook.open_beside()
    if state:
        notebook.toggle_saved_widgets()
    hold_a_conversation(notebook)
    notebook.save()
    if state:
        notebook.toggle_saved_widgets()
    notebook.close()
    return notebook.path


def test_saved_with_its_widgets_the_chat_is_drawn_whole_and_without_buttons(saved, open_notebook):
    """The kernel is a new one that knows nothing of the chat."""
    notebook = open_notebook(path=saved[True])
    chat = ChatView(notebook.cell(1).area)
    expect_state(chat.card("pay"), "done")
    expect_state(chat.card("rows"), "done")
    expect(chat.answers.last).to_contain_text("There is one row.")
    expect(chat.area.get_by_text("no kernel", exact=True)).to_be_visible()
    for name in ("Send", "Approve pay", "Run pay again", "Clear the conversation"):
        expect(chat.button(name)).to_have_count(0)
    expect(chat.area.locator(".nbt-static")).to_be_hidden()


@pytest.mark.parametrize("state", [True, False])
def test_without_any_kernel_the_transcript_is_shown(saved, state, open_notebook):
    """JupyterLab itself restores no widget where there is no kernel at all."""
    expect_static(open_notebook(kernel=None, path=saved[state]).cell(1).area)


def test_with_a_new_kernel_and_no_saved_widgets_the_transcript_is_shown(saved, open_notebook):
    expect_static(open_notebook(path=saved[False]).cell(1).area)


def test_an_untrusted_notebook_shows_the_transcript(saved, lab, open_notebook):
    stranger = lab.notebooks / "stranger.ipynb"
    content = json.loads((lab.notebooks / saved[True]).read_text())
    content["cells"][1]["source"] += "  # from somebody else"
    stranger.write_text(json.dumps(content))
    expect_static(open_notebook(kernel=None, path=stranger.name).cell(1).area)


@pytest.mark.parametrize("state", [True, False])
def test_nbconvert_shows_the_transcript_without_a_network(saved, state, lab, browser, tmp_path):
    body, _ = HTMLExporter().from_filename(str(lab.notebooks / saved[state]))
    target = tmp_path / "notebook.html"
    target.write_text(body, encoding="utf-8")
    tab = new_tab(browser)
    tab.page.route("http*://**", lambda route: route.abort())
    tab.page.goto(target.as_uri(), wait_until="domcontentloaded")
    expect_static(tab.page.locator("body"))
    tab.page.context.close()


@pytest.mark.parametrize(
    "shown",
    [
        "out = ipywidgets.Output()\nwith out: display(chat)\nout",
        "ipywidgets.interact(lambda n: display(chat), n=(0, 3));",
    ],
)
def test_a_chat_in_an_output_widget_is_shown_and_its_transcript_is_not(shown, notebook):
    """The outer output holds the view and the transcript; only that of the transcript goes."""
    notebook.run(SETUP + TOOLS)
    cell = notebook.run(f"import ipywidgets\nchat = nb.Chat(Scripted('Hello.'))\n{shown}")
    chat = ChatView(cell.area)
    chat.say("hi")
    expect(chat.answers.last).to_contain_text("Hello.")
    expect(chat.answers.last).to_be_visible()
    assert cell.area.locator(".nbt-static").count() == 1
    expect(cell.area.locator(".nbt-static")).to_be_hidden()
    expect(
        cell.area.locator(".jp-OutputArea-child:has(> .jp-OutputArea-output.jp-RenderedHTML)")
    ).to_be_hidden()


def test_an_exported_page_stands_alone_and_runs_nothing_of_what_was_said(
    notebook, browser: Browser
):
    """F-04: no request leaves the page, and nothing in it is a script of the model."""
    notebook.run(SETUP + TOOLS)
    replies = (
        "[think(HOSTILE), say(HOSTILE), call('rows', {'table': HOSTILE}), call(HOSTILE, {})]",
        "'There is one row.'",
    )
    chat = ChatView(notebook.run(chat_cell(*replies, tools="rows")).area)
    chat.say(HOSTILE.replace("\n\n", " "))
    expect(chat.answers.last).to_contain_text("There is one row.")
    name = notebook.run("print(chat.to_html('exported.html').resolve())").text.strip()
    tab = new_tab(browser)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.goto(f"file://{name}")
    page = ChatView(tab.page.locator("body"))
    expect(page.answers.last).to_contain_text("There is one row.")
    expect_state(page.card("rows"), "done")
    expect(page.composer).to_have_count(0)
    expect(page.area.get_by_role("button", name="Run rows again")).to_have_count(0)
    assert tab.page.evaluate("window.__hit === undefined")
    assert tab.page.evaluate("getComputedStyle(document.body).display") != "none"
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert tab.errors == []
    tab.page.context.close()


def size(notebook) -> int:
    """Save a notebook and return how large its file is, in bytes."""
    notebook.save()
    return int((notebook.server.notebooks / notebook.path).stat().st_size)


def test_a_display_cell_that_runs_again_leaves_nothing_behind(notebook):
    """X-02: the file grows by a tenth at most, and the earlier widgets are closed."""
    notebook.toggle_saved_widgets()
    notebook.run(SETUP + TOOLS + "made = []")
    cell = notebook.run("made.append(nb.Chat(Scripted('Hello.'), tools=[rows]))\nmade[-1]")
    ChatView(cell.area).say("hi")
    expect(ChatView(cell.area).answers.last).to_contain_text("Hello.")
    once = size(notebook)
    for _ in range(20):
        notebook.run_cell(cell.index)
    ChatView(cell.area).say("hi")
    expect(ChatView(cell.area).answers.last).to_contain_text("Hello.")
    assert size(notebook) <= 1.1 * once
    closed = notebook.run("print([chat.comm is None for chat in made].count(True))").text
    assert closed == "20\n"
    notebook.toggle_saved_widgets()


def test_fifty_large_results_are_not_stored_whole_and_clearing_shrinks_the_file(notebook):
    """X-02: of 100 MB of results the file keeps the beginnings that the page shows."""
    notebook.toggle_saved_widgets()
    notebook.run(SETUP + TOOLS)
    replies = "*[[call('big')], 'Big.'] * 50"
    cell = notebook.run(chat_cell(replies, tools="big"))
    chat = ChatView(cell.area)
    expect(chat.button("Send")).to_be_visible()
    before = size(notebook)
    notebook.run("for _ in range(50): await chat.send('more')")
    expect(chat.cards).to_have_count(50)
    chat.rest()
    assert size(notebook) < 8_000_000
    notebook.run("chat.clear()")
    expect(chat.cards).to_have_count(0)
    assert size(notebook) <= 1.1 * before
    notebook.toggle_saved_widgets()


def test_a_key_is_nowhere_in_a_saved_notebook_its_traffic_or_its_pages(notebook, lab):
    """X-01: the chat was shown, failed, was saved with its widgets, and was exported."""
    notebook.toggle_saved_widgets()
    notebook.tab.traffic.frames = []
    notebook.run(SETUP)
    cell = notebook.run(
        "import os\n"
        "key = 'sk-TEST-' + str(4000 + 242)\n"
        "model = nb.OpenAI('gpt', base_url='http://127.0.0.1:9', api_key=key)\n"
        "chat = nb.Chat(model)\nchat"
    )
    chat = ChatView(cell.area)
    chat.say("hello")
    expect(chat.log.get_by_role("alert")).to_be_visible(timeout=20_000)
    notebook.run("print(repr(chat), repr(model), chat.conversation, vars(type(chat)))")
    exported = notebook.run("print(chat.to_html('key.html').resolve())").text.strip()
    notebook.save()
    file = (lab.notebooks / notebook.path).read_text()
    assert "sk-TEST" in file  # the cell that made it
    pages = file + (lab.notebooks / exported).read_text()
    frames = notebook.tab.traffic.frames
    notebook.tab.traffic.frames = None
    assert "hushhush" not in pages
    assert frames
    assert not any("hushhush" in str(frame) for frame in frames)
    notebook.toggle_saved_widgets()
