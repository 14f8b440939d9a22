"""The side of a chat that changes: its model, tools, instructions and renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from nbtools.checks import Check, expect
from nbtools.providers import Provider, resolve
from nbtools.providers.sealing import left_behind
from nbtools.renderers import JavaScriptRenderer, Registry
from nbtools.session import Session
from nbtools.tools import Offered, Tool, collect


class Changing:
    """Give a chat another model, other tools, other instructions, another way to draw."""

    _session: Session
    _registry: Registry
    _own_tools: tuple[Offered, ...]

    @property
    def model(self) -> Provider:
        """The model; a name or a provider may be assigned while the chat rests."""
        return self._session.settings.provider

    @model.setter
    def model(self, model: str | Provider | None) -> None:
        self._set_model(model)

    def _set_model(self, model: str | Provider | None) -> None:
        provider = resolve(model)
        left = left_behind(self._session.conversation.messages, provider.wire, provider.origin)
        notice = f"The model is now {provider.label}. {left}".strip()
        self._change(notice, **equipment(provider, self._own_tools))

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name; a list of tools may be assigned while the chat rests."""
        return dict(self._session.settings.tools)

    @tools.setter
    def tools(self, tools: Iterable[Offered]) -> None:
        own = own_tools(tools)
        chosen = equipment(self.model, own)
        notice = f"The tools are now: {', '.join(chosen['tools']) or 'none'}."
        self._change(notice, **chosen)
        self._own_tools = own

    @property
    def system(self) -> str:
        """The instructions; text may be assigned while the chat rests."""
        return self._session.settings.system

    @system.setter
    def system(self, system: str | None) -> None:
        self._change("The instructions were changed.", system="" if system is None else system)

    def renderer(
        self,
        tool: str,
        render: Callable[..., Any] | None = None,
        *,
        esm: str | Path | None = None,
        traits: Literal["", "args"] = "",
    ) -> Any:
        """Choose what draws the calls of a tool, inside the frame of its card.

        Args:
            tool: The tool's name, or "*" for every tool without a renderer of its own.
            render: A function of the call that returns anything a notebook can show. Without it
                and without `esm` this is a decorator.
            esm: An anywidget front-end module, as a file or a string; its model is the call.
            traits: "args" to give that module the arguments and nothing else.
        """
        if esm is not None:
            return self._draw_with(tool, JavaScriptRenderer(esm, traits=traits))
        if render is not None:
            return self._draw_with(tool, render)
        return lambda function: self._draw_with(tool, function)

    def _draw_with(self, tool: str, renderer: Any) -> Any:
        self._session.engine.do(lambda: self._registry.set(tool, renderer))
        return renderer

    def _change(self, notice: str, **changes: Any) -> None:
        def change() -> None:
            session = self._session
            session.expect_rest("change this")
            before = session.settings.tools
            session.settings = replace(session.settings, **changes)
            session.drop_unknown(before)
            session.notice(notice)
            session.advance()
            session.on_tools()

        self._session.engine.do(change)


def own_tools(tools: Iterable[Offered]) -> tuple[Offered, ...]:
    """Take the tools that a chat is given.

    Raises:
        ValueError: They are no list of tools; one alone is none either.
    """
    expect("tools", tools, _TOOLS)
    return tuple(tools)


_TOOLS: Check = (
    lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping),
    "a list of tools and functions",
)


def equipment(provider: Provider, own: Sequence[Offered]) -> dict[str, Any]:
    """Give the settings that say which model a chat has, and with it which tools.

    Args:
        provider: The model, which may bring tools along.
        own: The tools that the chat itself was given.

    Raises:
        ToolDefinitionError: One of the tools cannot be described, or two have the same name.
    """
    offered = (*provider.tools, *own)
    return {"provider": provider, "offered": offered, "tools": collect(offered)}
