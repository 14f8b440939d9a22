"""The arguments of a tool whose JSON Schema somebody wrote by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from nbtools.errors import InvalidArguments, ToolDefinitionError
from nbtools.jsontext import dumps
from nbtools.messages import Json
from nbtools.plain import plain
from nbtools.schema.misfit import Misfit
from nbtools.schema.signature import EMPTY, hidden_parameter, read_signature
from nbtools.schema.variables import Variable

_MOST_ERRORS = 20
# Keywords besides `properties` that can allow a name.
_OPENING = frozenset({
    "additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf",
    "oneOf", "if", "$ref", "$dynamicRef", "dependentSchemas", "propertyNames",
})  # fmt: skip


class Written:
    """What a tool with a hand-written schema takes.

    Nothing is coerced; defaults at the top level are filled in. A name that is not among the
    properties is refused, unless the schema itself speaks of further ones.

    Args:
        parameters: A JSON Schema of type object.
        tool: The name of the tool, for the texts of errors.
        context: The class whose parameter is hidden from the model.
        function: What takes the arguments, if it is there already.

    Raises:
        ToolDefinitionError: The schema is none, or the function does not take what it describes.
    """

    def __init__(
        self,
        parameters: Mapping[str, Json],
        tool: str,
        *,
        context: type[Any],
        function: Callable[..., Any] | None = None,
    ) -> None:
        self._tool = tool
        self.parameters = _as_json(parameters, tool)
        self._properties: dict[str, Json] = self.parameters.get("properties", {})
        self._validator = _validator(self.parameters, tool)
        self._closed = "properties" in self.parameters and not (_OPENING & self.parameters.keys())
        others = _OPENING & self.parameters.keys() - {"additionalProperties"}
        refuses = self.parameters.get("additionalProperties") is False and not others
        known = frozenset(self._properties) if self._closed or refuses else None
        self.names: frozenset[str] | None = known
        """What arguments may be called; None where the schema does not say."""
        self.hidden: str | None = None
        self.variables: dict[str, Variable] = {}
        self.positional: dict[str, Any] = {}
        if function is not None:
            self._match(function, context)

    def check(self, args: Mapping[str, Json]) -> dict[str, Json]:
        """Give the effective arguments: validated, with defaults.

        Args:
            args: Arguments as a model or a person wrote them.

        Returns:
            What will run, in the order of the schema's properties.

        Raises:
            InvalidArguments: They do not fit.
        """
        effective = {
            name: args[name] if name in args else json.loads(dumps(each["default"]))
            for name, each in self._properties.items()
            if name in args or (isinstance(each, dict) and "default" in each)
        }
        effective |= {name: value for name, value in args.items() if name not in effective}
        misfit = self._misfit(effective)
        if misfit:
            raise misfit.error()
        return effective

    def bind(self, args: Mapping[str, Json]) -> dict[str, object]:
        """Give the arguments as they are; a hand-written schema knows no Python types."""
        return dict(args)

    def _misfit(self, args: dict[str, Json]) -> Misfit:
        misfit = Misfit(self._tool, self.parameters)
        if self._closed:
            misfit.unknown += [name for name in args if name not in self._properties]
        try:
            for each in itertools.islice(self._validator.iter_errors(args), _MOST_ERRORS):
                _note(misfit, each)
        except Exception as problem:
            raise InvalidArguments(
                f"The arguments of {self._tool!r} cannot be checked against its schema: "
                f"{type(problem).__name__}: {str(problem)[:200]}"
            ) from problem
        return misfit

    def _match(self, function: Callable[..., Any], context: type[Any]) -> None:
        signature = read_signature(function, self._tool)
        self.hidden = hidden_parameter(signature.parameters, context, self._tool)
        shown = [each for each in signature.parameters if each.name != self.hidden]
        self.positional = {e.name: e.default for e in signature.parameters if e.positional}
        names = {each.name for each in shown}
        for name in self._properties:
            if name not in names and not signature.open:
                raise ToolDefinitionError(
                    f"Tool {self._tool!r}: its schema has {name!r}, which its function does not "
                    f"take; expected one of {', '.join(sorted(names)) or 'none'}."
                )
        for each in shown:
            if each.default is EMPTY and each.name not in self._properties:
                raise ToolDefinitionError(
                    f"Tool {self._tool!r}: its function needs {each.name!r}, which is not among "
                    "the properties of its schema."
                )


def _note(misfit: Misfit, error: Any) -> None:
    path = [str(step) if isinstance(step, str) else step for step in error.absolute_path]
    rule, value = error.validator, error.validator_value
    if rule == "required" and not path:
        misfit.missing += [n for n in value if n not in error.instance and n not in misfit.missing]
    elif rule == "required":
        absent = [name for name in value if name not in error.instance]
        misfit.add_wrong(path, f"{', '.join(map(repr, absent))} missing", error.instance)
    elif rule in ("additionalProperties", "unevaluatedProperties") and not path:
        known = error.schema.get("properties", {})
        misfit.unknown += [name for name in error.instance if name not in known]
    elif rule == "type":
        expected = " or ".join(value) if isinstance(value, list) else value
        misfit.add_wrong(path, f"expected {expected}", error.instance)
    else:
        misfit.add_wrong(path, f"expected {rule} {plain(value, limit=256)!r:.80}", error.instance)


def _as_json(parameters: Mapping[str, Json], tool: str) -> dict[str, Json]:
    try:
        schema: Json = json.loads(dumps(parameters))
    except (TypeError, ValueError) as problem:
        raise ToolDefinitionError(f"Tool {tool!r}: its schema is no JSON: {problem}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        found = schema.get("type") if isinstance(schema, dict) else schema
        raise ToolDefinitionError(
            f"Tool {tool!r}: the type of its schema is {found!r:.80}, expected 'object'."
        )
    return schema


def _validator(schema: dict[str, Json], tool: str) -> Any:
    try:
        from nbtools.schema import linear  # noqa: PLC0415 - imports jsonschema
    except ImportError:
        raise ToolDefinitionError(
            f"Tool {tool!r} has a hand-written schema, which needs: pip install jsonschema"
        ) from None
    try:
        return linear.make_validator(schema)
    except ValueError as problem:
        raise ToolDefinitionError(f"Tool {tool!r}: its schema {problem}.") from None
