"""The one asyncio loop of a process on which every session lives."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

THREADS = sys.platform != "emscripten"
"""Whether this Python has threads; Pyodide has none, and the engine is its running loop."""


class Engine:
    """One asyncio loop on which every session lives.

    Args:
        loop: The loop to use; without one, a daemon thread is started for a loop of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.loop = loop or _start_loop()
        self._submitted: set[Future[Any]] = set()

    @property
    def here(self) -> bool:
        """Whether the caller is on the engine's loop."""
        return running_loop() is self.loop

    def post(self, fn: Callable[..., object], *args: object) -> None:
        """Call `fn(*args)` on the engine's loop, soon; safe from every thread and never blocks."""
        self.loop.call_soon_threadsafe(fn, *args)

    def do(self, work: Callable[[], T]) -> T:
        """Do a short piece of work on the engine's loop, from any thread, and return what it returns.

        Raises:
            Exception: Whatever the work raised.
        """
        if self.here:
            return work()

        future: Future[T] = Future()
        self.post(_carry, work, future)
        try:
            return future.result()
        finally:
            del future  # its error leads back here, and to all that the caller holds

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the engine's loop; safe from every thread.

        Args:
            coroutine: It runs to its end even if nobody keeps the returned future.

        Returns:
            A future for any thread; cancelling it cancels the coroutine.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        # A loop refers to its tasks weakly: without this one, garbage collection could end it.
        self._submitted.add(future)
        future.add_done_callback(self._submitted.discard)
        return future


def _carry(work: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
        future.set_exception(error)
    finally:
        del work, future  # as above


def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run_for_good, args=(loop,), name="nbtools", daemon=True).start()
    return loop


def _run_for_good(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            continue  # a task of some tool wanted to exit; the other chats go on
        loop.close()
        return


def is_cancelled() -> bool:
    """Say whether this very task was cancelled; foreign code may raise `CancelledError` too.

    What is cleared away after the end of its loop runs in no task, and counts as cancelled.
    """
    if running_loop() is None:
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs on this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@functools.cache
def _engine(process: int) -> Engine:  # noqa: ARG001 - a fork has no engine thread and makes its own
    return Engine(None if THREADS else asyncio.get_event_loop())


_ENGINE_LOCK = threading.Lock()


def engine() -> Engine:
    """Return the engine of this process, and start it on first use."""
    with _ENGINE_LOCK:
        return _engine(os.getpid())
