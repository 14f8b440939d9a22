"""Making tools of functions, and a chat's tools of whatever it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, Unpack, overload

from nbtools.errors import ToolDefinitionError
from nbtools.tools.settings import ToolSettings
from nbtools.tools.tool import Tool
from nbtools.tools.toolset import Toolset

Offered: TypeAlias = Tool | Toolset | Callable[..., Any]
"""What a chat may be given as tools."""


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


def collect(tools: Iterable[Offered]) -> dict[str, Tool]:
    """Bring a chat's tools together.

    Args:
        tools: Tools, plain typed functions, and toolsets, which give the tools they know now.

    Returns:
        The tools by name, in the order given.

    Raises:
        ToolDefinitionError: One is neither, or two have the same name.
    """
    given = [each if isinstance(each, Toolset) else _made(each) for each in tools]
    own = {each.name for each in given if isinstance(each, Tool)}
    found: dict[str, Tool] = {}
    for each in given:
        for made in each.tools(own | found.keys()) if isinstance(each, Toolset) else (each,):
            if made.name in found and found[made.name] is not made:
                raise _same_name(found[made.name], made)
            found[made.name] = made
    return found


def _made(given: object) -> Tool:
    if isinstance(given, Tool):
        return given
    if not callable(given):
        raise ToolDefinitionError(f"{given!r:.80} is no tool; expected a Tool or a function.")
    return tool(given)


def _same_name(first: Tool, second: Tool) -> ToolDefinitionError:
    shown = " and ".join(f"{each.function or each!r}"[:120] for each in (first, second))
    return ToolDefinitionError(
        f"Two tools are called {first.name!r}: {shown}. "
        'Give one of them another name: tool(function, name="…").'
    )
