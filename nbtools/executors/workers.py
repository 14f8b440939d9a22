"""A daemon thread for each synchronous tool that runs, so that one that never ends delays nobody.

A thread whose function has ended waits a while for the next one: to start a thread costs 0.3 ms of
CPU, as much as all else that a call of a small tool takes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from nbtools.executors.engines import THREADS
from nbtools.executors.jobs import Job

T = TypeVar("T")
Inbox = SimpleQueue[tuple[Job, str]]

GRACE = 2.0
"""Seconds that an abandoned function has to end before it counts as running on."""

IDLE = 10.0
"""Seconds that a thread without work waits for more."""

_abandoned: set[Job] = set()
_idle: list[Inbox] = []


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
    _hand_over(job, f"nbtools {name}".strip())
    try:
        return await future
    finally:
        if future.cancelled() and not job.over:
            _abandoned.add(job)
            if left is not None:
                loop.call_later(GRACE, lambda: job.over or left())


def _hand_over(job: Job, name: str) -> None:
    """Give a job to a thread that waits, or else to a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put((job, name))


def _serve(inbox: Inbox) -> None:
    thread = threading.current_thread()
    while True:
        try:
            job, thread.name = inbox.get(timeout=IDLE)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # a job is on its way
                continue
            return
        value, error = job.run()
        _idle.append(inbox)
        _abandoned.discard(job)
        job.deliver(value, error)
        del job, value, error  # a thread that waits holds nothing of the user's


if hasattr(os, "register_at_fork"):  # a child has none of the threads
    os.register_at_fork(after_in_child=_idle.clear)
