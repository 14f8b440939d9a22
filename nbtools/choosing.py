"""The models that an empty chat offers: what was found on this machine, and which one is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbtools.errors import CommandError
from nbtools.events import Event
from nbtools.executors import in_worker
from nbtools.failure import explain
from nbtools.messages import Conversation
from nbtools.protocol import Choice
from nbtools.providers import available
from nbtools.session import Session

if TYPE_CHECKING:
    from nbtools.providers.discovery import Availability


class Choosing:
    """Look for models when the page asks, and take the one that is clicked.

    What was found is offered until something stands in the chat. Every method is called on the
    engine's loop.

    Args:
        session: The conversation.
        take: Makes a model, given by its name, the chat's own.
    """

    def __init__(self, session: Session, take: Callable[[str], None]) -> None:
        self._session = session
        self._take = take
        self._offered: list[Choice] | None = None
        self._end: Callable[[], None] | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when something else is offered."""

    @property
    def offered(self) -> list[Choice] | None:
        """What the page offers, usable models first; None where nobody has looked."""
        return self._offered

    async def look(self) -> None:
        """Find what this machine could use, beside the loop.

        Raises:
            CommandError: Something stands in the chat, or looking failed.
        """
        self._expect_empty()
        try:
            found = await in_worker(available, name="choices")
        except Exception as error:
            raise CommandError(f"Looking for models failed. {explain(error)}") from error
        self._expect_empty()
        self._offered = [_choice(row) for row in found]
        if self._end is None:
            self._end = self._session.subscribe(self._note)
        self.on_change()

    def choose(self, name: str) -> None:
        """Make one of the offered models the chat's own.

        Args:
            name: As it is offered.

        Raises:
            CommandError: It is not offered, or not usable.
            ChatBusy: An answer is under way.
        """
        usable = [each["name"] for each in self._offered or () if each["ready"]]
        if name not in usable:
            expected = f"one of {', '.join(usable)}" if usable else "to look for models first"
            raise CommandError(f"{name!r:.80} is not offered here; expected {expected}.")
        self._take(name)

    def _expect_empty(self) -> None:
        if self._session.conversation.messages:
            text = "Models are offered in an empty chat; in this one, assign chat.model."
            raise CommandError(text, error="late")

    def _note(self, _event: Event, conversation: Conversation) -> None:
        if conversation.messages and self._end is not None:
            self._end()
            self._end = self._offered = None
            self.on_change()


def _choice(row: Availability) -> Choice:
    name = row.model if row.usable else row.title
    return {"name": name, "ready": row.usable, "why": row.reason}
