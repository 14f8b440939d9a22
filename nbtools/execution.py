"""Carries out one call that has entered `running`: where it runs, for how long, how often."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import BrokenExecutor
from typing import Any, Protocol

from nbtools import events as ev
from nbtools.display import WORDS, Figures, bundle, capture, figures, together
from nbtools.endings import ended, finished, kept, raised
from nbtools.errors import ToolError
from nbtools.executors import (
    Ended,
    Errand,
    Made,
    Remote,
    in_executor,
    in_main,
    in_process,
    in_worker,
    is_cancelled,
    running_loop,
)
from nbtools.failure import explain
from nbtools.frozen import thaw
from nbtools.messages import Json, Progress, ToolCall
from nbtools.runner import Emit, Handler, Settings
from nbtools.tools import PENDING, Result, Tool, ToolContext
from nbtools.tools.invoke import bound, invoke, is_awaited

LONGEST_OUTPUT = 64_000
"""Characters that one call may print to its card."""

_CUT = f"\n… (a card keeps the first {LONGEST_OUTPUT:,} characters that are printed)\n"


class Behind(Protocol):
    """Hears, on the engine's loop, of functions that nobody waits for any more."""

    def left(self, call: str) -> None:
        """Take note that the function of an ended call still runs."""

    def late(self, call: str, value: object, error: BaseException | None) -> None:
        """Take note of what the function of an ended call gave."""


Ask = Callable[[str, Mapping[str, Json] | None, str], Awaitable[dict[str, Json] | None]]
"""Puts a question to the person: its text, its form, its link. On the engine's loop."""


async def run(
    call: ToolCall, settings: Settings, emit: Emit, behind: Behind, ask: Ask
) -> ev.CallWaiting | ev.CallEnded:
    """Execute a call that has entered `running`.

    Args:
        call: The call with the arguments that were shown.
        settings: The chat's tools and hidden context.
        emit: Takes progress, output and partial values.
        behind: Hears of a function that runs on after its call has ended.
        ask: Puts a question of the function to the person.

    Returns:
        The call's end, or `pending(result)` where a person is to answer.
    """
    tool = settings.tools[call.tool]
    sink = Sink(call.id, emit)
    clock = _clock(tool)
    try:
        with capture(sink), figures() as opened:
            work = _Run(call, settings, sink, clock=clock, behind=behind, ask=ask)
            value = await (work.value() if clock is None else _timed(work, clock))
            return await _settled(call, value, settings, sink, opened)
    except (KeyboardInterrupt, SystemExit, Ended) as error:
        cause = error.cause if isinstance(error, Ended) else error
        if isinstance(cause, KeyboardInterrupt):
            return ended(call, "cancelled", "It was interrupted.")
        return raised(call, tool, cause)  # its own exit is a failure, and nobody's decision
    except BaseException as error:
        if is_cancelled():
            raise
        if _died(tool, error):
            return ended(call, "interrupted", "The process that ran it died.")
        if clock is not None and clock.expired():
            return ended(call, "timeout", f"It took over {tool.timeout:g} s.")
        return raised(call, tool, error)


def _clock(tool: Tool) -> asyncio.Timeout | None:
    """Make what limits the time of a tool; on the main thread it runs once its turn has come."""
    if tool.timeout is None:
        return None
    return asyncio.timeout(tool.timeout if tool.thread == "worker" else None)


async def _timed(work: _Run, clock: asyncio.Timeout) -> object:
    async with clock:
        try:
            return await work.value()
        finally:
            work.over = True


def _died(tool: Tool, error: BaseException) -> bool:
    """Say whether what ran a tool died; an executor that its function uses is its own affair."""
    return tool.executor is not None and isinstance(error, BrokenExecutor)


