"""The side of a chat that decides about calls and answers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.face.turns import Turn, all_calls
from nbtools.rulebook import Rules
from nbtools.session import Session
from nbtools.tools import PENDING


class Answering:
    """Decide about calls that wait, one by one or by a rule, and give results."""

    _session: Session

    def approve(self, call_id: str, args: Mapping[str, Any] | None = None) -> Turn:
        """Let a call run; see `CallHandle.approve`."""
        return all_calls(self._session)[call_id].approve(args)

    def decline(self, call_id: str, reason: str = "") -> Turn:
        """Refuse a call; see `CallHandle.decline`."""
        return all_calls(self._session)[call_id].decline(reason)

    def add_tool_result(
        self, call_id: str, *, result: object = ..., error: str | None = None
    ) -> Turn:
        """Give the result of a call that waits for one.

        Args:
            call_id: The call.
            result: Any value; None is a result too.
            error: Why there is no result, in words for the model.

        Raises:
            AlreadyDecided: The call does not wait for a result; the text names what to use.
            TypeError: Neither or both of `result` and `error` were given.
            ValueError: The result is `PENDING`, which says that there is none yet.
        """
        if (result is ...) == (error is None):
            raise TypeError("add_tool_result takes either result=… or error=….")
        if result is PENDING:
            raise ValueError(
                f"The result of {call_id!r} is {PENDING!r}, expected the value itself: "
                "the call waits for it already."
            )
        value = None if error is not None else result
        answer = self._session.answer
        return Turn(self._session, lambda: answer(call_id, value=value, error=error))

    @property
    def rules(self) -> Rules:
        """The rules that decide which calls run without asking, are asked about, or are refused."""
        return self._session.rules
