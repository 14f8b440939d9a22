"""What the tests share: a browser, a server, and notebooks on them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from importlib import import_module

import pytest
from playwright.sync_api import Browser, Error, expect, sync_playwright

from tests.lab import browser as browsers
from tests.lab.kernels import NEWEST
from tests.lab.notebook import Application, Notebook, prepared_tab
from tests.lab.page import WidgetPage, build_page
from tests.lab.proof import DEAF_KERNELS
from tests.lab.server import LabServer
from tests.recordings import CORPUS

RECORDED = "test_corpus_"
expect.set_options(timeout=20_000)  # two busy cores may need longer than the usual five seconds

OpenNotebook = Callable[..., Notebook]
OpenPage = Callable[..., WidgetPage]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is imported out of every later collection of garbage: it lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the browser tests to the end.

    Playwright's loop stays current in this thread once it was started, and no other can run then.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which kernels had to be restarted, and what the tests of recordings saw."""
    if DEAF_KERNELS:
        terminalreporter.section("WARNING: kernels that did not answer and were restarted")
        terminalreporter.line("\n\n".join(DEAF_KERNELS))
    summarize_recordings(terminalreporter)


def summarize_recordings(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the tests of recordings could not see, and what they let differ on purpose."""
    modules = recorded_modules(terminalreporter)
    if not modules:
        return
    terminalreporter.section("recordings")
    if not CORPUS.is_dir():
        terminalreporter.line(
            "ABSENT: no recording was read, there is no shared/corpus beside the checkout."
        )
        return
    lines = [line for module in modules for line in differences(module)]
    terminalreporter.line(
        f"{len(lines)} answers are read otherwise than by their library, on purpose:"
    )
    for line in lines:
        terminalreporter.line(line)


def recorded_modules(reporter: pytest.TerminalReporter) -> list[str]:
    """Return the names of the modules with tests of recordings that took part in this run."""
    reports = [
        each for kind in ("passed", "failed", "skipped") for each in reporter.getreports(kind)
    ]
    paths = {each.nodeid.partition("::")[0] for each in reports}
    return sorted(name for name in map(module_name, paths) if name.startswith(f"tests.{RECORDED}"))


def module_name(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def differences(module: str) -> list[str]:
    """Return a line for each recording that a module lets differ, with the reason."""
    wire = module.partition(RECORDED)[2]
    table = getattr(import_module(module), "DIFFERENCES", {})
    return [f"{wire} {case} {field}: {why}" for (case, field), why in table.items()]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make our own waits before another try of a request a fiftieth of what they are."""
    monkeypatch.setattr("nbtools.providers.waiting._FIRST", 0.01)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Give the one Chromium of the run."""
    with sync_playwright() as playwright:
        launched = browsers.launch(playwright)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Give the one server of the run: JupyterLab, Notebook 7 and the test page."""
    folder = tmp_path_factory.mktemp("lab")
    with LabServer(folder / "server", static=build_page(folder / "page")) as server:
        yield server


@pytest.fixture(scope="session")
def lab_tab(browser: Browser) -> browsers.Tab:
    """Give the tab in which the notebooks of JupyterLab are opened, one after the other."""
    return prepared_tab(browser)


@pytest.fixture
def open_notebook(
    lab: LabServer, browser: Browser, lab_tab: browsers.Tab
) -> Iterator[OpenNotebook]:
    """Give a function that opens a new notebook; it is closed after the test.

    `open_notebook(cells=(), kernel="python3", application="lab", path=None)`: in JupyterLab all
    share one tab; `kernel=None` opens what was saved under `path` and starts nothing.
    """
    opened: list[Notebook] = []

    def open_new(
        cells: tuple[str, ...] = (),
        *,
        kernel: str | None = NEWEST,
        application: Application = "lab",
        path: str | None = None,
    ) -> Notebook:
        tab = lab_tab if application == "lab" else prepared_tab(browser)
        name = path or lab.write_notebook(cells, kernel or NEWEST)
        notebook = Notebook(lab, tab, name, application=application, kernel=kernel is not None)
        opened.append(notebook)
        if application == "lab":
            notebook.open_beside()
        else:
            notebook.load()
        return notebook

    yield open_new
    for notebook in opened:
        with suppress(Error):  # a test may have closed it, or left its page
            notebook.close()
        if notebook.tab is not lab_tab:
            notebook.page.context.close()
    lab_tab.page.set_viewport_size(browsers.VIEWPORT)
    lab_tab.console.clear()
    lab_tab.traffic.reset()


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Notebook:
    """Give an empty notebook in JupyterLab on the newest kernel."""
    return open_notebook()


@pytest.fixture
def open_page(lab: LabServer, browser: Browser) -> Iterator[OpenPage]:
    """Give a function that opens the test page on a new kernel: `open_page(kernel="python3")`."""
    opened: list[WidgetPage] = []

    def open_new(kernel: str = NEWEST, kernel_id: str | None = None) -> WidgetPage:
        opened.append(WidgetPage(lab, browser, kernel=kernel, kernel_id=kernel_id))
        return opened[-1]

    yield open_new
    for page in opened:
        with suppress(Error):  # a test may have closed it, or ended its kernel
            page.close()


@pytest.fixture
def widget_page(open_page: OpenPage) -> WidgetPage:
    """Give the test page on the newest kernel."""
    return open_page()