async def _settled(
    call: ToolCall, value: object, settings: Settings, sink: Sink, opened: Figures
) -> ev.CallWaiting | ev.CallEnded:
    """Write down what a tool returned; what takes time to draw is drawn in a worker thread."""
    if value is PENDING:
        return ev.CallWaiting(call=call.id, waiting="result", args=call.args or {})

    def write() -> ev.CallEnded:
        shown = [*sink.shown, *opened.collect(shown=value)]
        limits = settings.limits
        veiled = settings.privacy.veiled(value, limits)
        return finished(call, veiled, limits, shown=shown)

    costs_nothing = type(value) in WORDS and not opened.used
    end = write() if costs_nothing else await in_worker(write)
    return kept(end, call, value, settings.variables, settings.tools)


class _Run:
    """One run of a tool, with its further tries."""

    def __init__(
        self,
        call: ToolCall,
        settings: Settings,
        sink: Sink,
        *,
        clock: asyncio.Timeout | None,
        behind: Behind,
        ask: Ask,
    ) -> None:
        self._call = call
        self._tool: Tool = settings.tools[call.tool]
        self._settings = settings
        self._behind = behind
        self._sink = sink
        self._clock = clock
        self._ask_person = ask
        self._loop = asyncio.get_running_loop()
        self.over = False
        """Whether the time of the tool is over, whatever it has left behind."""
        self._questions = 0
        """How many are asked now; while there are any the clock stands still."""
        self._begun = 0.0
        self._end: float | None = None
        """When the clock began to stand still, and when it would have run out."""

    async def value(self) -> object:
        """Run the tool until it gives a value, or fails once more than it may."""
        died = False
        for attempt in itertools.count(1):
            try:
                return await self._once()
            except Exception as error:
                if _died(self._tool, error):
                    if died or not self._tool.idempotent:
                        raise
                    died = True
                    self._sink.progress(None, "Runs again: the process that ran it died.")
                elif attempt > self._tool.retries or not _may_help(self._tool, error):
                    raise
                else:
                    await self._wait(attempt, error)
        raise AssertionError  # the loop has no end

    async def _wait(self, attempt: int, error: BaseException) -> None:
        tries, seconds = self._tool.retries + 1, self._tool.backoff * 2 ** (attempt - 1)
        text = f"Try {attempt + 1} of {tries} in {seconds:g} s, after {explain(error)}"
        self._sink.progress(None, text)
        await asyncio.sleep(seconds)

    async def _once(self) -> object:
        tool, call, settings = self._tool, self._call, self._settings
        context = ToolContext(
            settings.context,
            call_id=call.id,
            on_progress=self._sink.progress,
            on_ask=self._ask,
        )
        if tool.function is None and settings.on_tool_call is not None:
            return await _handle(settings.on_tool_call, call, context)
        args = thaw(call.args or {})
        objects = settings.variables.objects(tool, args)
        if tool.executor == "process":
            return await in_process(bound(tool, args, context, objects))
        if isinstance(tool.executor, Remote):
            return await tool.executor.run(
                self._errand(bound(tool, args, context, objects), context)
            )
        if tool.executor is not None:
            function = bound(tool, args, context, objects)
            return await in_executor(tool.executor, function, late=self._late, left=self._left)
        workers = self._in_main if tool.thread == "main" else self._in_worker
        return await invoke(tool, args, context, self._sink, workers, objects=objects)

    def _errand(self, call: functools.partial[object], context: ToolContext[Any]) -> Errand:
        def swapped(value: object) -> object:
            return Made.CONTEXT if value is context else value

        return Errand(
            name=self._tool.name,
            function=call.func,
            positional=tuple(map(swapped, call.args)),
            named={name: swapped(value) for name, value in call.keywords.items()},
            idempotent=self._tool.idempotent,
            on_progress=self._sink.progress,
        )

    def _ask(
        self, text: str, form: Mapping[str, Json] | None, link: str
    ) -> Coroutine[Any, Any, dict[str, Json] | None]:
        """Put a question to the person, if the function can wait for the answer."""
        if running_loop() is self._loop or is_awaited():
            return self._asked(text, form, link)
        raise ToolError("This tool cannot ask: make it `async def`, and write `await ctx.ask(…)`.")

    async def _asked(
        self, text: str, form: Mapping[str, Json] | None, link: str
    ) -> dict[str, Json] | None:
        """Wait for the person, on whatever loop the function runs."""
        work = self._ask_here(text, form, link)
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _ask_here(
        self, text: str, form: Mapping[str, Json] | None, link: str
    ) -> dict[str, Json] | None:
        if not self._questions:  # a person's time is not tool time
            self._stop_clock()
        self._questions += 1
        try:
            return await self._ask_person(text, form, link)
        finally:
            self._questions -= 1
            if not self._questions:
                self._go_on_with_clock()

    def _stop_clock(self) -> None:
        self._end = None
        if (clock := self._ticking()) is not None:
            self._begun, self._end = self._loop.time(), clock.when()
            clock.reschedule(None)

    def _go_on_with_clock(self) -> None:
        if self._end is not None and (clock := self._ticking()) is not None:
            clock.reschedule(self._end + self._loop.time() - self._begun)

    def _ticking(self) -> asyncio.Timeout | None:
        """Give what limits the time of the tool, until that is over: what it left behind may ask on."""
        clock = self._clock
        return None if clock is None or self.over or clock.expired() else clock

    def _late(self, value: object, error: BaseException | None) -> None:
        self._behind.late(self._call.id, value, error)

    def _left(self) -> None:
        self._behind.left(self._call.id)

    def _in_worker(self, function: Callable[[], Any]) -> Awaitable[Any]:
        return in_worker(function, late=self._late, left=self._left)

    async def _in_main(self, function: Callable[[], Any]) -> Any:
        return await in_main(function, on_wait=self._on_wait)

    def _on_wait(self, text: str) -> None:
        self._sink.progress(None, text)
        timeout = self._tool.timeout
        if not text and timeout is not None and (clock := self._ticking()) is not None:
            # Waiting for the main thread is not tool time.
            clock.reschedule(self._loop.time() + timeout)


