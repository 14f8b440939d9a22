"""Choosing a model in an empty chat, in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.lab.chat import ChatView, kept_notebook, python
from tests.test_looks import look, plain_window

__all__ = ["plain_window"]

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

SERVER = """
import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = []

class Ollama(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        models = json.dumps({"models": [{"name": "qwen3:8b"}]})
        body = {"/": "Ollama is running", "/api/tags": models}.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write((body or "").encode())

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = f"127.0.0.1:{server.server_port}"
for name in [name for name in os.environ if name.endswith("_API_KEY")]:
    del os.environ[name]

@nb.tool
def drop_rows(table: str) -> int:
    "Delete the rows of a table that match a condition."
"""


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(SERVER)
        yield kept


@pytest.fixture(autouse=True)
def no_script_errors(notebook):
    yield
    assert notebook.tab.errors == []


def show(notebook, before: str) -> ChatView:
    """Show a chat with the demo, after some code."""
    chat = ChatView(notebook.run(f"{before}\nchat = nb.Chat(tools=[drop_rows])\nchat").area)
    expect(chat.button("Send")).to_be_visible()
    return chat


def top(element: Locator) -> float:
    """Return how far down the page an element begins, in pixels."""
    place: float = element.evaluate("element => element.getBoundingClientRect().top")
    return place


def test_a_usable_model_is_chosen_by_one_click(notebook):
    chat = show(notebook, 'os.environ["OLLAMA_HOST"] = host; os.environ["GROQ_API_KEY"] = "k"')
    assert python(notebook, "asked") == []
    chat.button("Choose a model").click()
    expect(chat.button("Use ollama:qwen3:8b")).to_be_visible()
    items = chat.area.get_by_role("list", name="Models").get_by_role("listitem")
    expect(items).to_have_count(2)
    expect(items.first).to_contain_text("GROQ_API_KEY is set")
    look(notebook, chat, "choices")
    chat.button("Use ollama:qwen3:8b").press("Enter")
    expect(chat.area.locator(".head .model")).to_have_text("ollama:qwen3:8b")
    expect(chat.area.locator(".head .where")).to_have_text(python(notebook, "host"))
    expect(chat.log).to_contain_text("The model is now ollama:qwen3:8b.")
    expect(chat.button("Look again")).to_have_count(0)
    assert python(notebook, "(chat.model.label, asked)") == (
        "ollama:qwen3:8b",
        ["/", "/api/tags"],
    )


def test_where_nothing_is_set_up_the_chat_says_what_is_missing(notebook):
    chat = show(
        notebook, 'os.environ["OLLAMA_HOST"] = "127.0.0.1:9"; os.environ.pop("GROQ_API_KEY", "")'
    )
    chat.button("Choose a model").press("Enter")
    missing = chat.area.get_by_role("list", name="Not usable yet")
    expect(missing).to_contain_text("OPENAI_API_KEY is not set")
    expect(missing).to_contain_text("no Ollama answers at 127.0.0.1:9")
    expect(chat.button("Look again")).to_be_focused()
    assert top(missing) < top(chat.button("Look again"))
    look(notebook, chat, "choices-none")
