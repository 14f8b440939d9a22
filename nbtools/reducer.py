"""How a conversation changes: `reduce(conversation, event)`, and which moves are legal.

A final call never changes, a call enters `running` at most once, and a message that did not end
well leaves no call open. Whatever does not fit raises `IllegalMove`; nothing is repaired silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from nbtools import events as ev
from nbtools.altered import altered
from nbtools.errors import IllegalMove
from nbtools.facts import facts
from nbtools.frozen import freeze
from nbtools.messages import (
    ENDED_WELL,
    FINAL,
    PART_TYPES,
    Conversation,
    Job,
    Message,
    Notice,
    Outcome,
    Part,
    Preview,
    Reasoning,
    Text,
    ToolCall,
)
from nbtools.outcomes import LEGAL_ENDS, sentence

Place: TypeAlias = tuple[int, int]
"""Where a part is: the index of its message, and its own in that message."""


def reduce(conversation: Conversation, event: ev.Event) -> Conversation:
    """Apply one event.

    Args:
        conversation: The state before.
        event: What happened.

    Returns:
        The state after; the same object where nothing changed.

    Raises:
        IllegalMove: The event does not fit the conversation; the text says why.
    """
    return _HANDLERS[type(event)](conversation, event)


def find_message(conversation: Conversation, message_id: str) -> Message:
    """Return the message with this id, or raise `IllegalMove`."""
    return conversation.messages[_message_index(conversation, message_id)]


def find_call(conversation: Conversation, call_id: str) -> ToolCall:
    """Return the call with this id, or raise `IllegalMove`."""
    return _call_at(conversation, _locate(conversation, call_id))


def find_job(conversation: Conversation, job_id: str) -> Job:
    """Return the job with this id, or raise `IllegalMove`."""
    message, part = _locate(conversation, job_id)
    job = conversation.messages[message].parts[part]
    if not isinstance(job, Job):
        raise IllegalMove(f"{job_id!r} is a {job.type} part, not a job.")
    return job


def calls_of(message: Message) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message, in their order."""
    return facts(message).calls


def is_question(message: Message) -> bool:
    """Say whether a message asks the model something: a direct call and a notice do not."""
    return facts(message).question


def _message_index(conversation: Conversation, message_id: str) -> int:
    messages = conversation.messages
    for index in range(
        len(messages) - 1, -1, -1
    ):  # from the end: what changes is almost always last
        if messages[index].id == message_id:
            return index
    raise IllegalMove(f"There is no message {message_id!r}.")


def _locate(conversation: Conversation, part_id: str) -> Place:
    messages = conversation.messages
    for index in range(len(messages) - 1, -1, -1):
        parts = messages[index].parts
        for place in range(len(parts) - 1, -1, -1):
            if parts[place].id == part_id:
                return index, place
    raise IllegalMove(f"There is no part {part_id!r}.")


def _set_message(conversation: Conversation, index: int, message: Message) -> Conversation:
    messages = conversation.messages
    return altered(conversation, messages=(*messages[:index], message, *messages[index + 1 :]))


def _set_part(conversation: Conversation, place: Place, part: Part) -> Conversation:
    message = conversation.messages[place[0]]
    parts = (*message.parts[: place[1]], part, *message.parts[place[1] + 1 :])
    return _set_message(conversation, place[0], altered(message, parts=parts))


def _call_at(conversation: Conversation, place: Place) -> ToolCall:
    call = conversation.messages[place[0]].parts[place[1]]
    if not isinstance(call, ToolCall):
        raise IllegalMove(f"{call.id!r} is a {call.type} part, not a tool call.")
    return call


def _add_message(conversation: Conversation, event: ev.MessageAdded) -> Conversation:
    message = event.message
    taken = {known.id for known in conversation.messages}
    own = facts(message).ids
    if message.id in taken:
        raise IllegalMove(f"There is a message {message.id!r} already.")
    taken_ids = any(not own.isdisjoint(facts(known).ids) for known in conversation.messages)
    if len(own) < len(message.parts) or taken_ids:
        raise IllegalMove(f"Message {message.id!r} brings a part id that is taken.")
    parts_kept = tuple(_frozen(part) for part in message.parts)
    answers = message.role == "assistant" or is_question(message)
    return altered(
        conversation,
        messages=(*conversation.messages, altered(message, parts=parts_kept)),
        error=None if answers else conversation.error,
    )


