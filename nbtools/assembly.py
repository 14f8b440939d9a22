"""How the reply of a model becomes parts of a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar, get_args

from nbtools.errors import ProviderError, StreamError
from nbtools.events import (
    ArgsDelta,
    Event,
    MessageEnded,
    ModelArgs,
    ModelCall,
    ModelEvent,
    ModelFault,
    ModelFinish,
    ModelPart,
    ModelReasoning,
    ModelRefusal,
    ModelText,
    ModelUsage,
    PartAdded,
    PartSealed,
    TextDelta,
)
from nbtools.failure import explain
from nbtools.jsontext import clean_text
from nbtools.messages import ENDED_WELL, Finish, Part, Reasoning, Text, ToolCall, Usage

T = TypeVar("T")

_FINISHES = frozenset(get_args(Finish))


class Assembly:
    """Turns what one reply says into events of the conversation.

    Text and reasoning go on in the part that is open; another kind, or a call, opens the next.
    A call keeps the id that the provider gave it unless the conversation has that id already.

    Args:
        message: The id of the message that the reply becomes.
        taken: Tells whether the conversation has an id already.
        new_id: Makes an id that it does not have.
    """

    def __init__(
        self, message: str, taken: Callable[[str], bool], new_id: Callable[[], str]
    ) -> None:
        self.finish: Finish = ""
        self.reason = ""
        self.usage: Usage | None = None
        self.fault: ProviderError | None = None
        self._message = message
        self._taken = taken
        self._new_id = new_id
        self._calls: dict[object, str] = {}
        self._given: set[str] = set()
        self._open: type[ModelEvent] | None = None
        self._part = ""
        self._blank = ""

    def feed(self, model_events: Iterable[ModelEvent]) -> list[Event]:
        """Take what the model said.

        Args:
            model_events: The events of one piece of the reply.

        Returns:
            The events of the conversation that they become.

        Raises:
            StreamError: It is no list of model events, or one of them holds what it cannot hold.
        """
        events: list[Event] = []
        try:
            for event in model_events:
                self._take(event, events)
        except (TypeError, AttributeError, KeyError) as error:
            raise _misfit(model_events, error) from error
        return events

    def end(self, time: float | None = None) -> MessageEnded:
        """Say how the message ended.

        Args:
            time: Seconds since 1970.

        Returns:
            The last event of the message; whether there are calls decides between `stop` and
            `calls`, whatever the provider said.
        """
        return MessageEnded(
            message=self._message,
            finish=self._finish(),
            reason=self.reason,
            usage=self.usage,
            time=time,
        )

    def _take(self, event: ModelEvent, events: list[Event]) -> None:
        match event:
            case ModelArgs():
                text = _of(str, event.text)
                events.append(ArgsDelta(call=self._calls[event.key], text=text))
            case ModelText() | ModelReasoning():
                self._sealable(event, events)
            case ModelRefusal():
                self._text(event, events)
            case ModelCall():
                self._call(event, events)
            case ModelPart():
                self._whole(event, events)
            case ModelUsage():
                self.usage = _of(Usage, event.usage)
            case ModelFinish():
                self._note_finish(event)
            case ModelFault():
                self.fault = _of(ProviderError, event.error)
            case _:
                raise TypeError(f"{type(event).__name__} is no model event")

    def _note_finish(self, event: ModelFinish) -> None:
        if event.finish not in _FINISHES:
            known = ", ".join(map(repr, get_args(Finish)))
            raise TypeError(f"finish is {event.finish!r:.80}, expected one of {known}")
        self.finish, self.reason = event.finish, _of(str, event.reason)

    def _finish(self) -> Finish:
        if self.fault is not None:
            return "failed"
        if self.finish in ENDED_WELL and self._calls:
            return "calls"
        if self.finish == "calls":
            return "stop"
        return self.finish or "cut"

    def _add(self, part: Part, events: list[Event]) -> None:
        events.append(PartAdded(message=self._message, part=part))

    def _unique(self, wanted: str) -> str:
        if wanted and wanted not in self._given and not self._taken(wanted):
            self._given.add(wanted)
            return wanted
        return self._new_id()

    def _close(self) -> None:
        self._open, self._part, self._blank = None, "", ""

    def _text(self, event: ModelText | ModelReasoning | ModelRefusal, events: list[Event]) -> None:
        """Let the open part grow, or open one that has something to show."""
        kind = type(event)
        if self._open is kind and self._part:
            events.append(TextDelta(part=self._part, text=_of(str, event.text)))
            return
        text = self._blank + event.text if self._open is kind else event.text
        text = clean_text(text)
        self._open, self._part, self._blank = kind, "", text
        if text.strip():
            self._part, self._blank = self._new_id(), ""
            part = Reasoning if kind is ModelReasoning else Text
            self._add(part(id=self._part, text=text), events)

    def _sealable(self, event: ModelText | ModelReasoning, events: list[Event]) -> None:
        if event.text:
            self._text(event, events)
        if event.sealed is None:
            return
        kind = type(event)
        if self._open is kind and self._part:
            events.append(PartSealed(part=self._part, sealed=event.sealed))
        else:
            text = self._blank if self._open is kind else ""
            part = Reasoning if kind is ModelReasoning else Text
            self._add(part(id=self._new_id(), text=text, sealed=event.sealed), events)
        self._close()

    def _call(self, event: ModelCall, events: list[Event]) -> None:
        self._close()
        call = self._unique(event.id)
        self._calls[event.key] = call
        self._add(ToolCall(id=call, tool=clean_text(event.name), sealed=event.sealed), events)

    def _whole(self, event: ModelPart, events: list[Event]) -> None:
        self._close()
        wanted = event.part.id if isinstance(event.part, ToolCall) else ""
        self._add(replace(event.part, id=self._unique(wanted)), events)


def _of(kind: type[T], value: T) -> T:
    """Return a value of a kind; what a program's own provider gives was not checked before."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.80} is no {kind.__name__}")
    return value


def _misfit(given: object, error: Exception) -> StreamError:
    """Name what a provider gave in place of model events."""
    try:
        shown = f"{given!r:.200}"
    except Exception:  # noqa: BLE001 - the value's own code raised
        shown = f"a {type(given).__name__}"
    why = f"no ModelCall has the key {error}" if isinstance(error, KeyError) else explain(error)
    return StreamError(
        f"The model's provider gave {shown}, expected a list of events of nbtools.events such as "
        f"[ModelText('Hello')]. {why}"
    )
