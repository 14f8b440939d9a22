"""What the page has, what it still needs, and what it asks for.

The bridge compares the conversation with what the page was sent and writes the difference as a
numbered patch. It reads the page's commands and answers each one once. It knows the wire
(`docs/wire.md`) and nothing of widgets: `send` is whatever carries a message to the page.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from nbtools import commands as cmd
from nbtools.codec import encode
from nbtools.errors import (
    AlreadyDecided,
    ChatBusy,
    CommandError,
    IllegalMove,
    InvalidArguments,
    NbtoolsError,
)
from nbtools.events import Event
from nbtools.messages import Conversation, Json, Message, Part, Reasoning, Text, ToolCall
from nbtools.protocol import Ack, Op, Snapshot
from nbtools.session import Session

INTERVAL = 0.05
"""Seconds between two messages to the page, whatever the number of chats in the process."""

INLINE = 65_536
"""Characters up to which a picture travels inside the state; larger ones are fetched."""

LONGEST_MESSAGE = 1_000_000
"""Characters of a message that a person may send."""

REMEMBERED = 500
"""How many answers are kept for commands that the page repeats."""

Send = Callable[[dict[str, Any], list[bytes]], None]


class Publisher:
    """Share out the messages of a process: one each `INTERVAL`, the chats taking turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Bridge, None] = {}
        self._handle: asyncio.Handle | None = None
        self._last = float("-inf")

    def request(self, bridge: Bridge) -> None:
        """Let this bridge send as soon as it is its turn."""
        self._waiting[bridge] = None
        if self._handle is None:
            self._schedule()

    def forget(self, bridge: Bridge) -> None:
        """Let this bridge send nothing more."""
        self._waiting.pop(bridge, None)

    def _schedule(self) -> None:
        wait = max(0.0, self._last + INTERVAL - self._loop.time())
        self._handle = self._loop.call_later(wait, self._tick)

    def _tick(self) -> None:
        self._handle = None
        if not self._waiting:
            return
        bridge = next(iter(self._waiting))
        del self._waiting[bridge]
        if bridge.flush():
            self._last = self._loop.time()
        if bridge.dirty:
            self._waiting[bridge] = None
        if self._waiting:
            self._schedule()


