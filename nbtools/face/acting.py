"""What a renderer sends to the program, and the function of the program that takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from nbtools.checks import Check, expect, function_or_none
from nbtools.errors import NbtoolsError
from nbtools.executors import in_worker, is_cancelled
from nbtools.face.turns import CallHandle, all_calls
from nbtools.failure import explain
from nbtools.session import Session

OnAct: TypeAlias = Callable[[CallHandle, Mapping[str, Any]], object]

_ON_ACT: Check = (function_or_none, "a function of the call and the changes, or None")


def acting(session: Session, on_act: OnAct | None) -> Callable[[str, dict[str, Any]], None]:
    """Make what hands the changes of a renderer to a function, beside the chat.

    Args:
        session: The conversation.
        on_act: Takes the handle of a call and the changes; None takes nothing.

    Raises:
        ValueError: It is no function.
    """
    expect("on_act", on_act, _ON_ACT)

    def act(call_id: str, changes: dict[str, Any]) -> None:
        if on_act is None:
            raise NbtoolsError("This chat has no on_act that takes what a renderer sends.")
        session.engine.submit(_tell(session, on_act, all_calls(session)[call_id], changes))

    return act


async def _tell(session: Session, on_act: OnAct, call: CallHandle, changes: dict[str, Any]) -> None:
    try:
        said = await in_worker(lambda: on_act(call, changes), name="on_act")
        if inspect.isawaitable(said):
            await said
    except BaseException as error:
        if is_cancelled():
            raise
        session.notice(f"on_act failed. {explain(error)}", level="error")
