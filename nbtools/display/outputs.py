"""Outputs of a cell: a live view, and beside it a static one that is renewed by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.display.routing import shell, uncaptured


def show_view(shown: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Display a MIME bundle, as an output of the cell that runs.

    Args:
        shown: MIME types and data.
        metadata: What goes with them.
    """
    _publish(shown, metadata=dict(metadata))


def show_static(shown: Mapping[str, Any], name: str) -> None:
    """Display a MIME bundle that `update_static` can replace.

    Args:
        shown: MIME types and data.
        name: What tells it from the other static outputs of the notebook.
    """
    _publish(shown, transient={"display_id": name})


def update_static(shown: Mapping[str, Any], name: str) -> None:
    """Replace what `show_static` displayed; works from every thread, whichever cell runs."""
    _publish(shown, transient={"display_id": name}, update=True)


def current_cell() -> tuple[str, str]:
    """Return the id of the cell that runs and that of this run of it; "" where not known."""
    get_parent = getattr(getattr(shell(), "kernel", None), "get_parent", None)
    if get_parent is None:
        return "", ""
    request = get_parent("shell") or {}
    cell = request.get("metadata", {}).get("cellId", "")
    return str(cell or ""), str(request.get("header", {}).get("msg_id", ""))


def _publish(shown: Mapping[str, Any], **options: Any) -> None:
    running = shell()
    if hasattr(running, "kernel"):  # elsewhere no cell could show anything
        with uncaptured():  # it is the chat's, even where a tool's output led to it
            running.display_pub.publish(dict(shown), **options)
