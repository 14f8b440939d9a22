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
from nbtools.plain import plain_and_whole
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
    written, _ = plain_and_whole(value, limit=_WHOLE, depth=100, instead=_marked)
    return dumps(written)


def _marked(value: object) -> object:
    """Give a fingerprint in the place of what JSON leaves out, or takes long to write."""
    frame = frame_of(value)
    if frame is not None:
        return _of_frame(frame)
    if isinstance(value, bytes | bytearray | memoryview):
        return hashlib.sha256(bytes(value)).hexdigest()
    return _of_array(value) if type(value).__module__ == "numpy" else value


def _of_array(array: Any) -> object:
    if not getattr(array, "ndim", 0) or array.dtype.hasobject:
        return array
    return f"{array.shape} {array.dtype} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _of_frame(frame: Any) -> object:
    import pandas as pd  # noqa: PLC0415 - a frame came, so it is there

    try:
        rows: object = pd.util.hash_pandas_object(frame).to_numpy()
    except TypeError:  # cells that cannot be hashed
        rows = frame.to_dict("split")
    return [list(frame.columns), [str(kind) for kind in frame.dtypes], rows]


def _hash(text: str) -> str:
    return hashlib.sha256(_ADDRESS.sub("", text).encode()).hexdigest()[:16]
