"""How a call is carried out: further tries, executors, processes, and how many at a time."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.events import CallProgressed, Event
from nbtools.testing import call
from tests.stage import Page, Strict, run_jumping


async def ran(tool: nb.Tool, *args: dict[str, Any], **settings: Any) -> Page:
    """Let a model call a tool once for each of `args`, in one reply."""
    given = args or ({},)
    page = Page(Strict([call(tool.name, each) for each in given], "Done."), [tool], **settings)
    await page.say("Go")
    return page


def progress_of(page: Page) -> list[str]:
    """Collect what cards say of their progress from now on."""
    texts: list[str] = []

    def note(event: Any, _: Any) -> None:
        if isinstance(event, CallProgressed) and event.progress is not None:
            texts.append(event.progress.text)

    page.session.subscribe(note)
    return texts


# --- further tries --------------------------------------------------------------------------------


def failing(times: int, error: Exception, **settings: Any) -> nb.Tool:
    left = [times]

    @nb.tool(**settings)
    async def fetch() -> str:
        """Fetch."""
        if left[0]:
            left[0] -= 1
            raise error
        return "fetched"

    return fetch


def tried(tool: nb.Tool) -> tuple[Page, list[str], float]:
    async def story() -> tuple[Page, list[str], float]:
        page = Page(Strict([call("fetch", {})], "Done."), [tool])
        texts = progress_of(page)
        began = asyncio.get_running_loop().time()
        await page.say("Go")
        return page, texts, asyncio.get_running_loop().time() - began

    return run_jumping(story())


def test_a_declared_exception_is_tried_again_with_longer_and_longer_waits():
    page, texts, seconds = tried(
        failing(2, ConnectionError("reset"), retries=2, retry_on=(OSError,), backoff=10)
    )
    assert page.calls[0].value == "fetched"
    assert texts == [
        "Try 2 of 3 in 10 s, after ConnectionError: reset",
        "Try 3 of 3 in 20 s, after ConnectionError: reset",
    ]
    assert 30 <= seconds < 31


def test_after_the_last_try_the_call_failed():
    page, texts, _ = tried(failing(3, OSError("down"), retries=1, retry_on=(OSError,)))
    assert (page.calls[0].outcome, page.calls[0].error) == ("failed", "OSError: down")
    assert len(texts) == 1


def test_another_exception_is_not_tried_again():
    page, texts, _ = tried(failing(1, ValueError("wrong"), retries=3, retry_on=(OSError,)))
    assert (page.calls[0].error, texts) == ("ValueError: wrong", [])


def test_the_timeout_holds_for_all_tries_together():
    tool = failing(9, OSError("down"), retries=9, retry_on=(OSError,), backoff=10, timeout=25)
    page, _, seconds = tried(tool)
    assert page.calls[0].outcome == "timeout"
    assert 25 <= seconds < 26


@pytest.mark.parametrize(
    ("retryable", "told"),
    [
        (None, "Closed."),
        (True, "Closed. The same call may work later."),
        (False, "Closed. Do not repeat this call."),
    ],
)
async def test_a_tool_may_say_whether_its_call_is_worth_repeating(
    retryable: bool | None, told: str
):
    @nb.tool
    async def fetch() -> None:
        """Fetch."""
        raise nb.ToolError("Closed.", retryable=retryable)

    assert (await ran(fetch)).calls[0].told == told


async def test_what_a_process_raises_still_says_whether_it_is_worth_repeating():
    @nb.tool(executor="process")
    def fetch() -> None:
        """Fetch."""
        raise nb.ToolError("Closed.", retryable=False)

    assert (await ran(fetch)).calls[0].told == "Closed. Do not repeat this call."


@pytest.mark.parametrize(("retryable", "tries"), [(True, 3), (None, 3), (False, 1)])
async def test_what_must_not_be_repeated_is_not_tried_again(retryable: bool | None, tries: int):
    begun: list[None] = []

    @nb.tool(retries=2, retry_on=(nb.ToolError,), backoff=0)
    async def fetch() -> None:
        """Fetch."""
        begun.append(None)
        raise nb.ToolError("Closed.", retryable=retryable)

    assert (await ran(fetch)).calls[0].outcome == "failed"
    assert len(begun) == tries


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"retries": 2}, "retries and retry_on belong together"),
        ({"retry_on": (OSError,)}, "retries and retry_on belong together"),
        ({"retries": -1}, "retries is -1, expected a whole number of 0 or more"),
        ({"retry_on": OSError}, "expected a tuple of exception classes"),
        ({"retries": 1, "retry_on": (KeyboardInterrupt,)}, "a tuple of exception classes"),
        ({"max_parallel": 0}, "max_parallel is 0, expected a whole number of 1 or more, or None"),
        ({"executor": "thread"}, "executor is 'thread', expected a concurrent.futures.Executor"),
        ({"executor": "process", "thread": "main"}, "a tool of the main thread cannot run in an"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(settings: dict[str, Any], text: str):
    with pytest.raises(nb.ToolDefinitionError, match=text):
        nb.tool(lambda: None, name="f", **settings)


# --- how many at a time ---------------------------------------------------------------------------


def counted(**settings: Any) -> tuple[nb.Tool, list[int]]:
    inside, seen = [0], []

    @nb.tool(**settings)
    async def work(n: int) -> int:
        """Work."""
        inside[0] += 1
        seen.append(inside[0])
        await asyncio.sleep(1)
        inside[0] -= 1
        return n

    return work, seen


def test_a_tool_may_allow_fewer_calls_of_its_own_at_a_time():
    tool, seen = counted(max_parallel=2)
    page = run_jumping(ran(tool, *({"n": n} for n in range(6))))
    assert max(seen) == 2
    assert [known.value for known in page.calls] == list(range(6))


def test_a_chat_says_how_many_tools_execute_at_a_time():
    tool, seen = counted()
    run_jumping(ran(tool, *({"n": n} for n in range(6)), max_parallel=3))
    assert max(seen) == 3


def test_a_call_that_waits_for_its_turn_says_so_and_its_timeout_does_not_run():
    async def story() -> tuple[Page, list[str]]:
        tool, _ = counted(max_parallel=1, timeout=1.5)
        page = Page(Strict([call("work", {"n": n}) for n in range(3)], "Done."), [tool])
        texts = progress_of(page)
        await page.say("Go")
        return page, texts

    page, texts = run_jumping(story())
    assert [known.outcome for known in page.calls] == ["ok"] * 3
    assert texts == ["waits for its turn"] * 2 + [""] * 2


def test_a_tool_with_few_places_leaves_those_of_the_others_free():
    async def story() -> list[str]:
        order: list[str] = []

        @nb.tool(max_parallel=1)
        async def slow() -> None:
            """Be slow."""
            await asyncio.sleep(10)
            order.append("slow")

        @nb.tool
        async def quick() -> None:
            """Be quick."""
            order.append("quick")

        reply = [call("slow", {}), call("slow", {}), call("slow", {}), call("quick", {})]
        page = Page(Strict(reply, "Done."), [slow, quick], max_parallel=2)
        await page.say("Go")
        return order

    assert run_jumping(story()) == ["quick", "slow", "slow", "slow"]


# --- executors ------------------------------------------------------------------------------------

WHO = contextvars.ContextVar("WHO", default="nobody")


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as pool:
        yield pool


async def test_a_tool_runs_in_the_executor_it_was_given(threads: ThreadPoolExecutor):
    @nb.tool(executor=threads)
    def where(ctx: nb.ToolContext[None]) -> str:
        """Say where."""
        ctx.progress(0.5, "here")
        print("printed")  # noqa: T201 - it goes to the card
        return threading.current_thread().name

    page = await ran(where)
    assert str(page.calls[0].value).startswith("mine")
    assert page.calls[0].output == "printed\n"


class Broken(Executor):
    """An executor whose process dies at every function but those it is told."""

    def __init__(self, dies: int) -> None:
        self.dies = dies
        self.tried = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tried += 1
        future: Future[Any] = Future()
        if self.tried <= self.dies:
            future.set_exception(BrokenExecutor("A process died."))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


async def test_a_call_whose_process_died_is_interrupted_and_not_run_twice():
    broken = Broken(1)
    page = await ran(nb.tool(lambda: "x", name="f", executor=broken))
    assert (page.calls[0].outcome, broken.tried) == ("interrupted", 1)
    assert page.calls[0].told == "The process that ran it died. What it had done is not known."


async def test_an_idempotent_call_whose_process_died_runs_once_more():
    broken = Broken(1)
    page = await ran(nb.tool(lambda: "x", name="f", executor=broken, idempotent=True))
    assert (page.calls[0].value, broken.tried) == ("x", 2)
    broken = Broken(2)
    page = await ran(nb.tool(lambda: "x", name="f", executor=broken, idempotent=True))
    assert (page.calls[0].outcome, broken.tried) == ("interrupted", 2)


async def test_an_executor_that_the_function_uses_itself_is_its_own_affair():
    """R-03: what a tool raises is what its call says."""

    def spread() -> None:
        raise BrokenExecutor("My own workers died.")

    page = await ran(nb.tool(spread, name="f", idempotent=True))
    assert (page.calls[0].outcome, page.calls[0].error) == (
        "failed",
        "BrokenExecutor: My own workers died.",
    )


def test_what_cannot_leave_the_process_is_refused_when_the_tool_is_made():
    def look(ctx: nb.ToolContext[None]) -> None: ...

    async def later() -> None: ...

    with pytest.raises(nb.ToolDefinitionError, match="'ctx' is a ToolContext, which cannot leave"):
        nb.tool(look, executor="process")
    with pytest.raises(nb.ToolDefinitionError, match="a function of kind 'async' cannot run in an"):
        nb.tool(later, executor="process")


# --- processes ------------------------------------------------------------------------------------


async def test_a_process_runs_what_a_cell_defined_and_is_used_again():
    factor = 6

    @nb.tool(executor="process")
    def multiply(n: int) -> list[int]:
        """Multiply."""
        return [os.getpid(), n * factor]

    values = [(await ran(multiply, {"n": 7})).calls[0].value for _ in range(2)]
    assert [value[1] for value in values] == [42, 42]
    assert values[0][0] == values[1][0] != os.getpid()


async def test_a_cancelled_call_kills_its_process_and_no_other(tmp_path: Any):
    @nb.tool(executor="process")
    def work(name: str) -> str:
        """Work."""
        import os
        import time
        from pathlib import Path

        if name == "endless":
            Path(tmp_path, "pid").write_text(str(os.getpid()))
            Path(tmp_path, "pid").rename(Path(tmp_path, "begun"))
            while True:
                time.sleep(1)
        return name

    model = Strict(
        [call("work", {"name": "endless"}, id="k-1"), call("work", {"name": "b"})], "So."
    )
    page = Page(model, [work])
    page.command("send", text="Go")
    begun = tmp_path / "begun"
    await until(lambda: begun.exists() and page.calls[1].outcome == "ok")
    page.command("cancel", call="k-1")
    await page.session.rest()
    assert [known.outcome for known in page.calls] == ["cancelled", "ok"]
    pid = int(begun.read_text())
    await until(lambda: not is_alive(pid))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does; nothing tells of it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_process_that_dies_interrupts_its_call_and_the_next_gets_another():
    @nb.tool(executor="process")
    def work(die: bool) -> int:
        """Work."""
        if die:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    page = await ran(work, {"die": True})
    assert page.calls[0].outcome == "interrupted"
    page = await ran(work, {"die": False})
    assert page.calls[0].outcome == "ok"


async def test_what_a_process_raises_fails_the_call_as_everywhere():
    @nb.tool(executor="process")
    def work() -> None:
        """Work."""
        raise nb.ToolError("Closed.")

    page = await ran(work)
    assert (page.calls[0].outcome, page.calls[0].told) == ("failed", "Closed.")


async def test_what_a_generator_yields_is_shown_by_the_face_that_it_has_for_the_person():
    @nb.tool
    def count() -> Iterator[nb.Result]:
        """Count."""
        yield nb.Result(1, model="one", display="first")
        yield nb.Result(2, model="two")

    shown: list[Any] = []

    def look(event: Event, _: object) -> None:
        if isinstance(event, CallProgressed) and event.display is not None:
            shown.append(event.display["text/plain"])

    page = Page(Strict([call("count", {})], "So."), [count])
    page.session.subscribe(look)
    await page.say("Count")
    assert shown == ["first", "2"]
    assert (page.calls[0].told, page.calls[0].value) == ("two", 2)


class TwoWordsError(Exception):
    """Cannot be unpickled: its arguments are not those it is made of."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


async def test_what_cannot_come_back_from_a_process_is_told_by_its_name_and_message():
    @nb.tool(executor="process")
    def work() -> None:
        """Work."""
        raise TwoWordsError("too", "late")

    page = await ran(work)
    assert (page.calls[0].outcome, page.calls[0].error) == ("failed", "TwoWordsError: too late")


async def test_a_class_of_a_cell_is_tried_again_after_a_process_has_raised_it(tmp_path: Path):
    class BusyError(Exception):
        """Made where it is used, as in a cell."""

    @nb.tool(executor="process", retries=1, retry_on=(BusyError,), backoff=0)
    def work() -> int:
        """Work."""
        Path(tmp_path, str(len(list(tmp_path.iterdir())))).touch()
        if len(list(tmp_path.iterdir())) == 1:
            raise BusyError
        return 2

    page = await ran(work)
    assert (page.calls[0].outcome, page.calls[0].value) == ("ok", 2), page.calls[0].error
