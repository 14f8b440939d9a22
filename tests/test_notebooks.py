"""Every cell of every notebook runs, with no network and no key."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
NOWHERE = "http://127.0.0.1:9"  # the discard port: whoever goes through it gets no answer
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")

pytestmark = pytest.mark.kernel


@pytest.fixture
def offline(monkeypatch):
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, NOWHERE)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources)
    client.execute()
    assert all(cell["execution_count"] for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.usefixtures("offline")
def test_a_converted_notebook_shows_the_finished_conversation_without_a_script():
    notebook = nbformat.read(NOTEBOOKS / "01_hello.ipynb", as_version=4)
    kept = ("first-tool", "chat-with-a-tool", "by-hand", "invalid")
    notebook.cells = [cell for cell in notebook.cells if cell.id in kept]
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import nbtools as nb"))
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "<strong>largest_orders</strong> — done" in page
    assert "<td>104</td><td>north</td><td>310" in page
    assert "<strong>largest_orders</strong> — invalid arguments" in page


@pytest.mark.usefixtures("offline")
def test_the_state_that_is_saved_without_a_page_holds_the_whole_conversation():
    source = """
        import nbtools as nb
        chat = nb.Chat(nb.Demo(pace=0))
        display(chat)
        chat.ask("hello", approve=lambda call: True)
    """
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(dedent(source))])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    saved = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"].state
    (state,) = [
        model.state.state
        for model in saved.values()
        if "conversation" in model.state.get("state", {})
    ]
    assert state.conversation.get("status", "ready") == "ready"
    assert len(state.conversation.messages) == 4
    assert "What to try next" in state.conversation.messages[-1].parts[-1].text


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    assert [cell.outputs for cell in notebook.cells if cell.get("outputs")] == []