def _start_message(conversation: Conversation, event: ev.MessageStarted) -> Conversation:
    if any(map(_is_open, conversation.messages)):
        raise IllegalMove("A reply is open; end it before another one starts.")
    message = Message(id=event.message, role="assistant", model=event.model, time=event.time)
    return _add_message(conversation, ev.MessageAdded(message=message))


def _add_part(conversation: Conversation, event: ev.PartAdded) -> Conversation:
    index = _message_index(conversation, event.message)
    message = conversation.messages[index]
    if not _is_open(message) and not isinstance(event.part, Notice | Job):
        raise IllegalMove(f"Message {message.id!r} is over; only a notice or a job may join it.")
    wanted = event.part.id
    for known in conversation.messages:
        # What is worked out about the message itself is of no use after this event.
        ids = [part.id for part in message.parts] if known is message else facts(known).ids
        if wanted in ids:
            raise IllegalMove(f"There is a part {wanted!r} already.")
    parts = (*message.parts, _frozen(event.part))
    return _set_message(conversation, index, altered(message, parts=parts))


def _grow_text(conversation: Conversation, event: ev.TextDelta) -> Conversation:
    place = _locate(conversation, event.part)
    message = conversation.messages[place[0]]
    part = message.parts[place[1]]
    if not isinstance(part, Text | Reasoning) or not _is_open(message):
        raise IllegalMove(f"Part {event.part!r} takes no more text.")
    return _set_part(conversation, place, altered(part, text=part.text + event.text))


def _seal_part(conversation: Conversation, event: ev.PartSealed) -> Conversation:
    place = _locate(conversation, event.part)
    part = conversation.messages[place[0]].parts[place[1]]
    if not isinstance(part, Text | Reasoning):
        raise IllegalMove(f"Part {event.part!r} is {part.type}, neither text nor reasoning.")
    return _set_part(conversation, place, altered(part, sealed=freeze(event.sealed)))


def _grow_args(conversation: Conversation, event: ev.ArgsDelta) -> Conversation:
    place, call = _expect(conversation, event.call, {"streaming"}, "take more arguments")
    raw = call.raw + event.text
    args = call.args if event.args is None else event.args
    return _set_part(conversation, place, altered(call, raw=raw, args=args))


def _end_message(conversation: Conversation, event: ev.MessageEnded) -> Conversation:
    index = _message_index(conversation, event.message)
    message = conversation.messages[index]
    if not event.finish:
        raise IllegalMove("A reply ends with a finish; it cannot be empty.")
    if not _is_open(message) and not _may_be_stopped(message, event):
        raise IllegalMove(f"Message {message.id!r} is over already ({message.finish!r}).")
    parts = message.parts
    if event.finish not in ENDED_WELL:
        outcome: Outcome = "cancelled" if event.finish == "stopped" else "incomplete"
        parts = tuple(_cut(part, outcome, event.time) for part in parts)
    ended = altered(
        message,
        parts=parts,
        finish=event.finish,
        reason=event.reason or message.reason,
        usage=event.usage or message.usage,
    )
    return _set_message(conversation, index, ended)


def _may_be_stopped(message: Message, event: ev.MessageEnded) -> bool:
    """A turn can be stopped between a reply and the next request, when its calls are over."""
    settled = all(call.state in FINAL for call in calls_of(message))
    return event.finish == "stopped" and message.role == "assistant" and settled


def _cut(part: Part, outcome: Outcome, time: float | None) -> Part:
    if not isinstance(part, ToolCall) or part.state in FINAL:
        return part
    told = sentence(outcome)
    return altered(part, state="error", outcome=outcome, error=told, told=told, ended=time)


