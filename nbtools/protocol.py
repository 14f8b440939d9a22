"""What travels between kernel and page, as shapes of JSON.

Only shapes live here: `bridge` makes these values, `commands` reads the page's, and
`scripts/generate_protocol` writes both as TypeScript. The prose is in `docs/wire.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from nbtools.messages import Conversation, Failure, Json, Message, Part, Status

Field = Literal["text", "raw", "output"]
"""The fields of a part that grow by appending."""

Refusal = Literal["invalid", "foreign", "late", "busy", "unknown"]
"""Why a command was not carried out."""


class ModelLabel(TypedDict):
    """Which model answers, as the page shows it."""

    label: str
    host: NotRequired[str]
    demo: NotRequired[bool]


class RendererReference(TypedDict):
    """What draws the calls of one tool; `*` stands for all tools."""

    kind: Literal["javascript", "python"]
    asset: NotRequired[str]
    traits: NotRequired[Literal["", "args"]]


class ToolReference(TypedDict):
    """A tool, as the composer completes it."""

    name: str
    description: NotRequired[str]
    parameters: NotRequired[Mapping[str, Json]]


class Choice(TypedDict):
    """A model that this machine could use, or why it cannot."""

    name: str
    """What `choose` takes where it is ready; else who would serve it."""
    ready: bool
    why: str
    """What makes it usable, or what is missing; of a key no more than its variable's name."""


class RuleReference(TypedDict):
    """A rule that is in force, so that a card can offer to take it back."""

    id: str
    text: str


class AllowPreview(TypedDict):
    """What a rule would cover: the answer to `allow` without a mark."""

    mark: str
    """What a confirmation has to name."""
    lines: list[str]


class Settings(TypedDict, total=False):
    """The fields of a snapshot that the op `set` replaces; null removes one."""

    status: Status
    error: Failure | None
    model: ModelLabel | None
    renderers: Mapping[str, RendererReference] | None
    tools: list[ToolReference] | None
    rules: list[RuleReference] | None
    choices: list[Choice] | None


class Snapshot(TypedDict):
    """Everything a page needs to draw a chat: the trait `state`."""

    seq: int
    boot: str
    chat: str
    widget: NotRequired[str]
    conversation: Conversation
    model: NotRequired[ModelLabel]
    renderers: NotRequired[Mapping[str, RendererReference]]
    tools: NotRequired[list[ToolReference]]
    rules: NotRequired[list[RuleReference]]
    choices: NotRequired[list[Choice]]


AppendOp: TypeAlias = tuple[Literal["append"], str, Field, str]
"""Part, field, text."""

PartOp: TypeAlias = tuple[Literal["part"], str, Part]
"""Message, part: added at the end, or in place of the one with its id."""

MessageOp: TypeAlias = tuple[Literal["message"], Message]
"""Added at the end, or in place of the one with its id."""

FieldsOp: TypeAlias = tuple[Literal["fields"], str, Any]
"""Message, and all its fields but its parts."""

RemoveOp: TypeAlias = tuple[Literal["remove"], str]
"""Message."""

SetOp: TypeAlias = tuple[Literal["set"], Settings]

Op: TypeAlias = AppendOp | PartOp | MessageOp | FieldsOp | RemoveOp | SetOp


class Ack(TypedDict):
    """The answer to one command."""

    ack: str
    ok: bool
    error: NotRequired[Refusal]
    text: NotRequired[str]
    field: NotRequired[str]
    value: NotRequired[Json]
    """What the command asked for, where it asked for something."""


class PatchMessage(TypedDict):
    """Numbered changes, and answers to commands; without `ops` there is no `seq`."""

    seq: NotRequired[int]
    ops: NotRequired[list[Op]]
    acks: NotRequired[list[Ack]]


class StateMessage(TypedDict):
    """The answer to `sync`: take it whole."""

    state: Snapshot


class PingMessage(TypedDict):
    """Answer with `pong` at once."""

    ping: int


class AssetMessage(TypedDict):
    """The answer to `asset`: one buffer, or none if it is gone."""

    asset: str
    mime: NotRequired[str]


class ErrorMessage(TypedDict):
    """An error of the widget itself, for the person."""

    error: Failure


PythonMessage: TypeAlias = PatchMessage | StateMessage | PingMessage | AssetMessage | ErrorMessage


class AssetReference(TypedDict):
    """Stands in a MIME bundle for data that is fetched by id."""

    asset: str
    size: int
    """In bytes."""


class TablePage(TypedDict):
    """Some rows and columns of a table: what a card shows of it, and the answer to `rows`."""

    columns: list[Json]
    rows: list[list[Json]]
    note: NotRequired[str]
    """The size of the table and of what is shown of it, in words."""
    indexed: NotRequired[bool]
    """Whether the first column is the index, which stands on every page."""
    shape: NotRequired[list[int]]
    """Rows and columns of the whole table; the index is none of them."""
    start: NotRequired[int]
    """How many rows stand before these."""
    column: NotRequired[int]
    """How many columns stand before these."""
    call: NotRequired[str]
    """The call whose value it is, where `rows` can give other pages of it."""
    whole: NotRequired[str]
    """Where the whole value is, in words, where something of it is left out."""


MimeBundle: TypeAlias = Mapping[str, Any]
