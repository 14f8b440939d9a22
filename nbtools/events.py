"""What can happen: the only input of the reducer, and what a model says while it answers.

Conversation events carry ids and times, so that reducing the same events twice gives the same
conversation. Model events (`Model…`) are what a provider's decoder makes of the bytes of one
reply; they know nothing of ids, and `assembly` turns them into conversation events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nbtools.errors import ProviderError
from nbtools.messages import (
    Decision,
    Failure,
    Finish,
    Job,
    Json,
    Message,
    Outcome,
    Part,
    Picture,
    Preview,
    Progress,
    Question,
    Status,
    Usage,
    Waiting,
)
from nbtools.values import value


@value
class MessageAdded:
    """A whole message joins the conversation: the user's, or one that a file brought."""

    type: Literal["message-added"] = "message-added"
    message: Message


@value
class MessageStarted:
    """The model begins a reply."""

    type: Literal["message-started"] = "message-started"
    message: str
    model: str = ""
    time: float | None = None


@value
class PartAdded:
    """A whole part joins a message, after those it has."""

    type: Literal["part-added"] = "part-added"
    message: str
    part: Part


@value
class TextDelta:
    """Text or reasoning grows."""

    type: Literal["text-delta"] = "text-delta"
    part: str
    text: str


@value
class PartSealed:
    """The provider closed a part and gave what must go back with it."""

    type: Literal["part-sealed"] = "part-sealed"
    part: str
    sealed: Json


@value
class ArgsDelta:
    """The arguments of a streaming call grow."""

    type: Literal["args-delta"] = "args-delta"
    call: str
    text: str
    args: Mapping[str, Json] | None = None
    """What could be parsed so far."""


@value
class MessageEnded:
    """The reply is over; `finish` says how. An end that is not well ends its open calls too."""

    type: Literal["message-ended"] = "message-ended"
    message: str
    finish: Finish
    reason: str = ""
    usage: Usage | None = None
    time: float | None = None


@value
class CallWaiting:
    """A call comes to rest until a person decides (`approval`) or answers (`result`)."""

    type: Literal["call-waiting"] = "call-waiting"
    call: str
    waiting: Waiting
    args: Mapping[str, Json]
    proposed: Mapping[str, Json] | None = None
    digest: str = ""
    decision: Decision | None = None
    destructive: bool = False
    expires: float | None = None
    preview: Preview | None = None


@value
class CallStarted:
    """A call begins to run, with exactly these arguments."""

    type: Literal["call-started"] = "call-started"
    call: str
    args: Mapping[str, Json]
    proposed: Mapping[str, Json] | None = None
    digest: str = ""
    decision: Decision | None = None
    time: float | None = None


@value
class CallProgressed:
    """A running call says how far it is, prints, or shows a value that is not yet the last."""

    type: Literal["call-progressed"] = "call-progressed"
    call: str
    progress: Progress | None = None
    output: str = ""
    display: Mapping[str, Json] | None = None


@value
class CallAsked:
    """A running call asks the person something; None: it was answered, or asks no more."""

    type: Literal["call-asked"] = "call-asked"
    call: str
    question: Question | None


@value
class CallDrawn:
    """A Python renderer drew the call."""

    type: Literal["call-drawn"] = "call-drawn"
    call: str
    drawn: Mapping[str, Json] | None


@value
class CallEnded:
    """A call reaches its end: `outcome` "ok" makes it a result, any other an error."""

    type: Literal["call-ended"] = "call-ended"
    call: str
    outcome: Outcome
    told: str = ""
    pictures: tuple[Picture, ...] = ()
    value: Json = None
    handle: str = ""
    display: Mapping[str, Json] | None = None
    error: str = ""
    trace: str = ""
    args: Mapping[str, Json] | None = None
    decision: Decision | None = None
    time: float | None = None


@value
class JobChanged:
    """A job that runs in the background goes on, or ends."""

    type: Literal["job-changed"] = "job-changed"
    job: Job


@value
class RequestFailed:
    """A request came to nothing, before or while its message was read."""

    type: Literal["request-failed"] = "request-failed"
    failure: Failure


@value
class MessagesRemoved:
    """These messages leave the conversation (clear, edit, regenerate)."""

    type: Literal["messages-removed"] = "messages-removed"
    messages: tuple[str, ...]


@value
class MessagePinned:
    """A message is to be kept in every request, or no longer."""

    type: Literal["message-pinned"] = "message-pinned"
    message: str
    pinned: bool


@value
class MessagesTrimmed:
    """A request leaves out these messages, and no others."""

    type: Literal["messages-trimmed"] = "messages-trimmed"
    messages: tuple[str, ...]


@value
class StatusChanged:
    """The conversation runs, rests, waits or failed."""

    type: Literal["status-changed"] = "status-changed"
    status: Status


Event = (
    MessageAdded
    | MessageStarted
    | PartAdded
    | TextDelta
    | PartSealed
    | ArgsDelta
    | MessageEnded
    | CallWaiting
    | CallStarted
    | CallProgressed
    | CallAsked
    | CallDrawn
    | CallEnded
    | JobChanged
    | RequestFailed
    | MessagesRemoved
    | MessagePinned
    | MessagesTrimmed
    | StatusChanged
)
EVENT_TYPES: tuple[type[Any], ...] = Event.__args__


# What a decoder makes of a reply. `key` tells the parallel calls of one reply apart; it is
# whatever the decoder likes and leaves this reply never.


@dataclass(slots=True)
class ModelText:
    """Text of the answer; adjacent ones may be joined. `sealed` closes the part it belongs to."""

    text: str = ""
    sealed: Json = None


@dataclass(slots=True)
class ModelReasoning:
    """Reasoning; adjacent ones may be joined. `sealed` closes the part it belongs to."""

    text: str = ""
    sealed: Json = None


@dataclass(slots=True)
class ModelCall:
    """A call begins. `id` is the provider's, "" where it gave none."""

    key: object
    id: str
    name: str
    sealed: Json = None


@dataclass(slots=True)
class ModelArgs:
    """Arguments of a call, as JSON text; adjacent ones of a key may be joined."""

    key: object
    text: str


@dataclass(slots=True)
class ModelRefusal:
    """The model says that it refuses."""

    text: str


@dataclass(slots=True)
class ModelPart:
    """A part that came whole (a source, a file); its id is replaced."""

    part: Part


@dataclass(slots=True)
class ModelUsage:
    """Tokens; the last one of a reply counts, they are never summed."""

    usage: Usage


@dataclass(slots=True)
class ModelFinish:
    """The reply ended by the protocol's own word. Without it, the stream broke."""

    finish: Finish
    reason: str = ""


@dataclass(slots=True)
class ModelFault:
    """The provider reported an error inside a reply."""

    error: ProviderError


ModelEvent = (
    ModelText
    | ModelReasoning
    | ModelCall
    | ModelArgs
    | ModelRefusal
    | ModelPart
    | ModelUsage
    | ModelFinish
    | ModelFault
)
