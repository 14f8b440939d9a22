"""Functions that run in an executor of the user's own, or in a process that can be killed.

A process is loky's: it is started anew and never a fork, and takes functions that a notebook's cell
defines. Each runs one function at a time, so that killing it ends that one alone.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

IDLE_PROCESS = 60
"""Seconds after which a process without work ends."""

_idle: list[Any] = []


async def in_executor(executor: Executor, fn: Callable[[], T]) -> T:
    """Run a function in an executor.

    Args:
        executor: Any; one that runs other processes has to be able to pickle the function.
        fn: The function. If the caller is cancelled while it runs, it is left behind.

    Returns:
        What the function returned.
    """
    if isinstance(executor, ThreadPoolExecutor):
        return await _result(executor.submit(contextvars.copy_context().run, fn))
    return await _result(executor.submit(fn))


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
        return await _result(executor.submit(fn))
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


async def _result(future: Future[T]) -> T:
    return await asyncio.wrap_future(future)


def _new_process() -> Any:
    try:
        from loky import ProcessPoolExecutor  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "executor='process' needs loky: pip install 'nbtools-chat[process]'"
        ) from None
    return ProcessPoolExecutor(max_workers=1, timeout=IDLE_PROCESS)
