"""How Python code sees the jobs of a chat: live handles, to look at, to cancel, to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, overload

from nbtools.errors import IllegalMove, NbtoolsError
from nbtools.face.turns import CallHandle
from nbtools.messages import Job, JobState, Outcome, Progress
from nbtools.reducer import find_job
from nbtools.session import Session


class JobHandle:
    """One job, live: what it shows is what the conversation holds now. Await it to wait for it."""

    def __init__(self, session: Session, job_id: str) -> None:
        self._session = session
        self.id = job_id

    @property
    def job(self) -> Job:
        """The job as it is now, frozen.

        Raises:
            NbtoolsError: It was cleared.
        """
        try:
            return find_job(self._session.conversation, self.id)
        except IllegalMove:
            raise NbtoolsError(f"The job {self.id!r} was cleared from the chat.") from None

    @property
    def call(self) -> CallHandle:
        """The call that started it."""
        return CallHandle(self._session, self.job.call)

    @property
    def state(self) -> JobState:
        """One of running, result, error."""
        return self.job.state

    @property
    def outcome(self) -> Outcome:
        """How it ended, "" while it runs."""
        return self.job.outcome

    @property
    def progress(self) -> Progress | None:
        """How far it is."""
        return self.job.progress

    @property
    def error(self) -> str:
        """Why it gave no value."""
        return self.job.error

    @property
    def value(self) -> object:
        """The Python value that its function returned.

        Raises:
            KeyError: There is none, or it was let go.
        """
        if self.state != "result":
            raise KeyError(f"{self.id!r} has no value: it is {self.outcome or self.state}.")
        return self._session.results[self.job.call]

    def cancel(self, after: float | None = None) -> JobHandle:
        """End it.

        Args:
            after: Seconds that it may still take; None ends it now.

        Returns:
            This handle, which can be awaited.

        Raises:
            AlreadyDecided: It is over.
            NbtoolsError: It was cleared.
            ValueError: `after` is no number above 0.
        """
        self._session.engine.do(lambda: self._session.background.cancel(self.job.id, after))
        return self

    def __await__(self) -> Generator[Any, None, JobHandle]:
        """Wait until it is over; cancelling the wait leaves it running."""
        return self._wait().__await__()

    async def _wait(self) -> JobHandle:
        await asyncio.wrap_future(self._session.engine.do(self._over))
        return self

    def _over(self) -> Future[None]:
        over: Future[None] = Future()
        end: list[Callable[[], None]] = []

        def look(*_: object) -> None:
            if not over.done() and self._is_over():
                over.set_result(None)
                end[0]()

        end.append(self._session.subscribe(look))
        look()
        return over

    def _is_over(self) -> bool:
        try:
            return self.state != "running"
        except NbtoolsError:  # it was cleared
            return True

    def __repr__(self) -> str:
        try:
            job = self.job
        except NbtoolsError:
            return f"<{self.id} cleared>"
        return f"<{self.id} of {job.tool}: {job.outcome or job.state}>"


class Jobs(Sequence[JobHandle]):
    """The jobs of a chat in their order, also found by id."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def _ids(self) -> list[str]:
        messages = self._session.conversation.messages
        return [part.id for message in messages for part in message.parts if isinstance(part, Job)]

    @overload
    def __getitem__(self, key: int | str) -> JobHandle: ...
    @overload
    def __getitem__(self, key: slice) -> list[JobHandle]: ...
    def __getitem__(self, key: int | str | slice) -> JobHandle | list[JobHandle]:
        """Return the job at a place, or with an id."""
        ids = self._ids
        if isinstance(key, slice):
            return [JobHandle(self._session, job) for job in ids[key]]
        if isinstance(key, int):
            return JobHandle(self._session, ids[key])
        if key in ids:
            return JobHandle(self._session, key)
        raise KeyError(f"There is no job {key!r}; there are: {', '.join(ids) or 'none'}.")

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[JobHandle]:
        return (JobHandle(self._session, job) for job in self._ids)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"
