"""What became of every call, and who decided: kept in memory, and in a file if one is named.

The file is only ever appended to: one line of JSON each time a call moves on, written before the
ring goes on. Each line holds all that is known of its call by then, so the last line of a call is
the truth about it, and a kernel that is killed leaves how far it had come. A call whose start
could not be written does not run.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbtools import events as ev
from nbtools.altered import altered
from nbtools.checks import expect, function_or_none
from nbtools.errors import InvalidArguments
from nbtools.failure import explain
from nbtools.frozen import freeze, thaw
from nbtools.jsontext import dumps
from nbtools.messages import FINAL, Conversation, Job, Json, Message, ToolCall
from nbtools.partial import parse_arguments
from nbtools.records import as_table
from nbtools.reducer import calls_of, find_message

COLUMNS = (
    "call", "tool", "state", "outcome", "proposed", "args", "by", "rule", "reason",
    "asked", "decided", "waited", "started", "ended", "seconds", "told", "error",
    "raw", "origin", "again", "job", "model", "message", "chat",
)  # fmt: skip
CONTENT = ("proposed", "args", "raw", "reason", "told", "error")
"""The fields that may hold data of the user, which a redaction may change."""

MOVES = (
    ev.CallWaiting, ev.CallStarted, ev.CallEnded, ev.MessageAdded, ev.MessageEnded, ev.JobChanged,
    ev.MessagesRemoved,
)  # fmt: skip
"""The events with which calls move on, one that works in the background with its job, or go."""

_OF_ONE = frozenset({ev.CallWaiting, ev.CallStarted, ev.CallEnded})

WITHHELD = "(withheld: the redaction failed)"

_REDACT = (function_or_none, "a function of a row of the audit, or None")

_log = logging.getLogger("nbtools")

Row = dict[str, Any]
Redact = Callable[[Row], Mapping[str, Any]]


class Audit:
    """The rows of one chat.

    Args:
        path: A file of JSON lines to append to, or None.
        redact: Takes a row and gives it with other contents; where it fails, they are withheld.
        chat: The id of the chat.

    Raises:
        ValueError: `redact` is no function.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        redact: Redact | None = None,
        chat: str = "",
    ) -> None:
        expect("redact", redact, _REDACT)
        self._path = path
        self._redact = redact
        self._chat = chat
        self._entries: dict[str, _Entry] = {}
        self._problems: dict[str, str] = {}
        self._whole = False

    def note(self, event: ev.Event, conversation: Conversation) -> None:
        """Write down where the calls stand that an event is about."""
        if isinstance(event, ev.MessagesRemoved):
            self._let_go(conversation)
        for message, call in _concerned(event, conversation):
            entry, job = self._entries.get(call.id), _job_of(message, call)
            if entry is None:
                entry = self._entries[call.id] = _Entry(self._chat)
            standing = _standing(call, job)
            if standing != entry.standing:
                entry.take(call, message, job, standing)
                self._keep(call.id, entry)

    def problem(self, call_id: str) -> str:
        """Say why the last line of a call could not be written; "" if it was."""
        return self._problems.get(call_id, "")

    def rows(self) -> list[Row]:
        """Give a row for each call there was, in order, also of conversations that were cleared."""
        return [with_spans(entry.row()) for entry in self._entries.values()]

    def _keep(self, call: str, entry: _Entry) -> None:
        if self._redact is not None:
            entry.redact(self._redacted)
        if self._path is None:
            return
        self._problems.pop(call, None)
        try:
            self._append(self._path, dumps({"time": time.time(), **entry.row()}))
        except Exception as error:  # noqa: BLE001 - a full disk, a folder that is gone
            self._problems[call] = f"The audit could not be written. {explain(error)}"
            _log.error("The audit of %s could not be written.", call, exc_info=error)

    def _let_go(self, conversation: Conversation) -> None:
        """Hold nothing of what calls showed that the chat does not show any more."""
        held = {call.id for message in conversation.messages for call in calls_of(message)}
        for call, entry in self._entries.items():
            if call not in held:
                entry.let_go()

    def _redacted(self, row: Row) -> Row:
        if self._redact is None:
            return row
        try:
            said = dict(self._redact(thaw(row)))
            said = json.loads(dumps({name: said.get(name) for name in CONTENT}))
        except BaseException:  # noqa: BLE001 - the redaction's own code may even try to exit
            said = {name: WITHHELD for name in CONTENT if row[name]}
        return {**row, **said}

    def _append(self, path: Path, line: str) -> None:
        with path.open("ab", buffering=0) as file:
            if not self._whole:  # a kernel that was killed may have left half a line
                line = line if _ends_whole(path) else f"\n{line}"
            file.write(f"{line}\n".encode())
        self._whole = True


