"""A random walk through one conversation: a model says anything, a person does anything.

Everything is real but the clock, which jumps. `NBTOOLS_EXAMPLES=2000` walks further, and each time
elsewhere.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import nbtools as nb
from nbtools import planner
from nbtools.errors import OverloadedError, ProviderError
from nbtools.events import (
    CallStarted,
    Event,
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelReasoning,
    ModelText,
)
from nbtools.messages import FINAL, Conversation, Request, ToolCall
from nbtools.providers import Provider
from nbtools.tools import ToolContext
from tests.stage import Page, problem_of

EXAMPLES = int(os.environ.get("NBTOOLS_EXAMPLES", "0"))
STEPS = 14
random_walk = settings(
    max_examples=EXAMPLES or 14,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

GOOD_ARGS = ["{}", "", "null", '{"n": 1}', '{"n": "2"}']
BAD_ARGS = ['{"n": [1]}', '{"m": 1}', '{"n": 1', "[1]", "}"]
ARGS = st.sampled_from([*GOOD_ARGS * 3, *BAD_ARGS])
TOOLS = ["pay", "look", "wait", "person", "wipe", "fail", "later", "job", "more"]
NAMES = st.sampled_from([*TOOLS, "pay", "look", "wait", "none", ""])
LIMITS = st.builds(
    nb.Limits, calls=st.sampled_from([100, 100, 3, 1, 0]), repeats=st.sampled_from([3, 3, 1])
)
CALL_IDS = st.sampled_from(["", "k-1", "k-1", "k-2", "k-3", "k-4"])
GIVEN = st.sampled_from([None, "text", 0, "", ValueError(), nb.ToolError("Closed."), KeyError("x")])
ODD: st.SearchStrategy[Any] = st.sampled_from([None, "yes", "true", 1, 1.0, [], {}, "", "k-1"])


class Impulsive(Provider):
    """A model that says whatever is drawn, and is strict about what it is asked."""

    label = "impulsive"

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.requests: list[Request] = []
        self.refused: list[str] = []

    async def stream(self, request: Request, **_: Any) -> AsyncGenerator[list[ModelEvent]]:
        self.requests.append(request)
        self.refused += filter(None, [problem_of(request)])
        draw = self.walk.draw
        for _number in range(draw(st.sampled_from([2, 1, 3, 4, 0]))):
            match draw(st.sampled_from(["call", "call", "call", "text", "reasoning", "hold"])):
                case "text":
                    yield [ModelText(draw(st.sampled_from(["Hi. ", " ", "\n", "Well"])))]
                case "reasoning":
                    yield [ModelReasoning("Hm. ", draw(st.sampled_from([None, {"sig": 1}])))]
                case "call":
                    key = object()
                    yield [ModelCall(key, draw(CALL_IDS), draw(NAMES))]
                    for piece in draw(ARGS):
                        yield [ModelArgs(key, piece)]
                case "hold":
                    await self.walk.gate()
        for event in self._end(draw):
            yield event

    def _end(self, draw: Callable[..., Any]) -> list[list[ModelEvent]]:
        ends = [*["stop", "calls", "other"] * 5, "length", "filter", "cut"]
        end = draw(st.sampled_from([*ends, "fault", "provider", "bug", "cancel"]))
        match end:
            case "cut":
                return []
            case "fault":
                return [[ModelFault(OverloadedError("Too busy."))]]
            case "provider":
                raise ProviderError("Refused.")
            case "bug":
                raise RuntimeError("A bug of the provider.")
            case "cancel":
                raise asyncio.CancelledError
        return [[ModelFinish(end)]]


class Walk:
    """A conversation and somebody who does anything with it.

    Args:
        draw: Draws from a strategy.
    """

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.gates: list[asyncio.Future[object]] = []
        self.approved: dict[str, dict[str, Any]] = {}
        self.entered: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.started: Counter[str] = Counter()
        self.finals: dict[str, ToolCall] = {}
        self.asked = 0
        self.model = Impulsive(self)
        self.page = Page(
            self.model,
            self._tools(),
            max_roundtrips=draw(st.sampled_from([2, 1, 3, 0])),
            auto_send=draw(st.booleans()),
            limits=draw(LIMITS),
        )
        self.session = self.page.session
        self.session.subscribe(self._note)

    @property
    def conversation(self) -> Conversation:
        return self.session.conversation

    async def gate(self) -> object:
        """Wait until the walk opens this gate; return what it gives."""
        gate = asyncio.get_running_loop().create_future()
        self.gates.append(gate)
        given = await gate
        if isinstance(given, BaseException):
            raise given
        return given

    def _note(self, event: Event, _conversation: Conversation) -> None:
        if isinstance(event, CallStarted):
            self.started[event.call] += 1

    def _enter(self, context: ToolContext[Any], tool: str, n: int) -> None:
        """Write down what a body that was entered had no right to."""
        call = self.page.call(context.call_id)
        self.entered[call.id] += 1
        if call.state != "running" or call.args != {"n": n}:
            self.wrong.append(f"{tool}({n}) ran as {call}")
        if tool in ("pay", "wipe") and self.approved.get(call.id) != {"n": n}:
            self.wrong.append(f"{tool}({n}) ran without an approval of these arguments")

    def _tools(self) -> list[nb.Tool]:
        async def look(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "look", n)
            return [None, "seen", nb.PENDING][n % 3]

        async def wait(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "wait", n)
            return await self.gate()

        async def pay(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "pay", n)
            return f"paid {n}"

        async def wipe(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "wipe", n)
            return await self.gate()

        async def fail(ctx: ToolContext[Any], n: int = 0) -> object:
            self._enter(ctx, "fail", n)
            raise ValueError

        async def job(n: int = 0) -> object:
            return await self.gate()

        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return [
            nb.tool(job, background=True),
            nb.tool(job, name="more", background=True, on_done="continue"),
            nb.tool(look),
            nb.tool(wait),
            nb.tool(pay, approval=True),
            nb.tool(wipe, destructive=True),
            nb.tool(fail),
            nb.Tool("person", "A person answers.", schema),
            nb.Tool("later", "A person approves and answers.", schema, approval=True),
        ]

    # --- what somebody does -------------------------------------------------------------------

    def act(self) -> None:
        """Do one thing, more often than not one that gets on."""
        doing: dict[str, Callable[[], object]] = {
            name.removeprefix("_do_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }
        wanted = self.draw(st.sampled_from(["get on"] * len(doing) * 2 + list(doing)))
        doing.get(wanted, self._get_on)()

    def _get_on(self) -> None:
        waiting = [call.waiting for call in self.page.calls if call.waiting]
        if "approval" in waiting:
            self._do_approve()
        elif waiting:
            self._do_answer()
        elif any(not gate.done() for gate in self.gates):
            self._do_open()
        elif self.conversation.error:
            self._do_resend()
        else:
            self._do_send()

    def _do_open(self) -> None:
        gates = [gate for gate in self.gates if not gate.done()]
        if gates:
            self.draw(st.sampled_from(gates)).set_result(self.draw(GIVEN))

    def _do_send(self) -> None:
        before = self.page.calls
        texts = ["Go on", "yes", "/look n=1", "/pay n=1", "/pay n=x", "/nothing here", " "]
        answer = self.page.command("send", text=self.draw(st.sampled_from(texts)))
        if answer["ok"]:
            self.asked = len(self.model.requests)
            known = {call.id: call for call in self.page.calls}
            self.expect(
                all(known[call.id].state in FINAL for call in before), "a new message left calls"
            )

    def _call_id(self) -> str:
        waiting = [call.id for call in self.page.calls if call.waiting]
        every = [call.id for call in self.page.calls]
        return str(self.draw(st.sampled_from([*waiting * 3, *every, "k-9"])))

    def _do_approve(self) -> None:
        call_id = self._call_id()
        known = next((call for call in self.page.calls if call.id == call_id), None)
        right = known.digest if known else "none"
        fields: dict[str, Any] = {"call": call_id, "approved": True, "digest": right}
        odds = ["", "", "", "edit", "edit", "approved", "digest", "missing"]
        odd = self.draw(st.sampled_from(odds))
        if odd in ("approved", "digest"):
            fields[odd] = self.draw(ODD)
        elif odd == "missing":
            del fields[self.draw(st.sampled_from(list(fields)))]
        elif odd == "edit":
            fields["args"] = self.draw(st.sampled_from([{"n": 5}, {"n": "no"}, {}, {"m": 1}]))
        exact = odd in ("", "edit") and known is not None and known.waiting == "approval"
        if exact and known is not None:
            self.approved[call_id] = {"n": 0, **(fields.get("args") or known.args or {})}
            if fields.get("args") == {}:
                self.approved[call_id] = {"n": 0}
        answer = self.page.command("approve", **fields)
        if not exact:
            self.expect(not answer.get("ok"), f"approved by {fields}")

    def _do_decline(self) -> None:
        self.page.command("decline", call=self._call_id(), reason=self.draw(st.text(max_size=3)))

    def _do_answer(self) -> None:
        value = self.draw(st.sampled_from([None, "", 1, {"a": [1]}]))
        self.page.command("answer", call=self._call_id(), value=value)

    def _do_cancel(self) -> None:
        self.page.command("cancel", call=self._call_id())

    def _do_rerun(self) -> None:
        args = self.draw(st.sampled_from([None, {"n": 2}, {"n": "x"}]))
        self.page.command("rerun", call=self._call_id(), args=args)

    def _do_stop(self) -> None:
        self.page.command("stop")
        self.expect(settled(self.conversation), "something is open after a stop")
        self.expect(self.conversation.status != "running", "running after a stop")

    def _do_clear(self) -> None:
        self.page.command("clear")
        self.expect(self.conversation.messages == (), "messages are left after a clear")
        self.expect(self.page.shown == {**self.page.shown, "messages": []}, "the page is not clear")

    def _do_resend(self) -> None:
        if self.page.command("resend")["ok"]:
            self.asked = len(self.model.requests)

    def _message_id(self) -> str:
        ids = [message.id for message in self.conversation.messages]
        return str(self.draw(st.sampled_from([*ids, "m9"])))

    def _do_edit(self) -> None:
        if self.page.command("edit_message", message=self._message_id(), text="Rather this")["ok"]:
            self.asked = len(self.model.requests)

    def _do_regenerate(self) -> None:
        if self.page.command("regenerate", message=self._message_id())["ok"]:
            self.asked = len(self.model.requests)

    def _do_odd(self) -> None:
        before = self.conversation
        self.page.post(self.draw(st.one_of(ODD, st.dictionaries(st.text(max_size=3), ODD))))
        self.expect(self.conversation is before, "an odd command changed something")

    # --- what always holds --------------------------------------------------------------------

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)

    async def settle(self) -> None:
        """Let everything happen that needs nobody."""
        await asyncio.sleep(10.0)
        self.page.flush()

    async def take(self, check: Callable[[Walk], object]) -> None:
        """Walk, and check after every step."""
        self._do_send()
        for _ in range(self.draw(st.integers(1, STEPS))):
            self.act()
            await self.settle()
            check(self)
            assert self.wrong == []
        self.session.stop()
        for gate in self.gates:
            gate.cancel()
        await self.settle()
        check(self)


def settled(conversation: Conversation) -> bool:
    open_replies = any(map(planner.is_open, conversation.messages))
    return not open_replies and not planner.open_calls(conversation)
