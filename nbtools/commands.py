"""What the page may ask for, and the one door through which it comes in.

A command is input from outside: every field is checked here, and nothing is coerced. A decision
that is missing, odd or of another conversation never becomes an approval.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Literal

from nbtools.errors import CommandError
from nbtools.messages import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Send:
    """Say something to the model, or call a tool directly in its slash form."""

    command: Literal["send"] = "send"
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Approve:
    """Let a call run with the arguments that were shown, or with edited ones."""

    command: Literal["approve"] = "approve"
    call: str
    approved: bool
    digest: str
    preview: str = ""
    """The mark of the preview that was shown, where there was one."""
    args: dict[str, Json] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decline:
    """Refuse a call that waits, or what a running call asks for."""

    command: Literal["decline"] = "decline"
    call: str
    reason: str = ""
    question: str = ""
    """The id of the question that was shown, where a running call asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One entry of `Decide`: a call, what was shown of it, and the decision."""

    call: str
    approved: bool
    digest: str
    preview: str = ""
    args: dict[str, Json] | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decide:
    """Decide about several calls at once: all of the entries hold, or none does."""

    command: Literal["decide"] = "decide"
    verdicts: list[Verdict]


@dataclass(frozen=True, kw_only=True, slots=True)
class Allow:
    """Let a call run that waits, and later ones like it without asking.

    Without `mark` nothing changes: the answer says what the rule would cover, and names the mark.
    """

    command: Literal["allow"] = "allow"
    call: str
    digest: str
    preview: str = ""
    same: bool
    """Whether only calls with exactly these arguments are meant."""
    scope: Literal["chat", "notebook"]
    minutes: int | None = None
    mark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Revoke:
    """Take a rule back."""

    command: Literal["revoke"] = "revoke"
    rule: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Give the result of a call that waits for one, or what a running call asks for."""

    command: Literal["answer"] = "answer"
    call: str
    value: Json = None
    question: str = ""
    """The id of the question that was shown, where a running call asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cancel:
    """End one call, the rest of the turn going on."""

    command: Literal["cancel"] = "cancel"
    call: str
    after: float | None = None
    """Seconds that it may still take; None ends it now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rerun:
    """Run a finished call once more, as a new call."""

    command: Literal["rerun"] = "rerun"
    call: str
    args: dict[str, Json] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Resend:
    """Repeat the request that failed, or send results that were held back."""

    command: Literal["resend"] = "resend"


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """Send the values of protected columns for which the last request was withheld."""

    command: Literal["release"] = "release"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """End the turn."""

    command: Literal["stop"] = "stop"


@dataclass(frozen=True, kw_only=True, slots=True)
class EditMessage:
    """Replace a user message by another text and go on from there."""

    command: Literal["edit_message"] = "edit_message"
    message: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Regenerate:
    """Ask again for the answer that begins with this message."""

    command: Literal["regenerate"] = "regenerate"
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """Keep a message in every request, or no longer."""

    command: Literal["pin"] = "pin"
    message: str
    pinned: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Clear:
    """Empty the conversation."""

    command: Literal["clear"] = "clear"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """Look for models that this machine could use; answered when that is done."""

    command: Literal["choices"] = "choices"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choose:
    """Let an offered model answer from now on."""

    command: Literal["choose"] = "choose"
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """A renderer sends the draft it changed."""

    command: Literal["act"] = "act"
    call: str
    changes: dict[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sync:
    """The page missed a patch: send it everything."""

    command: Literal["sync"] = "sync"


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A view appeared on a page."""

    command: Literal["view"] = "view"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """Send the bytes of something too large for the state."""

    command: Literal["asset"] = "asset"
    asset: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Give other rows and columns of the table that a call returned: the answer's value."""

    command: Literal["rows"] = "rows"
    call: str
    start: int = 0
    """How many rows stand before them."""
    column: int = 0
    """How many columns stand before them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pong:
    """Clicks reach Python now: the answer to a ping."""

    command: Literal["pong"] = "pong"
    ping: int


Command = (
    Send
    | Approve
    | Decline
    | Decide
    | Allow
    | Revoke
    | Answer
    | Cancel
    | Rerun
    | Resend
    | Release
    | Stop
    | EditMessage
    | Regenerate
    | Pin
    | Clear
    | Choices
    | Choose
    | Act
    | Sync
    | View
    | Asset
    | Rows
    | Pong
)
COMMANDS: Mapping[str, type[Any]] = {
    kind.__dataclass_fields__["command"].default: kind for kind in Command.__args__
}
_ENVELOPE = frozenset({"id", "chat", "boot"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """A command with what tells it apart: its id, its conversation, its kernel."""

    id: str
    chat: str
    boot: str
    command: Command


def parse_command(payload: object) -> Envelope:
    """Read one message from the page.

    Args:
        payload: What arrived, of any type.

    Returns:
        The command in its envelope.

    Raises:
        CommandError: A field is missing, unknown or of another type; the text names it.
    """
    if not isinstance(payload, dict):
        raise CommandError(f"A command is an object, not {_kind(payload)}.")
    envelope = {name: _text(payload, name) for name in sorted(_ENVELOPE)}
    name = _text(payload, "command")
    kind = COMMANDS.get(name)
    if kind is None:
        raise CommandError(f"There is no command {name!r}; expected one of {', '.join(COMMANDS)}.")
    body = {key: value for key, value in payload.items() if key not in _ENVELOPE}
    return Envelope(command=_build(kind, body, name), **envelope)


def _build(kind: type[Any], body: dict[str, Any], what: str) -> Any:
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable; mypy doubts it
    for name in body:
        if name not in hints:
            raise CommandError(f"{what!r} has no field {name!r}.", field=str(name))
    for field in fields(kind):
        if field.name not in body:
            if field.default is MISSING:
                raise CommandError(f"{what!r} needs {field.name!r}.", field=field.name)
        elif not _fits(body[field.name], hints[field.name]):
            raise CommandError(
                f"{field.name!r} of {what!r} cannot be {_kind(body[field.name])}.",
                field=field.name,
            )
    return kind(**{name: _made(value, hints[name], what) for name, value in body.items()})


def _made(value: Any, hint: Any, what: str) -> Any:
    """Read the entries of a list each as the class it is a list of."""
    if typing.get_origin(hint) is not list:
        return value
    (kind,) = typing.get_args(hint)
    return [_build(kind, item, what) for item in value]


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _fits(value: object, hint: Any) -> bool:
    if hint is Any:
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, choice) for choice in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if origin is list:
        return isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if hint is float:
        return type(value) in (int, float)
    # Exact types: True is an int to isinstance, and 1 must never pass for an approval.
    return type(value) is hint


def _text(payload: dict[Any, Any], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str) or not value:
        raise CommandError(f"A command needs {name!r} as text, not {_kind(value)}.", field=name)
    return value


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r:.60}"