def _wait_call(conversation: Conversation, event: ev.CallWaiting) -> Conversation:
    place, call = _expect(conversation, event.call, {"streaming", "running", "pending"}, "wait")
    _expect_readable(conversation, place, call)
    if event.waiting == "approval" and (call.state == "running" or call.waiting == "result"):
        raise IllegalMove(f"Call {call.id!r} is past its approval; it cannot be asked for again.")
    if event.waiting == "result" and (call.state, call.waiting) == ("pending", "result"):
        raise IllegalMove(f"Call {call.id!r} waits for a result already.")
    if not event.waiting:
        raise IllegalMove("A call waits for 'approval' or for 'result'.")
    moved = altered(
        call,
        state="pending",
        waiting=event.waiting,
        args=freeze(event.args),
        proposed=call.proposed if event.proposed is None else freeze(event.proposed),
        digest=event.digest or call.digest,
        decision=event.decision or call.decision,
        destructive=event.destructive or call.destructive,
        expires=(event.expires or call.expires) if event.waiting == "approval" else None,
        preview=_frozen_preview(event.preview) or call.preview,
        progress=None,
        question=None,
    )
    return _set_part(conversation, place, moved)


def _frozen_preview(preview: Preview | None) -> Preview | None:
    return preview and altered(preview, display=freeze(preview.display))


def _start_call(conversation: Conversation, event: ev.CallStarted) -> Conversation:
    place, call = _expect(conversation, event.call, {"streaming", "pending"}, "start")
    _expect_readable(conversation, place, call)
    if call.waiting == "result":
        raise IllegalMove(f"Call {call.id!r} waits for a result; it is not run.")
    moved = altered(
        call,
        state="running",
        waiting="",
        args=freeze(event.args),
        proposed=freeze(event.proposed),
        digest=event.digest or call.digest,
        decision=event.decision,
        expires=None,
        started=event.time,
    )
    return _set_part(conversation, place, moved)


def _progress_call(conversation: Conversation, event: ev.CallProgressed) -> Conversation:
    place, call = _expect(conversation, event.call, {"running"}, "progress")
    moved = altered(
        call,
        progress=event.progress or call.progress,
        output=call.output + event.output,
        display=freeze(event.display) or call.display,
    )
    return _set_part(conversation, place, moved)


def _ask_of_call(conversation: Conversation, event: ev.CallAsked) -> Conversation:
    place, call = _expect(conversation, event.call, {"running"}, "ask")
    return _set_part(conversation, place, altered(call, question=event.question))


def _draw_call(conversation: Conversation, event: ev.CallDrawn) -> Conversation:
    place = _locate(conversation, event.call)
    call = _call_at(conversation, place)
    return _set_part(conversation, place, altered(call, drawn=freeze(event.drawn)))


def _end_call(conversation: Conversation, event: ev.CallEnded) -> Conversation:
    place, call = _expect(conversation, event.call, {"streaming", "pending", "running"}, "end")
    if event.outcome not in LEGAL_ENDS[call.state, call.waiting]:
        stands = f"{call.state} {call.waiting}".strip()
        raise IllegalMove(f"A call that is {stands} cannot end as {event.outcome!r}.")
    ok = event.outcome == "ok"
    moved = altered(
        call,
        state="result" if ok else "error",
        waiting="",
        outcome=event.outcome,
        value=freeze(event.value),
        handle=event.handle,
        display=freeze(event.display) or (call.display if ok else None),
        told=event.told or ("" if ok else sentence(event.outcome, event.error)),
        pictures=event.pictures,
        error="" if ok else event.error or sentence(event.outcome),
        trace=event.trace,
        args=call.args if event.args is None else freeze(event.args),
        decision=event.decision or call.decision,
        expires=None,
        progress=None,
        question=None,
        ended=event.time,
    )
    return _set_part(conversation, place, moved)


def _change_job(conversation: Conversation, event: ev.JobChanged) -> Conversation:
    known = find_job(conversation, event.job.id)
    if known.state != "running":
        raise IllegalMove(f"Job {known.id!r} is over ({known.outcome}) and cannot change.")
    place = _locate(conversation, known.id)
    return _set_part(conversation, place, _frozen(event.job))


