"""The side of a chat that one looks at, and that lets functions hear what happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtools.audit import COLUMNS
from nbtools.cost import Cost, prices
from nbtools.face.hooks import Hook, Hooks, Kind
from nbtools.face.jobs import Jobs
from nbtools.face.turns import Calls, all_calls, total_usage
from nbtools.messages import Conversation, Message, Status, Usage
from nbtools.records import as_table
from nbtools.results import Results
from nbtools.session import Session


class Looking:
    """See messages, calls, values and costs, and hear of each."""

    _session: Session
    _hooks: Hooks

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation as it stands, frozen."""
        return self._session.conversation.messages

    @property
    def conversation(self) -> Conversation:
        """Messages, status and error as they stand, frozen."""
        return self._session.conversation

    @property
    def status(self) -> Status:
        """One of ready, running, waiting, error."""
        return self._session.conversation.status

    @property
    def calls(self) -> Calls:
        """Live handles of every call, in order; also found by id."""
        return all_calls(self._session)

    @property
    def jobs(self) -> Jobs:
        """Live handles of what tools do in the background, in order; also found by id."""
        return Jobs(self._session)

    @property
    def results(self) -> Results:
        """The Python values that tools returned, by call id, handle, and tool name (latest)."""
        return self._session.results

    @property
    def usage(self) -> Usage:
        """Tokens of all requests; a field that no provider reported is None."""
        return total_usage(self.messages)

    @property
    def cost(self) -> Cost:
        """What the answers cost by the table of prices; unknown where a model has no price."""
        return prices().cost(self.messages)

    def audit(self) -> Any:
        """Return what became of every call, also of conversations that were cleared.

        Returns:
            A DataFrame with a row for each call (a list of dicts where there is no pandas): its
            proposed and effective arguments, who decided and by which rule, when and for how long,
            and what came of it; times are seconds since 1970.
        """
        rows = self._session.engine.do(self._session.audit.rows)
        return as_table(rows, COLUMNS)

    def on(self, kind: Kind, hook: Hook) -> Callable[[], None]:
        """Let a function hear what happens; return what ends that.

        A hook holds nothing up: it hears of one thing after the other, beside the chat. One that
        raises is logged and shown once.

        Args:
            kind: "identified", "started", "progress" and "settled" give the handle of a call,
                "message" a message that is complete, "usage" the tokens of a request, "trimmed" the
                ids of the messages that requests leave out, "limit" the notice, "error" the failure.
            hook: A function of one value, synchronous or `async`.

        Raises:
            ValueError: There is no such kind; the text names those there are.
        """
        end = self._session.engine.do(lambda: self._hooks.add(kind, hook))
        return lambda: self._session.engine.do(end)
