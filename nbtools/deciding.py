"""What a person or a program decides about calls that wait: to let them run, to refuse them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbtools import events as ev
from nbtools import runner
from nbtools.audited import Audited
from nbtools.commands import Verdict
from nbtools.errors import AlreadyDecided, CommandError, InvalidArguments
from nbtools.expiry import MOVES, Expiry
from nbtools.jsontext import digest
from nbtools.messages import FINAL, Decider, Decision, Json, ToolCall
from nbtools.outcomes import sentence
from nbtools.planner import Recheck
from nbtools.reducer import find_call
from nbtools.tools import Tool

Move = ev.CallStarted | ev.CallWaiting | ev.CallEnded | Recheck
"""How a decision goes on: as an event, or with another look at what the call would do."""


class Decisions(Audited):
    """Take decisions. Every method is called on the engine's loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expiry = Expiry(lambda: self.engine.loop, self.expire)
        self.subscribe(self._expiry.note, MOVES)

    def approve(
        self,
        call_id: str,
        *,
        mark: str | None,
        preview: str = "",
        args: Mapping[str, Json] | None = None,
        by: Decider = "person",
        rule: str = "",
    ) -> None:
        """Let a call run that waits for approval.

        Where its tool has a preview this is looked at once more: if it has changed, or if the
        arguments were edited, the call shows it and waits on.

        Args:
            call_id: The call.
            mark: The digest of the arguments that were shown; None where Python itself decides.
            preview: The mark of the preview that was shown, where there was one.
            args: Edited arguments; they are validated again.
            by: Who decided.
            rule: The rule that was made of this decision.

        Raises:
            AlreadyDecided: The call does not wait for approval any more, or shows something else.
            InvalidArguments: The edited arguments do not fit, or a rule refuses them; the call goes
                on waiting.
        """
        if mark is not None:
            self.expect_shown(call_id, mark, preview)
        decision = Decision(approved=True, by=by, rule=rule)
        self._do(self._approval(call_id, args, decision))
        self.advance()

    def decide(self, verdicts: Sequence[Verdict], by: Decider = "person") -> None:
        """Decide about several calls at once: all of it holds, or nothing does.

        Raises:
            AlreadyDecided: One of the calls does not wait any more, or shows something else.
            CommandError: One is named twice.
            InvalidArguments: Edited arguments of one do not fit, or a rule refuses them.
        """
        names = [verdict.call for verdict in verdicts]
        if len(set(names)) < len(names):
            raise CommandError("A call is named twice; each can be decided once.", field="verdicts")
        for move in [self._verdict(verdict, by) for verdict in verdicts]:
            self._do(move)
        self.advance()

    def propose(self, call_id: str, changes: Mapping[str, Json]) -> bool:
        """Change the arguments of a call that waits for approval; the person still decides.

        Returns:
            False if the call does not wait for approval.

        Raises:
            AlreadyDecided: It was approved a moment ago.
            InvalidArguments: The changed arguments do not fit; the call shows what it showed.
        """
        if self._find(call_id).waiting != "approval":
            return False
        call = self._expect_open(call_id)
        tool = self.settings.tools[call.tool]
        edited = self._edited(call, tool, {**(call.args or {}), **changes})
        self._do(_shown_again(edited, tool))
        self._set_status()
        return True

    def decline(self, call_id: str, reason: str = "", by: Decider = "person") -> None:
        """Refuse a call that waits.

        Raises:
            AlreadyDecided: The call does not wait any more.
        """
        call = self._expect_waiting(call_id)
        self._do(_declined(call, Decision(approved=False, by=by, reason=reason)))
        self.advance()

    def expire(self, call_id: str) -> None:
        """End a call that nobody decided about in time."""
        call = self._find(call_id)
        if call.waiting == "approval":
            self._close(call, "expired")
            self._drop(_recheck(call))
            self.advance()

    def expect_shown(self, call_id: str, mark: str, preview: str) -> ToolCall:
        """Return a call that waits for approval and is what a page shows.

        Raises:
            AlreadyDecided: It does not wait any more, or shows something else.
        """
        call = self._expect_open(call_id)
        if mark != call.digest:
            raise AlreadyDecided("The arguments are not those that were shown; look again.")
        if preview != (call.preview.mark if call.preview else ""):
            raise AlreadyDecided("The preview is not the one that was shown; look again.")
        return call

    def _verdict(self, verdict: Verdict, by: Decider) -> Move:
        call = self.expect_shown(verdict.call, verdict.digest, verdict.preview)
        decision = Decision(approved=verdict.approved, by=by, reason=verdict.reason)
        if not verdict.approved:
            return _declined(call, decision)
        return self._approval(verdict.call, verdict.args, decision)

    def _approval(self, call_id: str, args: Mapping[str, Json] | None, decision: Decision) -> Move:
        shown = self._expect_open(call_id)
        tool = self.settings.tools[shown.tool]
        call = shown if args is None else self._edited(shown, tool, args)
        self._expect_permitted(call, tool)
        if tool.preview is None:
            return runner.let_run(call, tool, self.settings, decision=decision)
        return _recheck(call, decision if call is shown else None)

    def _edited(self, call: ToolCall, tool: Tool, args: Mapping[str, Json]) -> ToolCall:
        """Put other arguments in the place of those that the model proposed, which are kept."""
        checked = self.settings.variables.check(tool, args)
        mark = digest(tool.name, checked)
        if mark == call.digest:  # by what is written: to Python, False is 0 and 1 is 1.0
            return call
        proposed = call.args if call.proposed is None else call.proposed
        return replace(call, args=checked, proposed=proposed, digest=mark)

    def _do(self, move: Move) -> None:
        if isinstance(move, Recheck):
            self._start(move)
            return
        self.emit(move)
        if isinstance(move, ev.CallEnded):
            self._drop(_recheck(self._find(move.call)))

    def _expect_permitted(self, call: ToolCall, tool: Tool) -> None:
        rule = self.rules.find(call, tool)
        if rule is not None and rule.decision == "refuse":
            text = f"The rule {rule.id} refuses this call. {rule.reason}".strip()
            raise InvalidArguments(text)

    def _find(self, call_id: str) -> ToolCall:
        return find_call(self.conversation, call_id)

    def _expect_waiting(self, call_id: str, waiting: str = "") -> ToolCall:
        call = self._find(call_id)
        if call.state == "pending" and waiting in ("", call.waiting):
            return call
        raise AlreadyDecided(_why_not(call, waiting))

    def _expect_open(self, call_id: str) -> ToolCall:
        """Return a call that waits for approval and was not approved a moment ago."""
        call = self._expect_waiting(call_id, "approval")
        if _recheck(call) in self._tasks:
            raise AlreadyDecided("This call was approved; what it would do is looked at once more.")
        return call


def _recheck(call: ToolCall, decision: Decision | None = None) -> Recheck:
    return Recheck(call.id, call, decision)


def _shown_again(call: ToolCall, tool: Tool) -> ev.CallWaiting | Recheck:
    """Let a call wait on with other arguments."""
    if tool.preview is not None:
        return _recheck(call)
    return ev.CallWaiting(
        call=call.id,
        waiting="approval",
        args=call.args or {},
        proposed=call.proposed,
        digest=call.digest,
    )


def _declined(call: ToolCall, decision: Decision) -> ev.CallEnded:
    reason = decision.reason
    told = sentence("declined", reason)
    return ev.CallEnded(
        call=call.id,
        outcome="declined",
        error=reason,
        told=told,
        decision=decision,
        time=time.time(),
    )


def _why_not(call: ToolCall, wanted: str) -> str:
    if call.state in FINAL:
        return f"This call is over already ({call.outcome})."
    if call.state == "pending" and call.waiting == "approval":
        return "This call waits for approval: use approve or decline."
    if call.state == "pending":
        return "This call waits for a result: use add_tool_result."
    if call.state == "running":
        return "This call runs already: it is too late to decide about it. Cancel ends it."
    return f"The model still writes this call; it cannot get its {wanted or 'decision'} yet."
