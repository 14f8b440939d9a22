"""The values of the kernel that a model may name: what was shared with it, and kept results.

A model is told names and nothing else of them. Whatever a call names is looked up when its
arguments are checked, and once more when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from nbtools.checks import meant
from nbtools.errors import InvalidArguments
from nbtools.messages import Json, ToolSpec
from nbtools.results import Results
from nbtools.schema import Variable
from nbtools.tools import Tool

MOST_NAMES = 100
"""How many names a model is told for one parameter."""

_GONE: Any = object()


class Variables:
    """What the calls of one chat may name.

    Args:
        namespace: Gives the notebook's own variables; looked at only where a pattern was shared.
        results: The values that tools gave; by default a store of their own.
    """

    def __init__(
        self,
        namespace: Callable[[], Mapping[str, object]] = dict,
        results: Results | None = None,
    ) -> None:
        self.results = Results() if results is None else results
        self._namespace = namespace
        self._shared: dict[str, object] = {}
        self._patterns: tuple[str, ...] = ()

    @property
    def shared(self) -> dict[str, object]:
        """The values that were shared by name, and those that the patterns cover now."""
        return {**self._covered(), **self._shared}

    def share(self, patterns: tuple[str, ...], values: Mapping[str, object]) -> None:
        """Let calls name these values, and the notebook's variables that fit a pattern."""
        self._patterns += tuple(each for each in patterns if each not in self._patterns)
        self._shared |= values

    def unshare(self, names: tuple[str, ...]) -> None:
        """Take names or patterns back.

        Raises:
            KeyError: One of them is not shared; the text names it.
        """
        for name in names:
            if name not in self._shared and name not in self._patterns:
                known = ", ".join(map(repr, (*self._shared, *self._patterns))) or "nothing"
                raise KeyError(f"{name!r} is not shared; shared is {known}.")
        self._shared = {name: it for name, it in self._shared.items() if name not in names}
        self._patterns = tuple(each for each in self._patterns if each not in names)

    def spec(self, tool: Tool) -> ToolSpec:
        """Describe a tool to a model, with the names that it may use now."""
        if not tool.variables:
            return tool.spec
        properties = dict(tool.parameters["properties"])
        for name, variable in tool.variables.items():
            properties[name] = _with_names(properties[name], self.names(variable))
        return replace(tool.spec, parameters={**tool.parameters, "properties": properties})

    def names(self, variable: Variable) -> list[str]:
        """List the names of values that a parameter takes: shared ones, then the newest results."""
        shared = [name for name, value in self.shared.items() if variable.fits(value)]
        kept = [name for name, value in self.results.handles() if variable.fits(value)]
        return list(dict.fromkeys([*shared, *reversed(kept)]))[:MOST_NAMES]

    def check(self, tool: Tool, args: Mapping[str, Json]) -> dict[str, Json]:
        """Give the effective arguments of a call: those of the tool, with names that mean one value.

        Args:
            tool: The tool.
            args: Arguments as a model or a person wrote them.

        Raises:
            InvalidArguments: They do not fit, or name what there is not.
        """
        checked = tool.check(args)
        for name, variable in tool.variables.items():
            if isinstance(checked.get(name), str):
                checked[name] = self._fixed(checked[name])
                self._find(name, checked[name], variable)
        return checked

    def objects(self, tool: Tool, args: Mapping[str, Json]) -> dict[str, object]:
        """Give the values that the arguments of a call name, by the name of the argument.

        Raises:
            InvalidArguments: One of them is not there any more; the text names it.
        """
        return {
            name: self._find(name, args[name], variable)
            for name, variable in tool.variables.items()
            if isinstance(args.get(name), str)
        }

    def lost(self, tool: Tool, args: Mapping[str, Json]) -> str:
        """Say which value that a call names is not there any more; "" if all are."""
        try:
            self.objects(tool, args)
        except InvalidArguments as error:
            return error.text
        return ""

    def _fixed(self, name: str) -> str:
        return name if name in self.shared else self.results.fixed(name)

    def _find(self, argument: str, name: str, variable: Variable) -> object:
        value = self.shared.get(name, _GONE)
        value = self.results.get(name, _GONE) if value is _GONE else value
        if value is _GONE:
            raise InvalidArguments(self._no_such(argument, name, variable), field=argument)
        if not variable.fits(value):
            found = type(value).__name__
            text = f"{argument!r} names {name!r}, which is a {found}, expected a {variable.kind}."
            raise InvalidArguments(text, field=argument)
        return value

    def _no_such(self, argument: str, name: str, variable: Variable) -> str:
        shown, names = repr(name[:100]), self.names(variable)
        if self.results.had(name):
            why = f"{argument!r} names {shown}, a result whose value is not in the kernel any more."
        else:
            why = f"{argument!r} names {shown}, which is not shared{meant(name, names)}."
        listed = ", ".join(map(repr, names))
        return f"{why} Names of a {variable.kind}: {listed or 'there is none'}."

    def _covered(self) -> dict[str, object]:
        if not self._patterns:
            return {}
        known = self._namespace().items()
        return {name: value for name, value in known if self._is_covered(name)}

    def _is_covered(self, name: str) -> bool:
        return not name.startswith("_") and any(fnmatchcase(name, it) for it in self._patterns)


def takers(value: object, tools: Mapping[str, Tool]) -> Iterator[str]:
    """Name the tools that take this value by its name."""
    for tool in tools.values():
        if tool.variables and any(variable.fits(value) for variable in tool.variables.values()):
            yield tool.name


def _with_names(schema: Mapping[str, Json], names: list[str]) -> dict[str, Json]:
    """Write names as the only choice; an empty list of choices is refused by many servers."""
    if not names:
        return {**schema, "description": f"{schema['description']} There is none at the moment."}
    if "anyOf" not in schema:
        return {**schema, "enum": names}
    arms = [{**arm, "enum": names} if arm["type"] == "string" else arm for arm in schema["anyOf"]]
    return {**schema, "anyOf": arms}
