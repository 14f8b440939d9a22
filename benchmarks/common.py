"""What the benchmarks share: judging measures, and a comm that records what it is sent."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import comm
from comm.base_comm import BaseComm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that a script finds the drivers in `tests.lab`


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure and its goal."""

    name: str
    value: float
    goal: float
    least: bool = False
    """Whether the goal is the least value that will do, not the most."""

    @property
    def strain(self) -> float:
        """How much of the goal is used up; above 1 it is missed."""
        if not self.least:
            return self.value / self.goal
        return self.goal / self.value if self.value else float("inf")

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g} {self.goal:g}"


def judge(measures: Iterable[Measure]) -> None:
    """Print each measure as `name value goal`, the tightest one last; exit with 1 if one is missed."""
    ordered = sorted(measures, key=lambda measure: measure.strain)
    for measure in ordered:
        print(measure)
    sys.exit(1 if ordered[-1].strain > 1 else 0)


def median_ratio(above: Iterable[float], below: Iterable[float]) -> float:
    """Give the median of the ratios of figures that were measured in turns."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


@dataclass
class Recorder:
    """The bytes that widgets of this process send, where no kernel is there to carry them."""

    bytes: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)

    def install(self) -> None:
        """Make every widget from now on send here."""
        comm.create_comm = lambda **options: _RecordingComm(self, **options)

    def clear(self) -> None:
        """Forget what was sent."""
        self.bytes = 0
        self.messages = []

    @property
    def ops(self) -> list[Any]:
        """Every operation that a page would have carried out."""
        return [op for message in self.messages for op in message.get("ops", ())]


def show(chat: Any) -> None:
    """Let a page say that it shows the chat, as a live one does: it then takes patches."""
    state = chat.snapshot()
    said = {"id": "view", "chat": state["chat"], "boot": state["boot"], "command": "view"}
    said_by_page = {"data": {"method": "custom", "content": said}}
    chat.comm.handle_msg({"content": said_by_page, "buffers": []})


def wait_until_sent(chat: Any) -> None:
    """Wait until the page has all that there is, on however busy a machine."""
    while True:
        time.sleep(0.15)
        if not chat._bridge.dirty:
            return


class _RecordingComm(BaseComm):
    def __init__(self, recorder: Recorder, **options: Any) -> None:
        self._recorder = recorder
        super().__init__(**options)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        content = {"comm_id": self.comm_id, "data": data}
        self._recorder.bytes += len(json.dumps([msg_type, content, metadata]).encode())
        if data is not None and data.get("method") == "custom":
            self._recorder.messages.append(data["content"])
