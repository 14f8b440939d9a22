"""What a command of the page does to the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nbtools import commands as cmd
from nbtools.display.pages import page_of
from nbtools.errors import CommandError
from nbtools.executors import in_worker
from nbtools.protocol import TablePage
from nbtools.session import Session

LONGEST_MESSAGE = 1_000_000
"""Characters of a message that a person may send."""

_LET_GO = "The rows are not in the kernel any more: its value was let go of. Run the call again."


def dispatch(session: Session, command: cmd.Command) -> None:
    """Carry out one command.

    Args:
        session: The conversation it is about.
        command: One that was read by `parse_command`.

    Raises:
        NbtoolsError: It cannot be done now; the text is for the person who clicked.
        ValueError: The slash form of a direct call cannot be read.
    """
    _ACTIONS[type(command)](session, command)


async def look_up(session: Session, wanted: cmd.Rows) -> TablePage:
    """Give rows of a table from the value that the chat keeps of a call.

    Args:
        session: The conversation.
        wanted: Which rows, of which call.

    Raises:
        CommandError: A place is before the beginning, or there is no such table.
    """
    for field, place in (("start", wanted.start), ("column", wanted.column)):
        if place < 0:
            raise CommandError(f"{field!r} counts from 0; it cannot be {place}.", field=field)
    try:
        value = session.results.of_call(wanted.call)
    except KeyError:
        raise CommandError(_LET_GO, error="unknown") from None
    page = await in_worker(
        lambda: page_of(value, start=wanted.start, column=wanted.column, call=wanted.call)
    )
    if page is None:
        raise CommandError("The value of this call is no table any more.", error="unknown")
    return page


def _send(session: Session, command: cmd.Send) -> None:
    session.send(session.user_parts(_checked(command.text)))


def _approve(session: Session, command: cmd.Approve) -> None:
    if command.approved is not True:
        raise CommandError("An approval says approved: true.", field="approved")
    session.approve(command.call, mark=command.digest, preview=command.preview, args=command.args)


def _decline(session: Session, command: cmd.Decline) -> None:
    if command.question:
        session.decline_question(command.call, command.question)
    else:
        session.decline(command.call, command.reason)


def _answer(session: Session, command: cmd.Answer) -> None:
    if command.question:
        session.answer_question(command.call, command.value, command.question)
    else:
        session.answer(command.call, value=command.value)


def _revoke(session: Session, command: cmd.Revoke) -> None:
    if command.rule not in {rule.id for rule in session.rules}:
        raise CommandError("This rule has ended, or was taken back already.", error="late")
    session.rules.remove(command.rule)


def _edit(session: Session, command: cmd.EditMessage) -> None:
    session.restart_at(command.message, _checked(command.text))


def _checked(text: str) -> str:
    if not text.strip():
        raise CommandError("A message cannot be empty.", field="text")
    if len(text) > LONGEST_MESSAGE:
        limit = f"{LONGEST_MESSAGE:,}"
        raise CommandError(
            f"A message can have {limit} characters, not {len(text):,}.", field="text"
        )
    return text


_ACTIONS: Mapping[type[Any], Callable[[Session, Any], object]] = {
    cmd.Send: _send,
    cmd.Approve: _approve,
    cmd.Decline: _decline,
    cmd.Decide: lambda session, said: session.decide(said.verdicts),
    cmd.Revoke: _revoke,
    cmd.Answer: _answer,
    cmd.Cancel: lambda session, said: session.cancel(said.call, said.after),
    cmd.Rerun: lambda session, said: session.rerun(said.call, said.args),
    cmd.Resend: lambda session, _: session.resume(),
    cmd.Release: lambda session, _: session.release(),
    cmd.Stop: lambda session, _: session.stop(),
    cmd.EditMessage: _edit,
    cmd.Regenerate: lambda session, said: session.restart_at(said.message, None),
    cmd.Pin: lambda session, said: session.pin(said.message, pinned=said.pinned),
    cmd.Clear: lambda session, _: session.clear(),
}
