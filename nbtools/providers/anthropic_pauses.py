"""A long reply that the server breaks off to be asked for the rest of it.

It does so while it runs tools of its own. What it has said goes back as it is, and what follows
belongs to the same reply: whoever reads it sees one.

Source: https://docs.claude.com/en/api/handling-stop-reasons, "pause_turn".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import count

from nbtools.assembly import Assembly
from nbtools.events import MessageStarted, ModelEvent, ModelFinish, ModelUsage
from nbtools.messages import Conversation, Request, Usage
from nbtools.reducer import reduce

PAUSE = "pause_turn"
MOST = 8
"""How often one reply is asked to go on."""

_MESSAGE = "reply"


class PausedReply:
    """Keeps what a reply has said so far, and the tokens that it took.

    Args:
        request: The question.
    """

    def __init__(self, request: Request) -> None:
        self.paused = False
        """Whether the last piece said that there is more to come."""
        self._request = request
        self._used = self._before = Usage()
        numbers = count(1)
        self._assembly = Assembly(_MESSAGE, lambda _: False, lambda: f"p-{next(numbers)}")
        self._so_far = reduce(Conversation(), MessageStarted(message=_MESSAGE))

    def take(self, events: Sequence[ModelEvent], *, last: bool) -> list[ModelEvent]:
        """Take a piece of the reply.

        Args:
            events: What was said.
            last: Whether the reply is not asked to go on again.

        Returns:
            What is new of it: a pause is no end, and tokens are those of all pieces.
        """
        for event in self._assembly.feed(events):
            self._so_far = reduce(self._so_far, event)
        shown: list[ModelEvent] = []
        for heard in events:
            if isinstance(heard, ModelUsage):
                self._used = heard.usage
                shown.append(ModelUsage(_sum(self._before, heard.usage)))
            elif isinstance(heard, ModelFinish) and heard.reason == PAUSE and not last:
                self.paused = True
            else:
                shown.append(heard)
        return shown

    def go_on(self) -> Request:
        """Give the request for the rest."""
        self.paused = False
        self._before = _sum(self._before, self._used)
        (said,) = self._so_far.messages
        reply = replace(said, finish="other", reason=PAUSE)
        return replace(self._request, messages=[*self._request.messages, reply])


def _sum(one: Usage, other: Usage) -> Usage:
    """Add up tokens; a number that neither has stays unknown."""
    counts = {
        each.name: (getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
    }
    known = {name: [n for n in pair if n is not None] for name, pair in counts.items()}
    return Usage(**{name: sum(numbers) for name, numbers in known.items() if numbers})
