"""What a tool is, how it runs, and what is said when it fails."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest

from nbtools.errors import InvalidArguments, ToolDefinitionError, ToolError
from nbtools.executors import in_worker
from nbtools.failure import LONGEST, explain, told_of, trace
from nbtools.tools import PENDING, Result, Tool, ToolContext, collect, tool
from nbtools.tools import invoke as invoke_module
from nbtools.tools.invoke import invoke


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class Card:
    """What a running tool shows."""

    def __init__(self) -> None:
        self.partials: list[object] = []
        self.shown: asyncio.Queue[object] = asyncio.Queue()

    def partial(self, value: object) -> None:
        self.partials.append(value)
        self.shown.put_nowait(value)

    def progress(self, fraction: float | None, text: str) -> None: ...

    def output(self, text: str) -> None: ...


async def run(
    made: Tool, card: Card | None = None, context: ToolContext[Any] | None = None, **args: Any
) -> object:
    context = context or ToolContext(None)
    return await invoke(made, made.check(args), context, card or Card(), in_worker)


def test_the_decorator_works_bare_with_settings_and_as_a_function():
    bare = tool(add)
    assert (bare.name, bare.description, bare.approval) == ("add", "Add two numbers.", None)

    @tool(name="plus", approval=True, timeout=3, description="Other.")
    def other(a: int) -> int:
        return a

    assert (other.name, other.description, other.approval) == ("plus", "Other.", True)
    assert tool(add, destructive=True).destructive is True


def test_a_decorated_function_is_still_a_function():
    made = tool(add)
    assert made(2, b=3) == 5
    assert inspect.signature(made) == inspect.signature(add)
    assert made.__doc__ == "Add two numbers."
    assert repr(tool(add, approval=True)) == "<Tool add(a, b), approval=True>"


def test_a_tool_asks_by_its_own_policy_else_if_it_is_destructive():
    def policy(call: object) -> bool:
        return True

    assert tool(add).asks is None
    assert tool(add, destructive=True).asks is True
    assert tool(add, destructive=True, approval=False).asks is False
    assert tool(add, approval=policy).asks is policy


def test_the_fingerprint_follows_name_and_schema_and_nothing_else():
    def same(a: int, b: int = 1) -> int:
        return 0

    def other(a: int, b: int = 2) -> int:
        return 0

    base = tool(add).fingerprint
    assert tool(same, name="add", description="changed").fingerprint == base
    assert tool(other, name="add").fingerprint != base
    assert tool(add, name="plus").fingerprint != base


def test_the_model_is_told_name_description_and_schema():
    spec = tool(add).spec
    assert (spec.name, spec.description) == ("add", "Add two numbers.")
    assert spec.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"name": "a b"}, "'a b' cannot be the name of a tool; expected 1 to 64 letters"),
        ({"name": "x" * 65}, "cannot be the name of a tool"),
        ({"name": "größe"}, "'größe' cannot be the name of a tool"),
        ({"approval": "no"}, "approval is 'no', expected True, False, None or a function."),
        ({"destructive": 1}, "destructive is 1, expected True or False."),
        ({"timeout": 0}, "timeout is 0, expected seconds above 0, or None."),
        ({"thread": "gpu"}, "thread is 'gpu', expected 'worker' or 'main'."),
        ({"errors": "none"}, "errors is 'none', expected 'message' or 'generic'."),
        ({"function": 3}, "3 is not callable."),
        ({"function": None}, "needs a JSON Schema (parameters) or a function."),
    ],
)
def test_a_bad_definition_is_refused_with_what_was_expected(settings, text):
    with pytest.raises(ToolDefinitionError) as caught:
        Tool(**{"name": "add", "function": add} | settings)
    assert text in str(caught.value)


def test_a_chats_tools_are_tools_and_plain_functions_by_name():
    named = tool(add, name="plus")
    found = collect([add, named, named])
    assert list(found) == ["add", "plus"]
    assert found["plus"] is named
    with pytest.raises(ToolDefinitionError, match="'add' is no tool; expected a Tool or"):
        collect(["add"])  # type: ignore[list-item]


def test_no_arguments_for_a_tool_that_needs_some_are_an_error_that_names_them():
    """W-02: a required parameter that is missing is said, nothing else raises."""
    with pytest.raises(InvalidArguments, match="Missing: 'a'"):
        tool(add).check({})


def test_a_context_shows_its_call_and_never_its_secrets():
    context = ToolContext({"key": "sk-TEST-hushhush"}, call_id="k-1")
    assert repr(context) == "ToolContext(call_id='k-1')"
    assert context.cancelled is False


def test_progress_is_kept_between_nothing_and_all():
    said: list[tuple[float | None, str]] = []
    context = ToolContext(None, on_progress=lambda fraction, text: said.append((fraction, text)))
    context.progress(0.5, "half")
    context.progress(7)
    context.progress(float("nan"))
    context.progress(text="going on")
    assert said == [(0.5, "half"), (1.0, ""), (None, ""), (None, "going on")]
    ToolContext(None).progress(0.1)


def test_pending_and_results_read_as_what_they_are():
    assert repr(PENDING) == "nbtools.PENDING"
    assert Result(1) != Result(1)
    assert Result(None, model="nothing").value is None


async def later(n: int) -> str:
    await asyncio.sleep(0)
    return f"{n} on {threading.current_thread().name}"


def steps(n: int) -> Any:
    yield from range(n)


def steps_and_sum(n: int) -> Any:
    yield from range(n)
    return "sum"


async def async_steps(n: int) -> Any:
    for index in range(n):
        yield index


class Asynchronous:
    async def __call__(self, n: int) -> int:
        return n


@functools.wraps(later)
def wrapped(n: int) -> Any:
    return later(n)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (add, "sync"),
        (later, "async"),
        (functools.partial(later, 1), "async"),
        (Asynchronous(), "async"),
        (steps, "generator"),
        (async_steps, "asyncgen"),
        (wrapped, "sync"),
    ],
)
def test_the_kind_of_a_tool_is_that_of_what_is_called(function, kind):
    assert tool(function).kind == kind


def test_a_tool_without_a_function_has_no_kind():
    assert Tool("ask", "", {"type": "object"}).kind == "none"


async def test_a_synchronous_tool_runs_in_a_thread_of_its_own():
    def where() -> str:
        return threading.current_thread().name

    assert await run(tool(where)) != threading.current_thread().name


async def test_an_async_tool_and_a_wrapped_one_run_on_the_callers_loop():
    expected = f"3 on {threading.current_thread().name}"
    assert await run(tool(later), n=3) == expected
    assert await run(tool(wrapped), n=3) == expected


@pytest.mark.parametrize(
    ("function", "partials", "value"),
    [
        (steps, [0, 1, 2], 2),
        (steps_and_sum, [0, 1, 2], "sum"),
        (async_steps, [0, 1, 2], 2),
    ],
)
async def test_a_generator_shows_each_value_and_ends_with_what_it_returns_or_the_last(
    function, partials, value
):
    card = Card()
    assert await run(tool(function), card, n=3) == value
    assert card.partials == partials
    assert await run(tool(steps), Card(), n=0) is None


async def test_a_value_is_shown_when_it_is_yielded_and_not_one_later():
    shown = asyncio.Event()
    card = Card()

    async def wait() -> Any:
        yield "first"
        await shown.wait()
        yield "last"

    running = asyncio.create_task(run(tool(wait), card))
    assert await card.shown.get() == "first"
    shown.set()
    assert await running == "last"


async def test_the_function_gets_the_context_and_values_of_its_types():
    async def whose(ctx: ToolContext[str], n: float) -> Any:
        return ctx.context, n

    assert await run(tool(whose), context=ToolContext("me"), n=2) == ("me", 2.0)


async def test_work_for_the_main_thread_goes_through_its_workers_as_a_whole():
    given: list[Callable[[], Any]] = []

    async def workers(function: Callable[[], Any]) -> Any:
        given.append(function)
        value = function()
        return await value if inspect.isawaitable(value) else value

    for function in (steps, later, async_steps):
        made = tool(function, thread="main")
        await invoke(made, {"n": 1}, ToolContext(None), Card(), workers)
    assert len(given) == 3


async def test_cancelling_ends_an_async_tool_and_waits_for_its_end():
    """L-06: the task is cancelled and awaited."""
    began, ended = asyncio.Event(), []

    async def count(ctx: ToolContext[None]) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(ctx.cancelled)

    running = asyncio.create_task(run(tool(count)))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == [True]


async def test_a_tool_that_swallows_its_cancellation_is_given_up(monkeypatch):
    """L-06: give up after a stated time."""
    monkeypatch.setattr(invoke_module, "GRACE", 0.01)
    began, release = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        began.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    running = asyncio.create_task(run(tool(stubborn)))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (left,) = invoke_module._left
    release.set()
    await left


async def test_a_synchronous_tool_is_left_behind_at_once_and_can_hear_of_it():
    """L-06: a blocked thread does not hold up Stop, and a generator stops at its next value."""
    began, release, ended = threading.Event(), threading.Event(), threading.Event()

    def block() -> Any:
        began.set()
        try:
            release.wait(10)
            yield 1
            yield 2
        finally:
            ended.set()

    card = Card()
    running = asyncio.create_task(run(tool(block), card))
    await asyncio.to_thread(began.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not ended.is_set()
    release.set()
    assert await asyncio.to_thread(ended.wait, 10)
    assert card.partials == [1]


async def test_a_tool_whose_own_work_is_cancelled_failed_and_did_not_stop_the_chat():
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="own work was cancelled"):
        await run(tool(cancels_itself))


class Odd(BaseException):
    """An exception outside `Exception`."""


@pytest.mark.parametrize("error", [Odd, KeyboardInterrupt, SystemExit])
async def test_what_is_raised_outside_exception_reaches_the_caller_and_not_the_loop(error):
    """R-03: siblings and the loop go on; an interrupt is for the caller to handle."""

    async def c() -> None:
        raise error

    made = tool(c)
    sibling = asyncio.create_task(run(tool(later), n=1))
    with pytest.raises(error):
        await invoke(made, {}, ToolContext(None), Card(), in_worker)
    assert await sibling == f"1 on {threading.current_thread().name}"


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


GROUP = ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")])])


@pytest.mark.parametrize(
    ("exception", "text"),
    [
        (ValueError(), "ValueError"),
        (KeyError("x"), "KeyError: 'x'"),
        (Odd(), "Odd"),
        (RuntimeError("\ud800 lone surrogate"), "RuntimeError: \ufffd lone surrogate"),
        (MuteError(), "MuteError"),
        (
            GROUP,
            (
                "ExceptionGroup: two (2 sub-exceptions); ValueError: a; "
                "ExceptionGroup: in (1 sub-exception); KeyError: 'b'"
            ),
        ),
        (ToolError("Try tomorrow."), "Try tomorrow."),
        (ToolError(), "ToolError"),
        (RuntimeError("bad\nTraceback (most recent call last):\n  File x"), "RuntimeError: bad"),
    ],
    ids=repr,
)
def test_an_exception_always_gives_the_model_a_text(exception, text):
    """R-03: no message, odd messages, groups, and a `__str__` that raises."""
    assert told_of(exception) == text
    assert explain(exception) == text


def test_a_generic_text_gives_away_only_what_the_tool_says_itself():
    """R-03: `errors="generic"`."""
    assert told_of(ValueError("secret"), "generic") == "The tool failed."
    assert told_of(ToolError("Try tomorrow."), "generic") == "Try tomorrow."


def test_a_long_message_is_cut():
    """R-03: the text for the model is bounded."""
    text = told_of(ValueError("x" * 1_000_000))
    assert len(text) < LONGEST + 100
    assert text.endswith("… (cut; 1,000,012 characters in all)")


async def test_the_person_reads_the_traceback_without_our_frames_and_the_model_no_path():
    """R-03: the traceback is for the person."""

    async def broken() -> None:
        raise RuntimeError(f"in {__file__}: no")

    with pytest.raises(RuntimeError) as caught:
        await run(tool(broken))
    shown = trace(caught.value)
    assert "in broken" in shown
    assert "nbtools/tools/" not in shown
    assert shown.rstrip().endswith(": no")
    assert told_of(caught.value) == "RuntimeError: in test_tools.py: no"
    assert "MuteError" in trace(MuteError())
