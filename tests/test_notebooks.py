"""Every cell of every notebook runs, with no network and no key."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    assert [cell.outputs for cell in notebook.cells if cell.get("outputs")] == []
