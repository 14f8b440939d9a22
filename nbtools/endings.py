"""How the end of a call is written down: for the page, for the person, and for the model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nbtools import events as ev
from nbtools.display import WORDS, Seen, bundle, look, look_at, preview, reachable, together
from nbtools.errors import ToolError, ToolsetError
from nbtools.failure import explain, told_of, trace
from nbtools.jsontext import dumps
from nbtools.limits import Limits
from nbtools.messages import Json, Outcome, ToolCall
from nbtools.outcomes import sentence
from nbtools.paths import without_folders
from nbtools.plain import plain
from nbtools.tools import Result, Tool
from nbtools.variables import Variables, takers

_ADVICE = {None: "", True: " The same call may work later.", False: " Do not repeat this call."}
"""What a `ToolError` may say besides its text, by its `retryable`."""


def ended(call: ToolCall, outcome: Outcome, reason: str, *, told: str = "") -> ev.CallEnded:
    """Write down the end of a call that gave no value.

    Args:
        call: The call.
        outcome: What became of it.
        reason: Why, in words for the person.
        told: The words for the model, where they are others.
    """
    return ev.CallEnded(
        call=call.id,
        outcome=outcome,
        error=reason,
        told=_edited(call) + sentence(outcome, told or reason),
        time=time.time(),
    )


def unreached(call: ToolCall, error: ToolsetError) -> ev.CallEnded:
    """Write down that nobody could be asked whether there is the tool of a call."""
    told = f"The call was not run. {without_folders(error.told)}"
    return replace(ended(call, "unknown", str(error)), told=told)


def raised(call: ToolCall, tool: Tool, error: BaseException) -> ev.CallEnded:
    """Write down an exception as the end of a call."""
    told = told_of(error, tool.errors)
    text = sentence("failed", told)
    if isinstance(error, ToolError):
        text = told + _ADVICE[error.retryable]
    failed = ended(call, "failed", explain(error))
    return replace(failed, trace=trace(error), told=_edited(call) + text)


def finished(
    call: ToolCall,
    value: object,
    limits: Limits,
    *,
    shown: Sequence[Mapping[str, Json]] = (),
) -> ev.CallEnded:
    """Write down a value as the end of its call.

    Args:
        call: The call.
        value: What the tool or a person gave; a `Result` brings its own faces.
        limits: How much the model is told.
        shown: What the function displayed, and the figures that it left open.

    Returns:
        The end of the call with the value's faces for the page, the person and the model.
    """
    display: Mapping[str, Json] | None
    if type(value) in WORDS and not shown:  # which has no other faces, as most values
        display, seen = reachable(bundle(value), value, call.id), look(value, limits)
    else:
        faces = value if isinstance(value, Result) else Result(value)
        own = _own_display(call, faces, shown)
        display = together([*shown, *own]) if shown else own[0]
        value, seen = faces.value, _seen(faces, shown, own, display, limits)
    return ev.CallEnded(
        call=call.id,
        outcome="ok",
        told=_edited(call) + seen.told,
        pictures=seen.pictures,
        value=preview(value),
        display=display,
        time=time.time(),
    )


def kept(
    end: ev.CallEnded,
    call: ToolCall,
    value: object,
    variables: Variables,
    tools: Mapping[str, Tool],
) -> ev.CallEnded:
    """Keep the Python value of a call, and tell the model its handle if a tool can take it."""
    value = value.value if isinstance(value, Result) else value
    handle = variables.results.keep(call, value)
    if not any(takers(value, tools)):
        return end
    note = f"(Kept as {handle!r}: a tool that takes such a value accepts this name.)"
    return replace(end, handle=handle, told=f"{end.told.rstrip()}\n{note}")


def _seen(
    faces: Result,
    shown: Sequence[Mapping[str, Json]],
    own: Sequence[Mapping[str, Json]],
    display: Mapping[str, Json] | None,
    limits: Limits,
) -> Seen:
    if faces.model is not None:
        return look(faces.model, limits, shown=display)
    if faces.value is None and shown:
        return look_at(shown, limits)
    drawn = own[0] if own and faces.display is None else None
    return look(faces.value, limits, drawn=drawn, shown=display)


def _own_display(
    call: ToolCall, faces: Result, shown: Sequence[Mapping[str, Json]]
) -> list[Mapping[str, Json]]:
    if faces.display is not None:
        return [bundle(faces.display)]
    if faces.value is None and shown:
        return []
    return [reachable(bundle(faces.value), faces.value, call.id)]


def _edited(call: ToolCall) -> str:
    if call.proposed is None:
        return ""
    changed = dumps(plain(dict(call.args or {})))
    return f"(The user changed the arguments to {changed} before it ran.)\n"
