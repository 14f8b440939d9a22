"""What is said of an exception: a short text without paths for the model, all of it for the person."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from nbtools.errors import ToolError
from nbtools.jsontext import clean_text
from nbtools.paths import without_folders

LONGEST = 4_000
"""Characters of an exception that the model is told, and that a card shows above its traceback."""
LONGEST_TRACE = 64_000
"""Characters of a traceback that the person sees."""

_HERE = str(Path(__file__).parent)
_EMBEDDED = "Traceback (most recent call last):"
_SHOWN_OF_GROUP = 5
_LOOKED_THROUGH = 4 * LONGEST
"""Characters of a message in which paths are looked for; what comes later is never told."""


def explain(exception: BaseException) -> str:
    """Say what went wrong, as the person reads it.

    Args:
        exception: What a tool raised; its own code may raise when it is looked at.

    Returns:
        A `ToolError` verbatim; of another exception the type and the message. Never empty, never
        a traceback.
    """
    if isinstance(exception, ToolError):
        return _cut(_message(exception)) or "ToolError"
    return _cut(_named(exception))


def told_of(exception: BaseException, mode: Literal["message", "generic"] = "message") -> str:
    """Say what went wrong, as the model may read it.

    Args:
        exception: What a tool raised; its own code may raise when it is looked at.
        mode: `generic` gives away nothing but what a `ToolError` says.

    Returns:
        As `explain`; unless the tool said it itself, files are named without their folders.
    """
    if isinstance(exception, ToolError):
        return explain(exception)
    if mode == "generic":
        return "The tool failed."
    return _cut(_named(exception, shorten=_without_paths))


def trace(exception: BaseException) -> str:
    """Write the traceback as the person reads it, without the frames of nbtools itself.

    Args:
        exception: What a tool raised.

    Returns:
        The end of it, where it is longer than `LONGEST_TRACE`.
    """
    try:
        told = traceback.TracebackException.from_exception(exception)
        _drop_own_frames(told)
        text = "".join(told.format())
    except BaseException:  # noqa: BLE001 - the exception's own code raised
        text = f"{type(exception).__name__} (its traceback cannot be shown)"
    return clean_text(text[-LONGEST_TRACE:])


def _named(
    exception: BaseException,
    depth: int = 3,
    shorten: Callable[[str, BaseException], str] = lambda message, _: message,
) -> str:
    name = type(exception).__name__
    message = shorten(_message(exception).partition(_EMBEDDED)[0].strip(), exception)
    text = f"{name}: {message}" if message else name
    if not isinstance(exception, BaseExceptionGroup) or depth == 0:
        return text
    inner = [_named(each, depth - 1, shorten) for each in exception.exceptions[:_SHOWN_OF_GROUP]]
    return "; ".join([text, *inner])


def _message(exception: BaseException) -> str:
    try:
        return str(exception)
    except BaseException:  # noqa: BLE001 - the exception's own code raised
        return ""


def _without_paths(message: str, exception: BaseException) -> str:
    """Shorten paths, and whatever the traceback calls a file, to the names of the files."""
    message = without_folders(message[:_LOOKED_THROUGH]) + message[_LOOKED_THROUGH:]
    files = {frame.f_code.co_filename for frame, _ in traceback.walk_tb(exception.__traceback__)}
    for file in sorted(files, key=len, reverse=True):
        message = message.replace(file, Path(file).name)
    return message


def _cut(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… (cut; {len(text):,} characters in all)"
    return clean_text(text)


def _drop_own_frames(told: traceback.TracebackException) -> None:
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        foreign = [frame for frame in each.stack if not frame.filename.startswith(_HERE)]
        each.stack = traceback.StackSummary.from_list(foreign)
        waiting += [each.__cause__, each.__context__, *(each.exceptions or ())]
