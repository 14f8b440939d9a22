"""The values a conversation is made of.

Everything here is frozen, keyword-only and without behaviour. A field name is one lower-case
word and is spelt the same in Python, TypeScript, JSON and CSS; `codec` writes these values as
JSON and `scripts/generate_protocol` writes them as TypeScript.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from nbtools.settings import Settings
from nbtools.values import value

Json: TypeAlias = Any
"""A value that strict JSON can hold: None, bool, int, finite float, str, list or dict of these."""

Role = Literal["user", "assistant"]
Status = Literal["ready", "running", "waiting", "error"]
State = Literal["streaming", "pending", "running", "result", "error"]
JobState = Literal["running", "result", "error"]
Waiting = Literal["", "approval", "result"]
Outcome = Literal[
    "",
    "ok",
    "failed",
    "timeout",
    "cancelled",
    "declined",
    "expired",
    "invalid",
    "unknown",
    "unanswered",
    "incomplete",
    "interrupted",
    "limit",
]
Origin = Literal["model", "user", "provider"]
Decider = Literal["person", "python", "policy", "rule"]
Level = Literal["info", "warning", "error"]
Limit = Literal["", "roundtrips", "calls", "repeats", "seconds", "tokens", "cost"]
"""What the answer to one message had enough of."""
Finish = Literal["", "stop", "calls", "length", "filter", "cut", "stopped", "failed", "other"]
"""How a model reply ended; "" while it streams. `cut`: the stream broke. `stopped`: by the user.
`failed`: the provider reported an error. Only `stop`, `calls` and `other` ended well."""


@value
class Text:
    """Written text: what the user typed, or markdown from the model."""

    type: Literal["text"] = "text"
    id: str
    text: str = ""
    sealed: Json = None
    """What goes back to the provider with it, exactly as it came; see `Reasoning.sealed`."""


@value
class Reasoning:
    """What the model thought before it answered."""

    type: Literal["reasoning"] = "reasoning"
    id: str
    text: str = ""
    sealed: Json = None
    """Material of the provider (a signature, say) that goes back to it exactly as it came.

    An object whose field `wire` names the wire it belongs to; other wires leave it out.
    """


@value
class Progress:
    """How far a running call is."""

    fraction: float | None = None
    """From 0 to 1; None where it is not known."""
    text: str = ""


@value
class Decision:
    """Who let a call run, or refused it, and why."""

    approved: bool
    by: Decider
    reason: str = ""
    rule: str = ""
    """The id of the rule, where one decided."""


@value
class Preview:
    """What a call that waits would do, as the tool itself shows it."""

    display: Mapping[str, Json]
    """A MIME bundle."""
    mark: str
    """Fingerprint of what is shown; an approval has to name it."""
    note: str = ""
    """Why it was made anew, for the person."""


@value
class Question:
    """What a running call asks of the person."""

    id: str
    text: str
    form: Mapping[str, Json] | None = None
    """A JSON Schema of type object whose properties are plain values; None asks for consent."""
    link: str = ""
    """An address that the person is asked to open."""


@value
class Picture:
    """A picture as the model is given it with a result: a PNG or JPEG of bounded size."""

    mime: str
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    data: str = ""
    """The content as base64 text; it does not travel to the page."""


@value
class ToolCall:
    """One call of a tool, from its first argument character to its end."""

    type: Literal["tool-call"] = "tool-call"
    id: str
    tool: str
    """The name as the model wrote it; it need not be the name of any tool."""
    state: State = "streaming"
    raw: str = ""
    """The arguments as the model wrote them, JSON text that may be incomplete or broken."""
    args: Mapping[str, Json] | None = None
    """The arguments: what could be parsed so far, then what is shown and will run."""
    proposed: Mapping[str, Json] | None = None
    """The model's own arguments, where a person edited them."""
    digest: str = ""
    """Fingerprint of the tool's name and `args`; an approval has to name it."""
    waiting: Waiting = ""
    expires: float | None = None
    """When the call ends if nobody has decided about it by then, in seconds since 1970."""
    preview: Preview | None = None
    decision: Decision | None = None
    progress: Progress | None = None
    question: Question | None = None
    """What it asks while it runs; it goes on with the answer."""
    output: str = ""
    """What the function printed."""
    value: Json = None
    """The result as bounded JSON; the Python object itself is in `chat.results`."""
    handle: str = ""
    """The name under which a later call can take the Python object, where a tool takes such."""
    display: Mapping[str, Json] | None = None
    """The result for the person: a MIME bundle (type to data; a picture is base64 text)."""
    drawn: Mapping[str, Json] | None = None
    """What a Python renderer made of this call: a MIME bundle; it is never saved to a file."""
    told: str = ""
    """What the model is told of the end of the call."""
    pictures: tuple[Picture, ...] = ()
    """What it is given to see besides, if it takes pictures."""
    outcome: Outcome = ""
    error: str = ""
    trace: str = ""
    """The traceback, for the person; the model never sees it."""
    origin: Origin = "model"
    again: str = ""
    """The id of the call that this one repeats."""
    destructive: bool = False
    started: float | None = None
    """When it began to run, in seconds since 1970."""
    ended: float | None = None
    sealed: Json = None
    """What goes back to the provider with it, exactly as it came; see `Reasoning.sealed`."""


