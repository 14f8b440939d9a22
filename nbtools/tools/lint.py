"""What a model may misread in the descriptions of tools: a description is a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nbtools.messages import Json
from nbtools.schema.signature import read_signature
from nbtools.tools.decorator import Offered, collect
from nbtools.tools.tool import Tool
from nbtools.tools.toolset import Toolset

_WORD = re.compile(r"[A-Za-z0-9]+|[^\W_]+")
_EMPTY_WORDS = frozenset({
    "a", "an", "the", "of", "to", "for", "this", "that", "is", "it", "some", "value", "values",
    "parameter", "argument", "input", "data", "string", "number", "text", "object", "thing",
    "tool", "function", "todo", "tbd", "fixme", "xxx", "get", "set", "do", "run", "use",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """One thing that a model may misread."""

    tool: str
    parameter: str = ""
    """The path of the parameter, such as "box.width"; "" where it is about the tool itself."""
    text: str

    def __repr__(self) -> str:
        place = f"{self.tool}({self.parameter})" if self.parameter else self.tool
        return f"{place}: {self.text}"


def check_tools(tools: Iterable[Offered] | Offered) -> list[Remark]:
    """Look for descriptions that are missing, or say no more than the name.

    Args:
        tools: What a chat takes: tools and typed functions; or one of these.

    Returns:
        What a model may misread, tool by tool; empty where there is nothing to say.

    Raises:
        ToolDefinitionError: One of them is no tool; the text names it.
    """
    alone = callable(tools) or isinstance(tools, Toolset)
    known = collect([tools] if alone else tools)  # type: ignore[list-item, arg-type]
    alike = _alike(known)
    return [remark for each in known.values() for remark in _remarks(each, alike)]


def _rest(tool: Tool) -> str:
    """Give the name of `*args`, where a model cannot know of it."""
    if tool.function is None:
        return ""
    rest = read_signature(tool.function, tool.name).rest
    return rest.name if rest is not None else ""


def _remarks(tool: Tool, alike: Mapping[str, str]) -> Iterator[Remark]:
    if problem := _problem(tool.description, tool.name):
        yield Remark(tool=tool.name, text=f"its description {problem}.")
    elif tool.name in alike:
        yield Remark(tool=tool.name, text=f"its description is that of {alike[tool.name]!r} too.")
    if rest := _rest(tool):
        yield Remark(tool=tool.name, text=f"its *{rest} is never filled in.")
    definitions = tool.parameters.get("$defs", {})
    for path, schema in _parameters(tool.parameters, definitions):
        for text in _parameter_problems(path.rpartition(".")[2], schema):
            yield Remark(tool=tool.name, parameter=path, text=f"{text}.")


def _parameter_problems(name: str, schema: Mapping[str, Json]) -> Iterator[str]:
    if problem := _problem(schema.get("description", ""), name):
        yield f"its description {problem}"
    if not schema.keys() & {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}:
        yield "it has no type, so the model may send anything"


def _problem(description: str, name: str) -> str:
    """Say what is wrong with a description, as the end of a sentence; "" if nothing is."""
    if not description.strip():
        return "is missing"
    said = {_stem(word) for word in _WORD.findall(description.lower())}
    if said <= {_stem(word) for word in (*_WORD.findall(name.lower()), *_EMPTY_WORDS)}:
        return f"says no more than the name ({description.strip()[:60]!r})"
    return ""


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def _parameters(
    schema: Mapping[str, Json], definitions: Mapping[str, Json], within: str = ""
) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Give each parameter with its path; what is referred to is looked at where it is used."""
    for name, each in schema.get("properties", {}).items():
        if isinstance(each, Mapping):
            path = f"{within}{name}"
            yield path, {**definitions.get(_reference(each), {}), **each}
            for held in _held(each):
                yield from _below(held, definitions, path)


def _held(schema: Json) -> Iterator[Json]:
    """Give what a parameter is, or holds: each choice, the items of a list, the values of a dict."""
    inner = schema if isinstance(schema, Mapping) else {}
    found = [*inner.get("anyOf", ()), inner.get("items"), inner.get("additionalProperties")]
    parts = [each for each in found if isinstance(each, Mapping)]
    if not parts:
        yield schema
    for each in parts:
        yield from _held(each)


def _below(
    schema: Json, definitions: Mapping[str, Json], path: str
) -> Iterator[tuple[str, Mapping[str, Json]]]:
    name = _reference(schema)
    if isinstance(schema, Mapping) and "properties" in schema:
        yield from _parameters(schema, definitions, f"{path}.")
    elif name in definitions:
        # Once is enough, and one that contains itself would never end.
        left = {other: each for other, each in definitions.items() if other != name}
        yield from _parameters(definitions[name], left, f"{path}.")


def _reference(schema: Json) -> str:
    reference = schema.get("$ref", "") if isinstance(schema, Mapping) else ""
    return str(reference).rpartition("/")[2]


def _alike(tools: Mapping[str, Tool]) -> dict[str, str]:
    """Name for each tool another one that is described in the same words."""
    first: dict[str, str] = {}
    alike: dict[str, str] = {}
    for tool in tools.values():
        said = tool.description.strip()
        if said and first.setdefault(said, tool.name) != tool.name:
            alike[tool.name] = first[said]
    return alike
