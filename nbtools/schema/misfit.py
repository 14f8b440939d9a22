"""Why arguments do not fit, in words that a model and a person can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbtools.checks import meant
from nbtools.errors import InvalidArguments
from nbtools.jsontext import clean_text
from nbtools.messages import Json
from nbtools.plain import plain

_MOST = 8
"""Problems of one kind that are named."""


@dataclass
class Misfit:
    """What is wrong with the arguments for one tool."""

    tool: str
    schema: Mapping[str, Json]
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Path and sentence."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.unknown or self.wrong)

    def add_wrong(self, path: Sequence[int | str], sentence: str, found: object) -> None:
        """Note a value that does not fit.

        Args:
            path: Where it stands: names and indexes.
            sentence: What would fit.
            found: The value, which is quoted.
        """
        quoted = repr(plain(found, limit=256))
        name = ".".join(str(step)[:100] for step in path) or "the whole"
        self.wrong.append((name, f"{sentence}, found {quoted[:80]}"))

    def add_unknown(self, path: Sequence[int | str], found: object) -> None:
        """Note a field that there is not.

        Args:
            path: Where it stands: names and indexes.
            found: Its value.
        """
        *within, name = map(str, path)
        if not within:
            self.unknown.append(name)
            return
        # Of those that are named; and another type of a choice may have the very field.
        known = _fields_at(self.schema, path[:-1]) if len(self.wrong) < _MOST else []
        self.add_wrong(path, f"There is no such field{meant(name, {*known} - {name})}", found)

    def error(self) -> InvalidArguments:
        """Make the error that names everything, and what would be accepted."""
        sentences = [f"The arguments do not fit {self.tool!r}."]
        if self.missing:
            sentences.append(f"Missing: {_listed(repr(name) for name in self.missing)}.")
        if self.unknown:
            sentences.append(f"Unknown: {_listed(self._suggested(name) for name in self.unknown)}.")
        if self.wrong:
            sentences.append(f"Wrong: {_listed(f'{name!r}: {text}' for name, text in self.wrong)}.")
        sentences.append(f"Accepted: {accepted(self.schema)}.")
        names = [*self.missing, *self.unknown, *(name.split(".")[0] for name, _ in self.wrong)]
        return InvalidArguments(clean_text(" ".join(sentences)), field=names[0] if names else "")

    def _suggested(self, name: str) -> str:
        return f"{name[:100]!r}{meant(name, self.schema.get('properties', {}))}"


def _fields_at(root: Mapping[str, Json], path: Sequence[int | str]) -> list[str]:
    """List the fields of the objects that may stand at a place."""
    here = _opened(root, root)
    for step in path:
        # A step that is no name of a field is the mark of a choice among several types.
        below = {id(each): each for one in here for each in _below(one, step, root)}
        here = list(below.values()) or here
    return [name for one in here for name in one.get("properties", {})]


def _below(
    schema: Mapping[str, Json], step: int | str, root: Mapping[str, Json]
) -> list[Mapping[str, Json]]:
    found: list[Json] = []
    if isinstance(step, int):
        found = [schema.get("items"), *schema.get("prefixItems", ())]
    elif step in schema.get("properties", {}):
        found = [schema["properties"][step]]
    else:
        found = [schema.get("additionalProperties")]
    return [each for one in found for each in _opened(one, root)]


def _opened(schema: Json, root: Mapping[str, Json], depth: int = 8) -> list[Mapping[str, Json]]:
    """Give a schema, or those that it refers to and chooses from."""
    if not isinstance(schema, dict) or not depth:
        return []
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    others = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    others += [root.get("$defs", {}).get(name)] if name else []
    return [schema, *(each for one in others for each in _opened(one, root, depth - 1))]


def accepted(schema: Mapping[str, Json]) -> str:
    """List the arguments that a schema takes.

    Args:
        schema: A JSON Schema of type object.

    Returns:
        Such as "to (string), amount (integer, default 10)".
    """
    needed = schema.get("required", ())
    texts = []
    for name, each in schema.get("properties", {}).items():
        kind = kind_name(each, schema)
        if isinstance(each, dict) and "default" in each:
            kind += f", default {plain(each['default'], limit=256)!r:.60}"
        elif name not in needed:
            kind += ", optional"
        texts.append(f"{name} ({kind})")
    return ", ".join(texts) or "no arguments"


def kind_name(schema: Json, root: Mapping[str, Json]) -> str:
    """Name what a part of a schema takes, in a word or a few."""
    if not isinstance(schema, dict):
        return "anything"
    if "enum" in schema:
        return f"one of {', '.join(repr(each) for each in schema['enum'][:20])}"
    if "const" in schema:
        return repr(schema["const"])
    if "anyOf" in schema:
        return " or ".join(kind_name(each, root) for each in schema["anyOf"])
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        target = root.get("$defs", {}).get(name, {})
        return kind_name(target, root) if "$ref" not in target else name
    kind = schema.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _listed(items: object) -> str:
    texts = list(items)  # type: ignore[call-overload]
    more = len(texts) - _MOST
    return "; ".join(texts[:_MOST]) + (f"; and {more} more" if more > 0 else "")
