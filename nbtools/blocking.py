"""Calling from synchronous code: a cell that blocks, a script, a worker thread.

The engine runs elsewhere, so blocking needs no loop that is entered twice. One case does: an
asynchronous tool that has to be on the main thread while a cell blocks there, on top of the
kernel's running loop. For that alone the loop is patched with nest_asyncio2, at that moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from nbtools.errors import NbtoolsError
from nbtools.executors import MAIN, MainQueue, engine, on_main_thread

T = TypeVar("T")

LOOK_UP = 0.25
"""Seconds after which a blocked thread looks whether it was interrupted; some platforms hold
an interrupt back while a thread waits for a lock."""


def run_blocking(
    future: Future[T],
    *,
    main_queue: MainQueue = MAIN,
    on_interrupt: Callable[[], object] | None = None,
) -> T:
    """Block until a future of the engine is done; on the main thread, serve what waits for it.

    Args:
        future: What to wait for.
        main_queue: The functions that are run meanwhile, if this is the main thread.
        on_interrupt: Is called on an interrupt, before it goes on; by default the future is
            cancelled.

    Returns:
        The future's result.

    Raises:
        NbtoolsError: This thread runs the engine, so that the wait would never end.
        KeyboardInterrupt: The wait was interrupted.
    """
    if engine().here:
        raise NbtoolsError(
            "This would wait for itself: it runs on the chat's own loop. Use `await chat.send(…)`."
        )
    try:
        if on_main_thread():
            _serve_until(future, main_queue)
        return future.result()
    except KeyboardInterrupt:
        (on_interrupt or future.cancel)()
        raise


def _serve_until(future: Future[Any], main_queue: MainQueue) -> None:
    future.add_done_callback(lambda _: main_queue.wake())
    while not future.done():
        main_queue.serve_one(run_nested, timeout=LOOK_UP)


def run_nested(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on this thread, be its loop running or not.

    Args:
        coroutine: What an asynchronous tool made for the main thread.

    Returns:
        What the coroutine returned.

    Raises:
        NbtoolsError: The running loop cannot be entered again.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    _make_reentrant(loop)
    return loop.run_until_complete(coroutine)


def _make_reentrant(loop: asyncio.AbstractEventLoop) -> None:
    import nest_asyncio2  # noqa: PLC0415 - importing is harmless, yet rarely needed

    try:
        nest_asyncio2.apply(loop, error_on_mispatched=True)
    except (ValueError, RuntimeError) as error:
        raise NbtoolsError(
            f"An asynchronous tool cannot run on the main thread while a cell blocks there: "
            f"{error}. Use `await chat.send(…)` in place of `chat.ask(…)`."
        ) from error


def ask_person(prompt: str) -> bool | None:
    """Ask a question on the main thread through `input()`.

    Args:
        prompt: The question, in plain text.

    Returns:
        True for y or yes, False for any other answer, None where nobody can be asked.
    """
    try:
        answer = input(prompt)
    except (EOFError, NotImplementedError, OSError, RuntimeError):
        # No terminal, a closed one, or a front end that says it takes no input.
        return None
    return answer.strip().lower() in ("y", "yes")
