"""A JupyterLab with a browser for the benchmarks, and what its page receives from the kernel."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import common  # noqa: F401 - it makes the tests importable
from playwright.sync_api import sync_playwright

from tests.lab.browser import launch
from tests.lab.notebook import Notebook, prepared_tab
from tests.lab.server import LabServer


@contextmanager
def open_notebook() -> Iterator[Notebook]:
    """Open an empty notebook in a JupyterLab of its own, with the server's default limits."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder) / "server") as server,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        notebook = Notebook(server, prepared_tab(browser), server.write_notebook())
        notebook.open_beside()
        yield notebook
        notebook.close()
        browser.close()


@dataclass(frozen=True, kw_only=True)
class Received:
    """One message of the kernel, as it arrived at the page."""

    kind: str
    sent: float
    """When the kernel wrote it, in seconds since 1970."""
    size: int
    """Bytes of the whole frame."""
    content: dict[str, Any]

    @property
    def ops(self) -> list[Any]:
        """The operations of a patch."""
        data = self.content.get("data", {})
        return list(data.get("content", {}).get("ops", ())) if "content" in data else []


def read(frames: Iterable[str | bytes]) -> list[Received]:
    """Read the frames of a kernel's web socket (v1.kernel.websocket.jupyter.org)."""
    return [_read(frame) for frame in frames if isinstance(frame, bytes)]


def _read(frame: bytes) -> Received:
    count = int.from_bytes(frame[:8], "little")
    places = [int.from_bytes(frame[at : at + 8], "little") for at in range(8, 8 * count + 8, 8)]
    header = json.loads(frame[places[1] : places[2]])
    return Received(
        kind=header["msg_type"],
        sent=datetime.fromisoformat(header["date"]).timestamp(),
        size=len(frame),
        content=json.loads(frame[places[4] : places[5]]),
    )
