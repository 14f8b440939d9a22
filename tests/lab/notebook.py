"""One notebook in a real JupyterLab or Notebook 7, driven as a person drives it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Locator, Page

from tests.lab.browser import Tab, new_tab
from tests.lab.proof import explaining, prove, prove_restarted
from tests.lab.server import LabServer

IN_LAB = Path(__file__).with_name("in_lab.js")
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
Application = Literal["lab", "notebook"]
ADDRESSES = {"lab": "doc/tree", "notebook": "notebooks"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell that was started."""

    notebook: Notebook
    index: int

    def wait(self, seconds: float = 60) -> Cell:
        """Wait until it has ended, as its own prompt would show.

        Args:
            seconds: After which it is an error.

        Raises:
            RuntimeError: It did not end; the text tells its outputs and the state of the kernel.
        """
        with explaining(self.notebook, lambda: f"outputs: {self.text!r}"):
            self.notebook.call("wait", self.index, seconds)
        return self

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Its outputs as the notebook file would hold them."""
        outputs: list[dict[str, Any]] = self.notebook.call("outputs", self.index)
        return outputs

    @property
    def text(self) -> str:
        """Streams, plain results and errors (`NameError: …`), joined."""
        return "".join(_plain(output) for output in self.outputs)

    @property
    def area(self) -> Locator:
        """Its element on the page, scrolled into view."""
        self.notebook.call("markCell", self.index)
        mark = json.dumps(f"{self.notebook.path}:{self.index}")
        return self.notebook.page.locator(f"[data-harness-cell={mark}]")


class Notebook:
    """A notebook that is open in a tab.

    Args:
        server: Whose notebook.
        tab: Where it is open.
        path: As the server knows it.
        application: JupyterLab or Notebook 7.
        kernel: Whether it has one; without, it shows what was saved.
    """

    def __init__(
        self,
        server: LabServer,
        tab: Tab,
        path: str,
        *,
        application: Application = "lab",
        kernel: bool = True,
    ) -> None:
        self.server = server
        self.tab = tab
        self.path = path
        self._application = application
        self._kernel = kernel
        self._is_unproved = kernel

    @property
    def page(self) -> Page:
        """Playwright's page."""
        return self.tab.page

    @property
    def file(self) -> dict[str, Any]:
        """The notebook as it lies on the disk; `save` first."""
        content: dict[str, Any] = json.loads((self.server.notebooks / self.path).read_text())
        return content

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of in_lab.js for this notebook."""
        call = "([name, rest]) => window.harness[name](...rest)"
        return self.page.evaluate(call, [function, [self.path, *arguments]])

    def load(self) -> None:
        """Load the page anew, as the browser's reload button does."""
        address = f"{self.server.url}/{ADDRESSES[self._application]}/{self.path}"
        self.page.goto("about:blank")
        self.page.goto(address)
        self.call("ready", self._kernel, not self._is_unproved)
        self._prove_once()

    def open_beside(self) -> None:
        """Open it in the JupyterLab that the tab shows, which is loaded first if need be."""
        if not self.page.url.startswith(self.server.url):
            self.page.goto(f"{self.server.url}/lab")
        self.call("open", self._kernel, not self._is_unproved)
        self._prove_once()

    def _prove_once(self) -> None:
        if self._is_unproved:
            prove(self)
        self._is_unproved = False

    def start(self, source: str) -> Cell:
        """Add a cell and start it, not waiting for its end."""
        return self.start_cell(self.call("addCell", source))

    def run(self, source: str, seconds: float = 60) -> Cell:
        """Add a cell, run it and wait for its end."""
        return self.start(source).wait(seconds)

    def start_cell(self, index: int) -> Cell:
        """Start a cell that is there."""
        self.call("run", index)
        return Cell(self, index)

    def run_cell(self, index: int, seconds: float = 60) -> Cell:
        """Run a cell that is there and wait for its end."""
        return self.start_cell(index).wait(seconds)

    def cell(self, index: int) -> Cell:
        """Return a cell without running it."""
        return Cell(self, index)

    def save(self) -> None:
        """Save the file."""
        self.call("save")

    def interrupt(self) -> None:
        """Press the kernel's interrupt button."""
        self.call("interrupt")

    def toggle_saved_widgets(self) -> None:
        """Turn saving the state of widgets with the notebook on, or off again."""
        self.command("@jupyter-widgets/jupyterlab-manager:saveWidgetState")

    def restart(self) -> None:
        """Restart the kernel and wait until it answers."""
        self.call("restart")
        prove_restarted(self)

    @property
    def status(self) -> str:
        """The kernel's status: idle, busy, …, or none."""
        status: str = self.call("status")
        return status

    def command(self, name: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Execute a command of the application, with this notebook in front."""
        self.call("command", name, arguments)

    def view_output(self, cell: Cell) -> Locator:
        """Open a second view of a cell's output, in a panel of its own; return the panel."""
        cell.area.locator(".jp-InputArea-prompt").click()
        self.command("notebook:create-output-view")
        return self.page.locator(".jp-LinkedOutputView").last

    def in_another_tab(self, browser: Browser) -> Notebook:
        """Open the same notebook, on the same kernel, in a second tab of the browser."""
        other = Notebook(
            self.server, prepared_tab(browser), self.path, application=self._application
        )
        other._is_unproved = False  # it may be busy
        other.load()
        return other

    def set_theme(self, theme: Literal["light", "dark"]) -> None:
        """Change the theme of the application."""
        call = "name => window.harness.setTheme(name)"
        self.page.evaluate(call, THEMES[theme])

    def set_viewport(self, width: int, height: int = 1000) -> None:
        """Change the size of the window, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": height})

    def close(self) -> None:
        """Shut the kernel down and close the notebook; the tab stays."""
        self.call("close")


def prepared_tab(browser: Browser) -> Tab:
    """Open a tab in which in_lab.js is at hand."""
    tab = new_tab(browser)
    tab.page.add_init_script(path=IN_LAB)
    return tab


def _plain(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    text = output["text"] if output["output_type"] == "stream" else output["data"].get("text/plain")
    return "".join(text or "")
