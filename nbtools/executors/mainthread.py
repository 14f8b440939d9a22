"""The kernel's main thread: what has to run there waits until a cell leaves it free.

GUI toolkits, handles bound to a thread and code that changes the user's variables belong there.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import inspect
import queue
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nbtools.executors.engines import running_loop
from nbtools.executors.jobs import DEADLY, Ended, Job

T = TypeVar("T")

WAITS = "waits for the main thread"
"""What a caller is told while its function waits."""

LOST = 0.1
"""Seconds after which an interrupt that had no effect is sent again."""


@dataclass(kw_only=True)
class MainJob(Job):
    """A function for the main thread, which can be interrupted there."""

    on_wait: Callable[[str], None] | None = None
    running: bool = False
    task: asyncio.Task[Any] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def interrupt(self) -> None:
        """End the function where it is, as the kernel's interrupt would; safe from any thread."""
        if self.task is not None:
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)
        self._signal(None)

    def _signal(self, last: object) -> None:
        """Send SIGINT, and once more if the main thread has not moved from its `last` place.

        A signal that falls between Python's look at its signals and a system call such as a sleep
        is not seen before that call ends.
        """
        with self.lock:
            place = _place_of_main()
            if not self.running or last not in (None, place):
                return
            _interrupt_main()
        self.post(self.loop.call_later, LOST, self._signal, place)

    def run(self) -> tuple[Any, BaseException | None]:
        """Call the function so that an interrupt ends it and nothing else.

        Between cells a kernel ignores SIGINT, so the handler is set here and put back after.
        """
        outcome: tuple[Any, BaseException | None] = (None, None)
        previous = signal.signal(signal.SIGINT, signal.default_int_handler) or signal.SIG_DFL
        try:
            with self.lock:
                self.running = not self.future.done()
            if self.running:
                if self.on_wait is not None:
                    self.post(self.on_wait, "")
                outcome = super().run()
        except KeyboardInterrupt as error:  # it came between two of our own lines
            outcome = None, Ended(error)
        while True:
            try:
                with self.lock:  # from here on `interrupt` sends nothing more
                    self.running = False
                signal.signal(signal.SIGINT, previous)
            except KeyboardInterrupt:
                continue
            return outcome

    async def wait_for(self, value: Awaitable[Any]) -> BaseException | None:
        """Await what the function returned and deliver the outcome; return what ended it."""
        self.task = asyncio.current_task()
        error: BaseException | None = None
        try:
            value = await value
        except DEADLY as deadly:
            error = Ended(deadly)
        except BaseException as other:  # noqa: BLE001 - it is raised where the caller awaits
            error = other
        self.deliver(value, error)
        return error


def _place_of_main() -> object:
    """Give the instruction that the main thread executes."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]  # noqa: SLF001 - documented
    return id(frame), frame.f_lasti


def _interrupt_main() -> None:
    if hasattr(signal, "pthread_kill"):
        # Unlike `interrupt_main`, a real signal also ends a system call such as a sleep.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


Drive = Callable[[Coroutine[Any, Any, BaseException | None]], BaseException | None]
"""Runs a coroutine to its end on the calling thread, and returns what it returns."""


class MainQueue:
    """Functions that wait for the main thread.

    They run between cells, on the main thread's own loop once `remember` has seen it, or at once
    while that thread is blocked in `serve_one`; whichever is free first takes the next one.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[MainJob | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    def remember(self) -> None:
        """Note the loop that runs on the main thread, if the caller is there and one does."""
        loop = running_loop()
        if loop is not None and on_main_thread():
            self._loop = loop
            for _ in range(self._jobs.qsize()):
                loop.call_soon(self._between_cells)

    async def run(
        self,
        fn: Callable[[], T | Awaitable[T]],
        *,
        on_wait: Callable[[str], None] | None = None,
    ) -> T:
        """Run a function on the main thread, in the caller's context; see `in_main`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        job = MainJob(fn=fn, future=future, loop=loop, on_wait=on_wait)
        if on_wait is not None:
            on_wait(WAITS)
        self._jobs.put(job)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: the job waits for whoever serves
                self._loop.call_soon_threadsafe(self._between_cells)
        try:
            return await future
        finally:
            if future.cancelled():
                job.interrupt()

    def wake(self) -> None:
        """Let `serve_one` look up from its wait; safe from every thread."""
        self._jobs.put(None)

    def serve_one(self, drive: Drive, *, timeout: float) -> None:
        """Run the next function on this thread, which has to be the main one.

        Args:
            drive: Is used for an awaitable that the function returns.
            timeout: Seconds to wait for a function.

        Raises:
            KeyboardInterrupt: A person interrupted the function.
        """
        with contextlib.suppress(queue.Empty):
            job = self._jobs.get(timeout=timeout)
            if job is not None:
                _serve(job, drive)

    def _between_cells(self) -> None:
        with contextlib.suppress(queue.Empty):
            while (job := self._jobs.get_nowait()) is None:
                pass  # nobody is in `serve_one` to be woken
            self._start(job)

    def _start(self, job: MainJob) -> None:
        value, error = job.run()
        if not inspect.isawaitable(value):
            job.deliver(value, error)
            return
        task = asyncio.get_running_loop().create_task(job.wait_for(value), context=job.context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _serve(job: MainJob, drive: Drive) -> None:
    value, error = job.run()
    if inspect.isawaitable(value):
        error = _drive(job, value, drive)
    else:
        job.deliver(value, error)
    if isinstance(error, Ended) and error.interrupted and not job.future.cancelled():
        raise KeyboardInterrupt from error


def _drive(job: MainJob, value: Awaitable[Any], drive: Drive) -> BaseException | None:
    waiting = job.wait_for(value)
    try:
        return job.context.run(drive, waiting)
    except Exception as refused:  # noqa: BLE001 - it is raised where the caller awaits
        waiting.close()
        if inspect.iscoroutine(value):
            value.close()
        job.deliver(None, refused)
        return refused


MAIN = MainQueue()
"""The queue of this process."""


def on_main_thread() -> bool:
    """Say whether the caller is on the main thread."""
    return threading.current_thread() is threading.main_thread()


def remember_main() -> None:
    """Note where the main thread's loop is; called whenever a chat is used from Python."""
    MAIN.remember()


async def in_main(
    fn: Callable[[], T | Awaitable[T]], *, on_wait: Callable[[str], None] | None = None
) -> T:
    """Run a function on the main thread, in the caller's context.

    While it runs, SIGINT raises KeyboardInterrupt in it, whatever the kernel does otherwise;
    cancelling the caller sends one.

    Args:
        fn: The function; an awaitable that it returns is awaited on the main thread too.
        on_wait: Is told, on the caller's loop, that the function waits for the main thread, and
            then "" when it begins, which is when its own time starts.

    Returns:
        What the function returned.

    Raises:
        Ended: It was interrupted, or raised SystemExit or a cancellation of its own.
    """
    return await MAIN.run(fn, on_wait=on_wait)
