"""Who walks through a world (`tests.walk`): a model, people at windows, programs, time and accidents.

Each rule of hypothesis is one thing that may happen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import nbtools as nb
from nbtools import planner
from nbtools.errors import NbtoolsError, OverloadedError, ProviderError
from nbtools.events import ModelFault, ModelFinish, ModelReasoning, ModelText
from nbtools.messages import FINAL
from nbtools.pace import Pace
from nbtools.reducer import is_question
from tests.walk import GUARDED, Window, World, settled

Rule = TypeVar("Rule", bound=Callable[..., Any])

PICK = st.sampled_from([0, 0, 0, 1, 2, 5])
"""Which of those that there are, counted from the first that waits."""
WINDOW = st.integers(0, 1)
GOOD_ARGS = ["{}", "", "null", '{"n": 1}', '{"n": "2"}', '{"n": 0}']
BAD_ARGS = ['{"n": [1]}', '{"m": 1}', '{"n": 1', "[1]", "}"]
ARGS = st.sampled_from([*GOOD_ARGS * 3, *BAD_ARGS])
TOOLS = ["pay", "look", "wait", "person", "wipe", "fail", "later", "job", "more", "ask"]
NAMES = st.sampled_from([*TOOLS, *GUARDED, "look", "none", ""])
CALL_IDS = st.sampled_from(["", "", "k-1", "k-2", "k-3"])
LIMITS = st.builds(
    nb.Limits, calls=st.sampled_from([100, 100, 100, 100, 3, 1, 0]), repeats=st.sampled_from([3, 1])
)
GIVEN = st.sampled_from([None, "text", 0, "", ValueError(), nb.ToolError("Closed."), KeyError("x")])
ODD: st.SearchStrategy[Any] = st.sampled_from([None, "yes", "true", 1, 1.0, [], {}, "", "k-1"])
EDITS = st.sampled_from([None, None, {"n": 5}, {}, {"n": "no"}])
ENDS = st.sampled_from([*["stop", "calls", "other"] * 3, "length", "filter", "cut"])
TEXTS = st.sampled_from(["Go on", "yes", "/look n=1", "/pay n=1", "/pay n=x", "/nothing here", " "])
DECISIONS = st.tuples(
    st.sampled_from(["approve", "decline", "cancel", "answer", "send", "stop"]), WINDOW, PICK
)


def when(holds: Callable[[World], object]) -> Callable[[Rule], Rule]:
    """Let a rule be taken only where it can do something."""
    return precondition(lambda walk: bool(holds(walk.world)))


class Model(RuleBasedStateMachine):
    """Says anything, piece by piece."""

    world: World

    @when(lambda world: world.model.speaks)
    @rule(calls=st.lists(st.tuples(NAMES, CALL_IDS, ARGS), max_size=3), end=ENDS)
    def model_answers(self, calls: list[tuple[str, str, str]], end: Any) -> None:
        def answer() -> None:
            model = self.world.model
            for call in calls:
                model.call(*call)
            if not calls:
                model.say(ModelText("Well."))
            self._end(end)

        self.world.do(answer)

    @when(lambda world: world.model.speaks)
    @rule(name=NAMES, call_id=CALL_IDS, args=ARGS, half=st.booleans())
    def model_calls(self, name: str, call_id: str, args: str, half: bool) -> None:
        self.world.do(lambda: self.world.model.call(name, call_id, args, half=half))

    @when(lambda world: world.model.speaks)
    @rule(text=st.sampled_from(["Hi. ", " ", "\n", "Well"]))
    def model_writes(self, text: str) -> None:
        self.world.do(lambda: self.world.model.say(ModelText(text)))

    @when(lambda world: world.model.speaks)
    @rule(sealed=st.sampled_from([None, {"sig": 1}]))
    def model_thinks(self, sealed: Any) -> None:
        self.world.do(lambda: self.world.model.say(ModelReasoning("Hm. ", sealed)))

    @when(lambda world: world.model.speaks)
    @rule(end=ENDS)
    def model_ends(self, end: Any) -> None:
        self.world.do(lambda: self._end(end))

    def _end(self, end: Any) -> None:
        if end != "cut":
            self.world.model.say(ModelFinish(end))
        self.world.model.end()

    @when(lambda world: world.model.speaks)
    @rule()
    def model_hears_no_stop(self) -> None:
        self.world.model.is_deaf = True

    @when(lambda world: world.model.speaks)
    @rule(kind=st.sampled_from(["fault", "provider", "bug", "cancel"]))
    def model_fails(self, kind: str) -> None:
        def fail() -> None:
            if kind == "fault":
                self.world.model.say(ModelFault(OverloadedError("Too busy.")))
            errors = {"provider": ProviderError("Refused."), "bug": RuntimeError("A bug.")}
            self.world.model.end(asyncio.CancelledError() if kind == "cancel" else errors.get(kind))

        self.world.do(fail)


class People(RuleBasedStateMachine):
    """Do anything at two windows, which may show what was."""

    world: World

    def _window(self, number: int) -> Window:
        return self.world.page.windows[number]

    def _shown(self, window: int, pick: int) -> dict[str, Any]:
        """Pick one of the calls that a window shows."""
        calls = self._window(window).calls
        return calls[pick % len(calls)] if calls else {"id": "k-9"}

    def _message(self, window: int, pick: int) -> str:
        ids = self._window(window).message_ids
        return ids[pick % len(ids)] if ids else "m-9"

    @rule(text=TEXTS)
    def send(self, text: str) -> None:
        self.world.do(lambda: self._send(text))

    def _send(self, text: str = "Go on") -> None:
        before = self.world.page.calls
        answer = self.world.command("send", text=text)
        if answer["ok"]:
            self.world.asked = len(self.world.model.requests)
            known = {call.id: call for call in self.world.page.calls}
            closed = all(known[call.id].state in FINAL for call in before)
            self.world.expect(closed, "a new message left calls")

    @when(lambda world: any(call.waiting for call in world.page.calls))
    @rule(window=WINDOW, pick=PICK, args=EDITS)
    def approve(self, window: int, pick: int, args: Any) -> None:
        self.world.do(lambda: self._approve(window, pick, args))

    def _approve(self, window: int, pick: int, args: Any = None) -> None:
        """Click Approve on what a window shows: only what it shows may run."""
        part = self._shown(window, pick)
        now = next((call for call in self.world.page.calls if call.id == part["id"]), None)
        fields = {"call": part["id"], "approved": True, "digest": part.get("digest", "none")}
        answer = self.world.command("approve", **fields, **({} if args is None else {"args": args}))
        is_right = (
            now is not None and now.waiting == "approval" and now.digest == part.get("digest")
        )
        if answer["ok"]:
            self.world.expect(is_right, f"approved by a window that shows {part}")
            shown = dict(part.get("args") or {}) if args is None else args
            self.world.approved[part["id"]] = {"n": 0, **shown}
        else:
            refused = any(rule.decision == "refuse" for rule in self.world.session.rules)
            may_be = not is_right or refused or args == {"n": "no"}
            self.world.expect(may_be, f"not approved: {answer}")

    @when(lambda world: any(call.waiting for call in world.page.calls))
    @rule(
        window=WINDOW,
        pick=PICK,
        field=st.sampled_from(["approved", "digest", "call", "args"]),
        odd=ODD,
        missing=st.booleans(),
    )
    def approve_oddly(self, window: int, pick: int, field: str, odd: Any, missing: bool) -> None:
        part = self._shown(window, pick)
        fields: dict[str, Any] = {
            "call": part["id"], "approved": True, "digest": part.get("digest", "none"), "args": None
        }  # fmt: skip
        fields[field] = odd
        if missing:
            del fields[field]
        is_odd = field != "args" and fields.get(field) is not True

        def approve() -> None:
            answer = self.world.command("approve", **fields)
            self.world.expect(not (is_odd and answer["ok"]), f"approved by {fields}")
            if answer["ok"]:
                shown = part.get("args") if fields.get("args") is None else fields["args"]
                self.world.approved[part["id"]] = {"n": 0, **(shown or {})}

        self.world.do(approve)

    @when(lambda world: any(call.waiting for call in world.page.calls))
    @rule(window=WINDOW, pick=PICK, reason=st.text(max_size=3))
    def decline(self, window: int, pick: int, reason: str) -> None:
        self.world.do(lambda: self._decline(window, pick, reason))

    def _decline(self, window: int, pick: int, reason: str = "") -> None:
        self.world.command("decline", call=self._shown(window, pick)["id"], reason=reason)

    @when(lambda world: any(call.waiting for call in world.page.calls))
    @rule(window=WINDOW, ticks=st.lists(st.tuples(PICK, st.booleans()), min_size=1, max_size=3))
    def decide_together(self, window: int, ticks: list[tuple[int, bool]]) -> None:
        shown = [(self._shown(window, pick), approved) for pick, approved in ticks]
        verdicts = [
            {"call": part["id"], "approved": approved, "digest": part.get("digest", "")}
            for part, approved in shown
        ]
        before = {call.id: call for call in self.world.page.calls}

        def decide() -> None:
            answer = self.world.command("decide", verdicts=verdicts)
            for part, approved in shown:
                if answer["ok"] and approved:
                    self.world.approved[part["id"]] = {"n": 0, **(part.get("args") or {})}
            if not answer["ok"]:
                now = {call.id: call for call in self.world.page.calls}
                self.world.expect(now == before, "a table that was refused decided something")

        self.world.do(decide)

    @when(lambda world: any(call.waiting == "approval" for call in world.page.calls))
    @rule(
        window=WINDOW,
        pick=PICK,
        changes=st.sampled_from([{"n": 4}, {"n": "x"}, {}]),
        unseen=st.booleans(),
    )
    def propose(self, window: int, pick: int, changes: dict[str, Any], unseen: bool) -> None:
        """A renderer changes the arguments, which the other window may not see yet."""
        part = self._shown(window, pick)
        self._window(1 - window).slow |= unseen
        self.world.do(lambda: self.world.command("act", call=part["id"], changes=changes))

    @when(lambda world: world.page.windows[0].calls)
    @rule(window=WINDOW, pick=PICK, value=st.sampled_from([None, "", 1, {"a": [1]}]))
    def answer(self, window: int, pick: int, value: Any) -> None:
        self.world.do(lambda: self._answer(window, pick, value))

    def _answer(self, window: int, pick: int, value: Any = 1) -> None:
        self.world.command("answer", call=self._shown(window, pick)["id"], value=value)

    @when(lambda world: any(call.question for call in world.page.calls))
    @rule(window=WINDOW, value=st.sampled_from([{}, {"n": 1}, {"n": "x"}, 3, None]))
    def answer_question(self, window: int, value: Any) -> None:
        asking = [part for part in self._window(window).calls if part.get("question")]
        if asking:
            about = {"call": asking[0]["id"], "question": asking[0]["question"]["id"]}
            said = ("decline", about) if value is None else ("answer", {**about, "value": value})
            self.world.do(lambda: self.world.command(said[0], **said[1]))

    @when(lambda world: world.page.windows[0].calls)
    @rule(window=WINDOW, pick=PICK, after=st.sampled_from([None, None, 5, 0]))
    def cancel(self, window: int, pick: int, after: Any) -> None:
        self.world.do(lambda: self._cancel(window, pick, after))

    def _cancel(self, window: int, pick: int, after: Any = None) -> None:
        self.world.command("cancel", call=self._shown(window, pick)["id"], after=after)

    @when(lambda world: world.jobs)
    @rule(pick=PICK, after=st.sampled_from([None, 5]))
    def cancel_a_job(self, pick: int, after: Any) -> None:
        job = self.world.jobs[pick % len(self.world.jobs)]
        self.world.do(lambda: self.world.command("cancel", call=job.id, after=after))

    @when(lambda world: world.page.windows[0].calls)
    @rule(window=WINDOW, pick=PICK, args=st.sampled_from([None, {"n": 2}, {"n": "x"}]))
    def rerun(self, window: int, pick: int, args: Any) -> None:
        part = self._shown(window, pick)
        self.world.do(lambda: self.world.command("rerun", call=part["id"], args=args))

    @when(lambda world: world.page.windows[0].calls)
    @rule(first=DECISIONS, second=DECISIONS)
    def two_people_at_once(self, first: tuple[str, int, int], second: tuple[str, int, int]) -> None:
        def both() -> None:
            for kind, window, pick in (first, second):
                if kind in ("send", "stop"):
                    getattr(self, f"_{kind}")()
                else:
                    getattr(self, f"_{kind}")(window, pick)

        self.world.do(both)

    @when(lambda world: world.conversation.status != "ready")
    @rule()
    def stop(self) -> None:
        self.world.do(self._stop)

    def _stop(self) -> None:
        self.world.command("stop")
        conversation = self.world.conversation
        self.world.expect(settled(conversation), "something is open after a stop")
        self.world.expect(conversation.status != "running", "running after a stop")

    @when(lambda world: len(world.conversation.messages) > 2)
    @rule()
    def clear(self) -> None:
        def clear() -> None:
            self.world.command("clear")
            self.world.expect(self.world.conversation.messages == (), "messages after a clear")
            self.world.expect(self.world.page.shown["messages"] == [], "the page is not clear")

        self.world.do(clear)

    @when(lambda world: world.conversation.error or planner.unsent(world.conversation))
    @rule()
    def resend(self) -> None:
        self.world.do(lambda: self._again("resend"))

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW, pick=PICK)
    def edit(self, window: int, pick: int) -> None:
        message = self._message(window, pick)
        self.world.do(lambda: self._back_to(message, "edit_message", text="Rather this"))

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW, pick=PICK)
    def regenerate(self, window: int, pick: int) -> None:
        message = self._message(window, pick)
        self.world.do(lambda: self._back_to(message, "regenerate"))

    def _back_to(self, message: str, command: str, **fields: Any) -> None:
        """Go back to a question; that is refused only during a run, and where there is none."""
        messages = self.world.conversation.messages
        places = [place for place, known in enumerate(messages) if known.id == message]
        is_asked = any(map(is_question, messages[: places[0] + 1])) if places else False
        runs = self.world.conversation.status == "running"
        done = self._again(command, message=message, **fields)
        self.world.expect(done == (is_asked and not runs), f"{command} gave {done}")

    def _again(self, command: str, **fields: Any) -> bool:
        done: bool = self.world.command(command, **fields)["ok"]
        if done:
            self.world.asked = len(self.world.model.requests)
        return done

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW, pick=PICK, pinned=st.booleans())
    def pin(self, window: int, pick: int, pinned: bool) -> None:
        message = self._message(window, pick)
        self.world.do(lambda: self.world.command("pin", message=message, pinned=pinned))

    @when(lambda world: world.conversation.messages)
    @rule(payload=st.one_of(ODD, st.dictionaries(st.text(max_size=3), ODD)))
    def odd_command(self, payload: Any) -> None:
        before = self.world.conversation
        self.world.do(lambda: self.world.page.post(payload), seconds=0.0)
        self.world.expect(self.world.conversation is before, "an odd command changed something")


class Programs(RuleBasedStateMachine):
    """Do what only Python can."""

    world: World

    @rule(pace=st.sampled_from([Pace(until="look"), Pace(tools=frozenset({"pay"})), Pace()]))
    def program_sends(self, pace: Pace) -> None:
        def send() -> None:
            session = self.world.session
            session.send(session.user_parts("Go"), None, pace)
            self.world.asked = len(self.world.model.requests)

        self._try(send)

    @when(lambda world: world.conversation.messages)
    @rule()
    def program_steps(self) -> None:
        def step() -> None:
            failed = self.world.conversation.error is not None
            self.world.session.step()
            if failed:
                self.world.asked = len(self.world.model.requests)

        self._try(step)

    @when(lambda world: world.page.calls and len(world.session.rules) < 2)
    @rule(tool=st.sampled_from(["pay", "wipe", "look"]), refuse=st.booleans())
    def program_makes_a_rule(self, tool: str, refuse: bool) -> None:
        rules = self.world.session.rules
        self._try(lambda: rules.refuse(tool) if refuse else rules.allow(tool))

    @when(lambda world: len(world.session.rules))
    @rule(pick=PICK)
    def program_takes_a_rule_back(self, pick: int) -> None:
        rules = self.world.session.rules
        self._try(lambda: rules.remove(rules[pick % len(rules)].id))

    def _try(self, action: Callable[[], object]) -> None:
        def attempt() -> None:
            with contextlib.suppress(NbtoolsError):
                action()

        self.world.do(attempt)


class Accidents(RuleBasedStateMachine):
    """Let tools end, time pass, messages get lost, and kernels die."""

    world: World

    @when(lambda world: world.open_gates)
    @rule(pick=PICK, given=GIVEN)
    def a_tool_ends(self, pick: int, given: Any) -> None:
        gates = self.world.open_gates
        self.world.do(lambda: gates[pick % len(gates)].set_result(given))

    @when(lambda world: world.conversation.messages)
    @rule(seconds=st.sampled_from([3.0, 10.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.do(lambda: None, seconds)

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW)
    def a_page_is_loaded_again(self, window: int) -> None:
        world = self.world
        world.page.windows[window] = Window(dict(world.page.bridge.snapshot()))

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW)
    def a_page_lags(self, window: int) -> None:
        self.world.page.windows[window].slow = True

    @when(lambda world: any(window.slow for window in world.page.windows))
    @rule()
    def the_pages_catch_up(self) -> None:
        for window in self.world.page.windows:
            window.slow = False
        self.world.do(lambda: None)

    @when(lambda world: world.conversation.messages)
    @rule(window=WINDOW)
    def the_next_message_is_lost(self, window: int) -> None:
        self.world.page.windows[window].loses = 1

    @when(lambda world: any("ops" in message for message in world.page.sent))
    @rule(window=WINDOW, pick=PICK)
    def a_patch_comes_again(self, window: int, pick: int) -> None:
        patches = [message for message in self.world.page.sent if "ops" in message]
        self.world.page.windows[window].copy.receive(patches[-1 - pick % len(patches)])

    @when(lambda world: world.commands)
    @rule(pick=PICK)
    def a_command_comes_again(self, pick: int) -> None:
        world = self.world
        payload, first = world.commands[-1 - pick % len(world.commands)]
        before = world.conversation
        again = world.do(lambda: world.page.post(payload), seconds=0.0)
        if payload["boot"] == world.boot:
            world.expect(again == first, f"{payload} was answered {first} and then {again}")
        else:
            world.expect(again["ok"] is False, f"{payload} of another kernel was carried out")
        world.expect(world.conversation is before, "a command was carried out twice")

    @when(lambda world: len(world.conversation.messages) > 1)
    @rule(saved=st.booleans())
    def the_kernel_is_started_again(self, saved: bool) -> None:
        self.world.restart(saved=saved)


def _rule_of_going_on(number: int) -> Any:
    """Make one more rule of what gets on."""

    def it_goes_on(self: Walkers, name: str, pick: int) -> None:
        self.go_on(name, pick)

    it_goes_on.__name__ += f"_{number}"
    return rule(name=st.sampled_from(TOOLS), pick=PICK)(it_goes_on)


class Walkers(Model, People, Programs, Accidents):
    """All of them; more often than not, things go on."""

    def go_on(self, name: str, pick: int) -> None:
        """Do what gets on."""
        world = self.world
        waiting = [call.waiting for call in world.page.calls if call.waiting]
        if world.model.speaks and world.open_gates and pick == 2:
            self.a_tool_ends(pick, "text")
        elif world.model.speaks:
            self.model_answers([(name, "", '{"n": 1}')] if pick < 2 else [], "stop")
        elif "approval" in waiting and pick == 2:
            self.propose(0, 0, {"n": 4}, unseen=True)
        elif "approval" in waiting:
            self.approve(pick % 2, 0, None)
        elif waiting:
            self.answer(pick % 2, 0, 1)
        elif world.open_gates:
            self.a_tool_ends(pick, "text")
        elif world.conversation.error:
            self.resend()
        else:
            self.send("Go on")

    # A rule is taken as often as any other, unless it has a name that a walk leaves out.
    it_goes_on_1, it_goes_on_2, it_goes_on_3, it_goes_on_4 = map(_rule_of_going_on, range(1, 5))
    it_goes_on_5, it_goes_on_6, it_goes_on_7, it_goes_on_8 = map(_rule_of_going_on, range(5, 9))
