"""A tool: what a model is told of it, how its arguments are read, and when a person is asked."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Literal

from nbtools.errors import InvalidArguments, ToolDefinitionError
from nbtools.failure import explain, told_of
from nbtools.frozen import freeze, thaw
from nbtools.jsontext import digest, dumps
from nbtools.messages import Json, ToolSpec
from nbtools.schema import Described, Variable, Written, callable_name, is_kind, read_docstring
from nbtools.schema.signature import read_signature
from nbtools.tools.context import ToolContext
from nbtools.tools.foresight import Foresight
from nbtools.tools.settings import (
    CHECKED,
    Approval,
    Errors,
    Kind,
    OnDone,
    Parse,
    Thread,
    check_executor,
    check_settings,
)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Tool:
    """Something that a model may call.

    Calling the tool itself calls its function, so that a decorated function stays usable.

    Args:
        name: 1 to 64 letters, digits, "_" and "-"; "" takes the function's own.
        description: What it does, for the model; None takes it from the function's docstring.
        parameters: A hand-written JSON Schema of type object; None reads the function's signature.
        function: What runs; without one a person or `on_tool_call` gives the result.
        approval: Whether a person has to approve a call.
        destructive: Whether it does what cannot be undone; such a tool asks by default.
        idempotent: Whether a second run does no harm; after its process died it is run again.
        timeout: Seconds after which a call is given up, all tries together; None: never.
        thread: Where a synchronous function runs; `main` is the kernel's main thread.
        executor: Where a synchronous function runs instead: any executor, or "process" for a
            process of its own, which is killed where the call is cancelled.
        max_parallel: How many of its calls in one chat execute at a time; None: as many as may.
        retries: How often it is tried again after one of `retry_on`.
        retry_on: Exceptions after which trying again may help.
        backoff: Seconds before the second try; each further wait is twice as long.
        render: Draws a call in Python.
        errors: Whether the model is told the message of an exception; `generic` hides it.
        preview: Shows what a call would do while it waits for approval: a function of some or all
            arguments that changes nothing. Where what it returns has changed when a person
            approves, the call is shown anew and does not run.
        parse: Reads the arguments before they are checked: it may return others, or refuse them
            with `InvalidArguments`. It is quick, and leaves alone what it gave before.
        background: Whether a call ends at once and its work goes on as a job.
        on_done: What the end of a job does when the chat is ready: `note` tells the model with the
            next request, `continue` asks it at once.

    Raises:
        ToolDefinitionError: Something does not fit; the text names it.
    """

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: Mapping[str, Json] | None = None,
        function: Callable[..., Any] | None = None,
        *,
        approval: Approval = None,
        destructive: bool = False,
        idempotent: bool = False,
        timeout: float | None = None,
        thread: Thread = "worker",
        executor: Executor | Literal["process"] | None = None,
        max_parallel: int | None = None,
        retries: int = 0,
        retry_on: tuple[type[Exception], ...] = (),
        backoff: float = 1.0,
        render: Callable[..., object] | None = None,
        errors: Errors = "message",
        parse: Parse | None = None,
        preview: Callable[..., object] | None = None,
        background: bool = False,
        on_done: OnDone = "note",
    ) -> None:
        self.name = _name_of(name, function)
        self.function, self.kind = function, _kind(function)
        self.approval, self.destructive, self.idempotent = approval, destructive, idempotent
        self.thread, self.background, self.on_done = thread, background, on_done
        self.executor, self.max_parallel, self.timeout = executor, max_parallel, timeout
        self.retries, self.retry_on, self.backoff = retries, retry_on, backoff
        self.render, self.errors, self.parse = render, errors, parse
        check_settings(self.name, {name: getattr(self, name) for name in CHECKED})
        self._arguments = self._read_arguments(parameters)
        self._check_place()
        self.description = self._describe() if description is None else description
        self.parameters: Mapping[str, Json] = freeze(self._arguments.parameters)
        self.fingerprint = digest(self.name, self.parameters)
        self._spec: ToolSpec | None = None
        self.preview = preview and Foresight(preview, self.name, self._names())
        self._wrap()

    @property
    def spec(self) -> ToolSpec:
        """What a model is told: the same object, as long as it is the same."""
        known = self._spec
        said = self.name, self.description, self.parameters
        if known is None or (known.name, known.description, known.parameters) != said:
            known = ToolSpec(name=said[0], description=said[1], parameters=said[2])
            self._spec = known
        return known

    @property
    def hidden(self) -> str | None:
        """The name of the parameter that takes the `ToolContext`."""
        return self._arguments.hidden

    @property
    def variables(self) -> Mapping[str, Variable]:
        """The parameters that take the name of a value in the kernel, by their outside name."""
        return self._arguments.variables

    @property
    def asks(self) -> Approval:
        """The tool's own approval policy; None leaves it to the chat."""
        if self.approval is not None:
            return self.approval
        return True if self.destructive else None

    def check(self, args: Mapping[str, Json]) -> dict[str, Json]:
        """Give the effective arguments of a call: what is shown is what will run.

        Args:
            args: Arguments as a model or a person wrote them.

        Returns:
            Plain JSON in the order of the signature, with defaults and coercions applied.

        Raises:
            InvalidArguments: They do not fit; the text names what is missing, unknown or of another
                type, and what is accepted.
        """
        if self.parse is None:
            return self._arguments.check(args)
        effective = self._arguments.check(self._parsed(args, self.parse))
        again = self._arguments.check(self._parsed(effective, self.parse))
        if again != effective:  # edited arguments are read once more
            raise InvalidArguments(
                f"What {self.name!r} would take cannot be shown: its parse makes of "
                f"{dumps(effective):.120} something else; it has to leave alone what it made."
            )
        return effective

    @property
    def names(self) -> frozenset[str] | None:
        """What arguments may be called; None where a hand-written schema does not say."""
        return self._arguments.names

    def bind(self, args: Mapping[str, Json]) -> dict[str, object]:
        """Give the Python values for the function.

        Args:
            args: What `check` gave.

        Returns:
            Values by parameter name: models, dates, enums and so on, without the context.

        Raises:
            InvalidArguments: They do not fit.
        """
        return self._arguments.bind(args)

    def arguments(
        self,
        args: Mapping[str, Json],
        context: ToolContext[Any],
        objects: Mapping[str, object] | None = None,
    ) -> tuple[list[object], dict[str, object]]:
        """Give everything that the function is called with.

        Args:
            args: What `check` gave.
            context: Goes to the hidden parameter, if there is one.
            objects: The values that arguments name, for `variables`.

        Returns:
            The positional arguments, and those by name.

        Raises:
            InvalidArguments: They do not fit.
        """
        values = self._values(args, objects or {})
        if self.hidden is not None:
            values[self.hidden] = context
        order = self._arguments.positional
        return [values.pop(name, default) for name, default in order.items()], values

    def foresee(
        self, args: Mapping[str, Json], context: ToolContext[Any], objects: Mapping[str, object]
    ) -> Callable[[], object]:
        """Give the preview of a call, to be called without arguments; see `arguments`.

        Raises:
            InvalidArguments: They do not fit.
            TypeError: The tool has no preview.
        """
        if self.preview is None:
            raise TypeError(f"The tool {self.name!r} has no preview.")
        return self.preview.bound(self._values(args, objects), context)

    def _values(self, args: Mapping[str, Json], objects: Mapping[str, object]) -> dict[str, object]:
        values = self.bind(args)
        for name, value in objects.items():
            values[self.variables[name].parameter] = value
        return values

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.function is None:
            raise TypeError(f"The tool {self.name!r} has no function to call.")
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        names = ", ".join(self.parameters.get("properties", {}))
        policy = "" if self.asks is None else f", approval={self.asks!r}"
        return f"<Tool {self.name}({names}){policy}>"

    def _check_place(self) -> None:
        """Make sure that the function can run where it is to run."""
        if self.background and self.function is None:
            raise ToolDefinitionError(f"Tool {self.name!r}: background work needs a function.")
        check_executor(self.name, self.executor, self.kind, self.thread, self.hidden or "")

    def _wrap(self) -> None:
        """Let the tool look like its function, to whoever inspects it."""
        if self.function is not None:
            self.__doc__ = self.description
            self.__wrapped__ = self.function

    def _read_arguments(self, parameters: Mapping[str, Json] | None) -> Described | Written:
        if parameters is not None:
            return Written(parameters, self.name, context=ToolContext, function=self.function)
        if self.function is None:
            raise ToolDefinitionError(
                f"Tool {self.name!r} needs a JSON Schema (parameters) or a function."
            )
        docs = read_docstring(self.function).parameters
        return Described(self.function, self.name, context=ToolContext, docs=docs)

    def _names(self) -> set[str]:
        """Give the names that the function takes, and those of the schema."""
        names = set(self.parameters.get("properties", {}))
        if self.function is None:
            return names
        return names | {each.name for each in read_signature(self.function, self.name).parameters}

    def _describe(self) -> str:
        return read_docstring(self.function).text if self.function is not None else ""

    def _parsed(self, args: Mapping[str, Json], parse: Parse) -> Mapping[str, Json]:
        try:
            given: object = parse(thaw(dict(args)))
        except InvalidArguments:
            raise
        except BaseException as problem:  # the user's own code may even try to exit
            text = f"The arguments of {self.name!r} could not be read: "
            raise InvalidArguments(
                text + explain(problem), told=text + told_of(problem, self.errors)
            ) from problem
        if given is None:
            return args
        if isinstance(given, Mapping):
            return given
        kind = type(given).__name__
        raise InvalidArguments(f"parse of {self.name!r} gave {kind}, expected an object.")


def _name_of(name: str, function: Callable[..., Any] | None) -> str:
    if function is not None and not callable(function):
        raise ToolDefinitionError(f"Tool {name!r}: {function!r:.80} is not callable.")
    if not name and function is not None:
        name = callable_name(function)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{name!r:.80} cannot be the name of a tool; expected 1 to 64 letters, digits, '_' or "
            "'-'. Give one: tool(function, name=\"…\")."
        )
    return name


def _kind(function: Callable[..., Any] | None) -> Kind:
    if function is None:
        return "none"
    if is_kind(function, inspect.isasyncgenfunction):
        return "asyncgen"
    if is_kind(function, inspect.iscoroutinefunction):
        return "async"
    return "generator" if is_kind(function, inspect.isgeneratorfunction) else "sync"
