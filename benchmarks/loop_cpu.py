"""CPU of the whole Python side, as a multiple of a bare loop over the same stream.

From the bytes of the HTTP connection to the bytes for the page: decoding, events, reducing, planning,
tools, patches. Both loops run on the same thread of the same process, in turns; the figure is the
median of the ratios of their CPU times.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bare_loop import BareLoop
from common import Measure, Recorder, judge, median_ratio, show, wait_until_sent
from model_server import arguments, serve, text

import nbtools as nb
from nbtools.executors import engine
from nbtools.messages import Conversation, Message, Text, ToolCall


@dataclass(frozen=True)
class Case:
    """One stream, and how often both loops read it."""

    model: str
    goal: float
    runs: int


CASES = (
    Case("text-200", 1.6, 41),
    Case("text-2000", 1.35, 21),
    Case("text-20000", 1.35, 7),
    Case("arguments-2000", 1.6, 21),
    Case("arguments-8000", 1.6, 9),
    Case("rounds-10x3", 1.75, 61),
)
PACED = "text-2000@1000"
EARLIER = 200
GROWTHS = (
    ("text growth x10", "text-20000", "text-2000", 10.5),
    ("arguments growth x4", "arguments-8000", "arguments-2000", 4.3),
)


class Tools:
    """What the model calls, and what it was called with."""

    def __init__(self) -> None:
        self.saved: dict[str, object] = {}
        self.keys: list[str] = []

    def save(self, path: str, content: str, rows: list[dict[str, object]]) -> str:
        """Save a report.

        Args:
            path: Where.
            content: The text.
            rows: The table.
        """
        self.saved = {"path": path, "content": content, "rows": rows}
        return "saved"

    def lookup(self, key: str) -> str:
        """Look a key up.

        Args:
            key: The key.
        """
        self.keys.append(key)
        return f"value of {key}"

    def change(self, key: str) -> str:
        """Change what a key holds.

        Args:
            key: The key.
        """
        self.keys.append(key)
        return f"changed {key}"


class Contest:
    """The two loops, each with its own warm connection.

    Args:
        base_url: Where the server is.
        asking: Whether there is also a tool that asks, and a rule that allows it.
    """

    def __init__(self, base_url: str, *, asking: bool = False) -> None:
        self.recorder = Recorder()
        self.recorder.install()
        self.tools = Tools()
        self.provider = nb.OpenAI("warm", base_url=base_url, api_key="")
        self._asking = asking
        self._described = [nb.tool(self.tools.save), nb.tool(self.tools.lookup)]
        if asking:
            self._described.append(nb.tool(self.tools.change, approval=True))
        functions = {tool.name: getattr(self.tools, tool.name) for tool in self._described}
        described = [_for_server(tool) for tool in self._described]

        async def make() -> BareLoop:
            return BareLoop(base_url, described, functions)

        self.bare = engine().submit(make()).result()

    def bare_cpu(self, model: str) -> float:
        """Ask through the bare loop; give the CPU seconds."""
        ask = self.bare.ask(model, "Go on.")
        return self._timed(model, lambda: engine().submit(ask).result())

    def chat_cpu(self, model: str, earlier: int = 0) -> float:
        """Ask through a chat as a user builds it; give the CPU seconds until all was sent.

        Args:
            model: What the server answers.
            earlier: Messages that the chat has already.
        """
        self.provider.model = model
        chat = nb.Chat(
            self.provider,
            tools=self._described,
            max_roundtrips=10,
            conversation=_history(earlier),
        )
        show(chat)
        if self._asking:
            chat.rules.allow("change")
            wait_until_sent(chat)  # else its patch delays the first one of the answer
        self.recorder.clear()

        def ask() -> str:
            turn = chat.send("Go on.")
            turn.rested.result()
            wait_until_sent(chat)
            return turn.text

        cpu = self._timed(model, ask)
        _check_page(self.recorder, model)
        assert _ruled(chat) == (15 if self._asking else 0)
        chat.close()
        return cpu

    def close(self) -> None:
        """Close the connections."""
        engine().submit(self.bare.close()).result()
        engine().submit(self.provider.close()).result()

    def _timed(self, model: str, ask: Callable[[], str]) -> float:
        self.tools.keys.clear()
        gc.collect()
        begun = time.process_time()
        said = ask()
        cpu = time.process_time() - begun
        kind, _, size = model.partition("@")[0].partition("-")
        if kind == "text":
            assert said == text(int(size))
        elif kind == "arguments":
            assert self.tools.saved == arguments(int(size))
        else:
            assert len(self.tools.keys) == 30
        return cpu


def _check_page(recorder: Recorder, model: str) -> None:
    """Make sure that the page was sent everything: the measured work was really done."""
    ops = recorder.ops
    said = [op[1]["status"] for op in ops if op[0] == "set" and "status" in op[1]]
    assert said[-1:] in ([], ["ready"])  # a turn within one flush never looks like running
    if model.startswith("text-"):
        sent = [part["text"] for op in ops if op[0] == "message" for part in op[1]["parts"]]
        sent += [op[2]["text"] for op in ops if op[0] == "part"]
        sent += [op[3] for op in ops if op[0] == "append"]
        assert "".join(sent) == "Go on." + text(int(model[5:].partition("@")[0]))


def _ruled(chat: nb.Chat) -> int:
    """Count the calls that a rule let run."""
    parts = [part for message in chat.messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    return sum(call.decision is not None and call.decision.by == "rule" for call in calls)


def _history(length: int) -> Conversation:
    parts = [(Text(id=f"t{n}", text=f"Number {n} of these. " * 12),) for n in range(length)]
    return Conversation(
        messages=tuple(
            Message(id=f"h{n}", role="assistant", finish="stop", parts=part)
            if n % 2
            else Message(id=f"h{n}", role="user", parts=part)
            for n, part in enumerate(parts)
        )
    )


def _for_server(tool: nb.Tool) -> dict[str, object]:
    described = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": described}


def contend(contest: Contest, case: Case) -> tuple[list[float], float]:
    """Let both loops read one stream, in turns.

    Returns:
        The CPU seconds of each turn of the chat, and the median of their ratios to the bare loop's.
    """
    contest.bare_cpu(case.model), contest.chat_cpu(case.model)
    pairs = [(contest.chat_cpu(case.model), contest.bare_cpu(case.model)) for _ in range(case.runs)]
    chat, bare = zip(*pairs, strict=True)
    ratio = median_ratio(chat, bare)
    print(f"{case.model}: bare {statistics.median(bare) * 1e3:.1f} ms of CPU, {ratio:.2f} x")
    return list(chat), ratio


def measure(contest: Contest) -> list[Measure]:
    """Let both loops read every stream, in turns."""
    chats: dict[str, list[float]] = {}
    measures = []
    for case in CASES:
        chats[case.model], ratio = contend(contest, case)
        measures.append(Measure(name=f"loop_cpu {case.model}", value=ratio, goal=case.goal))
    pairs = [(contest.chat_cpu(PACED, EARLIER), contest.chat_cpu(PACED)) for _ in range(7)]
    longer = median_ratio(*zip(*pairs, strict=True))
    measures.append(Measure(name=f"loop_cpu after {EARLIER} messages", value=longer, goal=1.1))
    for name, more, less, goal in GROWTHS:
        growth = statistics.median(chats[more]) / statistics.median(chats[less])
        measures.append(Measure(name=f"loop_cpu {name}", value=growth, goal=goal))
    return measures


def main() -> None:
    with serve() as base_url:
        contest = Contest(base_url)
        measures = measure(contest)
        contest.close()
    judge(measures)


if __name__ == "__main__":
    main()
