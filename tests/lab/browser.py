"""A real Chromium, and what can be observed of a page from outside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Playwright, ViewportSize, WebSocket

SHOTS = Path(__file__).resolve().parents[1] / "shots"
VIEWPORT: ViewportSize = {"width": 1200, "height": 1000}
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def launch(playwright: Playwright) -> Browser:
    """Start the Chromium of this machine.

    Args:
        playwright: A running playwright.

    Raises:
        FileNotFoundError: There is none.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        raise FileNotFoundError("There is no Chromium here: run `scripts/test --prepare` once.")
    return playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))


@dataclass  # no slots: playwright keeps its wrappers on the owner of a handler
class Traffic:
    """What went over a page's web sockets since `reset`."""

    sent_messages: int = 0
    sent_bytes: int = 0
    received_messages: int = 0
    received_bytes: int = 0
    frames: list[str | bytes] | None = None
    """The frames received, while it is a list."""

    def reset(self) -> None:
        """Begin to count anew."""
        self.sent_messages = self.sent_bytes = 0
        self.received_messages = self.received_bytes = 0

    def watch(self, socket: WebSocket) -> None:
        """Count the frames of one web socket."""
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: str | bytes) -> None:
        self.sent_messages += 1
        self.sent_bytes += len(frame)

    def _received(self, frame: str | bytes) -> None:
        self.received_messages += 1
        self.received_bytes += len(frame)
        if self.frames is not None:
            self.frames.append(frame)


@dataclass(slots=True)
class Tab:
    """A page of the browser with its console and its traffic."""

    page: Page
    console: list[str] = field(default_factory=list)
    """Messages as `type: text`, errors as `pageerror: text`."""
    traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self.page.on("console", lambda entry: self.console.append(f"{entry.type}: {entry.text}"))
        self.page.on("pageerror", lambda error: self.console.append(f"pageerror: {error}"))
        self.page.on("websocket", self.traffic.watch)

    @property
    def errors(self) -> list[str]:
        """Uncaught errors of the page's scripts."""
        return [entry for entry in self.console if entry.startswith("pageerror: ")]


def new_tab(browser: Browser, **options: Any) -> Tab:
    """Open an empty page in a browser context of its own.

    Args:
        browser: Where.
        options: Of playwright's `new_context`.
    """
    context = browser.new_context(**{"viewport": VIEWPORT, **options})
    context.set_default_timeout(20_000)
    return Tab(context.new_page())


def shoot(subject: Page | Locator, name: str) -> Path:
    """Take a screenshot for a person to look at.

    Args:
        subject: A page, or a part of one.
        name: File name without its ending.

    Returns:
        The PNG under tests/shots/.
    """
    SHOTS.mkdir(exist_ok=True)
    target = SHOTS / f"{name}.png"
    subject.screenshot(path=target)
    return target
