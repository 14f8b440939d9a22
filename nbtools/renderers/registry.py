"""Which renderer draws which tool's calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from nbtools.messages import ToolCall
from nbtools.protocol import RendererReference
from nbtools.renderers.javascript import JavaScriptRenderer
from nbtools.tools import Tool

Renderer = Callable[[ToolCall], object] | JavaScriptRenderer
EVERY = "*"


class Registry:
    """Find what draws a call: the chat's renderer, then the tool's own, then the chat's for `*`.

    Args:
        tools: Gives the chat's tools by name; each may bring a renderer along.
    """

    def __init__(self, tools: Callable[[], Mapping[str, Tool]]) -> None:
        self._tools = tools
        self._chosen: dict[str, Renderer] = {}
        self._draws = False
        self._looked: Mapping[str, Tool] | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when another renderer was chosen."""

    def set(self, tool: str, renderer: Renderer | None) -> None:
        """Choose what draws a tool's calls in this chat.

        Args:
            tool: The name of a tool, or "*" for all that have no renderer of their own.
            renderer: A function of the call or a JavaScript renderer; None takes it away.

        Raises:
            TypeError: It is neither.
        """
        if renderer is None:
            self._chosen.pop(tool, None)
        else:
            self._chosen[tool] = _checked(tool, renderer)
        self._looked = None
        self.on_change()

    def find(self, tool: str) -> Renderer | None:
        """Return what draws a tool's calls; None is the built-in card."""
        known = self._all()
        return known.get(tool, known.get(EVERY))

    def python(self, tool: str) -> Callable[[ToolCall], object] | None:
        """Return the function that draws a tool's calls, if it is a Python one."""
        renderer = self.find(tool)
        return None if isinstance(renderer, JavaScriptRenderer) else renderer

    @property
    def draws(self) -> bool:
        """Whether any renderer is a Python one; it is asked at every event of the chat."""
        tools = self._tools()
        if self._looked is not tools:
            own = [tool.render for tool in tools.values() if tool.render is not None]
            every = [*own, *self._chosen.values()]
            self._draws = any(not isinstance(known, JavaScriptRenderer) for known in every)
            self._looked = tools
        return self._draws

    def describe(self) -> dict[str, RendererReference]:
        """Write the renderers as the page reads them: the field `renderers` of the snapshot."""
        return {tool: _reference(renderer) for tool, renderer in self._all().items()}

    def modules(self) -> dict[str, str]:
        """Return the code of the JavaScript renderers by the id of its asset."""
        known = self._all().values()
        return {one.asset: one.code for one in known if isinstance(one, JavaScriptRenderer)}

    def _all(self) -> dict[str, Renderer]:
        own = {name: tool.render for name, tool in self._tools().items() if tool.render is not None}
        return {**own, **self._chosen}


def _reference(renderer: Renderer) -> RendererReference:
    if not isinstance(renderer, JavaScriptRenderer):
        return {"kind": "python"}
    return {"kind": "javascript", "asset": renderer.asset, "traits": renderer.traits}


def _checked(tool: str, renderer: Any) -> Renderer:
    if inspect.iscoroutinefunction(renderer):
        raise TypeError(f"The renderer of {tool!r} is asynchronous; expected a plain function.")
    if isinstance(renderer, JavaScriptRenderer) or callable(renderer):
        checked: Renderer = renderer
        return checked
    raise TypeError(
        f"The renderer of {tool!r} is {type(renderer).__name__} {renderer!r:.60}; expected a "
        "function of the call, or JavaScriptRenderer(…)."
    )
