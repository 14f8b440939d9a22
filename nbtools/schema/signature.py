"""The parameters of any callable, with their type hints resolved."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbtools.errors import ToolDefinitionError

EMPTY: Any = inspect.Parameter.empty


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter that a caller fills in."""

    name: str
    hint: Any
    """The type; `Any` where there is no annotation."""
    default: Any = EMPTY
    positional: bool = False
    """Whether it cannot be passed by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signature:
    """The parameters of a callable in order, without `*args` and `**kwargs`."""

    parameters: tuple[Parameter, ...]
    open: bool = False
    """Whether it takes any further name (`**kwargs`)."""
    rest: Parameter | None = None
    """What takes any further value by its place (`*args`)."""
    names: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What it could see besides its globals, for hints within the classes of its parameters."""


def underlying(function: Callable[..., Any]) -> Callable[..., Any]:
    """Find the plain function below partials, methods, wrappers and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isroutine(function) or not hasattr(type(function), "__call__"):  # noqa: B004
            return function
        else:
            function = type(function).__call__


def callable_name(function: Callable[..., Any]) -> str:
    """Give the name of a function, or of an object's class in lower case with underscores."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if isinstance(name, str):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(function).__name__).lower()


def is_kind(function: Callable[..., Any], test: Callable[[Any], bool]) -> bool:
    """Say whether a test of `inspect` holds for what is called when this callable is."""
    while isinstance(function, functools.partial):
        function = function.func
    return test(function) or (
        not inspect.isroutine(function) and test(getattr(type(function), "__call__", None))  # noqa: B004
    )