@value
class Job:
    """The work of a call that goes on in the background; the call itself has ended."""

    type: Literal["job"] = "job"
    id: str
    call: str
    """The id of the call that started it."""
    tool: str
    state: JobState = "running"
    progress: Progress | None = None
    output: str = ""
    """What the function printed."""
    value: Json = None
    """The result as bounded JSON; the Python object itself is in `chat.results`."""
    handle: str = ""
    """The name under which a later call can take the Python object, where a tool takes such."""
    display: Mapping[str, Json] | None = None
    """The result for the person: a MIME bundle."""
    told: str = ""
    """What the model is told of its end."""
    pictures: tuple[Picture, ...] = ()
    """What it is given to see besides, if it takes pictures."""
    outcome: Outcome = ""
    error: str = ""
    trace: str = ""
    """The traceback, for the person; the model never sees it."""
    started: float | None = None
    """When it began, in seconds since 1970."""
    ended: float | None = None


@value
class File:
    """A file in the conversation, such as an image."""

    type: Literal["file"] = "file"
    id: str
    mime: str
    name: str = ""
    data: str = ""
    """The content as base64 text."""
    about: str = ""
    """The id of the call or job that gave it, where no person did."""
    sealed: Json = None
    """What goes back to the provider with it, exactly as it came; see `Reasoning.sealed`."""


@value
class Source:
    """Something the answer cites."""

    type: Literal["source"] = "source"
    id: str
    url: str
    title: str = ""


@value
class Data:
    """A JSON value with a name, for whoever draws it."""

    type: Literal["data"] = "data"
    id: str
    name: str
    data: Json = None


@value
class Notice:
    """A sentence from the program to the person; the model sees only `told`, if anything."""

    type: Literal["notice"] = "notice"
    id: str
    level: Level = "info"
    text: str
    hint: str = ""
    """What the person could do about it, in one plain sentence."""
    retry: bool = False
    """Whether sending the same request again may help; the page then offers to."""
    limit: Limit = ""
    """The limit that it reports."""
    about: str = ""
    """The id of the call or job that it is about; the card shows it."""
    told: str = ""
    """What the model is told of it, marked as coming from the program."""
    asks: bool = False
    """Whether the model is to answer it without being asked by the user."""


Part = Text | Reasoning | ToolCall | Job | File | Source | Data | Notice
PART_TYPES: Mapping[str, type[Part]] = {
    "text": Text,
    "reasoning": Reasoning,
    "tool-call": ToolCall,
    "job": Job,
    "file": File,
    "source": Source,
    "data": Data,
    "notice": Notice,
}


@value
class Usage:
    """Tokens that one or more requests used; None where the provider did not say."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    cached: int | None = None
    """Read from a cache, which costs less; whether `input` has them in it, the wire decides."""
    written: int | None = None
    """Written to a cache, which may cost more; never in `input`."""
    reasoning: int | None = None


@value
class Message:
    """One entry of the conversation; an assistant message is one reply of the model."""

    id: str
    role: Role
    parts: tuple[Part, ...] = ()
    finish: Finish = ""
    reason: str = ""
    """The provider's own word for how the reply ended."""
    usage: Usage | None = None
    model: str = ""
    time: float | None = None
    """When the message began, in seconds since 1970."""
    pinned: bool = False
    """Whether it is sent with every request, however long the conversation grows."""
    unseen: bool = False
    """Whether it was left out of the last request."""


@value
class Failure:
    """Why the last request failed, as the person and the program read it."""

    kind: str
    """Name of the class in `nbtools.errors`."""
    text: str
    hint: str = ""
    status: int | None = None
    """HTTP status, where there was one."""
    retry: bool = False


@value
class Conversation:
    """The whole truth about one chat at one moment."""

    messages: tuple[Message, ...] = ()
    status: Status = "ready"
    error: Failure | None = None


@value
class ToolSpec:
    """What a model is told about a tool."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """A JSON Schema of type object."""


@value
class Request:
    """One question to a model: the input of every provider's `encode`.

    `messages` obey the history rules: each call of an assistant message is final and has `told`,
    ids are unique, `args` is an object, no part is empty.
    """

    messages: Sequence[Message]
    system: str = ""
    tools: Sequence[ToolSpec] = ()
    choice: Literal["auto", "none"] = "auto"
    """`none`: the tools stay defined and none may be called."""
    settings: Settings | None = None
    """What holds for this request, on top of the provider's own settings."""


FINAL: frozenset[str] = frozenset({"result", "error"})
"""The states that a tool call never leaves."""

ENDED_WELL: frozenset[str] = frozenset({"stop", "calls", "other"})
"""The finishes after which the calls of a message may run."""
