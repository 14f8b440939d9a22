"""A daemon thread for each synchronous tool that runs, so that one that never ends delays nobody.

A thread whose function has ended waits a while for the next one: to start a thread costs 0.3 ms of
CPU, as much as all else that a call of a small tool takes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from nbtools.executors.engines import THREADS
from nbtools.executors.jobs import Job

T = TypeVar("T")
Inbox: TypeAlias = "SimpleQueue[_Crew]"

GRACE = 2.0
"""Seconds that an abandoned function has to end before it counts as running on."""

IDLE = 10.0
"""Seconds that a thread without work waits for more."""

PATIENCE = 0.001
"""Seconds that a job may wait behind another one before it gets a thread of its own."""

_abandoned: set[Job] = set()
_idle: list[Inbox] = []
_crews: WeakKeyDictionary[asyncio.AbstractEventLoop, _Crew] = WeakKeyDictionary()


def abandoned() -> int:
    """Count the functions that still run though nobody waits for them any more."""
    _abandoned.difference_update([job for job in tuple(_abandoned) if job.over])
    return len(_abandoned)


async def in_worker(
    fn: Callable[[], T],
    *,
    name: str = "",
    late: Callable[[Any, BaseException | None], None] | None = None,
    left: Callable[[], object] | None = None,
) -> T:
    """Run a synchronous function in a daemon thread that it has for itself, in the caller's context.

    Args:
        fn: The function. If the caller is cancelled its thread is abandoned: it runs on, and
            what it gives is ignored.
        name: What the thread is called in a debugger.
        late: Takes the value and the error of an abandoned function, on the caller's loop.
        left: Is called on the caller's loop where an abandoned function still runs after `GRACE`.

    Returns:
        What the function returned.

    Raises:
        Ended: It raised KeyboardInterrupt, SystemExit or a cancellation of its own.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    job = Job(fn=fn, future=future, loop=loop, late=late)
    if not THREADS:
        job.deliver(*job.run())
        return await future
    _crew(loop).take_on(job, f"nbtools {name}".strip())
    try:
        return await future
    finally:
        if future.cancelled() and not job.over:
            _abandoned.add(job)
            if left is not None:
                loop.call_later(GRACE, lambda: job.over or left())


def _crew(loop: asyncio.AbstractEventLoop) -> _Crew:
    crew = _crews.get(loop)
    if crew is None:
        crew = _crews[loop] = _Crew()
    return crew


class _Crew:
    """The jobs of one loop that wait for a thread, and those that have ended.

    To wake a thread and to be woken by it costs as much as a small tool. So a thread takes what
    waits one after the other, and tells of all of it at once; what still waits after `PATIENCE`
    gets threads of its own.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Job, str]] = deque()
        self._ended: deque[tuple[Job, Any, BaseException | None]] = deque()
        self._coming = False
        """Whether a thread is on its way to what waits."""
        self._watch: asyncio.TimerHandle | None = None
        """Looks after `PATIENCE` what has ended and what waits."""
        self._open = 0

    def take_on(self, job: Job, name: str) -> None:
        """Let a thread run a job; called on the loop, which must not be kept here."""
        self._open += 1
        self._waiting.append((job, name))
        if self._watch is None:
            self._watch = job.loop.call_later(PATIENCE, self._look)
        if not self._coming:
            self._coming = True
            _wake(self)

    def serve(self) -> None:
        """Run what waits; called on a thread of its own."""
        thread = threading.current_thread()
        while self._waiting:
            try:
                job, thread.name = self._waiting.popleft()
            except IndexError:  # another thread was quicker
                break
            self._coming = bool(self._waiting)
            value, error = job.run()
            _abandoned.discard(job)
            self._ended.append((job, value, error))
            if not (self._watch and self._waiting):
                job.post(self._settle)
            del job, value, error  # a thread that waits holds nothing of the user's

    def _look(self) -> None:
        self._watch = None  # first: who ends from here on tells of it
        self._settle()
        for _ in range(len(self._waiting)):
            _wake(self)

    def _settle(self) -> None:
        while self._ended:
            job, value, error = self._ended.popleft()
            self._open -= 1
            job.settle(value, error)
        if not self._open and self._watch is not None:
            self._watch.cancel()
            self._watch = None


def _wake(crew: _Crew) -> None:
    """Let a thread that waits serve a crew, or else a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put(crew)


def _serve(inbox: Inbox) -> None:
    while True:
        try:
            crew = inbox.get(timeout=IDLE)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # a crew is on its way
                continue
            return
        crew.serve()
        del crew
        _idle.append(inbox)


if hasattr(os, "register_at_fork"):  # a child has none of the threads
    os.register_at_fork(after_in_child=_idle.clear)
