"""The documentation: its code runs, its links lead somewhere, its words are the product's own."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import get_args

import nbformat
import pytest

import nbtools as nb
from nbtools.messages import Outcome
from nbtools.outcomes import LEGAL_ENDS, sentence
from nbtools.providers.models import WIRES
from nbtools.providers.vendors import LOCAL_SERVERS, VENDORS
from nbtools.transcript import WORDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "nbtools"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r'\]\(([^)\s]+)\)|src(?:set)?="([^"]+)"')
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REASONED = ("declined", "interrupted", "timeout", "unanswered")
"""Outcomes whose sentence is another one where there is a reason."""
TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks_of(page: Path) -> list[tuple[int, str]]:
    """Return the Python blocks of a page, each with the line it begins on."""
    text = page.read_text(encoding="utf-8")
    return [(text[: found.start()].count("\n") + 2, found[1]) for found in BLOCK.finditer(text)]


async def run_as_cells(page: Path) -> None:
    """Run the blocks of a page one after the other, as the cells of one notebook."""
    names: dict[str, object] = {"__name__": "__main__"}
    for line, source in blocks_of(page):
        code = compile("\n" * (line - 1) + source, str(page), "exec", flags=TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if inspect.iscoroutine(running):
            await running


@pytest.fixture
def without_keys(monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("without_keys")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=name_of)
async def test_the_code_of_a_page_runs(page):
    await run_as_cells(page)


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page):
    for target in map("".join, LINK.findall(text_of(page))):
        if target.startswith("https://"):
            continue
        address, _, anchor = target.partition("#")
        file = (page.parent / address).resolve() if address else page
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file), target


def text_of(page: Path) -> str:
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page's headings have where it is read."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []


def test_the_table_of_outcomes_has_the_words_of_the_card_and_of_the_model():
    page = (DOCS / "how-a-call-lives.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+?) \| [^|]+ \| ([^|]+?) \|$", page, re.MULTILINE)
    assert {outcome: word for outcome, word, _ in rows} == WORDS
    told = {
        outcome: sentence(outcome, "" if outcome in REASONED else "…")
        for outcome in get_args(Outcome)
        if outcome not in ("", "ok")
    }
    assert {outcome: text for outcome, _, text in rows if outcome != "ok"} == told


def test_the_drawing_names_every_state_and_every_outcome():
    drawing = (DOCS / "images" / "call.svg").read_text(encoding="utf-8")
    words = set(
        re.findall(
            r"\w+", re.sub(r"<style>.*?</style>|<desc.*?</desc>", "", drawing, flags=re.DOTALL)
        )
    )
    states = {state for state, _ in LEGAL_ENDS} | {"result", "error"}
    assert (states | set(WORDS)) - words == set()


def test_every_argument_of_the_chat_is_told():
    page = (DOCS / "chat.md").read_text(encoding="utf-8")
    arguments = inspect.signature(nb.Chat).parameters
    assert [name for name in sorted(arguments) if f"| `{name}` |" not in page] == []


def test_every_name_of_a_model_is_told():
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    names = [*WIRES, *(each.name for each in (*VENDORS, *LOCAL_SERVERS))]
    assert [name for name in names if f"`{name}:…`" not in page] == []


def rooms_of_the_map() -> list[str]:
    """Return the modules and packages that the map names, from the top layer to the lowest."""
    map_of_modules = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The map")[2]
    )
    return re.findall(r"^\| \d? ?\| `(\w+)/?` \|", map_of_modules, re.MULTILINE)


def test_the_map_names_every_module_in_the_order_of_the_layers():
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = configuration["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py"}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    first, *rooms = rooms_of_the_map()
    assert first == "__init__"
    assert sorted([first, "testing", *rooms]) == sorted(modules | packages)
    places = [place for room in rooms for place, layer in enumerate(layers) if room in layer]
    assert places == sorted(places)


@pytest.mark.parametrize("package", sorted(PACKAGE.glob("*/__init__.py")), ids=name_of)
def test_the_map_names_every_module_of_a_package(package):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| package | modules, in groups |")[2].partition("\n\n")[0]
    rows = re.search(rf"^\| `{package.parent.name}/` (.+(?:\n\| \| .+)*)", table, re.MULTILINE)
    modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__"}
    assert rows is not None
    assert sorted(re.findall(r"`(\w+)`", rows[1])) == sorted(modules)


def test_every_public_name_has_a_docstring():
    assert [name for name in nb.__all__ if not inspect.getdoc(getattr(nb, name))] == []
