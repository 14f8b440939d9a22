"""The ring: events are reduced, the planner says what is next, and what it says is started.

With the record below it and the session on top, this is the only mutable place. Everything happens
on the engine's loop, so there are no locks. An approval is never awaited: the ring comes to rest
with a call in `pending`, and a decision turns it again.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import time
import types
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from nbtools import budget, execution, history, planner, questions, runner
from nbtools import events as ev
from nbtools.assembly import Assembly
from nbtools.background import Background
from nbtools.budget import Budget
from nbtools.callers import calling
from nbtools.endings import unreached
from nbtools.errors import ProviderError, ToolsetError
from nbtools.executors import Engine, Slots, Stopwatch
from nbtools.failure import explain
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
from nbtools.outcomes import cancelled_at_work, ended_at_limit, sentence
from nbtools.pace import TO_THE_END, Pace
from nbtools.planner import Ask, Prepare, Recheck, Refuse, Run, Step
from nbtools.questions import Questions
from nbtools.record import Record
from nbtools.reducer import find_call, find_message
from nbtools.rulebook import Rules
from nbtools.runner import Settings
from nbtools.settings import Settings as AnswerSettings
from nbtools.tools import Tool

_log = logging.getLogger("nbtools")


class Ring(Record):
    """Drive one conversation.

    Args:
        settings: The model, the tools and the limits.
        engine: Where it lives; every method but `submit` is called on its loop.
        conversation: What to begin with.
    """

    def __init__(
        self, settings: Settings, engine: Engine, conversation: Conversation | None = None
    ) -> None:
        super().__init__(engine, settings.variables.results, conversation)
        self.settings = settings
        self.error: ProviderError | None = None
        self.rules = Rules(
            lambda: self.settings.tools,
            self.calls,
            lambda: not self._gathering.is_due(self.settings.offered),
        )
        self.questions = Questions(lambda: self.new_id("q"), self._put_question)
        self.save: Callable[[Conversation], None] | None = None
        self.on_tools: Callable[[], object] = lambda: None
        """Called after toolsets gave other tools than before."""
        self._gathering = Gathering()
        self._unchecked: Callable[[], object] | None = None
        """Raises `ValueError` where the last message names tools that no toolset turns out to have."""
        self._tasks: dict[Step, asyncio.Task[None]] = {}
        self._queued: set[str] = set()
        self._advance_handle: asyncio.Handle | None = None
        self._slots = Slots(settings.max_parallel)
        self._watch = Stopwatch(engine.loop, self._out_of_time)
        self._resting: list[Future[None]] = []
        self.answer_settings: AnswerSettings | None = None
        """What holds for the answer to the last message, on top of the provider's own."""
        self._reply = ""
        self._saved = True
        self._pace: Pace = TO_THE_END
        self.background = Background(self)
        self.subscribe(self.questions.note, questions.ENDS)

    def advance(self) -> None:
        """Start what is next, and come to rest when nothing is."""
        self._advance_handle = None
        self.flush()
        self._note_limit(budget.reached(self.conversation, self._budget()))
        steps = self._allowed_steps()
        if self._prepare_at_once(steps):
            steps = self._allowed_steps()
        for step in steps:
            if step not in self._tasks:
                self._start(step)
        self._set_status()

    def _advance_soon(self) -> None:
        """Advance once for all that ends in the same turn of the loop."""
        if self._advance_handle is None:
            self._advance_handle = self.engine.loop.call_soon(self.advance)

    def _allowed_steps(self) -> tuple[Step, ...]:
        return self._pace.allowed(self._next_steps(), self.conversation)

    def _budget(self) -> Budget:
        return Budget(roundtrips=self.settings.max_roundtrips, limits=self.settings.limits)

    def _next_steps(self) -> tuple[Step, ...]:
        auto_send = self.settings.auto_send
        return planner.next_steps(self.conversation, self._budget(), auto_send=auto_send)

    def _set_status(self, *, asks: bool = True) -> None:
        """Say what the chat does now; at rest the model is told of jobs, and asked if it has to be."""
        auto_send = self.settings.auto_send
        status: Status = "running"
        if not self.busy:
            status = planner.status(self.conversation, self._budget(), auto_send=auto_send)
            if status == "running" and self._tasks.keys() >= set(self._allowed_steps()):
                status = "waiting"  # for whoever lets it go on
        if status == "running":
            self._watch.run(self.settings.limits.seconds)
        if status != self.conversation.status:
            self._apply(ev.StatusChanged(status=status))
        if status != "running":
            self._watch.pause()
            wanted = status == "ready" and self.background.tell(asks=asks)
            self._rest()
            if wanted:
                self._pace = TO_THE_END
                self.advance()

    def job_ended(self) -> None:
        """Tell the model of a job's end, as soon as the chat is ready."""
        self._set_status()

    @property
    def busy(self) -> bool:
        """Whether something is under way that does not wait for a person."""
        if not self.questions:
            return bool(self._tasks)
        return not all(isinstance(step, Run) and self._waits(step.call) for step in self._tasks)

    def _waits(self, call: str) -> bool:
        """Say whether a call asks the person, or waits for the place of one that does."""
        return call in self.questions or call in self._queued

    def _put_question(self, call_id: str, question: Question | None) -> bool:
        if self._state(call_id) != "running":
            return False
        self.emit(ev.CallAsked(call=call_id, question=question))
        self._set_status()
        return True

    def _note_limit(self, limit: Limit) -> None:
        """Say once in a turn that a limit was reached; from there on the planner closes it."""
        if not limit or budget.noted(self.conversation):
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
        for future in resting:  # after all that belongs to what comes to rest, and each for itself
            self.engine.loop.call_soon(_end_wait, future)

    async def rest(self) -> None:
        """Wait until nothing runs: answered, waiting for a person, or failed."""
        await asyncio.wrap_future(self.rested())

    def rested(self) -> Future[None]:
        """Give what is done as soon as nothing runs; any thread may wait for it."""
        future: Future[None] = Future()
        if self.conversation.status != "running" and not self.busy:
            future.set_result(None)
        else:
            self._resting.append(future)
        return future

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
        # What a step sets in its context is its own: what follows begins where it began.
        work = self._carried(step, contextvars.copy_context())
        work.send(None)  # so that it goes on from the step even if that is cancelled at once
        # Not by the loop, whose tasks may be eager: a step begins after it has been noted.
        self._tasks[step] = asyncio.Task(work, loop=self.engine.loop, name=_NAMES[type(step)])

    async def _carried(self, step: Step, context: contextvars.Context) -> None:
        """Carry out a step, and go on from what came of it.

        Args:
            step: The step.
            context: What the steps after it begin with.
        """
        problem: BaseException | None = None
        try:
            await _begun()
            await self._work(step)
        except BaseException as error:  # noqa: BLE001 - it is shown, or raised below
            problem = error
        # None where nothing goes on: the loop is gone, and this is what clears it away.
        task = asyncio.current_task(self.engine.loop)
        if task is not None:
            context.run(self._finished, step, task, problem)
        if problem is not None and not isinstance(problem, Exception):
            raise problem

    def _finished(self, step: Step, task: asyncio.Task[Any], error: BaseException | None) -> None:
        if self._tasks.get(step) is not task:
            return  # whoever dropped it has gone on
        del self._tasks[step]
        if error is not None:
            self._report(step, error)
        if self._tasks:
            self._advance_soon()
            return
        if self._advance_handle is not None:
            self._advance_handle.cancel()
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

    def _prepare_at_once(self, steps: tuple[Step, ...]) -> bool:
        """Take the steps that need no task of their own; say whether there were any."""
        found = [step for step in steps if isinstance(step, Prepare) and step not in self._tasks]
        if not found:
            return False
        calls = [find_call(self.conversation, step.call) for step in found]
        known = [call for call in calls if not self._may_come(call.tool)]
        quick = [call for call in known if runner.is_prepared_at_once(call, self.settings)]
        for call in quick:
            try:
                settings = self._settings_for(call)
                move = runner.prepare_at_once(call, settings, self._repeated, self.rules.decide)
                self._settle_prepared(move)
            except BaseException as error:  # noqa: BLE001 - a fault of nbtools, as in a task
                self._report(Prepare(call.id), error)
                break
        return bool(quick)

    async def _prepare(self, call_id: str) -> None:
        call = find_call(self.conversation, call_id)
        if self._may_come(call.tool):
            try:
                await self._renew_tools(lambda text: self._say_about(call_id, text))
            except ToolsetError as error:
                self._settle(unreached(call, error))
                return
        settings = self._settings_for(call)
        self._settle_prepared(
            await runner.prepare(call, settings, self._repeated, self.rules.decide)
        )

    def _may_come(self, tool: str) -> bool:
        """Say whether a tool that is not known may be one of a toolset that was not asked yet."""
        settings = self.settings
        return tool not in settings.tools and self._gathering.is_due(settings.offered)

    def _settings_for(self, call: ToolCall) -> Settings:
        if call.origin == "model" and self._pace.tools is not None:
            return replace(self.settings, tools=self._offered())
        return self.settings

    def _repeated(self, call: ToolCall, mark: str) -> str:
        return budget.repeated(self.conversation, call, mark, self.settings.limits.repeats)

    def _settle_prepared(self, prepared: runner.Move) -> None:
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
            self._note_place(call_id, waits=bool(text))

        async with self._slots.one(tool.name, tool.max_parallel, on_wait):
            call = find_call(self.conversation, call_id)
            if call.state == "running" and tool.background:
                self._settle(self.background.begin(call, tool))
            elif call.state == "running":
                ask = functools.partial(self.questions.ask, call_id)
                with calling(self, call_id):
                    end = await execution.run(call, self.settings, emit, self, ask)
                self._settle(end)

    def _note_place(self, call_id: str, *, waits: bool) -> None:
        """Take note that a call waits for a place to run in, or has got one."""
        (self._queued.add if waits else self._queued.discard)(call_id)
        if self.questions:
            self._set_status()

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
            await self._renew_tools(self._say_in_reply)
            self._check_names()
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
            settings.provider.fit(history.prepare(self.conversation), self.answer_settings),
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

    def _check_names(self) -> None:
        try:
            if self._unchecked is not None:
                self._unchecked()
        except ValueError as error:
            raise ToolsetError(str(error)) from None
        self._unchecked = None

    async def _renew_tools(self, say: Callable[[str], object]) -> None:
        settings = self.settings
        tools = await self._gathering.renew(settings.offered, settings.provider.check, say)
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
        told = sentence(outcome, reason)
        if call.state == "running" and outcome == "limit":
            told = ended_at_limit(reason)
        elif call.state == "running" and outcome == "cancelled":
            told = cancelled_at_work()
        ended = ev.CallEnded(
            call=call.id,
            outcome=outcome,
            error=reason,
            told=told,
            decision=decision,
            time=time.time(),
        )
        self.emit(ended)

    def _drop(self, step: Step) -> None:
        task = self._tasks.pop(step, None)
        if isinstance(step, Run):
            self._queued.discard(step.call)
        if task is not None:
            task.cancel()


@types.coroutine
def _begun() -> Generator[None, None, None]:
    """Hold a coroutine where it is thrown into what ends it, instead of never having begun."""
    yield


def _end_wait(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


_NAMES = {kind: f"nbtools {kind.__name__}" for kind in (Ask, Prepare, Recheck, Refuse, Run)}
"""What the tasks of steps are called in a debugger."""

_FINISH_NOTES: Mapping[str, str] = {
    "length": "The answer reached the length limit and is not complete.",
    "filter": "The provider withheld the rest of this answer.",
}
