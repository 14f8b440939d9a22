"""Functions that run in an executor of the user's own, or in a process that can be killed.

A process is loky's: it is started anew and never a fork, and takes functions that a notebook's cell
defines. Each runs one function at a time, so that killing it ends that one alone.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from nbtools.executors.workers import GRACE

T = TypeVar("T")

IDLE_PROCESS = 60
"""Seconds after which a process without work ends."""

_idle: list[Any] = []


async def in_executor(
    executor: Executor,
    fn: Callable[[], T],
    *,
    late: Callable[[Any, BaseException | None], None] | None = None,
    left: Callable[[], object] | None = None,
) -> T:
    """Run a function in an executor.

    Args:
        executor: Any; one that runs other processes has to be able to pickle the function.
        fn: The function. If the caller is cancelled while it runs, it is left behind.
        late: Takes the value and the error of such a function, on the caller's loop.
        left: Is called on the caller's loop where such a function still runs after `GRACE`.

    Returns:
        What the function returned.
    """
    if isinstance(executor, ThreadPoolExecutor):
        future = executor.submit(contextvars.copy_context().run, fn)
    else:
        future = executor.submit(fn)
    try:
        return await _result(future)
    except asyncio.CancelledError:
        if not future.done():
            _leave(future, late, left)
        raise


def _leave(
    future: Future[Any],
    late: Callable[[Any, BaseException | None], None] | None,
    left: Callable[[], object] | None,
) -> None:
    loop = asyncio.get_running_loop()

    def tell(done: Future[Any]) -> None:
        error = done.exception()
        value = None if error else done.result()
        if late is not None and not loop.is_closed():
            loop.call_soon_threadsafe(late, value, error)

    future.add_done_callback(tell)
    if left is not None:
        loop.call_later(GRACE, lambda: future.done() or left())


async def in_process(fn: Callable[[], T]) -> T:
    """Run a function in a process of its own.

    Args:
        fn: The function. If the caller is cancelled, the process is killed.

    Returns:
        What the function returned.

    Raises:
        BrokenExecutor: The process died.
        ModuleNotFoundError: loky is not installed; the text names the extra.
    """
    executor = _idle.pop() if _idle else _new_process()
    try:
        return await _result(executor.submit(_sendable(fn)))
    except asyncio.CancelledError:
        executor.shutdown(wait=False, kill_workers=True)
        executor = None
        raise
    except BrokenExecutor:
        executor = None
        raise
    finally:
        if executor is not None:
            _idle.append(executor)


def _sendable(fn: Callable[[], T]) -> Callable[[], T]:
    """Let what a function raises come back, whatever it is.

    An exception that cannot be unpickled would pass for the death of its process.
    """

    # Within a function, so that it is sent whole: the process has no need of this package.
    def run() -> T:
        try:
            return fn()
        except Exception as error:
            import cloudpickle  # noqa: PLC0415 - comes with loky

            try:
                cloudpickle.loads(cloudpickle.dumps(error))
            except Exception:  # noqa: BLE001 - its own code raised
                raise type(type(error).__name__, (Exception,), {})(str(error)) from None
            raise

    return run


async def _result(future: Future[T]) -> T:
    return await asyncio.wrap_future(future)


def _end_idle() -> None:
    while _idle:
        _idle.pop().shutdown(wait=True, kill_workers=True)


def _new_process() -> Any:
    try:
        from loky import ProcessPoolExecutor  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "executor='process' needs loky: pip install 'nbtools-chat[process]'"
        ) from None
    atexit.unregister(_end_idle)
    atexit.register(_end_idle)
    return ProcessPoolExecutor(max_workers=1, timeout=IDLE_PROCESS)
