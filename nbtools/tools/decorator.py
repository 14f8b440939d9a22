"""Making tools of functions, and a chat's tools of whatever it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Unpack, overload

from nbtools.errors import ToolDefinitionError
from nbtools.tools.settings import ToolSettings
from nbtools.tools.tool import Tool


@overload
def tool(
    function: Callable[..., Any], /, *, name: str = ..., **settings: Unpack[ToolSettings]
) -> Tool: ...


@overload
def tool(
    *, name: str = ..., **settings: Unpack[ToolSettings]
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    **settings: Unpack[ToolSettings],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function.

    It works as `@tool`, as `@tool(approval=True)` and as `tool(function, name="other")`. The schema
    comes from the signature, the description from the docstring.

    Args:
        function: A function, `async` function, generator, method, partial or callable object.
        name: The tool's name; "" takes the function's own.
        settings: As for `Tool`.

    Returns:
        The tool, or a decorator that makes one.

    Raises:
        ToolDefinitionError: The function cannot be described to a model.
    """
    if function is None:
        return lambda decorated: Tool(name, function=decorated, **settings)
    return Tool(name, function=function, **settings)


def collect(tools: Iterable[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    """Bring a chat's tools together.

    Args:
        tools: Tools and plain typed functions.

    Returns:
        The tools by name, in the order given.

    Raises:
        ToolDefinitionError: One is neither, or two have the same name.
    """
    found: dict[str, Tool] = {}
    for each in tools:
        if not isinstance(each, Tool) and not callable(each):
            raise ToolDefinitionError(f"{each!r:.80} is no tool; expected a Tool or a function.")
        made = each if isinstance(each, Tool) else tool(each)
        if made.name in found and found[made.name] is not made:
            raise _same_name(found[made.name], made)
        found[made.name] = made
    return found


def _same_name(first: Tool, second: Tool) -> ToolDefinitionError:
    shown = " and ".join(f"{each.function or each!r}"[:120] for each in (first, second))
    return ToolDefinitionError(
        f"Two tools are called {first.name!r}: {shown}. "
        'Give one of them another name: tool(function, name="…").'
    )