class Bridge:
    """Keep one page in step with one session.

    Args:
        session: The conversation.
        send: Carries a message and its buffers to the page; called on the engine's loop only.
        publisher: Says when.
        boot: Names this start of nbtools in this kernel.
        chat: Names this conversation.
        describe: Gives the fields of a snapshot that are not the conversation.
        on_act: Takes what a renderer sends for a call that is not pending.
    """

    def __init__(
        self,
        session: Session,
        send: Send,
        publisher: Publisher,
        *,
        boot: str,
        chat: str,
        describe: Callable[[], dict[str, Any]],
        on_act: Callable[[str, dict[str, Json]], None] | None = None,
    ) -> None:
        self._session = session
        self._send = send
        self._publisher = publisher
        self._boot = boot
        self._chat = chat
        self._describe = describe
        self._on_act = on_act
        self._published: tuple[int, Conversation] = (0, session.conversation)
        self._described = describe()
        self._stale = False
        self._acks: list[Ack] = []
        self._answered: dict[str, Ack] = {}
        self._extra: list[tuple[dict[str, Any], list[bytes]]] = []
        self._assets: dict[str, tuple[str, bytes]] = {}
        self._pings = 0
        self.pong = asyncio.Event()
        self.heard = False
        self._end = session.subscribe(self._changed)

    # --- to the page ------------------------------------------------------------------------

    @property
    def dirty(self) -> bool:
        """Whether something waits to be sent."""
        return bool(
            self._extra
            or self._acks
            or self._stale
            or self._published[1] is not self._session.conversation
        )

    def snapshot(self) -> Snapshot:
        """Write down everything a page needs. May be called on any thread."""
        seq, conversation = self._published
        written = {**encode(replace(conversation, messages=())), "messages": []}
        written["messages"] = [self._write_message(message) for message in conversation.messages]
        described = self._describe()
        head = {"seq": seq, "boot": self._boot, "chat": self._chat}
        return {**head, "conversation": written, **described}  # type: ignore[typeddict-item]

    def refresh(self) -> None:
        """Send the fields that are not the conversation again, where they changed."""
        self._stale = True
        self._publisher.request(self)

    def flush(self) -> bool:
        """Send at most one message; say whether one was sent."""
        if self._extra:
            message, buffers = self._extra.pop(0)
            self._send(message, buffers)
            return True
        message = self._patch()
        if message:
            self._send(message, [])
        return bool(message)

    def ping(self) -> None:
        """Ask the page to answer at once: `pong` is set when it does."""
        self._pings += 1
        self.pong.clear()
        self._queue({"ping": self._pings})

    def register_asset(self, asset: str, mime: str, content: bytes) -> None:
        """Keep something that the page may fetch by its id."""
        self._assets[asset] = (mime, content)

    def assets(self) -> dict[str, tuple[str, bytes]]:
        """Return what the snapshot refers to: MIME type and bytes by id."""
        return dict(self._assets)

    def close(self) -> None:
        """Send nothing more."""
        self._end()
        self._publisher.forget(self)

    def _changed(self, _event: Event, _conversation: Conversation) -> None:
        self._publisher.request(self)

    def _queue(self, message: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self._extra.append((message, buffers or []))
        self._publisher.request(self)

    def _patch(self) -> dict[str, Any]:
        message: dict[str, Any] = {}
        seq, before = self._published
        after = self._session.conversation
        ops = self._difference(before, after)
        if ops:
            message |= {"seq": seq + 1, "ops": ops}
        self._published = (seq + bool(ops), after)
        if self._acks:
            message["acks"], self._acks = self._acks, []
        return message

    def _difference(self, before: Conversation, after: Conversation) -> list[Op]:
        ops: list[Op] = []
        if before.messages is not after.messages:
            ops += self._messages(before.messages, after.messages)
        settings: dict[str, Any] = {}
        if before.status != after.status:
            settings["status"] = after.status
        if before.error is not after.error:
            settings["error"] = encode(after.error) if after.error else None
        settings |= self._new_description()
        if settings:
            ops.append(("set", settings))  # type: ignore[arg-type]
        return ops

    def _new_description(self) -> dict[str, Any]:
        """Return the other fields of the snapshot that changed since they were last sent."""
        if not self._stale:
            return {}
        self._stale = False
        known, self._described = self._described, self._describe()
        kept = ("model", "renderers", "tools")
        return {
            key: self._described.get(key)
            for key in kept
            if self._described.get(key) != known.get(key)
        }

    def _messages(self, before: tuple[Message, ...], after: tuple[Message, ...]) -> list[Op]:
        ops: list[Op] = []
        known = {message.id: message for message in before}
        left = {message.id for message in after}
        ops += [("remove", message_id) for message_id in known if message_id not in left]
        for message in after:
            old = known.get(message.id)
            if old is None:
                ops.append(("message", self._write_message(message)))
            elif old is not message:
                ops += self._message(old, message)
        return ops

    def _message(self, before: Message, after: Message) -> list[Op]:
        ops: list[Op] = []
        old = {part.id: part for part in before.parts}
        for part in after.parts:
            known = old.get(part.id)
            if known is not part:
                ops.append(self._part(after.id, known, part))
        bare = replace(after, parts=before.parts)
        if bare != before:
            ops.append(("fields", after.id, encode(replace(after, parts=()))))
        return ops

    def _part(self, message_id: str, before: Part | None, after: Part) -> Op:
        grown = _growth(before, after) if before is not None else None
        if grown is not None:
            return ("append", after.id, *grown)
        return ("part", message_id, self._write_part(after))

    def _write_message(self, message: Message) -> Any:
        written = encode(replace(message, parts=()))
        written["parts"] = [self._write_part(part) for part in message.parts]
        return written

    def _write_part(self, part: Part) -> Any:
        if not isinstance(part, ToolCall):
            return encode(part)
        raw = part.raw if part.state == "streaming" or part.args is None else ""
        args = None if part.state == "streaming" else part.args  # the page parses `raw` itself
        written = encode(replace(part, raw=raw, args=args, told=""))
        for face in ("display", "drawn"):
            if written.get(face):
                written[face] = self._outsource(written[face])
        return written

    def _outsource(self, shown: Mapping[str, Json]) -> dict[str, Json]:
        """Put a reference in the place of a large picture."""
        written = dict(shown)
        for mime, content in shown.items():
            if mime.startswith("image/") and isinstance(content, str) and len(content) > INLINE:
                is_text = mime == "image/svg+xml"
                data = content.encode() if is_text else base64.b64decode(content)
                asset = hashlib.sha256(data).hexdigest()[:16]
                self.register_asset(asset, mime, data)
                written[mime] = {"asset": asset, "size": len(data)}
        return written

    # --- from the page ----------------------------------------------------------------------

    def receive(self, payload: object) -> None:
        """Carry out one command, whatever arrived, and answer it."""
        self.heard = True
        self._session.flush()
        try:
            envelope = cmd.parse_command(payload)
        except CommandError as error:
            command_id = payload.get("id") if isinstance(payload, dict) else None
            if isinstance(command_id, str):
                self._acknowledge(_refused(command_id, error))
            return
        if isinstance(envelope.command, cmd.Pong):
            self.pong.set()
        elif (known := self._answered.get(envelope.id)) is not None:
            self._acknowledge(known)
        else:
            self._acknowledge(self._carry_out(envelope))

    def _carry_out(self, envelope: cmd.Envelope) -> Ack:
        if (envelope.boot, envelope.chat) != (self._boot, self._chat):
            text = "This page belongs to a kernel session or a chat that has ended."
            return _refused(envelope.id, CommandError(text, error="foreign"))
        try:
            self._perform(envelope.command)
        except (NbtoolsError, ValueError) as error:
            return _refused(envelope.id, error)
        return {"ack": envelope.id, "ok": True}

    def _acknowledge(self, ack: Ack) -> None:
        self._answered[ack["ack"]] = ack
        while len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        self._acks.append(ack)
        self._publisher.request(self)

    def _perform(self, command: cmd.Command) -> None:
        session = self._session
        match command:
            case cmd.Send(text=text):
                session.send(session.user_parts(_checked_text(text)))
            case cmd.Approve(call=call, approved=approved, digest=digest, args=args):
                if approved is not True:
                    raise CommandError("An approval says approved: true.", field="approved")
                session.approve(call, mark=digest, args=args)
            case cmd.Decline(call=call, reason=reason):
                session.decline(call, reason)
            case cmd.Answer(call=call, value=value):
                session.answer(call, value=value)
            case cmd.Cancel(call=call):
                session.cancel(call)
            case cmd.Rerun(call=call, args=args):
                session.rerun(call, args)
            case cmd.Resend():
                session.resume()
            case cmd.Stop():
                session.stop()
            case cmd.EditMessage(message=message, text=text):
                session.restart_at(message, _checked_text(text))
            case cmd.Regenerate(message=message):
                session.restart_at(message, None)
            case cmd.Clear():
                session.clear()
            case cmd.Act(call=call, changes=changes):
                self._act(call, changes)
            case cmd.Sync():
                self._queue({"state": self._state()})
            case cmd.Asset(asset=asset):
                self._send_asset(asset)
            case cmd.View() | cmd.Pong():
                pass

    def _state(self) -> Snapshot:
        """Write a snapshot for `sync`: what changed until now is in it, so nothing is sent twice."""
        seq, before = self._published
        after = self._session.conversation
        self._published = (seq + (before is not after), after)
        return self.snapshot()

    def _send_asset(self, asset: str) -> None:
        known = self._assets.get(asset)
        if known is None:
            self._queue({"asset": asset})
        else:
            self._queue({"asset": asset, "mime": known[0]}, [known[1]])

    def _act(self, call_id: str, changes: dict[str, Json]) -> None:
        if self._session.propose(call_id, changes):
            return
        if self._on_act is None:
            raise CommandError("Nothing in Python takes what this renderer sends.")
        self._on_act(call_id, changes)


def _growth(before: Part, after: Part) -> tuple[str, str] | None:
    """Return the field that grew and by what, if that is all that changed."""
    for kind, field in ((Text, "text"), (Reasoning, "text"), (ToolCall, "raw"), (ToolCall, "output")):
        if not isinstance(after, kind) or not isinstance(before, kind):
            continue
        old, new = getattr(before, field), getattr(after, field)
        if len(new) > len(old) and new.startswith(old) and _same_but(before, after, field):
            return field, new[len(old) :]
    return None


def _same_but(before: Part, after: Part, field: str) -> bool:
    ignored = {field, "args"} if field == "raw" else {field}
    return all(
        getattr(before, known.name) is getattr(after, known.name)
        for known in fields(after)
        if known.name not in ignored
    )


def _checked_text(text: str) -> str:
    if not text.strip():
        raise CommandError("A message cannot be empty.", field="text")
    if len(text) > LONGEST_MESSAGE:
        limit = f"{LONGEST_MESSAGE:,}"
        raise CommandError(f"A message can have {limit} characters, not {len(text):,}.", field="text")
    return text


def _refused(command_id: str, error: Exception) -> Ack:
    word = next((word for kind, word in _WORDS.items() if isinstance(error, kind)), "invalid")
    if isinstance(error, CommandError):
        word = error.error
    ack: dict[str, Any] = {"ack": command_id, "ok": False, "error": word, "text": str(error)}
    if field := getattr(error, "field", ""):
        ack["field"] = field
    return ack  # type: ignore[return-value]


_WORDS: Mapping[type[Exception], str] = {
    ChatBusy: "busy",
    AlreadyDecided: "late",
    InvalidArguments: "invalid",
    IllegalMove: "unknown",
}