def read_signature(function: Callable[..., Any], tool: str) -> Signature:
    """Read the parameters of a callable.

    Args:
        function: A function, method, partial or callable object.
        tool: The name of the tool, for the texts of errors.

    Returns:
        The parameters with resolved hints.

    Raises:
        ToolDefinitionError: There is no signature, it is a method without its object, or a hint
            cannot be resolved.
    """
    if isinstance(function, type):
        raise ToolDefinitionError(f"Tool {tool!r}: {function.__name__} is a class, not a function.")
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError, NameError) as problem:
        raise ToolDefinitionError(f"Tool {tool!r} has no readable signature: {problem}.") from None
    _refuse_unbound(function, list(found), tool)
    taken = [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    resolve = _Resolver(function, tool)
    return Signature(
        parameters=tuple(resolve(each) for each in taken),
        open=any(each.kind is each.VAR_KEYWORD for each in found),
        rest=_rest(function, found, resolve),
        names=resolve.names,
    )


def _rest(
    function: Callable[..., Any], found: Iterable[inspect.Parameter], resolve: _Resolver
) -> Parameter | None:
    """Read `*args`, unless a partial has filled them."""
    rest = next((each for each in found if each.kind is each.VAR_POSITIONAL), None)
    if rest is None or (isinstance(function, functools.partial) and function.args):
        return None
    try:
        read = resolve(rest)
    except ToolDefinitionError:  # such as a name for type checkers alone
        return Parameter(name=rest.name, hint=Any)
    says_nothing = read.hint is object or isinstance(read.hint, typing.ParamSpecArgs)
    return replace(read, hint=Any) if says_nothing else read


def _refuse_unbound(
    function: Callable[..., Any], found: list[inspect.Parameter], tool: str
) -> None:
    first = found[0] if found else None
    if first is None or first.name not in ("self", "cls") or first.annotation is not EMPTY:
        return
    name = getattr(function, "__qualname__", tool)
    raise ToolDefinitionError(
        f"Tool {tool!r}: {name} is a method without its object; "
        f"pass the method of an instance, such as tool(thing.{tool})."
    )


def is_plain(hint: Any) -> bool:
    """Say whether a type is made of texts, numbers, booleans and None alone."""
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return all(type(each) in _PLAIN for each in parts)
    if parts:
        return typing.get_origin(hint) in _PLAIN_HOLDERS and all(map(is_plain, parts))
    return hint in _PLAIN


def hidden_parameter(found: tuple[Parameter, ...], context: type[Any], tool: str) -> str | None:
    """Find the parameter through which the program passes its own things.

    Args:
        found: The parameters of a function.
        context: The class that marks it, plain, subscripted or optional.
        tool: The name of the tool, for the text of the error.

    Returns:
        Its name, None if there is none.

    Raises:
        ToolDefinitionError: There are several.
    """
    names = [each.name for each in found if _mentions(each.hint, context)]
    if len(names) > 1:
        raise ToolDefinitionError(f"Tool {tool!r} has several contexts: {', '.join(names)}.")
    return names[0] if names else None


def _mentions(hint: Any, context: type[Any]) -> bool:
    if hint is context or typing.get_origin(hint) is context:
        return True
    return any(_mentions(each, context) for each in typing.get_args(hint))


class _Resolver:
    """Turns annotations that are text, in whole or in part, into types."""

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        self._tool = tool
        self._base = underlying(function)
        self._globals: dict[str, Any] = getattr(self._base, "__globals__", {})
        self.names = _enclosing(self._base) | _closure(self._base)
        self._portable = _Portable(self.names)

    def __call__(self, found: inspect.Parameter) -> Parameter:
        return Parameter(
            name=found.name,
            hint=Any if found.annotation is EMPTY else self._hint(found),
            default=found.default,
            positional=found.kind is found.POSITIONAL_ONLY,
        )

    def _hint(self, found: inspect.Parameter) -> Any:
        holder = types.SimpleNamespace(__annotations__={found.name: found.annotation})
        try:
            hint = self._portable(
                typing.get_type_hints(
                    holder, self._globals, self._visible(found), include_extras=True
                )[found.name]
            )
        except Exception as problem:
            raise ToolDefinitionError(
                f"Tool {self._tool!r}: the type {found.annotation!r} of parameter {found.name!r} "
                f"cannot be resolved ({problem}); it has to be defined where the function is."
            ) from problem
        if found.default is None and hint is not Any:
            hint = typing.Optional[hint]  # noqa: UP045 - `|` does not take every kind of hint
        return hint

    def _visible(self, found: inspect.Parameter) -> dict[str, Any]:
        """Add the default's own class, which nothing else may name once its function has ended."""
        kind = type(found.default)
        return {kind.__name__: kind, **self._globals, **self.names}


def _enclosing(function: Callable[..., Any]) -> dict[str, Any]:
    """Give the variables of the functions around this one that are running still."""
    names: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - documented for this use
    inside = getattr(function, "__qualname__", "")
    while frame is not None:
        code = frame.f_code
        if inside.startswith(f"{code.co_qualname}.") and code.co_filename == _file(function):
            names = dict(frame.f_locals) | names
        frame = frame.f_back
    return names


def _file(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return code.co_filename if code is not None else ""


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    names = {}
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not yet set
            continue
    return names


class _Portable:
    """Replaces `typing.TypedDict` classes, which pydantic takes only from Python 3.12 on."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = dict(names)
        self._made: dict[Any, Any] = {}

    def __call__(self, hint: Any) -> Any:
        if sys.version_info >= (3, 12):
            return hint
        if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
            return self._made.get(hint) or self._copy(hint)
        args = typing.get_args(hint)
        changed = tuple(map(self, args))
        if all(new is old for new, old in zip(changed, args, strict=True)):
            return hint
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            return typing.Annotated[changed]
        return typing.Union[changed] if origin in _UNIONS else origin[changed]  # noqa: UP007

    def _copy(self, hint: Any) -> Any:
        import typing_extensions as extensions  # noqa: PLC0415 - comes with pydantic

        # Made before its fields, which may contain it.
        made = self._made[hint] = extensions.TypedDict(hint.__name__, {})  # type: ignore[operator]
        hints = typing.get_type_hints(hint, localns=self._names, include_extras=True)
        for name, each in hints.items():
            mark = typing.get_origin(each)
            marked = mark in (typing.Required, typing.NotRequired)
            needed = mark is typing.Required if marked else name in hint.__required_keys__
            wrap = extensions.Required if needed else extensions.NotRequired
            made.__annotations__[name] = wrap[self(typing.get_args(each)[0] if marked else each)]
        return made


_UNIONS = (typing.Union, types.UnionType)
_PLAIN = (str, int, float, bool, types.NoneType)
_PLAIN_HOLDERS = (*_UNIONS, list, dict)
