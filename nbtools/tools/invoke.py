"""Running the function of a tool: where each kind runs, and how it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import Any, Protocol

from nbtools.messages import Json
from nbtools.tools.context import ToolContext, cancel
from nbtools.tools.tool import Tool

GRACE = 2.0
"""Seconds that a cancelled `async` tool has to end; after that it is left to itself."""

Workers = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function in a thread. The one for the main thread also awaits there what it returned."""

_left: set[asyncio.Task[Any]] = set()
_awaited: contextvars.ContextVar[bool] = contextvars.ContextVar("nbtools_awaited", default=False)


def is_awaited() -> bool:
    """Say whether the code at hand is part of a tool that somebody awaits, and may await itself."""
    return _awaited.get()


class Sink(Protocol):
    """Takes what a running tool shows before it ends; safe from any thread."""

    def partial(self, value: object) -> None:
        """Show a value that is not yet the last."""

    def progress(self, fraction: float | None, text: str) -> None:
        """Show how far the call is."""

    def output(self, text: str) -> None:
        """Show what the function printed."""


async def invoke(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext[Any],
    sink: Sink,
    workers: Workers,
    *,
    objects: Mapping[str, object] | None = None,
) -> object:
    """Run the function of a tool with arguments that were checked.

    A generator shows each value as it is yielded; its result is what it returns, or the last value
    where that is None. Cancelling the caller sets `context.cancelled`, gives an async tool `GRACE`
    seconds to end, and leaves a synchronous one behind at once.

    Args:
        tool: A tool with a function.
        args: What `tool.check` gave.
        context: Is handed to the function, if it has a parameter for it.
        sink: Takes the partial values.
        workers: Runs what is not async.
        objects: The values that arguments name; see `Tool.variables`.

    Returns:
        The value of the function.

    Raises:
        BaseException: What the function raised; it must not reach the loop.
    """
    call = bound(tool, args, context, objects)
    if tool.thread == "main":
        return await _watched(
            workers(lambda: _marked(_finish(_begin(call, context, sink), sink))), context
        )
    if tool.kind in ("async", "asyncgen"):
        value: Any = call()
    else:
        try:
            value = await workers(lambda: _begin(call, context, sink))
        except asyncio.CancelledError:
            cancel(context)
            raise
    value = _finish(value, sink)
    return await _watched(value, context) if inspect.isawaitable(value) else value


async def _watched(running: Awaitable[object], context: ToolContext[Any]) -> object:
    """Await what runs in a task of its own, which gets `GRACE` if the caller is cancelled."""
    task = asyncio.create_task(_settled(running))
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        cancel(context)
        await _end(task)
        raise
    value, problem = task.result()
    if isinstance(problem, asyncio.CancelledError):
        # As it is, it would pass for a cancellation of the caller.
        raise RuntimeError("The tool's own work was cancelled.") from problem  # noqa: TRY004
    if problem is not None:
        raise problem
    return value


def _marked(value: object) -> object:
    """Let what is awaited on another loop know that it is."""
    return _awaiting(value) if inspect.isawaitable(value) else value


async def _awaiting(value: Awaitable[object]) -> object:
    _awaited.set(True)
    return await value


async def _settled(running: Awaitable[object]) -> tuple[object, BaseException | None]:
    """Wait for the end without raising: SystemExit would leave the task and end the loop."""
    _awaited.set(True)
    try:
        return await running, None
    except BaseException as problem:  # noqa: BLE001 - `invoke` raises it
        return None, problem


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    _left.add(task)
    task.add_done_callback(_left.discard)
    await asyncio.wait({task}, timeout=GRACE)


def bound(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext[Any],
    objects: Mapping[str, object] | None,
) -> functools.partial[object]:
    """Give the function of a tool with everything that it is called with."""
    if tool.function is None:
        raise TypeError(f"The tool {tool.name!r} has no function.")
    positional, named = tool.arguments(args, context, objects)
    return functools.partial(tool.function, *positional, **named)


def _begin(call: Callable[[], object], context: ToolContext[Any], sink: Sink) -> object:
    """Call the function and, where it gives a generator, run that to its end."""
    value = call()
    return _exhaust(value, context, sink) if inspect.isgenerator(value) else value


def _exhaust(
    values: Generator[object, Any, object], context: ToolContext[Any], sink: Sink
) -> object:
    last: object = None
    while not context.cancelled:
        try:
            last = next(values)
        except StopIteration as end:
            return last if end.value is None else end.value
        sink.partial(last)
    values.close()
    return last


def _finish(value: object, sink: Sink) -> object:
    """Turn an async generator, as a wrapped function may return it too, into an awaitable."""
    return _exhaust_async(value, sink) if inspect.isasyncgen(value) else value


async def _exhaust_async(values: AsyncGenerator[object, Any], sink: Sink) -> object:
    last: object = None
    async with contextlib.aclosing(values):
        async for last in values:
            sink.partial(last)
    return last
