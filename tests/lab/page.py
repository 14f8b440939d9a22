"""A plain page with ipywidgets' html-manager on a live kernel, as VS Code and Colab host widgets."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page

from tests.lab.browser import Tab, new_tab
from tests.lab.kernels import NEWEST
from tests.lab.proof import explaining, prove
from tests.lab.server import LabServer

SOURCE = Path(__file__).resolve().parents[1] / "page"
PACKAGES = SOURCE / "node_modules"


def build_page(folder: Path) -> Path:
    """Bundle the page.

    Args:
        folder: Where it shall lie.

    Returns:
        This folder, which is to be served; the page is index.html in it.

    Raises:
        FileNotFoundError: Its Node packages were not installed yet.
    """
    if not PACKAGES.is_dir():
        raise FileNotFoundError(f"{PACKAGES} is missing: run `scripts/test --prepare` once.")
    subprocess.run(["npm", "run", "--silent", "build", "--", folder], cwd=SOURCE, check=True)
    shutil.copyfile(_anywidget_front_end(), folder / "anywidget.js")
    return folder


def _anywidget_front_end() -> Path:
    found = importlib.util.find_spec("anywidget")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "nbextension" / "index.js"


@dataclass(frozen=True, slots=True)
class PageCell:
    """Code that was run on the page, and the widgets that it showed."""

    owner: WidgetPage
    index: int

    def wait(self, seconds: float = 60) -> PageCell:
        """Wait until it has ended and its widgets are drawn.

        Args:
            seconds: After which it is an error.

        Raises:
            RuntimeError: It did not end; the text tells its outputs and the state of the kernel.
        """
        with explaining(self.owner, lambda: f"outputs: {self.text!r} {self.errors}"):
            self.owner.call("wait", self.index, seconds)
        return self

    @property
    def text(self) -> str:
        """What it printed, and its plain result."""
        return str(self.owner.call("result", self.index)["text"])

    @property
    def errors(self) -> list[str]:
        """What it raised, as `NameError: …`."""
        return list(self.owner.call("result", self.index)["errors"])

    @property
    def views(self) -> list[str]:
        """The ids of the widget models that it showed."""
        return list(self.owner.call("result", self.index)["views"])

    @property
    def area(self) -> Locator:
        """Its element on the page."""
        return self.owner.page.locator(f'section[data-cell="{self.index}"]')


class WidgetPage:
    """The page in a tab of its own, with a kernel of its own.

    Args:
        server: Whose kernel; it has to serve what `build_page` returned.
        browser: Where the tab is opened.
        kernel: One of `ALL_KERNELS`.
        kernel_id: A running kernel to join instead of starting one.
    """

    def __init__(
        self,
        server: LabServer,
        browser: Browser,
        *,
        kernel: str = NEWEST,
        kernel_id: str | None = None,
    ) -> None:
        self.server = server
        self.tab: Tab = new_tab(browser)
        self.kernel = kernel
        self.kernel_id = kernel_id
        self.load()

    @property
    def page(self) -> Page:
        """Playwright's page."""
        return self.tab.page

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of page.js."""
        call = "([name, rest]) => window.harness[name](...rest)"
        return self.page.evaluate(call, [function, list(arguments)])

    def load(self) -> None:
        """Load the page anew; the kernel and its widgets stay, and nothing is shown yet."""
        self.page.goto(f"{self.server.url}/static/index.html")
        target = {"address": f"{self.server.url}/", "name": self.kernel, "id": self.kernel_id}
        is_new = self.kernel_id is None
        self.kernel_id = self.call("connect", target)
        if is_new:
            prove(self)

    def start(self, source: str) -> PageCell:
        """Run code, not waiting for its end."""
        return PageCell(self, self.call("run", source))

    def run(self, source: str, seconds: float = 60) -> PageCell:
        """Run code and wait for its end."""
        return self.start(source).wait(seconds)

    def show(self, view: str) -> PageCell:
        """Draw one more view of a widget, by the id of its model."""
        return PageCell(self, self.call("show", view))

    def interrupt(self) -> None:
        """Interrupt the kernel."""
        self.call("interrupt")

    def close(self, *, shutdown: bool = True) -> None:
        """Close the tab.

        Args:
            shutdown: Whether the kernel ends too.
        """
        if shutdown:
            self.call("shutdown")
        self.page.context.close()
