"""A ring that writes down what becomes of its calls, and runs none that is not written down."""

from __future__ import annotations

import time
from typing import Any

from nbtools import events as ev
from nbtools.audit import MOVES, Audit
from nbtools.guarding import Guarded
from nbtools.messages import Conversation
from nbtools.outcomes import sentence
from nbtools.paths import without_folders


class Audited(Guarded):
    """Keep an audit, which hears of every event before anybody else does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.audit = Audit()
        self.subscribe(self._note, MOVES)

    def _note(self, event: ev.Event, conversation: Conversation) -> None:
        self.audit.note(event, conversation)

    async def _run(self, call_id: str) -> None:
        problem = self.audit.problem(call_id)
        if not problem:
            await super()._run(call_id)
            return
        reason = f"{problem} So the call was not run."
        told = sentence("failed", without_folders(reason))
        self._settle(
            ev.CallEnded(call=call_id, outcome="failed", error=reason, told=told, time=time.time())
        )