def _fail_request(conversation: Conversation, event: ev.RequestFailed) -> Conversation:
    if any(map(_is_open, conversation.messages)):
        raise IllegalMove("A reply is open; end it before its request fails.")
    return altered(conversation, error=event.failure)


def _remove_messages(conversation: Conversation, event: ev.MessagesRemoved) -> Conversation:
    gone = set(event.messages)
    for message_id in event.messages:
        message = find_message(conversation, message_id)
        if _is_open(message) or any(map(_is_at_work, message.parts)):
            raise IllegalMove(f"Message {message_id!r} has something open; close it first.")
    left = tuple(message for message in conversation.messages if message.id not in gone)
    return altered(conversation, messages=left, error=None)


def _pin_message(conversation: Conversation, event: ev.MessagePinned) -> Conversation:
    index = _message_index(conversation, event.message)
    pinned = altered(conversation.messages[index], pinned=event.pinned)
    return _set_message(conversation, index, pinned)


def _trim_messages(conversation: Conversation, event: ev.MessagesTrimmed) -> Conversation:
    unseen = set(event.messages)
    for message_id in event.messages:
        _message_index(conversation, message_id)
    messages = tuple(
        message
        if message.unseen == (message.id in unseen)
        else altered(message, unseen=not message.unseen)
        for message in conversation.messages
    )
    return altered(conversation, messages=messages)


def _is_at_work(part: Part) -> bool:
    return isinstance(part, ToolCall | Job) and part.state not in FINAL


def _change_status(conversation: Conversation, event: ev.StatusChanged) -> Conversation:
    if conversation.status == event.status:
        return conversation
    return altered(conversation, status=event.status)


_OPEN = frozenset({dict, list})
_JSON_FIELDS = ("args", "proposed", "value", "display", "drawn", "sealed", "data")
_HELD = {
    kind: tuple(field.name for field in fields(kind) if field.name in _JSON_FIELDS)
    for kind in PART_TYPES.values()
}


def _frozen(part: Part) -> Part:
    """Let nobody change in place what the page shows."""
    held = part.__dict__
    open_ones = [name for name in _HELD[type(part)] if type(held[name]) in _OPEN]
    if not open_ones:
        return part
    return altered(part, **{name: freeze(held[name]) for name in open_ones})


def _is_open(message: Message) -> bool:
    return message.role == "assistant" and not message.finish


def _expect(
    conversation: Conversation, call_id: str, states: set[str], verb: str
) -> tuple[Place, ToolCall]:
    place = _locate(conversation, call_id)
    call = _call_at(conversation, place)
    if call.state not in states:
        raise IllegalMove(f"Call {call_id!r} is {call.state} ({call.outcome}) and cannot {verb}.")
    return place, call


def _expect_readable(conversation: Conversation, place: Place, call: ToolCall) -> None:
    """A call moves on only when the message that holds it ended well: half a call never runs."""
    message = conversation.messages[place[0]]
    if message.role == "assistant" and message.finish not in ENDED_WELL:
        raise IllegalMove(f"Call {call.id!r} cannot move on before its message ended well.")


_HANDLERS: Mapping[type[Any], Callable[[Conversation, Any], Conversation]] = {
    ev.MessageAdded: _add_message,
    ev.MessageStarted: _start_message,
    ev.PartAdded: _add_part,
    ev.TextDelta: _grow_text,
    ev.PartSealed: _seal_part,
    ev.ArgsDelta: _grow_args,
    ev.MessageEnded: _end_message,
    ev.CallWaiting: _wait_call,
    ev.CallStarted: _start_call,
    ev.CallProgressed: _progress_call,
    ev.CallAsked: _ask_of_call,
    ev.CallDrawn: _draw_call,
    ev.CallEnded: _end_call,
    ev.JobChanged: _change_job,
    ev.RequestFailed: _fail_request,
    ev.MessagesRemoved: _remove_messages,
    ev.MessagePinned: _pin_message,
    ev.MessagesTrimmed: _trim_messages,
    ev.StatusChanged: _change_status,
}