def read_audit(path: str | Path) -> Any:
    """Read an audit that a chat wrote, this one or an earlier one.

    Args:
        path: The file; half a line, left by a kernel that was killed, is skipped.

    Returns:
        A table as `chat.audit()` gives it: the last line of each call, in the order of the first.

    Raises:
        OSError: The file cannot be read.
    """
    found: dict[tuple[str, str], Row] = {}
    for line in Path(path).read_bytes().splitlines():
        try:
            row = json.loads(line)
            key = (row["chat"], row["call"])
        except (ValueError, KeyError, TypeError):
            continue
        found[key] = row
    return as_table([with_spans(row) for row in found.values()], COLUMNS)


def with_spans(row: Row) -> Row:
    """Add how long a call waited for its decision, and how long it ran, in seconds."""
    return {
        **row,
        "waited": _span(row.get("asked"), row.get("decided")),
        "seconds": _span(row.get("started"), row.get("ended")),
    }


def _span(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else end - begin


def _concerned(event: ev.Event, conversation: Conversation) -> list[tuple[Message, ToolCall]]:
    if type(event) in _OF_ONE:
        return _found(conversation, event.call)  # type: ignore[union-attr]
    if isinstance(event, ev.JobChanged):
        return _found(conversation, event.job.call)
    if isinstance(event, ev.MessageAdded):
        return [(event.message, call) for call in calls_of(event.message)]
    if isinstance(event, ev.MessageEnded):
        message = find_message(conversation, event.message)
        return [(message, call) for call in calls_of(message)]
    return []


def _found(conversation: Conversation, call_id: str) -> list[tuple[Message, ToolCall]]:
    for message in reversed(conversation.messages):
        for part in message.parts:
            if part.id == call_id and type(part) is ToolCall:
                return [(message, part)]
    return []


def _job_of(message: Message, call: ToolCall) -> Job | None:
    """Return the job in which the work of a call goes on, if it does."""
    if call.state not in FINAL:
        return None
    for part in message.parts:
        if type(part) is Job and part.call == call.id:
            return part
    return None


def _proposed(call: ToolCall) -> Json:
    """Read what was asked for, before defaults, coercion and edits; None if it cannot be read."""
    if call.origin == "provider":
        return call.args
    try:
        return freeze(parse_arguments(call.raw))
    except InvalidArguments:
        return None


class _Entry:
    """Where one call stands and since when; its row is written when somebody wants it.

    Args:
        chat: The id of the chat.
    """

    __slots__ = (
        "_call", "_chat", "_job", "_message", "_model", "_row", "asked", "decided", "standing",
    )  # fmt: skip

    def __init__(self, chat: str) -> None:
        self.standing: tuple[object, ...] = ()
        self.asked: float | None = None
        self.decided: float | None = None
        self._chat = chat
        self._call: ToolCall | None = None
        self._job: Job | None = None
        self._message = self._model = ""
        self._row: Row = {}

    def take(
        self, call: ToolCall, message: Message, job: Job | None, standing: tuple[object, ...]
    ) -> None:
        """Take note of where the call stands now.

        Args:
            call: The call.
            message: Its message.
            job: Its work, where that goes on in the background.
            standing: What tells this from where it stood before.
        """
        self.standing = standing
        self._call, self._row = call, {}
        self._job = job and altered(job, value=None, display=None, output="")
        self._message, self._model = message.id, message.model
        if self.asked is None and call.waiting == "approval":
            self.asked = time.time()
        if self.decided is None and call.decision is not None:
            now = time.time()
            self.decided = min(now, call.started or now)

    def row(self) -> Row:
        """Write down what is known of the call."""
        return self._row if self._call is None else self._written(self._call)

    def let_go(self) -> None:
        """Keep of the call what the row has, and nothing that it showed."""
        if self._call is not None:
            self._call = altered(self._call, value=None, display=None, drawn=None, output="")

    def redact(self, redacted: Callable[[Row], Row]) -> None:
        """Keep what a redaction makes of the row, and nothing else."""
        self._row, self._call, self._job = redacted(self.row()), None, None

    def _written(self, call: ToolCall) -> Row:
        decision, job = call.decision, self._job
        checked = call.digest != "" or decision is not None or call.origin == "provider"
        end = call if job is None else job
        return {
            "call": call.id,
            "tool": call.tool,
            "state": f"{end.state} {call.waiting}".strip(),
            "outcome": end.outcome,
            "proposed": _proposed(call),
            "args": call.args if checked else None,
            "raw": "" if checked else call.raw,
            "by": decision.by if decision else "",
            "rule": decision.rule if decision else "",
            "reason": decision.reason if decision else "",
            "told": end.told,
            "error": end.error,
            "origin": call.origin,
            "again": call.again,
            "job": job.id if job else "",
            "model": self._model,
            "message": self._message,
            "chat": self._chat,
            "asked": self.asked,
            "decided": self.decided,
            "started": call.started,
            "ended": end.ended,
        }


def _standing(call: ToolCall, job: Job | None) -> tuple[object, ...]:
    work = job and (job.id, job.state)
    return call.state, call.waiting, call.digest, call.decision, call.preview, work


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
