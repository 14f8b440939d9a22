"""Whether a new kernel answers at all, and what is said of one that does not.

Twice, on a new machine and on a busy one, a kernel of ipykernel 7.3 that had just started was deaf,
before anything of ours ran in it: one told about itself and never ended its very first cell, the
other did not even tell. The cause was not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from playwright.sync_api import Error

from tests.lab.server import LabServer

ANSWERED_WITHIN = 20.0
"""Seconds that a new kernel has for its first request, once it has told about itself."""
LOG_LINES = 30
"""Last lines that are shown of the server's log."""
DEAF_KERNELS: list[str] = []
"""What was said of each kernel that was restarted; the summary of a run has it all."""


class Owner(Protocol):
    """What has a kernel: a notebook, or the test page."""

    server: LabServer

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of its script."""


def prove(owner: Owner, first: float = ANSWERED_WITHIN, second: float = ANSWERED_WITHIN) -> None:
    """Have a new kernel answer one request; restart it once if it does not, as a person would.

    Only for a kernel in which nothing ran yet: one that is busy does not answer either.

    Args:
        owner: Whose kernel.
        first: Seconds until it is restarted.
        second: Seconds that it has after that.

    Raises:
        RuntimeError: It did not answer then either; the text tells its state.
    """
    try:
        owner.call("prove", first)
    except Error as error:
        said = explained(owner, error, "This was its first request, so it is restarted.")
        DEAF_KERNELS.append(str(said))
        owner.call("restart")
        prove_restarted(owner, second)


def prove_restarted(owner: Owner, seconds: float = ANSWERED_WITHIN) -> None:
    """Have a kernel answer one request after a restart.

    Args:
        owner: Whose kernel.
        seconds: After which it is an error.

    Raises:
        RuntimeError: It did not answer; the text tells its state.
    """
    try:
        owner.call("prove", seconds)
    except Error as error:
        what = "This was its first request after a restart."
        raise explained(owner, error, what) from error


def explained(owner: Owner, error: Error, what: str) -> RuntimeError:
    """Return an error of the page with what else is known of its kernel.

    Args:
        owner: Whose kernel.
        error: What the page said.
        what: What was under way.
    """
    said = error.message.partition("\n    at ")[0]  # the rest is where in our script
    log = owner.server.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    status = f"kernel: {owner.call('status')}"
    return RuntimeError("\n".join([said, what, status, "end of the server's log:", *log]))


@contextmanager
def explaining(owner: Owner, what: Callable[[], str]) -> Iterator[None]:
    """Let an error say more where something does not happen in time.

    Args:
        owner: Whose kernel.
        what: Tells what was under way.

    Raises:
        RuntimeError: It did not happen; the text tells the state of the kernel.
    """
    try:
        yield
    except Error as error:
        if "not within" not in error.message:  # the page itself may be gone
            raise
        raise explained(owner, error, what()) from error
