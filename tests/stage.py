"""What the tests of the core share: a strict model, a session with its page, a clock that jumps."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import comm
import pytest
from comm.base_comm import BaseComm

import nbtools as nb
from nbtools.bridge import Bridge
from nbtools.errors import BadRequestError
from nbtools.events import ModelEvent
from nbtools.executors import Engine
from nbtools.messages import Conversation, Message, Request, Text, ToolCall
from nbtools.providers import OpenAI, Provider
from nbtools.publisher import Publisher
from nbtools.reducer import calls_of
from nbtools.runner import Settings
from nbtools.session import Session
from nbtools.testing import Reply, Scripted, encode
from nbtools.tools import collect
from tests.page_copy import PageCopy
from tests.servers import ModelServer, Queued, problem

T = TypeVar("T")


def problem_of(request: Request) -> str:
    """Why a strict server would refuse a request; "" if it would not."""
    if not request.messages or request.messages[0].role != "user":
        return "The first message is not the user's."
    body = encode(
        "openai-chat",
        request.messages,
        request.tools,
        system=request.system,
        choice=request.choice,
    )
    return problem(body)


class Strict(Scripted):
    """A scripted model that refuses what a strict server would refuse."""

    def __init__(self, *replies: Reply, label: str = "scripted") -> None:
        super().__init__(*replies, label=label)
        self.refused: list[str] = []

    async def stream(self, request: Request, **options: Any) -> AsyncGenerator[list[ModelEvent]]:
        wrong = problem_of(request)
        if wrong:
            self.refused.append(wrong)
            raise BadRequestError(wrong)
        async for events in super().stream(request, **options):
            yield events

    @property
    def told(self) -> list[str]:
        """What the last request said of the calls it held."""
        return [call.told for message in self.requests[-1].messages for call in calls_of(message)]


class Page:
    """A session with its bridge, and the copy that a page makes of what it is sent."""

    def __init__(
        self,
        model: Provider,
        tools: Any = (),
        *,
        boot: str = "boot",
        conversation: Conversation | None = None,
        **settings: Any,
    ) -> None:
        chosen = Settings(provider=model, tools=collect(tuple(tools)), **settings)
        self.session = Session(chosen, Engine(asyncio.get_running_loop()), conversation)
        self.boot = boot
        self.sent: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.bridge = Bridge(
            self.session,
            self._take,
            Publisher(asyncio.get_running_loop()),
            boot=boot,
            chat="chat",
            describe=lambda: {"model": {"label": model.label}},
        )
        self.copy = PageCopy(dict(self.bridge.snapshot()))
        self._ids = itertools.count(1)

    def _take(self, message: dict[str, Any], _buffers: list[bytes]) -> None:
        self.sent.append(message)
        self.times.append(asyncio.get_running_loop().time())
        self.copy.receive(message)

    def command(self, command: str, **fields: Any) -> dict[str, Any]:
        """Send a command as the page would; return Python's answer."""
        return self.post(
            {
                "id": f"c{next(self._ids)}",
                "chat": "chat",
                "boot": self.boot,
                "command": command,
                **fields,
            }
        )

    def post(self, payload: Any) -> dict[str, Any]:
        """Send anything; return Python's answer, {} where there is none."""
        self.bridge.receive(payload)
        wanted = payload.get("id") if isinstance(payload, dict) else None
        self.flush()
        acks = [ack for message in self.sent for ack in message.get("acks", ())]
        return next((ack for ack in reversed(acks) if ack["ack"] == wanted), {})

    def flush(self) -> None:
        """Let everything that waits reach the page."""
        while self.bridge.dirty:
            self.bridge.flush()

    @property
    def shown(self) -> dict[str, Any]:
        """What the page shows."""
        self.flush()
        return self.copy.state

    def approve(self, call: str, **fields: Any) -> dict[str, Any]:
        """Click Approve on a call as it is shown."""
        shown = {"approved": True, "digest": self.call(call).digest, **fields}
        return self.command("approve", call=call, **shown)

    def call(self, call_id: str) -> ToolCall:
        return next(call for call in self.calls if call.id == call_id)

    @property
    def calls(self) -> list[ToolCall]:
        messages = self.session.conversation.messages
        return [call for message in messages for call in calls_of(message)]

    @property
    def texts(self) -> list[str]:
        """All text of the conversation, in order."""
        return texts(self.session.conversation.messages)

    async def say(self, text: str) -> dict[str, Any]:
        """Type a message; wait for the rest; return Python's answer to the command."""
        answer = self.command("send", text=text)
        await self.session.rest()
        self.flush()
        return answer


async def until(page: Page, holds: Callable[[], object]) -> None:
    """Wait for the event after which something holds of a conversation."""
    changed = asyncio.Event()
    end = page.session.subscribe(lambda *_: changed.set())
    async with asyncio.timeout(20):
        while not holds():
            changed.clear()
            await changed.wait()
    end()


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [part.text for known in messages for part in known.parts if isinstance(part, Text)]


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to what is next, so that a second takes no time."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self._now = 0.0
        select = self._selector.select  # type: ignore[attr-defined]

        def jump(timeout: float | None = None) -> Any:
            if timeout:
                self._now += timeout
            return select(None if timeout is None else 0)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._now


def run_jumping(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that uses no threads; its waits take no time."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(work)


class RecordingComm(BaseComm):
    """A comm whose other side writes everything down."""

    made: list[RecordingComm]

    def __init__(self, **options: Any) -> None:
        self.traffic: list[tuple[str, Any, Any]] = []
        super().__init__(**options)
        type(self).made.append(self)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        self.traffic.append((msg_type, data, buffers))

    @property
    def custom(self) -> list[dict[str, Any]]:
        """The custom messages that were sent."""
        return [
            data["content"]
            for kind, data, _ in self.traffic
            if kind == "comm_msg" and data.get("method") == "custom"
        ]


Serve = Callable[..., tuple[Page, ModelServer]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Give a function that talks to a strict local server: `serve(*answers, tools=(), …)`."""
    started: list[tuple[OpenAI, ModelServer]] = []

    def start(*queued: Queued, tools: Any = (), **settings: Any) -> tuple[Page, ModelServer]:
        server = ModelServer(*queued).start()
        provider = OpenAI("m-1", base_url=server.url, api_key="sk-TEST-hushhush")
        started.append((provider, server))
        return Page(provider, tools, **settings), server

    yield start
    for provider, server in started:
        await provider.close()
        server.stop()


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> list[RecordingComm]:
    """Record what every widget that is made in this test sends."""
    made: list[RecordingComm] = []
    recording = type("Recording", (RecordingComm,), {"made": made})
    monkeypatch.setattr(comm, "create_comm", recording)
    return made


def tools_that_ran(ran: list[str]) -> list[nb.Tool]:
    """Make the tools that most tests use; each writes down that its body was entered."""

    @nb.tool
    async def read_log(day: str) -> str:
        """Read the log of a day."""
        ran.append(f"read_log {day}")
        return f"log of {day}"

    @nb.tool(approval=True)
    async def wipe_cache(force: bool = False) -> str:
        """Empty the cache."""
        ran.append(f"wipe_cache {force}")
        return "wiped"

    return [read_log, wipe_cache]
