"""A real kernel without any front end: what a notebook would send, and what it would get."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any, Self

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.lab.kernels import NEWEST, interpreter

START_TIMEOUT = 60.0
POLL = 0.05  # seconds


@dataclass
class Reply:
    """What came back from one piece of code."""

    text: str = ""
    """Streams, plain results and errors (`NameError: …`), joined."""
    displays: list[dict[str, Any]] = field(default_factory=list)
    """MIME bundles of results and displays."""
    failed: bool = False
    """Whether it raised."""
    done: bool = False
    """Whether it has ended."""


@dataclass(frozen=True)
class CommMessage:
    """One message of a widget to its front end."""

    kind: str
    """comm_open, comm_msg or comm_close."""
    comm: str
    data: dict[str, Any]
    buffers: list[bytes]
    time: float
    """When it arrived, in seconds of `time.monotonic`."""


class Kernel:
    """A kernel of its own; use it in a `with` statement.

    Args:
        kernel: One of `ALL_KERNELS`.
        folder: Where it runs.
        answer: What to type when the code asks (`input()`); without it nobody is there to ask.
    """

    def __init__(
        self,
        kernel: str = NEWEST,
        *,
        folder: Path | None = None,
        answer: Callable[[str], str] | None = None,
    ) -> None:
        self._manager = KernelManager(kernel_name=NEWEST)
        command = [str(interpreter(kernel)), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        assert self._manager.kernel_spec is not None
        self._manager.kernel_spec.argv = command
        self._folder = folder
        self._answer = answer
        self._replies: dict[str, Reply] = {}
        self._client: BlockingKernelClient | None = None
        self.comms: list[CommMessage] = []

    def __enter__(self) -> Self:
        options = {"cwd": str(self._folder)} if self._folder else {}
        self._manager.start_kernel(**options)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_TIMEOUT)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()

    @property
    def client(self) -> BlockingKernelClient:
        """The client of jupyter_client."""
        assert self._client is not None
        return self._client

    def start(self, code: str) -> str:
        """Send code; return the id under which `finish` waits for it."""
        message: str = self.client.execute(code, allow_stdin=self._answer is not None)
        self._replies[message] = Reply()
        return message

    def finish(self, message: str, seconds: float = 60) -> Reply:
        """Wait until some code has ended and all it published has come.

        Args:
            message: What `start` returned.
            seconds: After which it is an error.
        """
        reply = self._replies[message]
        self.pump(lambda: reply.done, seconds)
        return reply

    def run(self, code: str, seconds: float = 60) -> Reply:
        """Run code and wait for its end."""
        return self.finish(self.start(code), seconds)

    def text(self, message: str) -> str:
        """Return what some code has printed so far; `pump` takes in more."""
        return self._replies[message].text

    def pump(self, until: Callable[[], bool], seconds: float = 60) -> None:
        """Take in what the kernel sends until something holds.

        Args:
            until: Asked after each message.
            seconds: After which it is an error.
        """
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                raise TimeoutError(f"Not within {seconds} s.")
            self._take_question()
            try:
                self._take(self.client.get_iopub_msg(timeout=POLL))
            except Empty:
                continue

    def send(self, comm: str, content: dict[str, Any]) -> None:
        """Send a custom message to a widget, as its front end would."""
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        self.client.shell_channel.send(message)

    def interrupt(self) -> None:
        """Interrupt what runs, as the button does."""
        self._manager.interrupt_kernel()

    def _take_question(self) -> None:
        if self._answer is None or not self.client.stdin_channel.msg_ready():
            return
        question = self.client.get_stdin_msg(timeout=1)
        self.client.input(self._answer(question["content"]["prompt"]))

    def _take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind.startswith("comm_"):
            data, buffers = content["data"], [bytes(each) for each in message["buffers"]]
            comm = content["comm_id"]
            self.comms.append(CommMessage(kind, comm, data, buffers, time.monotonic()))
        reply = self._replies.get(message["parent_header"].get("msg_id", ""))
        if reply is not None:
            _add(reply, kind, content)


def _add(reply: Reply, kind: str, content: dict[str, Any]) -> None:
    if kind == "stream":
        reply.text += content["text"]
    elif kind == "error":
        reply.text += f"{content['ename']}: {content['evalue']}"
        reply.failed = True
    elif kind in {"display_data", "execute_result"}:
        reply.displays.append(content["data"])
        reply.text += content["data"].get("text/plain", "") if kind == "execute_result" else ""
    elif kind == "status" and content["execution_state"] == "idle":
        reply.done = True
