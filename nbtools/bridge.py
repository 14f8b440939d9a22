"""What the page has, what it still needs, and what it asks for.

The bridge compares the conversation with what the page was sent and writes the difference as a
numbered patch. It reads the page's commands and answers each one once. It knows the wire
(`docs/wire.md`) and nothing of widgets: `send` is whatever carries a message to the page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nbtools import commands as cmd
from nbtools.allowing import allow
from nbtools.assets import Assets
from nbtools.choosing import Choosing
from nbtools.codec import encode
from nbtools.dispatch import dispatch, look_up
from nbtools.errors import (
    AlreadyDecided,
    ChatBusy,
    CommandError,
    IllegalMove,
    InvalidArguments,
    NbtoolsError,
)
from nbtools.events import Event, MessagesRemoved
from nbtools.failure import explain
from nbtools.jsontext import clean_text
from nbtools.messages import Conversation, Json
from nbtools.patches import difference, write_message
from nbtools.protocol import Ack, Op, Snapshot
from nbtools.publisher import Publisher
from nbtools.session import Session

REMEMBERED = 500
"""How many answers are kept for commands that the page repeats."""

Send = Callable[[dict[str, Any], list[bytes]], None]

_log = logging.getLogger("nbtools")


class Bridge:
    """Keep one page in step with one session.

    Args:
        session: The conversation.
        send: Carries a message and its buffers to the page; called on the engine's loop only.
        publisher: Says when.
        boot: Names this start of nbtools in this kernel.
        chat: Names this conversation.
        describe: Gives the fields of a snapshot that are not the conversation.
        choosing: Offers models where the chat is empty.
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
        choosing: Choosing | None = None,
        on_act: Callable[[str, dict[str, Json]], None] | None = None,
    ) -> None:
        self._session = session
        self._send = send
        self._publisher = publisher
        self._boot = boot
        self._chat = chat
        self._describe = describe
        self._choosing = choosing
        self._on_act = on_act
        self._published: tuple[int, Conversation] = (0, session.conversation)
        self._described = describe()
        self._stale = False
        self._acks: list[Ack] = []
        self._answered: dict[str, Ack] = {}
        self._unanswered: set[str] = set()
        self._extra: list[tuple[dict[str, Any], list[bytes]]] = []
        self.assets = Assets(lambda: session.conversation)
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

    def snapshot(self, conversation: Conversation | None = None) -> Snapshot:
        """Write down everything a page needs. May be called on any thread.

        Args:
            conversation: What to write; None takes what was last published, so that patches fit.
        """
        seq, published = self._published
        conversation = conversation or published
        written = {**encode(replace(conversation, messages=())), "messages": []}
        written["messages"] = [
            write_message(message, self.assets.outsource) for message in conversation.messages
        ]
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

    def settle(self) -> None:
        """Send at once all that waits, where there is no page to be spared."""
        while self.flush():
            pass

    def ping(self) -> None:
        """Ask the page to answer at once: `pong` is set when it does."""
        self._pings += 1
        self.pong.clear()
        self._queue({"ping": self._pings})

    def close(self) -> None:
        """Send nothing more."""
        self._end()
        self._publisher.forget(self)

    def _changed(self, event: Event, _conversation: Conversation) -> None:
        if isinstance(event, MessagesRemoved):
            self.assets.let_go()
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
            ops += difference(before, after, self.assets.outsource)
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
        kept = ("model", "renderers", "tools", "rules", "choices")
        return {
            key: self._described.get(key)
            for key in kept
            if self._described.get(key) != known.get(key)
        }

    # --- from the page ----------------------------------------------------------------------

    def receive(self, payload: object) -> None:
        """Carry out one command, whatever arrived, and answer it."""
        self.heard = True
        self._session.flush()
        try:
            envelope = cmd.parse_command(_clean(payload))
        except (CommandError, RecursionError) as problem:
            error = problem if isinstance(problem, CommandError) else CommandError(_TOO_DEEP)
            command_id = payload.get("id") if isinstance(payload, dict) else None
            refused = _refused(command_id if isinstance(command_id, str) else "", error)
            if refused["ack"]:
                self._acknowledge(refused)
            return
        if isinstance(envelope.command, cmd.Pong):
            self.pong.set()
        elif (known := self._answered.get(envelope.id)) is not None:
            self._acknowledge(known)
        elif (envelope.boot, envelope.chat) != (self._boot, self._chat):
            text = "This page belongs to a kernel session or a chat that has ended."
            self._acknowledge(_refused(envelope.id, CommandError(text, error="foreign")))
        elif isinstance(envelope.command, cmd.Choices | cmd.Rows):
            self._begin(envelope)
        else:
            self._acknowledge(self._carry_out(envelope))

    def _carry_out(self, envelope: cmd.Envelope) -> Ack:
        try:
            value = self._perform(envelope.command)
        except Exception as error:  # noqa: BLE001 - the button must not stay pressed
            return _failed(envelope, error)
        done: Ack = {"ack": envelope.id, "ok": True}
        return done if value is None else {**done, "value": value}

    def _begin(self, envelope: cmd.Envelope) -> None:
        """Begin what takes time, beside the chat; a repeat of the command changes nothing."""
        if envelope.id not in self._unanswered:
            self._unanswered.add(envelope.id)
            self._session.engine.submit(self._look(envelope))

    async def _look(self, envelope: cmd.Envelope) -> None:
        ack: Ack = {"ack": envelope.id, "ok": True}
        try:
            if isinstance(envelope.command, cmd.Rows):
                ack["value"] = await look_up(self._session, envelope.command)
            else:
                await self._offers().look()
        except Exception as error:  # noqa: BLE001 - the button must not stay pressed
            ack = _failed(envelope, error)
        self._unanswered.discard(envelope.id)
        self._acknowledge(ack, remember="value" not in ack)  # rows can be looked up once more

    def _offers(self) -> Choosing:
        if self._choosing is None:
            raise CommandError("This chat offers no choice of models.")
        return self._choosing

    def _acknowledge(self, ack: Ack, *, remember: bool = True) -> None:
        if remember:
            self._answered[ack["ack"]] = ack
        while len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        self._acks.append(ack)
        self._publisher.request(self)

    def _perform(self, command: cmd.Command) -> Json:
        """Carry out a command; return what it asks for."""
        match command:
            case cmd.Allow():
                return allow(self._session, command)
            case cmd.Choose():
                self._offers().choose(command.model)
            case cmd.Act():
                self._act(command.call, command.changes)
            case cmd.Sync():
                self._queue({"state": self._state()})
            case cmd.Asset():
                self._send_asset(command.asset)
            case cmd.View() | cmd.Pong():
                pass
            case _:
                dispatch(self._session, command)
        return None

    def _state(self) -> Snapshot:
        """Write a snapshot for `sync`: what changed until now is in it, so nothing is sent twice."""
        seq, before = self._published
        after = self._session.conversation
        self._published = (seq + (before is not after), after)
        return self.snapshot()

    def _send_asset(self, asset: str) -> None:
        known = self.assets.find(asset)
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


_TOO_DEEP = "What was sent is nested too deeply to be read."


def _clean(value: Any) -> Any:
    """Replace halves of surrogate pairs: a browser may send them, and UTF-8 cannot hold them."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _failed(envelope: cmd.Envelope, error: Exception) -> Ack:
    """Answer a command that could not be carried out."""
    if isinstance(error, NbtoolsError | ValueError):
        return _refused(envelope.id, error)
    # Whatever else is raised is a fault of nbtools.
    _log.error("The command %r failed.", envelope.command.command, exc_info=error)
    return _refused(envelope.id, CommandError(f"nbtools failed: {explain(error)}"))


def _refused(command_id: str, error: Exception) -> Ack:
    word = next((word for kind, word in _WORDS.items() if isinstance(error, kind)), "invalid")
    if isinstance(error, CommandError):
        word = error.error
    _log.warning("A command of the page was refused (%s): %s", word, error)
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
