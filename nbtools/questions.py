"""What running calls ask of the person, and who waits for the answers.

The chat rests meanwhile as it does for an approval; the tool waits, and its time does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nbtools import events as ev
from nbtools.errors import AlreadyDecided, InvalidArguments
from nbtools.frozen import freeze
from nbtools.jsontext import clean_text
from nbtools.messages import Json, Question, ToolCall
from nbtools.schema import Written
from nbtools.tools import ToolContext

Answer = dict[str, Json] | None
"""The fields of the form; None where the person declined."""

ENDS = (ev.CallEnded, ev.CallWaiting)
"""The events after which a call asks nothing any more."""

GRACE = 2.0
"""Seconds after the end of a call, in which it is cancelled; what still asks then is left over."""

_WHAT = "question"


@dataclass(eq=False)
class _Asked:
    """One question that is on a card."""

    question: Question
    form: Written | None
    answer: asyncio.Future[Answer]


class Questions:
    """Put questions on cards, one at a time on each. Every method is called on the engine's loop.

    Args:
        new_id: Makes an id.
        put: Shows a question on the card of its call, or takes it off; says False where the call
            does not run any more.
    """

    def __init__(
        self, new_id: Callable[[], str], put: Callable[[str, Question | None], bool]
    ) -> None:
        self._new_id = new_id
        self._put = put
        self._asked: dict[str, _Asked] = {}

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._asked

    def __len__(self) -> int:
        return len(self._asked)

    async def ask(
        self, call_id: str, text: str, form: Mapping[str, Json] | None, link: str
    ) -> Answer:
        """Ask the person, and wait for the answer; see `ToolContext.ask`.

        Raises:
            CancelledError: The call is over, and with it what asks.
        """
        while call_id in self._asked:
            await asyncio.wait({self._asked[call_id].answer})
        question = Question(
            id=self._new_id(), text=clean_text(text), form=freeze(form), link=clean_text(link)
        )
        read = None if form is None else Written(form, _WHAT, context=ToolContext)
        asked = _Asked(question, read, asyncio.get_running_loop().create_future())
        self._asked[call_id] = asked
        if not self._put(call_id, question):
            self._let_go(call_id)
        try:
            return await asked.answer
        finally:
            if self._asked.get(call_id) is asked:
                self._close(call_id, None)

    def answer(self, call: ToolCall, value: Json, question_id: str = "") -> None:
        """Give the answer to what a call asks.

        Args:
            call: The call.
            value: The fields of the form.
            question_id: The question that was shown; "" stands for whatever it asks now.

        Raises:
            AlreadyDecided: The call asks nothing, or something else.
            InvalidArguments: The answer does not fit the form; the question stays.
        """
        asked = self._expect(call, question_id)
        self._close(call.id, _checked(asked.form, value))

    def decline(self, call: ToolCall, question_id: str = "") -> None:
        """Refuse to answer.

        Raises:
            AlreadyDecided: The call asks nothing, or something else.
        """
        self._expect(call, question_id)
        self._close(call.id, None)

    def note(self, event: ev.Event, _: object = None) -> None:
        """Let go of the question of a call that is over."""
        if isinstance(event, ENDS) and event.call in self._asked:
            self._let_go(event.call)

    def _expect(self, call: ToolCall, question_id: str) -> _Asked:
        asked = self._asked.get(call.id)
        if asked is None or (question_id and asked.question.id != question_id):
            raise AlreadyDecided("This question is not asked any more; look again.")
        return asked

    def _close(self, call_id: str, answer: Answer) -> None:
        asked = self._asked.pop(call_id)
        if not asked.answer.done():
            asked.answer.set_result(answer)
        self._put(call_id, None)

    def _let_go(self, call_id: str) -> None:
        """Give no answer: what a tool would do about it comes too late.

        Who ended the call cancels the tool, with all that this cancels in turn. What asks on its own
        is cancelled after that; at once, one that tries again and again would hold up all chats.
        """
        asked = self._asked.pop(call_id)
        asyncio.get_running_loop().call_later(GRACE, asked.answer.cancel)
        self._put(call_id, None)


def _checked(form: Written | None, value: Json) -> dict[str, Json]:
    if form is None:
        return {}
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise InvalidArguments(f"An answer is an object with the fields of the form, not {kind}.")
    try:
        return form.check(value)
    except InvalidArguments as error:
        text = error.text.removeprefix(f"The arguments do not fit {_WHAT!r}. ")
        raise InvalidArguments(text, field=error.field) from None
