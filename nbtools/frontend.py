"""What the page runs, and how its clicks reach this kernel: the seams to ipywidgets and comms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import ipywidgets
import traitlets

from nbtools import events
from nbtools.display.mime import apart


class Runtime(ipywidgets.Widget):  # type: ignore[misc] # ipywidgets has no types
    """The front end's code, held once for all chats of a kernel."""

    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)
    _model_module_version = traitlets.Unicode("2.0.0").tag(sync=True)
    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _view_name = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    code = traitlets.Unicode().tag(sync=True)


def shared_runtime() -> Runtime:
    """Return the one holder of the front end's code; a new one if the old one was closed."""
    global _runtime  # noqa: PLW0603 - one a process is the point
    if _runtime is None or _runtime.comm is None:
        _runtime = Runtime(code=runtime_code())
    return _runtime


_runtime: Runtime | None = None


@cache
def runtime_code() -> str:
    """Return the front end's code, built from `js/src`."""
    return resources.files("nbtools").joinpath("static/runtime.js").read_text("utf-8")


@cache
def stub_code() -> str:
    """Return what each chat carries as its own module: it fetches the front end's code once."""
    return resources.files("nbtools").joinpath("static/stub.js").read_text("utf-8")


SHOWING = (events.CallProgressed, events.CallEnded, events.CallDrawn)
"""The events that may put a widget on a card."""


@cache
def version_of(code: str) -> str:
    """Name a version of the front end's code."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def free_reply_route(comm: Any) -> None:
    """Let clicks reach Python while a cell blocks.

    ipykernel 7.4 sends what the page says to the shell that last wrote to the comm, which is the
    busy one. Without that note it goes where the front end asked: to a subshell.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = None  # noqa: SLF001 - there is no public way


def free_children(event: events.Event, _: object = None) -> None:
    """Free the routes of every widget that a tool or a renderer put on a card."""
    shown = getattr(event, "display", None) or getattr(event, "drawn", None)
    if not shown:
        return
    views = [one.get("application/vnd.jupyter.widget-view+json") for one in apart(shown)]
    if not any(views):
        return
    models = [view.get("model_id") for view in views if isinstance(view, Mapping)]
    known = ipywidgets.widgets.widget._instances  # noqa: SLF001 - the registry has no public name
    below = [known[model] for model in models if model in known]
    seen: set[int] = set()
    while below:
        child = below.pop()
        if id(child) not in seen:
            seen.add(id(child))
            free_reply_route(child.comm)
            below += [each for name in child.keys for each in _widgets_in(getattr(child, name))]


def _widgets_in(value: object) -> Iterator[Any]:
    """Give the widgets that a trait holds, alone or within a container."""
    if isinstance(value, ipywidgets.Widget):
        yield value
    elif isinstance(value, Mapping):
        yield from _widgets_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _widgets_in(each)
