"""Tools on a Dask cluster: a real one, whose workers are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.integrations.dask import Dask
from nbtools.messages import Job
from nbtools.testing import call
from tests.stage import Page, Strict

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Give the address of a scheduler with two workers, each a process with a nurse."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as made,
    ):
        yield made.scheduler_address


@pytest.fixture(scope="module")
def dask(cluster: str) -> Dask:
    return Dask(cluster)


def jobs(page: Page) -> list[Job]:
    messages = page.session.conversation.messages
    return [part for message in messages for part in message.parts if isinstance(part, Job)]


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what another process does; nothing tells of it."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_tool_runs_on_the_cluster_and_its_progress_comes_back(dask: Dask):
    factor = 3

    @nb.tool(executor=dask, background=True)
    def fit(n: int, ctx: nb.ToolContext[None]) -> list[int]:
        """Fit."""
        ctx.progress(0.5, "half way")
        return [n * factor, os.getpid()]

    page = Page(Strict([call("fit", {"n": 2})], "It runs."), [fit])
    heard: list[str] = []
    page.session.subscribe(
        lambda *_: heard.extend(it.progress.text for it in jobs(page) if it.progress is not None)
    )
    await page.say("Fit")
    await until(lambda: jobs(page)[0].outcome)
    (job,) = jobs(page)
    assert job.outcome == "ok", job.error
    assert job.value[0] == 6
    assert job.value[1] != os.getpid()
    assert "half way" in heard


async def test_what_it_raises_fails_the_call_as_everywhere(dask: Dask):
    @nb.tool(executor=dask)
    def fit() -> None:
        """Fit."""
        raise nb.ToolError("It diverged.")

    page = Page(Strict([call("fit", {})], "So."), [fit])
    await page.say("Fit")
    assert (page.calls[0].outcome, page.calls[0].told) == ("failed", "It diverged.")


async def test_a_function_that_wants_to_exit_fails_and_its_worker_lives(dask: Dask):
    @nb.tool(executor=dask)
    def fit() -> None:
        """Fit."""
        raise SystemExit(2)

    page = Page(Strict([call("fit", {})], "So."), [fit])
    await page.say("Fit")
    assert (page.calls[0].outcome, page.calls[0].error) == ("failed", "SystemExit: 2")


async def test_what_runs_when_its_cluster_is_gone_is_interrupted(tmp_path: Path):
    """What it had done is not known."""
    from distributed import LocalCluster

    made = await asyncio.to_thread(
        LocalCluster, n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )

    @nb.tool(executor=Dask(made.scheduler_address))
    def fit(ctx: nb.ToolContext[None]) -> None:
        """Fit until the cluster goes."""
        Path(tmp_path, "begun").touch()
        while not ctx.cancelled:
            time.sleep(0.05)

    page = Page(Strict([call("fit", {})], "So."), [fit])
    page.command("send", text="Fit")
    await until(Path(tmp_path, "begun").exists)
    await asyncio.to_thread(made.close)
    await page.session.rest()
    assert page.calls[0].outcome == "interrupted", page.calls[0].error


async def test_a_cancelled_function_hears_of_it(dask: Dask, tmp_path: Path):
    @nb.tool(executor=dask, background=True)
    def fit(ctx: nb.ToolContext[None]) -> None:
        """Fit until nobody wants it any more."""
        Path(tmp_path, "begun").touch()
        while not ctx.cancelled:
            time.sleep(0.05)
        Path(tmp_path, "heard").touch()

    page = Page(Strict([call("fit", {})], "It runs."), [fit])
    await page.say("Fit")
    await until(Path(tmp_path, "begun").exists)
    page.command("cancel", call="job-1")
    assert jobs(page)[0].outcome == "cancelled"
    await until(Path(tmp_path, "heard").exists)


def counting(dask: Dask, folder: Path, **settings: Any) -> nb.Tool:
    """Make a tool that writes down each of its runs, and in the first one waits to be killed."""

    @nb.tool(executor=dask, background=True, **settings)
    def fit() -> int:
        """Fit."""
        runs = len(list(folder.iterdir()))
        Path(folder, f"run-{runs}-{os.getpid()}").touch()
        while runs == 0:
            time.sleep(0.05)
        return runs

    return fit


def runs_in(folder: Path) -> list[str]:
    """List the runs that were written down."""
    return sorted(path.name for path in folder.iterdir())


async def killed_once(page: Page, folder: Path) -> Job:
    """Kill the worker of the first run; return the job when it is over."""
    await page.say("Fit")
    await until(lambda: runs_in(folder))
    pid = int(runs_in(folder)[0].rpartition("-")[2])
    os.kill(pid, signal.SIGKILL)
    await until(lambda: jobs(page)[0].outcome)
    return jobs(page)[0]


async def test_what_must_not_run_twice_is_interrupted_when_its_worker_dies(
    dask: Dask, tmp_path: Path
):
    page = Page(Strict([call("fit", {})], "It runs."), [counting(dask, tmp_path)])
    job = await killed_once(page, tmp_path)
    assert (job.outcome, len(runs_in(tmp_path))) == ("interrupted", 1)
    assert job.told == "The process that ran it died. What it had done is not known."


async def test_what_may_run_twice_runs_again_when_its_worker_dies(dask: Dask, tmp_path: Path):
    tool = counting(dask, tmp_path, idempotent=True)
    page = Page(Strict([call("fit", {})], "It runs."), [tool])
    job = await killed_once(page, tmp_path)
    assert (job.outcome, job.value) == ("ok", 1), job.error
    assert len(runs_in(tmp_path)) == 2


async def test_a_client_of_ones_own_serves_as_well(cluster: str):
    from distributed import Client

    client = await asyncio.to_thread(Client, cluster, set_as_default=False)

    @nb.tool(executor=Dask(client))
    def where() -> int:
        """Say where."""
        return os.getpid()

    page = Page(Strict([call("where", {})], "There."), [where])
    await page.say("Where?")
    assert page.calls[0].value != os.getpid()
    await asyncio.to_thread(client.close)


async def test_what_is_no_client_that_can_be_waited_for_is_refused(cluster: str):
    from distributed import Client

    with pytest.raises(TypeError, match=r"takes a distributed\.Client or an address, not a int"):
        Dask(8786)  # type: ignore[arg-type]
    client = await Client(cluster, asynchronous=True, set_as_default=False)
    with pytest.raises(ValueError, match="a client without asynchronous=True"):
        Dask(client)
    await client.close()
