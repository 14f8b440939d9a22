"""A function that one thread runs and a coroutine on another awaits."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Ended(Exception):  # noqa: N818 - says what became of the function
    """A function in another thread ended by something that must not end a loop.

    Args:
        cause: What it raised: KeyboardInterrupt, SystemExit, or a cancellation of its own.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"The function was ended by {type(cause).__name__}: {cause}".rstrip(": "))
        self.cause = cause
        self.interrupted = isinstance(cause, KeyboardInterrupt)


DEADLY = (KeyboardInterrupt, SystemExit, asyncio.CancelledError)
"""What would end the loop of the caller, or look like its own cancellation."""


@dataclass(kw_only=True, eq=False)
class Job:
    """A function for another thread, and the future that its caller awaits."""

    fn: Callable[[], object]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    late: Callable[[Any, BaseException | None], None] | None = None
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    over: bool = False
    """Whether the function has ended."""

    def run(self) -> tuple[Any, BaseException | None]:
        """Call the function in the caller's context; return its value, or what it raised."""
        try:
            return self._outcome()
        finally:
            self.over = True

    def _outcome(self) -> tuple[Any, BaseException | None]:
        try:
            return self.context.run(self.fn), None
        except DEADLY as error:
            return None, Ended(error).with_traceback(error.__traceback__)
        except StopIteration as error:  # no future takes it
            return None, RuntimeError(f"The function raised StopIteration: {error.value!r}")
        except GeneratorExit:  # a coroutine that awaits it would be closed, not told
            return None, RuntimeError("The function raised GeneratorExit.")
        except BaseException as error:  # noqa: BLE001 - it is raised where the caller awaits
            return None, error

    def deliver(self, value: Any, error: BaseException | None) -> None:
        """Hand over how it ended; safe from every thread."""
        self.post(self.settle, value, error)

    def post(self, fn: Callable[..., object], *args: object) -> None:
        """Call `fn` on the caller's loop, if that still runs."""
        with contextlib.suppress(RuntimeError):  # a closed loop awaits nothing any more
            self.loop.call_soon_threadsafe(fn, *args)

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Hand over how it ended, on the caller's loop."""
        if self.future.done():
            if self.late is not None:
                self.late(value, error)
        elif error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)
