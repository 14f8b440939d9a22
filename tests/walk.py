"""A world in which anything may happen to one conversation: a model, tools, two windows, a kernel.

Everything is real but the clock, which jumps. What somebody had no right to is written down in
`World.wrong`; `test_properties` says what happens, and looks whether the rules hold.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import nbtools as nb
from nbtools import planner, storage
from nbtools.events import (
    CallStarted,
    Event,
    MessageAdded,
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFinish,
    ModelText,
)
from nbtools.face.keeping import fingerprints
from nbtools.messages import FINAL, Conversation, Job, Message, Notice, Request, ToolCall
from nbtools.providers import Provider
from nbtools.tools import ToolContext
from tests.page_copy import PageCopy
from tests.stage import JumpingLoop, Page, problem_of

T = TypeVar("T")

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
GUARDED = ("pay", "wipe", "later")
"""The tools that ask."""


_ENDS_OF_OPEN = {"running": "interrupted", "streaming": "incomplete"}


class Teller(Provider):
    """A model that says what it is told to, piece by piece, and is strict about what it is asked."""

    label = "teller"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.refused: list[str] = []
        self.unsaid: list[ModelEvent] = []
        self.is_deaf = False
        """Whether it speaks on when it is stopped next."""
        self._pieces: asyncio.Queue[list[ModelEvent] | BaseException | None] | None = None

    async def stream(self, request: Request, **_: Any) -> AsyncGenerator[list[ModelEvent]]:
        self.requests.append(request)
        self.refused += filter(None, [problem_of(request)])
        self.unsaid = []
        own: asyncio.Queue[list[ModelEvent] | BaseException | None] = asyncio.Queue()
        self._pieces = own
        try:
            while (piece := await own.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        except asyncio.CancelledError:
            if not self.is_deaf:
                raise
            self.is_deaf = False
            yield [ModelText("And then: "), ModelCall(object(), "", "pay"), ModelFinish("stop")]
        finally:
            if self._pieces is own:
                self._pieces = None

    @property
    def speaks(self) -> bool:
        """Whether it was asked and has not ended."""
        return self._pieces is not None

    def say(self, *events: ModelEvent) -> None:
        """Say something, after what was left unsaid."""
        assert self._pieces is not None
        self._pieces.put_nowait([*self.unsaid, *events])
        self.unsaid = []

    def call(self, name: str, call_id: str, args: str, *, half: bool = False) -> None:
        """Make a call, of which the second half may be left unsaid."""
        key = object()
        middle = len(args) // 2 if half else len(args)
        self.say(ModelCall(key, call_id, name), ModelArgs(key, args[:middle]))
        self.unsaid = [ModelArgs(key, args[middle:])] if half else []

    def end(self, error: BaseException | None = None) -> None:
        """End the stream, or let it fail."""
        assert self._pieces is not None
        self._pieces.put_nowait(error)

    def forget(self) -> None:
        """Take note that the program that asked is gone."""
        self._pieces = None


class Window:
    """One view of the conversation, on a page of its own that may lag behind."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.copy = PageCopy(snapshot)
        self.inbox: list[dict[str, Any]] = []
        self.slow = False
        self.loses = 0
        """How many of the next messages get lost on the way."""
        self.is_unaware = False
        """Whether the last patch was lost: it hears of that with the next one."""

    def send(self, message: dict[str, Any]) -> None:
        """Let a message arrive, or get lost."""
        if "seq" in message or "state" in message:
            self.is_unaware = bool(self.loses)
        if self.loses:
            self.loses -= 1
        else:
            self.inbox.append(message)

    def receive(self) -> None:
        """Take everything that has arrived."""
        inbox, self.inbox = self.inbox, []
        for message in inbox:
            self.copy.receive(message)

    @property
    def has_to_look(self) -> bool:
        """Whether something has arrived that it would look at now."""
        return not self.slow and bool(self.inbox or self.copy.behind)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls that it shows; those that wait for a person come first."""
        parts = [part for message in self.copy.messages for part in message.get("parts", ())]
        shown = [part for part in parts if part["type"] == "tool-call"]
        return sorted(shown, key=lambda part: not part.get("waiting"))

    @property
    def message_ids(self) -> list[str]:
        return [message["id"] for message in self.copy.messages]


class WatchedPage(Page):
    """A page whose messages go to several windows, and every state of which is kept."""

    windows: list[Window]

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.windows = []
        super().__init__(*args, **settings)
        self.states = {self.copy.seq: self.copy.state}
        self.windows = [Window(dict(self.bridge.snapshot())) for _ in range(2)]

    def _take(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        super()._take(message, buffers)
        self.states[self.copy.seq] = self.copy.state
        for window in self.windows:
            window.send(message)


class Faults(logging.Handler):
    """Hears of what nbtools itself logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []
        self._logger = logging.getLogger("nbtools")
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.ERROR)
        self._logger.propagate = False  # a walk is refused much, and all of that would be kept
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))

    def stop(self) -> None:
        self._logger.removeHandler(self)
        level, self._logger.propagate = self._before
        self._logger.setLevel(level)


