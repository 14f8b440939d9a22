"""A daemon thread for each synchronous tool, so that one that never ends delays nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from nbtools.executors.engines import THREADS
from nbtools.executors.jobs import Job

T = TypeVar("T")

_abandoned: set[threading.Thread] = set()


def abandoned() -> int:
    """Count the threads that still run though nobody waits for them any more."""
    _abandoned.difference_update([known for known in tuple(_abandoned) if not known.is_alive()])
    return len(_abandoned)


async def in_worker(
    fn: Callable[[], T],
    *,
    name: str = "",
    late: Callable[[Any, BaseException | None], None] | None = None,
) -> T:
    """Run a synchronous function in a daemon thread of its own, in the caller's context.

    Args:
        fn: The function. If the caller is cancelled its thread is abandoned: it runs on, and
            what it gives is ignored.
        name: What the thread is called in a debugger.
        late: Takes the value and the error of an abandoned function, on the caller's loop.

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
    thread = threading.Thread(target=_work, args=(job,), name=f"nbtools {name}".strip())
    thread.daemon = True
    thread.start()
    try:
        return await future
    finally:
        if future.cancelled():
            _abandoned.add(thread)


def _work(job: Job) -> None:
    value, error = job.run()
    _abandoned.discard(threading.current_thread())
    job.deliver(value, error)
