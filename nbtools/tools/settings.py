"""What may be chosen of a tool, and what each choice may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Literal, TypeAlias, TypedDict

from nbtools.checks import Check, approval_policy, flag, function_or_none, number, whole
from nbtools.errors import ToolDefinitionError
from nbtools.executors import Remote

Approval: TypeAlias = bool | Callable[..., object] | None
"""True asks, False does not, a function decides for each call; None leaves it to the chat."""
Thread = Literal["worker", "main"]
OnDone = Literal["note", "continue"]
Errors = Literal["message", "generic"]
Parse: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any] | None]
"""Takes the arguments as they were written; gives those to check, or None to keep them."""
Kind = Literal["sync", "async", "generator", "asyncgen", "none"]


class ToolSettings(TypedDict, total=False):
    """The settings of a tool as keyword arguments; `Tool` says what they mean."""

    description: str | None
    approval: Approval
    destructive: bool
    idempotent: bool
    timeout: float | None
    thread: Thread
    executor: Executor | Literal["process"] | None
    max_parallel: int | None
    retries: int
    retry_on: tuple[type[Exception], ...]
    backoff: float
    render: Callable[..., object] | None
    errors: Errors
    parse: Parse | None
    preview: Callable[..., object] | None
    background: bool
    on_done: OnDone


def _exceptions(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(each, type) and issubclass(each, Exception) for each in value
    )


_CHECKS: Mapping[str, Check] = {
    "approval": (
        approval_policy,
        "True, False, None or a function",
    ),
    "destructive": (flag, "True or False"),
    "idempotent": (flag, "True or False"),
    "timeout": (
        lambda value: value is None or number(0, above=True)(value),
        "seconds above 0, or None",
    ),
    "thread": (lambda value: value in ("worker", "main"), "'worker' or 'main'"),
    "executor": (
        lambda value: value is None or value == "process" or isinstance(value, Executor),
        "a concurrent.futures.Executor, 'process' or None",
    ),
    "max_parallel": (
        lambda value: value is None or whole(1)(value),
        "a whole number of 1 or more, or None",
    ),
    "retries": (whole(0), "a whole number of 0 or more"),
    "retry_on": (_exceptions, "a tuple of exception classes"),
    "backoff": (number(0), "seconds from 0"),
    "errors": (lambda value: value in ("message", "generic"), "'message' or 'generic'"),
    "parse": (function_or_none, "a function of the arguments, or None"),
    "background": (flag, "True or False"),
    "on_done": (lambda value: value in ("note", "continue"), "'note' or 'continue'"),
}

CHECKED = tuple(_CHECKS)
"""The settings that `check_settings` knows."""


def check_settings(name: str, settings: Mapping[str, object]) -> None:
    """Make sure that the settings of a tool can be used, each for itself.

    Args:
        name: The name of the tool, for the text of the error.
        settings: Some of those of `ToolSettings`.

    Raises:
        ToolDefinitionError: One cannot; the text names it and what was expected.
    """
    for setting, value in settings.items():
        fits, expected = _CHECKS[setting]
        if not fits(value):
            raise ToolDefinitionError(
                f"Tool {name!r}: {setting} is {value!r:.80}, expected {expected}."
            )
    if settings["background"] and settings["thread"] == "main":
        raise ToolDefinitionError(
            f"Tool {name!r}: background work cannot run on the main thread, expected 'worker'."
        )
    if bool(settings["retries"]) != bool(settings["retry_on"]):
        raise ToolDefinitionError(
            f"Tool {name!r}: retries and retry_on belong together: how often to try again, "
            "and after which exceptions."
        )


def check_executor(name: str, executor: object, kind: Kind, thread: Thread, hidden: str) -> None:
    """Make sure that the function of a tool can run in its executor.

    Args:
        name: The name of the tool, for the text of the error.
        executor: What was chosen; None is always fine.
        kind: The kind of the function.
        thread: The thread that was chosen.
        hidden: The parameter that takes a `ToolContext`, "" if there is none.

    Raises:
        ToolDefinitionError: It cannot; the text says why.
    """
    if executor is None:
        return
    if kind != "sync" or thread == "main":
        what = "a tool of the main thread" if thread == "main" else f"a function of kind {kind!r}"
        raise ToolDefinitionError(
            f"Tool {name!r}: {what} cannot run in an executor, expected a plain function."
        )
    if hidden and not isinstance(executor, ThreadPoolExecutor | Remote):
        raise ToolDefinitionError(
            f"Tool {name!r}: its parameter {hidden!r} is a ToolContext, which cannot leave this "
            "process; only a ThreadPoolExecutor stays in it."
        )
