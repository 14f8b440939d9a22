"""A conversation in a file: what was said and done, and no endpoint, key, code or Python value."""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtools.codec import decode_conversation, encode
from nbtools.jsontext import dumps
from nbtools.messages import (
    ENDED_WELL,
    FINAL,
    Conversation,
    Finish,
    Job,
    Json,
    Message,
    Outcome,
    Part,
    ToolCall,
)
from nbtools.outcomes import sentence
from nbtools.reducer import calls_of
from nbtools.sight import fits

FORMAT = 1


def save(path: Path, conversation: Conversation, fingerprints: Mapping[str, str]) -> None:
    """Write a conversation so that a crash leaves the old file or the new one, never half.

    Args:
        path: The file; its folder must exist.
        conversation: What to keep.
        fingerprints: For each tool, the fingerprint of its schema.

    Raises:
        OSError: The file cannot be written.
    """
    written = {
        "nbtools": FORMAT,
        "saved": time.time(),
        "tools": dict(fingerprints),
        "conversation": encode(conversation, saved=True),
    }
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(dumps(written), encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What a file holds."""

    conversation: Conversation
    """As it was when it was saved: something in it may stream or run."""
    tools: Mapping[str, Json]
    """For each tool there was, the fingerprint of its schema."""

    @property
    def waiting(self) -> frozenset[str]:
        """The names of the tools that calls wait for."""
        messages = self.conversation.messages
        calls = [call for message in messages for call in calls_of(message)]
        return frozenset(call.tool for call in calls if call.waiting and call.tool in self.tools)


def load(path: Path, fingerprints: Mapping[str, str]) -> Conversation:
    """Read a conversation and close what did not survive; see `read` and `settle`."""
    return settle(read(path), fingerprints)


def read(path: Path) -> Saved:
    """Read what `save` wrote.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not such a file; the text says what is wrong in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
        written = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name!r} is not a saved chat: {error}") from error
    if not isinstance(written, dict) or written.get("nbtools") != FORMAT:
        raise ValueError(f"{path.name!r} is not a saved chat of format {FORMAT}.")
    conversation = decode_conversation(written.get("conversation"))
    known = written.get("tools")
    return Saved(conversation=conversation, tools=known if isinstance(known, dict) else {})


def _finite(text: str) -> float:
    """Read a number; no page could read one that is infinite, or none at all."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is no number of JSON.")
    return number


def settle(saved: Saved, fingerprints: Mapping[str, str]) -> Conversation:
    """Close what did not survive.

    Args:
        saved: What a file holds.
        fingerprints: The tools there are now; a call waits on only for the same tool.

    Returns:
        The conversation at rest: nothing in it streams or runs.
    """
    conversation = saved.conversation
    same = {name for name, mark in fingerprints.items() if saved.tools.get(name) == mark}
    messages = tuple(_settle_message(message, same) for message in _with_own_ids(conversation))
    kept = tuple(message for message in messages if message.parts or message.role == "user")
    return replace(conversation, messages=kept)


def _with_own_ids(conversation: Conversation) -> Iterator[Message]:
    """Give each message and part an id of its own, where a file gives one twice."""
    taken: set[str] = set()

    def own(wanted: str) -> str:
        made = next(name for name in _names(wanted) if name not in taken)
        taken.add(made)
        return made

    for message in conversation.messages:
        parts = tuple(replace(part, id=own(part.id)) for part in message.parts)
        yield replace(message, id=own(message.id), parts=parts)


def _names(wanted: str) -> Iterator[str]:
    if wanted:
        yield wanted
    yield from (f"{wanted or 'id'}-{number}" for number in itertools.count(2))


def _settle_message(message: Message, same: set[str]) -> Message:
    finish: Finish = message.finish
    if message.role == "assistant" and not finish:
        finish = "cut"
    readable = message.role == "user" or finish in ENDED_WELL
    parts = tuple(_settle_part(part, same, readable=readable) for part in message.parts)
    return replace(message, parts=parts, finish=finish)


def _settle_part(part: Part, same: set[str], *, readable: bool) -> Part:
    if isinstance(part, ToolCall | Job) and part.pictures:
        part = replace(part, pictures=tuple(filter(fits, part.pictures)))
    if isinstance(part, Job) and part.state == "running":
        told = sentence("interrupted")
        over: dict[str, Any] = {"state": "error", "outcome": "interrupted", "progress": None}
        return replace(part, error=told, told=told, **over)
    if isinstance(part, ToolCall | Job) and part.state in FINAL:
        return _with_one_end(part)
    if not isinstance(part, ToolCall):
        return part
    ends: Mapping[str, Outcome] = {"streaming": "incomplete", "running": "interrupted"}
    outcome = ends.get(part.state) if readable else "incomplete"
    if outcome is None and part.tool in same and part.waiting:
        return replace(part, outcome="")
    reason = "" if outcome else f"{part.tool!r} is not among the tools, or has changed."
    return _ended(part, outcome or "unknown", reason)


def _with_one_end(part: ToolCall | Job) -> ToolCall | Job:
    """Let the end of a call be one that there is, whatever a file says."""
    outcome: Outcome = "ok" if part.state == "result" else part.outcome
    if part.state == "error" and outcome in ("", "ok"):
        outcome = "failed"
    open_ended: dict[str, Any] = {"progress": None}
    if isinstance(part, ToolCall):
        open_ended |= {"waiting": "", "question": None}
    return replace(part, outcome=outcome, **open_ended)


def _ended(call: ToolCall, outcome: Outcome, reason: str) -> ToolCall:
    told = sentence(outcome, reason)
    changes: dict[str, Any] = {"state": "error", "waiting": "", "progress": None, "question": None}
    return replace(call, outcome=outcome, error=reason or told, told=told, **changes)
