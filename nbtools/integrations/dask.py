"""Tools whose functions run on a Dask cluster: `nb.tool(executor=Dask("tcp://…"), background=True)`.

Progress comes back over an event topic of the scheduler, and a cancelled function hears of it over
an event there. What must not run twice holds a ticket that the scheduler keeps and gives out once:
where a worker dies and the scheduler runs its task elsewhere, the second run finds no ticket and
ends as interrupted.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any

from nbtools.executors import Ended, Errand, Made, Remote, in_worker
from nbtools.tools import ToolContext

if TYPE_CHECKING:
    from distributed import Client, Future

TICKET_WAIT = 5
"""Seconds that a run waits for its ticket; one that was not given out is there at once."""

LOOK_EVERY = 0.25
"""Seconds between two looks at the scheduler whether a function was cancelled."""

_log = logging.getLogger("nbtools")


class Dask(Remote):
    """A Dask cluster as the executor of tools.

    The workers need nbtools installed. What a function prints stays in the log of its worker, and
    the chat's `context` does not leave the kernel.

    Args:
        cluster: A `distributed.Client`, or the address of a scheduler, which is connected to when
            it is first needed.

    Raises:
        ModuleNotFoundError: distributed is not installed; the text names the extra.
        TypeError: `cluster` is neither.
        ValueError: It is an asynchronous client.
    """

    def __init__(self, cluster: Client | str) -> None:
        _expect_cluster(cluster)
        self._cluster = cluster
        self._lock = threading.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self, errand: Errand) -> Any:
        """Run an errand on the cluster; see `Remote.run`."""
        trip = await in_worker(lambda: self._begin(errand), name="dask", late=self._unwanted)
        try:
            await trip.over()
            return await in_worker(trip.value, name="dask")
        except asyncio.CancelledError:
            self._end(trip.cancel)
            raise
        finally:
            self._end(trip.close)

    def _begin(self, errand: Errand) -> _Trip:
        return _Trip(self._client(), errand)

    def _unwanted(self, trip: _Trip | None, _error: BaseException | None) -> None:
        """End what began when its call was over already."""
        if trip is not None:
            self._end(trip.cancel)

    def _client(self) -> Client:
        from distributed import Client  # noqa: PLC0415 - an extra

        with self._lock:
            if isinstance(self._cluster, str):
                self._cluster = Client(self._cluster, set_as_default=False)
            return self._cluster

    def _end(self, work: Callable[[], None]) -> None:
        """Do what takes a word with the scheduler, without letting anybody wait for it."""

        async def ending() -> None:
            try:
                await in_worker(work, name="dask")
            except Exception:  # noqa: BLE001 - the scheduler may be gone
                _log.warning("The Dask scheduler could not be told.", exc_info=True)

        task = asyncio.get_running_loop().create_task(ending())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def __repr__(self) -> str:
        return f"Dask({self._cluster!r})"


def _expect_cluster(given: object) -> None:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "nbtools.integrations.dask needs distributed: pip install 'nbtools-chat[dask]'"
        ) from None
    if not isinstance(given, str | Client):
        kind = type(given).__name__
        raise TypeError(f"Dask takes a distributed.Client or an address, not a {kind}.")
    if not isinstance(given, str) and given.asynchronous:
        raise ValueError("Dask takes a client without asynchronous=True: distributed.Client(…).")


class _Trip:
    """One run of an errand, as the kernel sees it. Made, ended and asked in worker threads."""

    def __init__(self, client: Client, errand: Errand) -> None:
        from distributed import Event, Queue  # noqa: PLC0415 - an extra

        self.name = f"nbtools-{errand.name}-{secrets.token_hex(6)}"
        self._client = client
        self._stop = Event(f"{self.name}-stop", client=client)
        self._tickets: Any = None
        if not errand.idempotent:
            self._tickets = Queue(f"{self.name}-ticket", client=client)
            self._tickets.put(1)
        client.subscribe_topic(self.name, lambda event: errand.on_progress(*event[1]))
        self._future: Future[Any] = client.submit(
            _run, self._order(errand), key=self.name, pure=False
        )

    def _order(self, errand: Errand) -> dict[str, Any]:
        return {
            "name": self.name,
            "function": errand.function,
            "positional": errand.positional,
            "named": errand.named,
            "once": not errand.idempotent,
        }

    async def over(self) -> None:
        """Wait until it has ended, in whatever way."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        self._future.add_done_callback(lambda _: loop.call_soon_threadsafe(over.set))
        await over.wait()

    def value(self) -> Any:
        """Fetch what it returned, or raise what it raised."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - an extra

        try:
            return self._future.result()
        except (KilledWorker, TicketUsedError, FutureCancelledError) as error:
            raise BrokenExecutor(str(error)) from error

    def cancel(self) -> None:
        """Ask it to end, and forget it where it has not begun."""
        self._stop.set()
        self._future.cancel()

    def close(self) -> None:
        """Let the scheduler forget what it kept for this run."""
        self._client.unsubscribe_topic(self.name)
        if self._tickets is not None:
            self._tickets.close()


class TicketUsedError(Exception):
    """A run that must not happen twice has begun before, on a worker that was lost."""


class _Context(ToolContext[Any]):
    """What a function on a worker may know: its progress goes to the card, its end comes back."""

    __slots__ = ("_looked", "_name", "_stopped")

    def __init__(self, name: str) -> None:
        super().__init__(None, call_id=name, on_progress=self._report)
        self._name = name
        self._looked = 0.0
        self._stopped = False

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled; the scheduler is asked every quarter of a second."""
        from distributed import Event, get_client  # noqa: PLC0415 - on a worker

        if not self._stopped and time.monotonic() - self._looked >= LOOK_EVERY:
            self._looked = time.monotonic()
            self._stopped = bool(Event(f"{self._name}-stop", client=get_client()).is_set())
        return self._stopped

    def _report(self, fraction: float | None, text: str) -> None:
        from distributed import get_worker  # noqa: PLC0415 - on a worker

        get_worker().log_event(self._name, (fraction, text))


def _run(order: dict[str, Any]) -> Any:
    """Run an errand; called on a worker."""
    if order["once"]:
        _take_ticket(order["name"])
    context = _Context(order["name"])

    def made(value: object) -> object:
        return context if value is Made.CONTEXT else value

    named = {name: made(value) for name, value in order["named"].items()}
    try:
        return order["function"](*map(made, order["positional"]), **named)
    except (KeyboardInterrupt, SystemExit) as error:
        raise Ended(error) from error  # as it is, it would end the worker and all that runs there


def _take_ticket(name: str) -> None:
    from distributed import Queue, get_client  # noqa: PLC0415 - on a worker

    try:
        Queue(f"{name}-ticket", client=get_client()).get(timeout=TICKET_WAIT)
    except TimeoutError:
        raise TicketUsedError(f"{name} has begun before, and may not run twice.") from None