class World:
    """One conversation, and what becomes of it.

    Args:
        settings: Those of `nbtools.runner.Settings`.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.model = Teller()
        self.gates: list[asyncio.Future[object]] = []
        self.approved: dict[str, dict[str, Any]] = {}
        self.entered: Counter[str] = Counter()
        self.started: Counter[str] = Counter()
        self.finals: dict[str, ToolCall] = {}
        self.commands: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.wrong: list[str] = []
        self.asked = 0
        """How many requests had gone out when a person or a job last asked for an answer."""
        self._faults = Faults()
        self._folder = tempfile.TemporaryDirectory()
        self._file = Path(self._folder.name) / "chat.json"
        self._ids = itertools.count(1)
        self._boots = itertools.count(1)
        self._begin(Conversation())

    def _begin(self, conversation: Conversation) -> None:
        self.loop = JumpingLoop()
        self.loop.set_exception_handler(lambda _, context: self.wrong.append(str(context)))
        self.boot = f"boot-{next(self._boots)}"

        async def open_page() -> WatchedPage:
            return WatchedPage(
                self.model,
                self._tools(),
                boot=self.boot,
                conversation=conversation,
                **self.settings,
            )

        self.page = self.loop.run_until_complete(open_page())
        self.session = self.page.session
        self.session.save = self._save
        self.session.subscribe(self._note)

    def _save(self, conversation: Conversation) -> None:
        storage.save(self._file, conversation, fingerprints(self.session.settings.tools))

    def _note(self, event: Event, _conversation: Conversation) -> None:
        if isinstance(event, CallStarted):
            self.started[event.call] += 1
        elif isinstance(event, MessageAdded) and _asks(event.message):
            self.asked = len(self.model.requests)

    @property
    def conversation(self) -> Conversation:
        return self.session.conversation

    @property
    def jobs(self) -> list[Job]:
        messages = self.conversation.messages
        return [part for message in messages for part in message.parts if isinstance(part, Job)]

    @property
    def open_gates(self) -> list[asyncio.Future[object]]:
        return [gate for gate in self.gates if not gate.done()]

    def expect(self, holds: bool, otherwise: str) -> None:
        """Write down what does not hold."""
        if not holds:
            self.wrong.append(otherwise)

    # --- what happens -------------------------------------------------------------------------

    def do(self, action: Callable[[], T], seconds: float = 1.0) -> T:
        """Do something, and let everything happen that needs nobody."""

        async def carried() -> T:
            done = action()
            await self._settle(seconds)
            return done

        return self._run(carried())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def _settle(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.page.flush()
        while hearing := [window for window in self.page.windows if window.has_to_look]:
            for window in hearing:
                window.receive()
                if window.copy.behind:  # what it asks for comes to every window, or gets lost
                    self.command("sync")
        self.wrong += self._faults.heard
        self._faults.heard.clear()

    def command(self, command: str, **fields: Any) -> dict[str, Any]:
        """Send a command from a window; return the answer."""
        head = {"id": f"w{next(self._ids)}", "chat": "chat", "boot": self.boot}
        payload = {**head, "command": command, **fields}
        answer = self.page.post(payload)
        self.commands.append((payload, answer))
        self.expect(answer.get("ack") == payload["id"], f"{payload} was not answered")
        return answer

    def restart(self, *, saved: bool) -> None:
        """Kill the kernel, and open the chat again from its file.

        Args:
            saved: Whether it was saved just before; else the file is what autosave made of it.
        """
        if saved:
            self._save(self.conversation)
        there = {call.id for call in calls_in(self.conversation)}
        self._kill()
        kept = self._loaded()
        begun = {
            call.id for call in calls_in(kept) if call.state in FINAL or call.waiting == "result"
        }
        self.expect(self.entered.keys() & there <= begun, "a call ran and the file does not say so")
        self._forget_all_but(calls_in(kept))
        asked, entered = len(self.model.requests), Counter(self.entered)
        self._begin(kept)
        self.do(self.session.take_up)
        self.expect(settled_or_waits(self.conversation), "something streams or runs after a load")
        self.expect(
            (asked, entered) == (len(self.model.requests), self.entered), "loading did something"
        )
        self.asked = len(self.model.requests)

    def _loaded(self) -> Conversation:
        """Read the file, and look what becomes of the calls that were open in it."""
        if not self._file.exists():
            return Conversation()
        before = {call.id: call for call in calls_in(storage.read(self._file).conversation)}
        kept = storage.load(self._file, fingerprints(self.session.settings.tools))
        for call in calls_in(kept):
            was = before[call.id]
            end = _ENDS_OF_OPEN.get(was.state, was.outcome)
            self.expect(call.outcome == end, f"{was} was loaded as {call}")
        return kept

    def _forget_all_but(self, calls: list[ToolCall]) -> None:
        """Forget calls that no file has: another one may get the same id."""
        self.finals = {call.id: call for call in calls if call.state in FINAL}
        self.started.clear()
        known = {call.id for call in calls}
        for gone in self.entered.keys() - known:
            del self.entered[gone]
        for gone in self.approved.keys() - known:
            del self.approved[gone]

    def _kill(self) -> None:
        """End everything at once; nothing that is said meanwhile reaches anybody."""
        self.session.save = None
        self.model.is_deaf = False
        entered, asked = Counter(self.entered), len(self.model.requests)
        while tasks := asyncio.all_tasks(self.loop):  # what ends may begin something else
            for task in tasks:
                task.cancel()
            self._run(_ended(tasks))
        self._run(self.loop.shutdown_asyncgens())
        self.model.forget()
        self.entered = entered
        del self.model.requests[asked:]
        self._faults.heard.clear()
        self.gates.clear()
        self.loop.close()

    def end(self) -> None:
        """Stop, and look whether everything ends."""
        self.do(self.session.close)
        for gate in self.open_gates:
            gate.cancel()
        self.do(lambda: None)
        self._kill()
        self._faults.stop()
        self._folder.cleanup()

    # --- its tools ------------------------------------------------------------------------------

    async def _gate(self) -> object:
        gate = asyncio.get_running_loop().create_future()
        self.gates.append(gate)
        given = await gate
        if isinstance(given, BaseException):
            raise given
        return given

    def _enter(self, context: ToolContext[Any], tool: str, n: int) -> None:
        """Write down what a body that was entered had no right to."""
        call = self.page.call(context.call_id)
        self.entered[call.id] += 1
        if call.state != "running" or call.args != {"n": n}:
            self.wrong.append(f"{tool}({n}) ran as {call}")
        by = call.decision.by if call.decision else ""
        if tool in GUARDED and by != "rule" and self.approved.get(call.id) != {"n": n}:
            self.wrong.append(f"{tool}({n}) ran without an approval of these arguments")

    def _tools(self) -> list[nb.Tool]:
        async def look(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "look", n)
            return [None, "seen", nb.PENDING][n % 3]

        async def wait(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "wait", n)
            ctx.progress(0.5, "half way")
            return await self._gate()

        async def ask(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "ask", n)
            return "declined" if await ctx.ask("Which?", SCHEMA) is None else "answered"

        async def pay(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "pay", n)
            return f"paid {n}"

        async def wipe(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "wipe", n)
            return await self._gate()

        async def fail(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "fail", n)
            raise ValueError

        async def job(n: int = 0) -> object:
            return await self._gate()

        return [
            nb.tool(job, background=True),
            nb.tool(job, name="more", background=True, on_done="continue"),
            nb.tool(look),
            nb.tool(wait),
            nb.tool(ask),
            nb.tool(pay, approval=True),
            nb.tool(wipe, destructive=True),
            nb.tool(fail),
            nb.Tool("person", "A person answers.", SCHEMA),
            nb.Tool("later", "A person approves and answers.", SCHEMA, approval=True),
        ]


def calls_in(conversation: Conversation) -> list[ToolCall]:
    parts = [part for message in conversation.messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolCall)]


def settled(conversation: Conversation) -> bool:
    """Whether no reply and no call is open."""
    return not any(map(planner.is_open, conversation.messages)) and not planner.open_calls(
        conversation
    )


def settled_or_waits(conversation: Conversation) -> bool:
    """Whether nothing streams or runs."""
    waits = all(call.state == "pending" for call in planner.open_calls(conversation))
    return waits and not any(map(planner.is_open, conversation.messages))


def _asks(message: Message) -> bool:
    """Whether a message tells of a job and wants the model to go on."""
    return any(isinstance(part, Notice) and part.asks for part in message.parts)


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
    for _turn in range(3):  # whoever hears of their end is called in one of the next turns
        await asyncio.sleep(0)
