"""The arguments of a typed function: their JSON Schema, and reading them with pydantic."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtools.errors import InvalidArguments, ToolDefinitionError
from nbtools.jsontext import clean_text, dumps
from nbtools.messages import Json
from nbtools.plain import plain
from nbtools.schema.closed import reader_and_writer
from nbtools.schema.misfit import Misfit
from nbtools.schema.signature import Parameter, hidden_parameter, is_plain, read_signature
from nbtools.schema.variables import Variable, advice_on, as_variable, name_of, named

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic.fields import FieldInfo


_AS_WRITTEN = (str, int, bool)
"""Types whose values JSON writes as they are, as a rule."""
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
"""What pydantic calls a field that there is not."""
_LARGE = 1 << 64
"""Whole numbers from here on are read as JSON, which has a limit to their digits."""


class Described:
    """What a typed function takes.

    Args:
        function: The function, method, partial or callable object.
        tool: The name of the tool, for the texts of errors.
        context: The class whose parameter is hidden from the model.
        docs: What is said of each parameter, by its Python name.

    Raises:
        ToolDefinitionError: A parameter cannot be described; the text names it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tool: str,
        *,
        context: type[Any],
        docs: Mapping[str, str],
    ) -> None:
        self._tool = tool
        signature = read_signature(function, tool)
        found = signature.parameters
        self._refuse_rest(signature.rest)
        self.hidden = hidden_parameter(found, context, tool)
        self.positional = {each.name: each.default for each in found if each.positional}
        shown = [each for each in found if each.name != self.hidden]
        # Field names of our own: a parameter may be called `_n`, `json` or `model_config`.
        self._shown = {f"p{index}": each for index, each in enumerate(shown)}
        stays = {name: as_variable(each.name, each.hint) for name, each in self._shown.items()}
        self._stays = {name: variable for name, variable in stays.items() if variable}
        self._model = self._build(docs, signature.names)
        self._reader, self._writer = reader_and_writer(self._model)
        self.variables: dict[str, Variable] = {
            str(self._model.model_fields[name].alias): each for name, each in self._stays.items()
        }
        self._uncertain = {
            name: str(self._model.model_fields[name].alias)
            for name, each in self._shown.items()
            if name not in self._stays and not is_plain(each.hint)
        }
        """Parameters whose types may read what they wrote in another way: outside names."""
        self._outside = {name: str(self._model.model_fields[name].alias) for name in self._shown}
        self._exact = self._exact_types()
        self._silent = {name for name in self._shown if self._is_silent(name)}
        self.parameters = self._schema()
        self.names: frozenset[str] | None = frozenset(self._outside.values())
        """What arguments may be called."""

    def check(self, args: Mapping[str, Json]) -> dict[str, Json]:
        """Give the effective arguments: validated, with defaults and coercions, as plain JSON.

        Args:
            args: Arguments as a model or a person wrote them.

        Returns:
            What will run, in the order of the signature. A default that JSON cannot hold is absent.

        Raises:
            InvalidArguments: They do not fit.
        """
        if self._are_taken_as_they_are(args):
            return {outside: args[outside] for outside in self._outside.values()}
        read = self._read(args)
        effective = self._written_back(read)
        return self._readable(effective, read, args) if self._uncertain else effective

    def bind(self, args: Mapping[str, Json]) -> dict[str, object]:
        """Give the Python values for the function, by parameter name.

        Args:
            args: What `check` gave.

        Returns:
            Models, dates, enums and so on; a parameter that is absent is left to its default.

        Raises:
            InvalidArguments: They do not fit.
        """
        if self._are_taken_as_they_are(args):
            return {self._shown[name].name: args[out] for name, out in self._outside.items()}
        read = self._read(args)
        given, held = read.model_fields_set, read.__dict__
        return {each.name: held[name] for name, each in self._shown.items() if name in given}

    def _are_taken_as_they_are(self, args: Mapping[str, Json]) -> bool:
        """Say whether reading arguments would give just them: most are texts and whole numbers."""
        exact = self._exact
        if exact is None or args.keys() != exact.keys():
            return False
        for name, value in args.items():
            if type(value) is not exact[name] or not _is_writable(value):
                return False
        return True

    def _exact_types(self) -> dict[str, Any] | None:
        """Give the types of the parameters by outside name, if each takes all values of its type."""
        fields = [self._model.model_fields[name] for name in self._shown]
        if any(each.annotation not in _AS_WRITTEN or each.metadata for each in fields):
            return None
        return {str(each.alias): each.annotation for each in fields}

    def _written_back(self, read: BaseModel) -> dict[str, Json]:
        unset = self._silent - read.model_fields_set
        try:
            text = self._writer.to_json(
                read, by_alias=True, round_trip=True, exclude=unset or None, warnings="none"
            )
        except BaseException as problem:  # what a type reads item by item is read only here
            raise self._unreadable(problem) from problem
        effective: dict[str, Json] = json.loads(text)
        return effective

    def _readable(
        self, effective: dict[str, Json], read: BaseModel, args: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Give what is read as the values that were read, for that is what will run."""
        try:
            again = self._read(effective)
        except InvalidArguments:  # a type that writes what it does not read
            given = {name: args[name] for name in self._uncertain.values() if name in args}
            return {**effective, **json.loads(dumps(given))}
        written = self._written_back(again)
        for name, outside in self._uncertain.items():
            before, after = effective.get(outside), written.get(outside)
            # Equal sets may be written in another order.
            if before != after and getattr(read, name) != getattr(again, name):
                raise InvalidArguments(
                    f"What {self._tool!r} would take cannot be shown: {outside!r} is read as "
                    f"{before!r:.80}, and that as {after!r:.80}; its type has to leave alone what "
                    "it made.",
                    field=outside,
                )
        return effective

    def _read(self, args: Mapping[str, Json]) -> BaseModel:
        try:
            # As JSON text, so that a tuple, a set or a date is read as JSON writes it.
            return self._reader.validate_json(dumps(dict(args)))  # type: ignore[no-any-return]
        except self._invalid as problem:
            raise self._misfit(problem).error() from None
        except BaseException as problem:  # a type's own code may even try to exit
            raise self._unreadable(problem) from problem

    def _unreadable(self, problem: BaseException) -> InvalidArguments:
        return InvalidArguments(
            f"The arguments of {self._tool!r} could not be read: {type(problem).__name__}: {problem}"
        )

    def _misfit(self, problem: ValidationError) -> Misfit:
        misfit = Misfit(self._tool, self.parameters)
        for each in problem.errors(include_url=False, include_context=False):
            path = each["loc"]
            if each["type"] in _UNKNOWN:
                misfit.add_unknown(path, each["input"])
            elif len(path) == 1 and each["type"] == "missing":
                misfit.missing.append(str(path[0]))
            else:
                misfit.add_wrong(path, each["msg"], each["input"])
        return misfit

    def _build(self, docs: Mapping[str, str], names: Mapping[str, Any]) -> type[BaseModel]:
        from pydantic import ConfigDict, ValidationError, create_model  # noqa: PLC0415 - with a tool

        from nbtools.schema.fields import describe_field  # noqa: PLC0415 - imports pydantic

        self._invalid = ValidationError
        config = ConfigDict(
            extra="forbid",
            ser_json_inf_nan="strings",
            ser_json_bytes="base64",
            val_json_bytes="base64",
        )
        fields: Any = {
            name: describe_field(self._written(name), docs.get(each.name, ""))
            for name, each in self._shown.items()
        }
        self._refuse_same_names(fields)
        try:
            model = create_model(self._tool, __config__=config, **fields)
            model.model_rebuild(force=True, _types_namespace=names)
        except Exception as problem:
            raise self._undescribed(fields, problem) from problem
        for name in fields.keys() - model.model_fields.keys():  # such as Final, or ClassVar
            raise self._refused(self._shown[name], TypeError("no value has such a type"))
        return typing.cast("type[BaseModel]", model)

    def _written(self, name: str) -> Parameter:
        """Give a parameter as a model fills it in: a value of the kernel by its name."""
        parameter, variable = self._shown[name], self._stays.get(name)
        if variable is None:
            return parameter
        return replace(parameter, hint=named(parameter.hint, variable))

    def _refuse_same_names(self, fields: Mapping[str, tuple[Any, FieldInfo]]) -> None:
        seen: dict[str, str] = {}
        for name, (_, field) in fields.items():
            alias, parameter = str(field.alias), self._shown[name].name
            if alias in seen:
                raise ToolDefinitionError(
                    f"Tool {self._tool!r}: the parameters {seen[alias]!r} and {parameter!r} are "
                    f"both called {alias!r} outside."
                )
            seen[alias] = parameter

    def _undescribed(self, fields: Mapping[str, Any], problem: Exception) -> ToolDefinitionError:
        """Find the parameter that pydantic does not take, one by one."""
        from pydantic import TypeAdapter  # noqa: PLC0415 - when a tool is made

        from nbtools.schema.generator import Generator  # noqa: PLC0415 - imports pydantic

        for name, (hint, _) in fields.items():
            try:
                TypeAdapter(hint).json_schema(schema_generator=Generator)
            except Exception as own:  # noqa: BLE001 - whichever of its many errors
                return self._refused(self._shown[name], own)
        return ToolDefinitionError(
            f"Tool {self._tool!r} cannot be described to a model: {_first_line(problem)}"
        )

    def _refuse_rest(self, rest: Parameter | None) -> None:
        """Refuse `*args` that are meant to be filled in: a model gives values by name."""
        if rest is not None and rest.hint is not Any:
            hint = name_of(rest.hint)
            raise ToolDefinitionError(
                f"Tool {self._tool!r}: a model cannot fill in *{rest.name} ({hint}). Take a list "
                f"instead, such as {rest.name}: list[…], or parameters by name."
            )

    def _refused(self, parameter: Parameter, problem: Exception) -> ToolDefinitionError:
        why = _first_line(problem).partition(". Set `arbitrary_types_allowed")[0]
        return ToolDefinitionError(
            f"Tool {self._tool!r}: the type {name_of(parameter.hint)} of parameter "
            f"{parameter.name!r} cannot be described to a model ({why}). {advice_on(parameter.hint)}"
        )

    def _is_silent(self, name: str) -> bool:
        """Whether the default is something that JSON cannot hold and read back."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded with the first tool

        field = self._model.model_fields[name]
        if field.is_required():
            return False
        try:
            default = field.get_default(call_default_factory=True, validated_data={})
            holder = self._model.model_construct(**{str(field.alias): default})
            text = self._writer.to_json(holder, include={name}, by_alias=True, warnings="error")
            self._reader.validate_json(text)
        except ValidationError as problem:
            return any(each["loc"][:1] == (field.alias,) for each in problem.errors())
        except Exception:  # noqa: BLE001 - whatever the default's own code raises
            return True
        return False

    def _schema(self) -> dict[str, Json]:
        from pydantic_core import to_json  # noqa: PLC0415 - loaded with the first tool

        from nbtools.schema.generator import Generator  # noqa: PLC0415 - imports pydantic

        try:
            schema = self._model.model_json_schema(by_alias=True, schema_generator=Generator)
            written: dict[str, Json] = json.loads(to_json(schema, inf_nan_mode="strings"))
        except Exception as problem:
            fields = {name: (each.hint, None) for name, each in self._shown.items()}
            raise self._undescribed(fields, problem) from problem
        if "$ref" in written:  # the arguments as a whole, as `Self` names them
            fields = {name: (each.hint, None) for name, each in self._shown.items()}
            raise self._undescribed(fields, TypeError("it contains the arguments themselves"))
        written.pop("title", None)
        written.setdefault("properties", {})
        for outside, variable in self.variables.items():
            said = f"The name of a {variable.kind} in the notebook."
            known = written["properties"][outside]
            known["description"] = " ".join(filter(None, [known.get("description"), said]))
        self._refuse_secrets(written)
        return written

    def _refuse_secrets(self, schema: Mapping[str, Json]) -> None:
        for name, each in schema["properties"].items():
            if _holds_secret(each, schema.get("$defs", {})):
                raise ToolDefinitionError(
                    f"Tool {self._tool!r}: parameter {name!r} is a secret; a model must not fill "
                    "it in. Take it from ToolContext."
                )


def _is_writable(value: str | int) -> bool:
    """Say whether JSON writes a value as it is: not half a surrogate pair, nor endless digits."""
    if type(value) is str:
        return value.isascii() or clean_text(value) is value
    return -_LARGE < value < _LARGE  # type: ignore[operator]


def _holds_secret(schema: Json, definitions: Mapping[str, Json]) -> bool:
    if isinstance(schema, list):
        return any(_holds_secret(each, definitions) for each in schema)
    if not isinstance(schema, dict):
        return False
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in definitions:
        # Once is enough, and one that contains itself would never end.
        left = {other: each for other, each in definitions.items() if other != name}
        return _holds_secret(definitions[name], left)
    return schema.get("writeOnly") is True or _holds_secret(list(schema.values()), definitions)


def _first_line(problem: Exception) -> str:
    return str(plain(str(problem).partition("\n")[0], limit=300))
