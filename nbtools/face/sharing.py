"""The side of a chat that shares: what of the kernel and of the conversation a model is given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from nbtools.checks import meant
from nbtools.face.turns import Turn
from nbtools.privacy import ColumnPolicy, check_columns
from nbtools.report import ContextReport
from nbtools.session import Session


class Sharing:
    """Share values, protect columns, pin messages; see what the next request would hold."""

    _session: Session

    def share(self, *patterns: str, **values: object) -> None:
        """Let the model name values of the kernel, for parameters that take a table or an array.

        The model is told names, and nothing else of the values; the tool gets the object itself.

        Args:
            patterns: Of names of the notebook's own variables, such as "sales_*"; what fits is
                looked up when a call runs, and names with a leading underscore never fit.
            values: Objects by the name that the model may use.

        Raises:
            TypeError: A value was given without a name.
            ValueError: A pattern is empty; or columns of a value are protected that it does not
                have, or that no policy can bind: it is no table of pandas.
        """
        settings = self._session.settings
        for pattern in patterns:
            _expect_pattern(pattern)

        def share() -> None:
            policies = settings.privacy.policies
            for name in policies.keys() & values.keys():
                check_columns(name, policies[name], values[name])
            settings.variables.share(patterns, values)

        self._session.engine.do(share)

    def unshare(self, *names: str) -> None:
        """Take shared names or patterns back.

        Raises:
            KeyError: One of them is not shared; the text names it.
        """
        variables = self._session.settings.variables
        self._session.engine.do(lambda: variables.unshare(names))

    @property
    def shared(self) -> Mapping[str, object]:
        """The values that the model may name now, without results."""
        return self._session.settings.variables.shared

    def protect(self, **tables: Mapping[str, ColumnPolicy]) -> None:
        """Set what the model may be told of the columns of shared tables.

        It binds what nbtools writes about any table that has such a column. Other text is looked
        through for exact values before each request; where one is found the request is not sent,
        and you decide: `resume` sends it without the values, `release` sends them.

        A table may be protected before it is shared; a warning says that it is not yet.

        Args:
            tables: For each table the policies of its columns: "drop" (it is not mentioned), "mask"
                (its name and type) or "aggregate" (a summary too); {} ends the protection.

        Raises:
            ValueError: There is no such policy, or no such column in a table that is shared, or
                what is shared is no table of pandas.
        """
        settings = self._session.settings

        def protect() -> Mapping[str, object]:
            shared = settings.variables.shared
            for table, columns in tables.items():
                check_columns(table, columns, shared.get(table))
                settings.privacy.protect(table, columns)
            return shared

        shared = self._session.engine.do(protect)
        for table in [table for table, columns in tables.items() if columns]:
            if table not in shared:
                warnings.warn(_not_shared(table, shared), stacklevel=2)

    def release(self) -> Turn:
        """Send the values for which the last request was withheld, now and later.

        Raises:
            ChatBusy: An answer is under way.
        """
        return Turn(self._session, self._session.release)

    def pin(self, message_id: str) -> None:
        """Keep a message, with the turn it is part of, in every request.

        Args:
            message_id: The id of one of `messages`.

        Raises:
            IllegalMove: There is no such message.
        """
        self._session.engine.do(lambda: self._session.pin(message_id))

    def unpin(self, message_id: str) -> None:
        """Let a message be left out again once the conversation is too long."""
        self._session.engine.do(lambda: self._session.pin(message_id, pinned=False))

    def context_report(self) -> ContextReport:
        """Say what the next request would hold, part by part, and to which host it would go.

        Raises:
            ContextLengthError: The newest message alone is over `context_limit`.
        """
        return self._session.engine.do(self._session.context_report)


def _not_shared(table: str, shared: Mapping[str, object]) -> str:
    return (
        f"{table!r} is not shared{meant(table, shared)}: tables that have such columns are kept to "
        "the policies, but its values are not looked for in other text until it is."
    )


def _expect_pattern(given: object) -> None:
    if not isinstance(given, str):
        kind = type(given).__name__
        raise TypeError(f"A {kind} is shared by a name, as in chat.share(orders=orders).")
    if not given:
        raise ValueError('The pattern is empty; expected one of names, such as "sales_*".')
