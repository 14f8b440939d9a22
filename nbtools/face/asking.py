"""How a blocking `ask` gets its decisions: by a policy, by a click, at the keyboard, or not at all.

Whether clicks reach Python while a cell blocks depends on the kernel and on the front end, so it is
tried out with a ping and never guessed from versions.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from nbtools.blocking import ask_person, run_blocking
from nbtools.bridge import Bridge
from nbtools.checks import expect, function_or_none
from nbtools.errors import AlreadyDecided
from nbtools.events import Event
from nbtools.face.turns import CallHandle, Turn
from nbtools.messages import Conversation, ToolCall
from nbtools.planner import open_calls
from nbtools.session import Session

PING_EVERY = 0.25
PING_FOR = 3.0
"""Seconds between two pings, and until the page counts as out of reach."""

MOST_LOOKS = 5
"""How often a call may be approved whose preview has changed each time."""

T = TypeVar("T")
Approve = Callable[[CallHandle], object]


class Asking:
    """Wait for one turn on a blocked thread, and settle what needs approval.

    Args:
        session: The conversation.
        bridge: The way to the page.
        approve: Decides instead of a person; only an exact True approves.

    Raises:
        ValueError: `approve` is no function.
    """

    def __init__(self, session: Session, bridge: Bridge, approve: Approve | None) -> None:
        expect("approve", approve, (function_or_none, "a function of the call, or None"))
        self._session = session
        self._bridge = bridge
        self._approve = approve
        self._clicks: bool | None = None
        self._asked: Counter[str] = Counter()

    def settle(self, turn: Turn) -> None:
        """Return when the conversation rests and no call waits for approval.

        Raises:
            KeyboardInterrupt: The cell was interrupted; the chat was stopped.
        """
        self._wait(turn)
        while waiting := self._waiting():
            if self._approve is None and self._clicks_arrive():
                self._block(self._until_decided())
            else:
                for call in waiting:
                    with suppress(
                        AlreadyDecided
                    ):  # meanwhile: its time was up, or somebody clicked
                        self._decide(CallHandle(self._session, call.id))
                self._block(self._session.rest())

    def _waiting(self) -> list[ToolCall]:
        calls = open_calls(self._session.conversation)
        return [call for call in calls if call.waiting == "approval"]

    def _decide(self, call: CallHandle) -> None:
        self._asked[call.id] += 1
        if self._asked[call.id] > MOST_LOOKS:
            call.decline("What it would do changed each time it was approved.")
            return
        if self._approve is not None:
            approved: bool | None = self._approve(call) is True
        else:
            approved = ask_person(f"{_preview(call)}Approve {call.tool}({_shown(call)})? [y/N] ")
        if approved:
            call.approve()
            return
        nobody = "There is nobody here who could be asked." if approved is None else ""
        call.decline(nobody)

    def _clicks_arrive(self) -> bool:
        if self._clicks is None:
            self._clicks = self._block(self._probe())
        return self._clicks

    async def _probe(self) -> bool:
        for _ in range(round(PING_FOR / PING_EVERY)):
            self._bridge.ping()
            try:
                await asyncio.wait_for(self._bridge.pong.wait(), PING_EVERY)
            except TimeoutError:
                continue
            return True
        return False

    async def _until_decided(self) -> None:
        decided = asyncio.Event()

        def look(_event: Event, _conversation: Conversation) -> None:
            if not self._waiting():
                decided.set()

        end = self._session.subscribe(look)
        try:
            if self._waiting():
                await decided.wait()
        finally:
            end()
        await self._session.rest()

    def _wait(self, turn: Turn) -> None:
        run_blocking(turn.rested, on_interrupt=self._stop)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return run_blocking(self._session.engine.submit(work), on_interrupt=self._stop)

    def _stop(self) -> None:
        self._session.engine.post(self._session.stop)


def _preview(call: CallHandle) -> str:
    preview = call.call.preview
    if preview is None:
        return ""
    lines = [preview.note, str(preview.display.get("text/plain", ""))]
    return "".join(f"{line}\n" for line in lines if line)


def _shown(call: CallHandle) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in call.args.items())
