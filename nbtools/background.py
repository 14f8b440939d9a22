"""The jobs of one conversation: work of calls that goes on after the call and its turn have ended.

A job ends no run and closes no call. Its end is told to the model when the chat is ready, as a note
from the program; a tool may want an answer to it then.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from nbtools import events as ev
from nbtools import execution
from nbtools.checks import SECONDS, expect, optional
from nbtools.endings import ended, finished
from nbtools.errors import AlreadyDecided, IllegalMove, ToolError
from nbtools.executors import Engine, Slots
from nbtools.failure import explain, told_of
from nbtools.messages import Conversation, Job, Json, Message, Notice, Progress, ToolCall
from nbtools.reducer import calls_of, find_job
from nbtools.runner import Settings
from nbtools.tools import Result, Tool

_WORDS = {
    "ok": "is done",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
    "timeout": "ran out of time",
}

_log = logging.getLogger("nbtools")


class Home(execution.Behind, Protocol):
    """The conversation that jobs belong to."""

    engine: Engine
    settings: Settings
    conversation: Conversation

    def emit(self, event: ev.Event) -> None:
        """Take in what happened."""

    def is_taken(self, name: str) -> bool:
        """Say whether the conversation has, or had, something with this id."""

    def new_id(self, kind: str) -> str:
        """Make an id that is not taken."""

    def job_ended(self) -> None:
        """Take note that a job has ended."""


class Background:
    """Run jobs. Every method is called on the engine's loop.

    Args:
        home: The conversation.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._slots = Slots(home.settings.max_parallel)

    def begin(self, call: ToolCall, tool: Tool) -> ev.CallEnded:
        """Start the work of a call that runs, and say how the call itself ends."""
        job = next(name for name in _names() if not self._home.is_taken(name))
        part = Job(id=job, call=call.id, tool=call.tool, started=time.time())
        self._home.emit(ev.PartAdded(message=self._message_of(call.id), part=part))
        work = self._run(job, call, tool)
        task = self._home.engine.loop.create_task(work, name=f"nbtools {job}")
        self._tasks[job] = task
        task.add_done_callback(lambda done: self._finished(job, call, done))
        told = f"Started in the background as {job!r}. You will be told when it has ended."
        value = Result({"job": job}, model=told, display=f"Started as {job}.")
        return finished(call, value, self._home.settings.limits)

    def cancel(self, job: str, after: float | None = None) -> None:
        """End a job.

        Args:
            job: Its id.
            after: Seconds that it may still take; None ends it now.

        Raises:
            AlreadyDecided: It is over.
            ValueError: `after` is no number above 0.
        """
        known = find_job(self._home.conversation, job)
        if known.state != "running":
            raise AlreadyDecided(f"This job is over already ({known.outcome}).")
        expect("after", after, optional(SECONDS))
        if after is None:
            self._end(job, _cancelled(known))
            return
        text = f"{job} will be ended in {after:g} s."
        note = Notice(id=self._home.new_id("n"), text=text, about=job)
        self._home.emit(ev.PartAdded(message=self._message_of(known.call), part=note))
        self._home.engine.loop.call_later(after, self._time_is_up, job, after)

    def _time_is_up(self, job: str, seconds: float) -> None:
        if (known := self._known(job)) is not None:
            self._end(job, ended(_call_of(known), "timeout", f"It was given {seconds:g} s."))

    def end_in(self, messages: tuple[Message, ...]) -> None:
        """End the jobs of these messages; whoever does so tells of it, or lets them go too."""
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, Job) and part.state == "running":
                self._close(part.id, _cancelled(part))

    def has(self, job: str) -> bool:
        """Say whether there is a job with this id."""
        return any(
            part.id == job
            for message in self._home.conversation.messages
            for part in message.parts
            if isinstance(part, Job)
        )

    def tell(self, *, asks: bool = True) -> bool:
        """Say of each job that has ended, once, what became of it.

        Args:
            asks: Whether the model may be asked to go on.

        Returns:
            Whether the model has to be asked now.
        """
        wanted = False
        for job in _untold(self._home.conversation):
            tool = self._home.settings.tools.get(job.tool)
            wants = asks and tool is not None and tool.on_done == "continue"
            wanted = wanted or wants
            note = Notice(
                id=self._home.new_id("n"),
                level="info" if job.outcome == "ok" else "warning",
                text=f"{job.id} ({job.tool}) {_became(job)}.",
                about=job.id,
                told=f"{job.id} ({job.tool}) {_became(job)}. {job.told}".strip(),
                asks=wants,
            )
            message = Message(
                id=self._home.new_id("m"), role="user", parts=(note,), time=time.time()
            )
            self._home.emit(ev.MessageAdded(message=message))
        return wanted

    async def _run(self, job: str, call: ToolCall, tool: Tool) -> None:
        def emit(event: ev.Event, /) -> None:
            self._home.engine.post(self._progress, job, event)

        def on_wait(text: str) -> None:
            emit(ev.CallProgressed(call=call.id, progress=Progress(text=text)))

        async with self._slots.one(tool.name, tool.max_parallel, on_wait):
            end = await execution.run(call, self._home.settings, emit, self._home, _nobody)
        if not isinstance(end, ev.CallEnded):
            text = "It returned PENDING, and nobody can answer a job; use a tool of its own."
            end = ended(call, "failed", text)
        # After all that it said of its progress, which takes the same way.
        self._home.engine.post(self._end, job, end)

    def _progress(self, job: str, event: ev.Event) -> None:
        known = self._known(job)
        if known is None or not isinstance(event, ev.CallProgressed):
            return
        changed = replace(
            known,
            progress=event.progress or known.progress,
            output=known.output + event.output,
            display=event.display or known.display,
        )
        self._home.emit(ev.JobChanged(job=changed))

    def _finished(self, job: str, call: ToolCall, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("The job %r failed.", job, exc_info=error)
            text = "nbtools failed: "
            said, told = text + explain(error), text + told_of(error)
            self._end(job, ended(call, "failed", said, told=told))

    def _end(self, job: str, end: ev.CallEnded) -> None:
        if self._close(job, end):
            self._home.job_ended()

    def _close(self, job: str, end: ev.CallEnded) -> bool:
        known = self._known(job)
        task = self._tasks.pop(job, None)
        if task is not None:
            task.cancel()
        if known is None:
            return False
        over = replace(known, **_faces(end), state="result" if end.outcome == "ok" else "error")
        self._home.emit(ev.JobChanged(job=over))
        return True

    def _known(self, job: str) -> Job | None:
        """Return a job that still runs."""
        try:
            known = find_job(self._home.conversation, job)
        except IllegalMove:
            return None
        return known if known.state == "running" else None

    def _message_of(self, call: str) -> str:
        messages = self._home.conversation.messages
        return next(it.id for it in messages if any(known.id == call for known in calls_of(it)))


async def _nobody(_text: str, _form: Mapping[str, Json] | None, _link: str) -> None:
    """Refuse to ask: a job may end long after the person has gone."""
    raise ToolError(
        "A job in the background cannot ask the person anything; let another tool ask before it "
        "begins."
    )


def _call_of(job: Job) -> ToolCall:
    return ToolCall(id=job.call, tool=job.tool)


def _cancelled(job: Job) -> ev.CallEnded:
    return ended(_call_of(job), "cancelled", "")


def _faces(end: ev.CallEnded) -> dict[str, Any]:
    return {
        "outcome": end.outcome,
        "value": end.value,
        "handle": end.handle,
        "display": end.display,
        "told": end.told,
        "pictures": end.pictures,
        "error": end.error or (end.told if end.outcome != "ok" else ""),
        "trace": end.trace,
        "progress": None,
        "ended": time.time(),
    }


def _became(job: Job) -> str:
    return _WORDS.get(job.outcome, "failed")


def _untold(conversation: Conversation) -> Iterator[Job]:
    parts = [part for message in conversation.messages for part in message.parts]
    told = {part.about for part in parts if isinstance(part, Notice) and part.told}
    for part in parts:
        if isinstance(part, Job) and part.state != "running" and part.id not in told:
            yield part


def _names() -> Iterator[str]:
    return (f"job-{number}" for number in itertools.count(1))
