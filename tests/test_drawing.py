"""Drawings keep step with their calls: the last state is always drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from nbtools import drawing
from nbtools.drawing import Drawer
from nbtools.events import CallDrawn, CallWaiting, MessageAdded
from nbtools.messages import Message, ToolCall
from nbtools.renderers import Registry
from nbtools.testing import Scripted
from tests.stage import Page, tools_that_ran, until

CALL = ToolCall(id="k-1", tool="read_log", args={"day": "mon"})


def rows(call: ToolCall) -> str | None:
    """Draw nothing until the call waits."""
    return f"{call.state} {call.args}" if call.state == "pending" else None


async def test_a_state_that_comes_as_a_drawing_ends_is_drawn_too(monkeypatch: pytest.MonkeyPatch):
    async def at_once(work: Callable[[], Any]) -> Any:
        return work()

    monkeypatch.setattr(drawing, "in_worker", at_once)
    page = Page(Scripted("Never asked."), tools_that_ran([]))
    session = page.session
    registry = Registry(lambda: session.settings.tools)
    registry.set("read_log", rows)
    drawer = Drawer(session, registry)
    drawn: list[Any] = []
    session.subscribe(lambda event, _: drawn.append(event), (CallDrawn,))
    session.emit(MessageAdded(message=Message(id="m1", role="user", parts=(CALL,))))
    waits = CallWaiting(call="k-1", waiting="approval", args={"day": "mon"})
    # In the turn of the loop in which the first drawing ends, and after it.
    asyncio.get_running_loop().call_soon(session.emit, waits)
    await until(page, lambda: drawn)
    assert page.call("k-1").drawn == {"text/plain": "pending {'day': 'mon'}"}
    drawer.close()
