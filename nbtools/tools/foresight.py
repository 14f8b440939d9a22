"""The function of a tool that shows what a call would do, and what it is called with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nbtools.errors import ToolDefinitionError
from nbtools.schema.signature import EMPTY, hidden_parameter, read_signature
from nbtools.tools.context import ToolContext


class Foresight:
    """A preview: it takes some or all arguments of its tool, and changes nothing.

    Args:
        function: Returns anything a notebook can show.
        tool: The name of the tool, for the texts of errors.
        names: The names of the tool's own parameters.

    Raises:
        ToolDefinitionError: It needs an argument that the tool does not have.
    """

    def __init__(self, function: Callable[..., object], tool: str, names: Collection[str]) -> None:
        if not callable(function):
            raise ToolDefinitionError(f"Tool {tool!r}: preview is {function!r:.80}, no function.")
        signature = read_signature(function, tool)
        self._function = function
        self._hidden = hidden_parameter(signature.parameters, ToolContext, tool)
        shown = [each for each in signature.parameters if each.name != self._hidden]
        self._takes = None if signature.open else {each.name for each in shown}
        found = signature.parameters
        self._positional = {each.name: each.default for each in found if each.positional}
        for each in shown:
            if each.default is EMPTY and each.name not in names:
                raise ToolDefinitionError(
                    f"Tool {tool!r}: its preview needs {each.name!r}, which the tool does not take; "
                    f"expected one of {', '.join(sorted(names)) or 'none'}."
                )

    def bound(
        self, values: Mapping[str, object], context: ToolContext[Any]
    ) -> Callable[[], object]:
        """Give the function with those of the tool's arguments that it takes."""
        takes = values.keys() if self._takes is None else self._takes
        named = {name: value for name, value in values.items() if name in takes}
        if self._hidden is not None:
            named[self._hidden] = context
        order = self._positional.items()
        positional = [named.pop(name, default) for name, default in order]
        return functools.partial(self._function, *positional, **named)