def _may_help(tool: Tool, error: BaseException) -> bool:
    """Say whether another try may help, unless the function itself says that none does."""
    final = isinstance(error, ToolError) and error.retryable is False
    return isinstance(error, tool.retry_on) and not final


async def _handle(handler: Handler, call: ToolCall, context: ToolContext[Any]) -> object:
    """Ask `on_tool_call`; None means that it did not handle the call."""
    if inspect.iscoroutinefunction(handler):
        value = await handler(call, context)
    else:
        value = await in_worker(lambda: handler(call, context))
        if inspect.isawaitable(value):
            value = await value
    return PENDING if value is None else value


class Sink:
    """Where a running tool's progress, output and pictures go: to its own card."""

    def __init__(self, call_id: str, emit: Emit) -> None:
        self._call = call_id
        self._emit = emit
        self._printed = 0
        self.shown: list[Mapping[str, Json]] = []

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        """Show how far the call is."""
        progress = Progress(fraction=fraction, text=text)
        self._emit(ev.CallProgressed(call=self._call, progress=progress))

    def output(self, text: str) -> None:
        """Show what the function printed, up to `LONGEST_OUTPUT` characters."""
        room = LONGEST_OUTPUT - self._printed
        if room < 0 or not text:
            return
        self._printed += len(text)
        shown = text if len(text) <= room else text[:room] + _CUT
        self._emit(ev.CallProgressed(call=self._call, output=shown))

    def display(self, shown: Mapping[str, Json]) -> None:
        """Show what the function displayed, below what it displayed before."""
        self.shown.append(shown)
        self._emit(ev.CallProgressed(call=self._call, display=together(self.shown)))

    def partial(self, value: object) -> None:
        """Show a value that is not yet the last."""
        faces = value if isinstance(value, Result) else Result(value)
        shown = bundle(faces.value if faces.display is None else faces.display)
        self._emit(ev.CallProgressed(call=self._call, display=shown))
