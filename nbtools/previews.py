"""What a call would do, as its tool shows it before anybody approves; and whether that still holds."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from nbtools.display import bundle
from nbtools.display.frames import frame_of
from nbtools.executors import in_main, in_worker
from nbtools.failure import explain
from nbtools.frozen import thaw
from nbtools.jsontext import dumps
from nbtools.messages import Preview, ToolCall
from nbtools.plain import plain
from nbtools.tools import Result, Tool, ToolContext

TIMEOUT = 30.0
"""Seconds that a preview may take."""

MOVED = "What this call would do has changed since it was shown. Nothing was run: look again."
CHANGED = "This is for the changed arguments."

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_WHOLE = 1 << 30


async def look(
    call: ToolCall, tool: Tool, context: Any, objects: Callable[[], Mapping[str, object]]
) -> Preview | None:
    """Let a tool show what a call would do.

    Args:
        call: The call with its effective arguments.
        tool: Its tool.
        context: The chat's hidden context.
        objects: Gives the values that arguments name; see `Tool.variables`.

    Returns:
        What it shows, or why it could not; None where the tool has no preview.
    """
    if tool.preview is None:
        return None
    try:
        async with asyncio.timeout(TIMEOUT):
            args, given = thaw(call.args or {}), ToolContext(context, call_id=call.id)
            return await _shown(tool, tool.foresee(args, given, objects()))
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        text = f"The preview failed. {explain(error)}"
        return Preview(display={"text/plain": text}, mark=_hash(text))


async def _shown(tool: Tool, function: Callable[[], object]) -> Preview:
    run = in_main if tool.thread == "main" else in_worker
    value = await run(function)
    if inspect.isawaitable(value):
        value = await value
    return await in_worker(lambda: _written(value))


def _written(value: object) -> Preview:
    """Show a value; a `Result` is watched for its value and shown as its display."""
    faces = value if isinstance(value, Result) else Result(value)
    display = bundle(faces.value if faces.display is None else faces.display)
    return Preview(display=display, mark=_hash(_contents(faces.value) + dumps(display)))


def _contents(value: object) -> str:
    """Write all that a value holds, so that any change of it is noticed."""
    frame = frame_of(value)
    if frame is None:
        return dumps(plain(value, limit=_WHOLE, depth=100))
    try:
        import pandas as pd  # noqa: PLC0415 - a frame came, so it is there

        rows = pd.util.hash_pandas_object(frame).to_numpy().tobytes().hex()
    except TypeError:  # cells that cannot be hashed
        rows = dumps(plain(frame, limit=_WHOLE, depth=100))
    return f"{list(frame.columns)} {list(frame.dtypes)} {rows}"


def _hash(text: str) -> str:
    return hashlib.sha256(_ADDRESS.sub("", text).encode()).hexdigest()[:16]
