"""What a person or a program decides about calls that wait: to let them run, to refuse them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nbtools import events as ev
from nbtools import runner
from nbtools.codec import digest
from nbtools.errors import AlreadyDecided
from nbtools.messages import FINAL, Decider, Decision, Json, ToolCall
from nbtools.reducer import find_call
from nbtools.ring import Ring
from nbtools.tools import Tool


class Decisions(Ring):
    """Take decisions. Every method is called on the engine's loop."""

    def approve(
        self,
        call_id: str,
        *,
        mark: str | None,
        args: Mapping[str, Json] | None = None,
        by: Decider = "person",
    ) -> None:
        """Let a call run that waits for approval.

        Args:
            call_id: The call.
            mark: The digest of the arguments that were shown; None where Python itself decides.
            args: Edited arguments; they are validated again.
            by: Who decided.

        Raises:
            AlreadyDecided: The call does not wait for approval any more, or shows other arguments.
            InvalidArguments: The edited arguments do not fit; the call goes on waiting.
        """
        call = self._expect_waiting(call_id, "approval")
        if mark is not None and mark != call.digest:
            raise AlreadyDecided("The arguments are not those that were shown; look again.")
        tool = self.settings.tools[call.tool]
        if args is not None:
            call = self._edited(call, tool, args)
        decision = Decision(approved=True, by=by)
        self.emit(runner.let_run(call, tool, self.settings, decision=decision))
        self.advance()

    def propose(self, call_id: str, changes: Mapping[str, Json]) -> bool:
        """Change the arguments of a call that waits for approval; the person still decides.

        Returns:
            False if the call does not wait for approval.

        Raises:
            InvalidArguments: The changed arguments do not fit; the call shows what it showed.
        """
        call = self._find(call_id)
        if call.waiting != "approval":
            return False
        tool = self.settings.tools[call.tool]
        call = self._edited(call, tool, {**(call.args or {}), **changes})
        self.emit(
            ev.CallWaiting(
                call=call.id,
                waiting="approval",
                args=call.args or {},
                proposed=call.proposed,
                digest=call.digest,
            )
        )
        return True

    def decline(self, call_id: str, reason: str = "", by: Decider = "person") -> None:
        """Refuse a call that waits.

        Raises:
            AlreadyDecided: The call does not wait any more.
        """
        call = self._expect_waiting(call_id)
        self._close(call, "declined", reason, Decision(approved=False, by=by, reason=reason))
        self.advance()

    def _edited(self, call: ToolCall, tool: Tool, args: Mapping[str, Json]) -> ToolCall:
        """Put other arguments in the place of those that the model proposed, which are kept."""
        checked = self.settings.variables.check(tool, args)
        if checked == call.args:
            return call
        proposed = call.proposed or call.args
        return replace(call, args=checked, proposed=proposed, digest=digest(tool.name, checked))

    def _find(self, call_id: str) -> ToolCall:
        return find_call(self.conversation, call_id)

    def _expect_waiting(self, call_id: str, waiting: str = "") -> ToolCall:
        call = self._find(call_id)
        if call.state == "pending" and waiting in ("", call.waiting):
            return call
        raise AlreadyDecided(_why_not(call, waiting))


def _why_not(call: ToolCall, wanted: str) -> str:
    if call.state in FINAL:
        return f"This call is over already ({call.outcome})."
    if call.state == "pending" and call.waiting == "approval":
        return "This call waits for approval: use approve or decline."
    if call.state == "pending":
        return "This call waits for a result: use add_tool_result."
    if call.state == "running":
        return "This call runs already; it can be cancelled."
    return f"The model still writes this call; it cannot get its {wanted or 'decision'} yet."
