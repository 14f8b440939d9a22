"""The ring: events are reduced, the planner says what is next, and what it says is started.

The only mutable place, with the session on top of it. Everything happens on the engine's loop, so
there are no locks. An approval is never awaited: the ring comes to rest with a call in `pending`,
and a decision turns it again.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from nbtools import budget, execution, history, planner, runner
from nbtools import events as ev
from nbtools.assembly import Assembly
from nbtools.background import Background
from nbtools.budget import Budget
from nbtools.errors import ProviderError
from nbtools.executors import Engine, Slots, Stopwatch, abandoned
from nbtools.gathering import Gathering
from nbtools.messages import (
    ENDED_WELL,
    FINAL,
    Conversation,
    Decision,
    Limit,
    Message,
    Notice,
    Progress,
    Question,
    Request,
    Status,
    ToolCall,
)
from nbtools.outcomes import ended_at_limit, sentence
from nbtools.pace import TO_THE_END, Pace
from nbtools.partial import PartialJson
from nbtools.planner import Ask, Prepare, Recheck, Refuse, Run, Step
from nbtools.questions import Questions
from nbtools.reducer import calls_of, find_call, find_message, reduce
from nbtools.rulebook import Rules
from nbtools.runner import Settings
from nbtools.settings import Settings as AnswerSettings
from nbtools.tools import Tool
from nbtools.tools.failure import explain

FLUSH = 0.055
"""Seconds for which text and argument deltas are joined before they are reduced: as long as the page
waits for its next message, so that no delta waits twice."""

Listener = Callable[[ev.Event, Conversation], object]

_DELTAS = (ev.TextDelta, ev.ArgsDelta)

_log = logging.getLogger("nbtools")


class Ring:
    """Keep one conversation and drive it.

    Args:
        settings: The model, the tools and the limits.
        engine: Where it lives; every method but `submit` is called on its loop.
        conversation: What to begin with.
    """

    def __init__(
        self, settings: Settings, engine: Engine, conversation: Conversation | None = None
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.conversation = conversation or Conversation()
        self.error: ProviderError | None = None
        self.results = settings.variables.results
        self.results.take_up(self.calls())
        self.rules = Rules(lambda: self.settings.tools, self.calls)
        self.questions = Questions(lambda: self.new_id("q"), self._put_question)
        self.save: Callable[[Conversation], None] | None = None
        self.on_tools: Callable[[], object] = lambda: None
        """Called after toolsets gave other tools than before."""
        self._gathering = Gathering(self._say_in_reply)
        self.prefix = secrets.token_hex(3)
        self._count = itertools.count(1)
        self._listeners: list[Listener] = []
        self._tasks: dict[Step, asyncio.Task[None]] = {}
        self._slots = Slots(settings.max_parallel)
        self._watch = Stopwatch(engine.loop, self._out_of_time)
        self._deltas: list[ev.TextDelta | ev.ArgsDelta] = []
        self._flush_handle: asyncio.Handle | None = None
        self._flushed = 0.0
        self._live: dict[str, PartialJson] = {}
        self._resting: list[asyncio.Future[None]] = []
        self.answer_settings: AnswerSettings | None = None
        """What holds for the answer to the last message, on top of the provider's own."""
        self._reply = ""
        self._saved = True
        self._pace: Pace = TO_THE_END
        self.background = Background(self)
        # A click may be late: an id is given once, also after its message was removed.
        self._ids = {part.id for known in self.conversation.messages for part in known.parts}
        self.subscribe(self.questions.note)

    # --- events -----------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(event, conversation)` after each event; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def emit(self, event: ev.Event) -> None:
        """Take in what happened; deltas wait for the next flush, all else comes after them."""
        if isinstance(event, _DELTAS):
            self._deltas.append(event)
            if self._flush_handle is None:
                self._schedule_flush()
            return
        self.flush()
        self._apply(event)

    def flush(self) -> None:
        """Reduce the deltas that have gathered, joined."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        if not self._deltas:
            return
        deltas, self._deltas = self._deltas, []
        self._flushed = self.engine.loop.time()
        for event in _joined(deltas):
            self._apply(self._with_live_args(event) if isinstance(event, ev.ArgsDelta) else event)

    def _schedule_flush(self) -> None:
        wait = self._flushed + FLUSH - self.engine.loop.time()
        self._flush_handle = self.engine.loop.call_later(max(0.0, wait), self.flush)

    def _with_live_args(self, event: ev.ArgsDelta) -> ev.ArgsDelta:
        parser = self._live.setdefault(event.call, PartialJson())
        parser.feed(event.text)
        return replace(event, args=parser.snapshot())

    def _apply(self, event: ev.Event) -> None:
        self.conversation = reduce(self.conversation, event)
        if isinstance(event, ev.PartAdded):
            self._ids.add(event.part.id)
        elif isinstance(event, ev.MessageAdded):
            self._ids.update(part.id for part in event.message.parts)
        for listener in tuple(self._listeners):
            self._tell(listener, event)

    def _tell(self, listener: Listener, event: ev.Event) -> None:
        try:
            listener(event, self.conversation)
        except Exception:  # noqa: BLE001 - a listener that fails takes nothing from the others
            _log.exception("A listener of the chat failed at %r.", event.type)

    def _emit_from_anywhere(self, event: ev.Event) -> None:
        """Take in what a tool's thread says; what comes after the call's end is dropped."""
        if self.engine.here:
            self._emit_if_running(event)
        else:
            self.engine.post(self._emit_if_running, event)

    def _emit_if_running(self, event: ev.Event) -> None:
        if isinstance(event, ev.CallProgressed) and self._state(event.call) == "running":
            self.emit(event)

    def calls(self) -> list[ToolCall]:
        """List every call of the conversation, in order."""
        return [call for message in self.conversation.messages for call in calls_of(message)]

    def _state(self, call_id: str) -> str:
        for message in reversed(self.conversation.messages):
            for part in message.parts:
                if part.id == call_id and isinstance(part, ToolCall):
                    return part.state
        return ""

    def is_taken(self, name: str) -> bool:
        """Say whether the conversation has, or had, a part with this id."""
        return name in self._ids

    def new_id(self, kind: str) -> str:
        """Make an id that no message and no part of this conversation has."""
        return f"{kind}{next(self._count)}-{self.prefix}"

    # --- the ring ---------------------------------------------------------------------------

    def advance(self) -> None:
        """Start what is next, and come to rest when nothing is."""
        self.flush()
        self._note_limit(budget.reached(budget.turn(self.conversation), self._budget()))
        for step in self._allowed_steps():
            if step not in self._tasks:
                self._start(step)
        self._set_status()

    def _allowed_steps(self) -> tuple[Step, ...]:
        return self._pace.allowed(self._next_steps(), self.conversation)

    def _budget(self) -> Budget:
        return Budget(roundtrips=self.settings.max_roundtrips, limits=self.settings.limits)

    def _next_steps(self) -> tuple[Step, ...]:
        auto_send = self.settings.auto_send
        return planner.next_steps(self.conversation, self._budget(), auto_send=auto_send)

    def _set_status(self) -> None:
        auto_send = self.settings.auto_send
        status: Status = "running"
        if not self.busy:
            status = planner.status(self.conversation, self._budget(), auto_send=auto_send)
            if status == "running" and not self._allowed_steps():
                status = "waiting"  # for whoever lets it go on
        if status == "running":
            self._watch.run(self.settings.limits.seconds)
        if status != self.conversation.status:
            self._apply(ev.StatusChanged(status=status))
        if status != "running":
            self._watch.pause()
            wanted = status == "ready" and self.background.tell()
            self._rest()
            if wanted:
                self._pace = TO_THE_END
                self.advance()

    def job_ended(self) -> None:
        """Tell the model of a job's end, as soon as the chat is ready."""
        self._set_status()

    @property
    def busy(self) -> bool:
        """Whether something is under way that is not waiting for a person."""
        return any(
            not (isinstance(step, Run) and step.call in self.questions) for step in self._tasks
        )

    def _put_question(self, call_id: str, question: Question | None) -> bool:
        if self._state(call_id) != "running":
            return False
        self.emit(ev.CallAsked(call=call_id, question=question))
        self._set_status()
        return True

    def _note_limit(self, limit: Limit) -> None:
        """Say once in a turn that a limit was reached; from there on the planner closes it."""
        if not limit or budget.noted(budget.turn(self.conversation)):
            return
        reason = self._budget().reason(limit)
        note = Notice(
            id=self.new_id("n"),
            level="warning",
            text=f"A limit was reached: {reason}",
            hint="The model may answer once more, without calling anything.",
            limit=limit,
        )
        last = planner.last_said(self.conversation)
        self._say(note, last.id if last is not None and last.role == "assistant" else None)

    def _out_of_time(self) -> None:
        """End what runs or waits in this turn; the model may answer once more."""
        self.flush()
        self._note_limit("seconds")
        reason = self._budget().reason("seconds")
        for call in planner.open_calls(self.conversation):
            if call.state != "streaming":
                self._close(call, "limit", reason)
                self._drop(Run(call.id))
        self.advance()

    def _rest(self) -> None:
        self._live.clear()
        self._save()
        resting, self._resting = self._resting, []
        for future in resting:
            if not future.done():
                future.set_result(None)

    async def rest(self) -> None:
        """Wait until nothing runs: answered, waiting for a person, or failed."""
        if self.conversation.status != "running" and not self.busy:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resting.append(future)
        await future

    def _save(self) -> None:
        """Keep the conversation; where that fails the person is told once, and the chat goes on."""
        if self.save is None:
            return
        try:
            self.save(self.conversation)
        except Exception as error:  # noqa: BLE001 - a full disk, a folder that is gone
            if self._saved:
                self.notice(f"This chat could not be saved. {explain(error)}", level="error")
            self._saved = False
        else:
            self._saved = True

    def _start(self, step: Step) -> None:
        self._save()
        self._pace = self._pace.after(step)
        work = self._work(step)
        task = self.engine.loop.create_task(work, name=f"nbtools {step}")
        self._tasks[step] = task
        task.add_done_callback(lambda done: self._finished(step, done))

    def _finished(self, step: Step, task: asyncio.Task[None]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self._tasks.get(step) is not task:
            return  # whoever dropped it has gone on
        del self._tasks[step]
        if error is not None:
            self._report(step, error)
        self.advance()

    def _report(self, step: Step, error: BaseException) -> None:
        """Show a fault of nbtools itself, and go on: nothing the person had is lost."""
        _log.error("The step %r failed.", step, exc_info=error)
        self.halt()
        self.error = ProviderError(f"nbtools failed: {explain(error)}")
        self._apply(ev.RequestFailed(failure=runner.failure(self.error)))

    def halt(self) -> None:
        """Close every open call, then the reply, then what runs."""
        self.close_open("cancelled")
        self._end_reply()
        for step in tuple(self._tasks):
            self._drop(step)

    def _end_reply(self) -> None:
        """Mark where the turn was stopped, so that the planner asks nothing more of the model."""
        self._reply = ""
        last = planner.last_said(self.conversation)
        steps = self._next_steps()
        if last is None or not (steps or planner.is_open(last)):
            return
        message_id = last.id
        if last.role == "user":
            message_id = self.new_id("m")
            self._apply(ev.MessageStarted(message=message_id, time=time.time()))
        self._apply(ev.MessageEnded(message=message_id, finish="stopped", time=time.time()))

    def _work(self, step: Step) -> Coroutine[Any, Any, None]:
        if isinstance(step, Ask):
            return self._ask(step.tools)
        if isinstance(step, Prepare):
            return self._prepare(step.call)
        if isinstance(step, Run):
            return self._run(step.call)
        if isinstance(step, Recheck):
            return self._recheck(step)
        return self._refuse(step)

    async def _refuse(self, step: Refuse) -> None:
        told = sentence("limit", step.reason)
        self._settle(
            ev.CallEnded(
                call=step.call, outcome="limit", error=step.reason, told=told, time=time.time()
            )
        )

    async def _prepare(self, call_id: str) -> None:
        call = find_call(self.conversation, call_id)
        most = self.settings.limits.repeats
        repeated = lambda known, mark: budget.repeated(self.conversation, known, mark, most)  # noqa: E731
        settings = self.settings
        if call.origin == "model" and self._pace.tools is not None:
            settings = replace(settings, tools=self._offered())
        prepared = await runner.prepare(call, settings, repeated, self.rules.decide)
        self._settle(prepared)
        if isinstance(prepared, ev.CallEnded) and prepared.outcome == "limit":
            self._note_limit("repeats")

    async def _recheck(self, step: Recheck) -> None:
        tool = self.settings.tools[step.shown.tool]
        self._settle(await runner.look_again(step.shown, tool, self.settings, step.decision))

    async def _run(self, call_id: str) -> None:
        emit = self._emit_from_anywhere
        tool = self.settings.tools[find_call(self.conversation, call_id).tool]

        def on_wait(text: str) -> None:
            emit(ev.CallProgressed(call=call_id, progress=Progress(text=text)))

        async with self._slots.one(tool.name, tool.max_parallel, on_wait):
            call = find_call(self.conversation, call_id)
            if call.state == "running" and tool.background:
                self._settle(self.background.begin(call, tool))
            elif call.state == "running":
                ask = functools.partial(self.questions.ask, call_id)
                self._settle(await execution.run(call, self.settings, emit, self, ask))

    def _settle(self, event: ev.CallWaiting | ev.CallStarted | ev.CallEnded) -> None:
        """Take in how a call goes on, unless something ended it meanwhile."""
        if self._state(event.call) not in {"", *FINAL}:
            self.emit(event)

    async def _ask(self, tools: bool) -> None:
        settings = self.settings
        self._reply = message_id = self.new_id("m")
        label = settings.provider.label
        self._apply(ev.MessageStarted(message=message_id, model=label, time=time.time()))
        self._set_status()
        assembly = Assembly(message_id, self._ids.__contains__, lambda: self.new_id("p"))

        def hear(event: ev.Event) -> None:
            if self._reply == message_id:  # a provider may speak on after it was stopped
                self.emit(event)

        error = await self._send(assembly, hear, tools=tools)
        if self._reply != message_id:
            return
        self.error, self._reply = error, ""
        if not find_message(self.conversation, message_id).parts and self.error is not None:
            self._apply(ev.MessagesRemoved(messages=(message_id,)))
        if self.error is not None:
            self._apply(ev.RequestFailed(failure=runner.failure(self.error)))
        else:
            self._note_finish(find_message(self.conversation, message_id))

    async def _send(
        self, assembly: Assembly, hear: Callable[[ev.Event], None], *, tools: bool
    ) -> ProviderError | None:
        try:
            await self._renew_tools()
            question = await self._checked(self.request(tools=tools))
        except ProviderError as error:
            assembly.fault = error
            hear(assembly.end(time.time()))
            return error
        provider = self.settings.provider
        return await runner.request(provider, question, assembly, hear, self._say_wait)

    def request(self, *, tools: bool = True) -> Request:
        """Write the request that would be sent now.

        Raises:
            ContextLengthError: The newest user message alone is over the chat's limit.
        """
        settings = self.settings
        specs = [settings.variables.spec(tool) for tool in self._offered().values()]
        limit = settings.context_limit
        kept = history.trim(
            history.prepare(self.conversation),
            limit,
            turns=settings.context_turns,
            reserved=0 if limit is None else history.estimate_rest(settings.system, specs),
        )
        return Request(
            messages=kept,
            system=settings.system,
            tools=specs,
            choice="auto" if tools else "none",
            settings=self.answer_settings,
        )

    async def _checked(self, question: Request) -> Request:
        """Note what a request leaves out, and let it go."""
        settings, known = self.settings, self.conversation.messages
        if settings.context_limit is None and settings.context_turns is None:
            if any(message.unseen for message in known):
                self.emit(ev.MessagesTrimmed(messages=()))
            return question
        sent = {message.id for message in question.messages}
        told = history.prepare(self.conversation)
        unseen = tuple(message.id for message in told if message.id not in sent)
        if unseen != tuple(message.id for message in known if message.unseen):
            self.emit(ev.MessagesTrimmed(messages=unseen))
        return question

    def _offered(self) -> dict[str, Tool]:
        tools = self.settings.tools
        return {name: tool for name, tool in tools.items() if self._pace.offers(name)}

    async def _renew_tools(self) -> None:
        tools = await self._gathering.renew(self.settings.offered)
        if tools is not None:
            self.settings = replace(self.settings, tools=tools)
            self.on_tools()

    def _say_wait(self, seconds: float, why: str) -> None:
        """Say on the page why the chat holds still before it tries again."""
        self._say_in_reply(f"Waiting {seconds:.0f} s to try again: {why}")

    def _say_in_reply(self, text: str) -> None:
        if self._reply:
            self.notice(text, message=self._reply)

    def _note_finish(self, message: Message) -> None:
        text = _FINISH_NOTES.get(message.finish, "")
        if not text and message.finish in ENDED_WELL and not message.parts:
            text = "The model gave an empty answer."
        if text:
            self.notice(text, level="warning", message=message.id)

    def left(self, call: str) -> None:
        """Say on a card that its function runs on though its call has ended."""
        count = abandoned()
        others = f" {count} functions run on in this kernel." if count > 1 else ""
        self._say_about(call, f"Its function still runs; what it returns is not used.{others}")

    def late(self, call: str, value: object, error: BaseException | None) -> None:
        """Record on a card what came after the end of its call; it continues nothing."""
        if error is not None:
            self._say_about(
                call, f"It raised after its end, which changes nothing: {explain(error)}"
            )
        elif value is not None:
            self.results.keep_late(call, value)
            kept = f"chat.results[{call!r}] has it"
            self._say_about(call, f"A late result ({type(value).__name__}) was not used; {kept}.")

    def _say_about(self, call: str, text: str) -> None:
        for message in self.conversation.messages:
            if any(known.id == call for known in calls_of(message)):
                self._say(Notice(id=self.new_id("n"), text=text, about=call), message.id)

    def notice(self, text: str, *, level: Any = "info", message: str | None = None) -> None:
        """Say something to the person, in the last message or in one of its own."""
        self._say(Notice(id=self.new_id("n"), level=level, text=text), message)

    def _say(self, note: Notice, message: str | None) -> None:
        if message is not None:
            self.emit(ev.PartAdded(message=message, part=note))
        else:
            alone = Message(id=self.new_id("m"), role="user", parts=(note,), time=time.time())
            self.emit(ev.MessageAdded(message=alone))

    def close_open(self, outcome: Any, reason: str = "") -> None:
        """End every call that is not final."""
        self.flush()
        for call in planner.open_calls(self.conversation):
            if call.state == "running":  # a call that asks, and that nobody answers any more
                self._close(call, "cancelled")
                self._drop(Run(call.id))
            else:
                self._close(call, outcome, reason)

    def _close(
        self, call: ToolCall, outcome: Any, reason: str = "", decision: Decision | None = None
    ) -> None:
        at_work = outcome == "limit" and call.state == "running"
        ended = ev.CallEnded(
            call=call.id,
            outcome=outcome,
            error=reason,
            told=ended_at_limit(reason) if at_work else sentence(outcome, reason),
            decision=decision,
            time=time.time(),
        )
        self.emit(ended)

    def _drop(self, step: Step) -> None:
        task = self._tasks.pop(step, None)
        if task is not None:
            task.cancel()


def _joined(deltas: list[ev.TextDelta | ev.ArgsDelta]) -> list[ev.TextDelta | ev.ArgsDelta]:
    """Join neighbours of one part, so that a flush reduces once a part and not once a token."""
    joined: list[ev.TextDelta | ev.ArgsDelta] = []
    for key, group in itertools.groupby(deltas, _target):
        text = "".join(delta.text for delta in group)
        kind, target = key
        joined.append(
            kind(part=target, text=text) if kind is ev.TextDelta else kind(call=target, text=text)
        )
    return joined


def _target(delta: ev.TextDelta | ev.ArgsDelta) -> tuple[Any, str]:
    return type(delta), delta.part if isinstance(delta, ev.TextDelta) else delta.call


_FINISH_NOTES: Mapping[str, str] = {
    "length": "The answer reached the length limit and is not complete.",
    "filter": "The provider withheld the rest of this answer.",
}
