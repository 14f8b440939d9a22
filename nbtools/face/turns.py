"""How Python code sees a chat: the turn that an action starts, and live handles of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, overload

from nbtools.callers import caller
from nbtools.commands import Verdict
from nbtools.cost import Cost, prices
from nbtools.errors import IllegalMove, NbtoolsError, ProviderError
from nbtools.messages import (
    ENDED_WELL,
    Conversation,
    Failure,
    Job,
    Json,
    Limit,
    Message,
    Notice,
    Outcome,
    Picture,
    Question,
    State,
    Status,
    Text,
    ToolCall,
    Usage,
)
from nbtools.reducer import calls_of, find_call
from nbtools.schema.output import read_output
from nbtools.session import Session
from nbtools.settings import Output, merge


class Turn:
    """What one action set going; await it to wait until the conversation rests.

    The action has taken effect already, awaited or not. Awaiting returns when the chat has
    answered, waits for a person, or failed, and raises the provider's error; it never waits for a
    click. Cancelling the wait (an interrupted cell) stops the chat. A tool cannot await a turn of its
    own chat, which waits for the tool: that raises `NbtoolsError`, and the action stands.

    Args:
        session: The conversation.
        action: Starts the effect; called once, on the engine's loop, before this returns.
        until: The tool at whose first success the turn stops; `result` is its value.
    """

    def __init__(self, session: Session, action: Callable[[], object], *, until: str = "") -> None:
        def start() -> tuple[str, Output | None, Future[None]]:
            messages = session.conversation.messages
            last = messages[-1].id if messages else ""
            action()
            output = merge(session.settings.provider.settings, session.answer_settings).output
            return last, output, session.rested()

        self._session = session
        self._until = until
        self._after, self._shape, self._rested = session.engine.do(start)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages since the action."""
        messages = self._session.conversation.messages
        places = [index for index, known in enumerate(messages) if known.id == self._after]
        return messages[places[0] + 1 :] if places else messages

    @property
    def text(self) -> str:
        """The text of the answer, without that of the user."""
        return "\n\n".join(
            part.text
            for message in self.messages
            if message.role == "assistant"
            for part in message.parts
            if isinstance(part, Text)
        )

    @property
    def calls(self) -> Calls:
        """Handles of the calls of this turn."""
        ids = [call.id for message in self.messages for call in calls_of(message)]
        return Calls(self._session, ids)

    @property
    def result(self) -> object:
        """The Python value of the tool that `until` named.

        Raises:
            KeyError: No call of it has succeeded in this turn.
        """
        for call in self.calls:
            if call.tool == self._until and call.outcome == "ok":
                return call.result
        raise KeyError(f"No call of {self._until!r} has succeeded in this turn.")

    @property
    def output(self) -> Any:
        """The last message of the answer, read as the shape that `Settings.output` asked for.

        An instance where that is a pydantic model, and what the JSON says where it is a schema.

        Raises:
            ValueError: No shape was asked for, the answer has not come, or it does not fit.
        """
        if self._shape is None:
            raise ValueError(
                "No shape was asked for: send with settings=nb.Settings(output=…), a pydantic "
                "model or a JSON Schema."
            )
        said = [message for message in self.messages if message.role == "assistant"]
        if not self.done or not said or said[-1].finish not in ENDED_WELL:
            ended = (said[-1].finish if said else "") or self.status
            raise ValueError(f"There is no whole answer to read: it stands at {ended!r}.")
        texts = [part.text for part in said[-1].parts if isinstance(part, Text)]
        return read_output(self._shape, "".join(texts))

    @property
    def status(self) -> Status:
        """What the conversation does now."""
        return self._session.conversation.status

    @property
    def error(self) -> Failure | None:
        """Why the last request failed, or None."""
        return self._session.conversation.error

    @property
    def limit(self) -> Limit:
        """The limit that ended this turn early, such as "roundtrips"; "" where none did."""
        notices = [part for message in self.messages for part in message.parts]
        reached = [part.limit for part in notices if isinstance(part, Notice) and part.limit]
        return reached[-1] if reached else ""

    @property
    def usage(self) -> Usage:
        """Tokens of the requests of this turn."""
        return total_usage(self.messages)

    @property
    def cost(self) -> Cost:
        """What the answers of this turn cost; see `Chat.cost`."""
        return prices().cost(self.messages)

    @property
    def done(self) -> bool:
        """Whether the conversation has come to rest."""
        return self._rested.done()

    @property
    def rested(self) -> Future[None]:
        """Done when the conversation rests; for code that waits without a loop."""
        return self._rested

    def fault(self) -> ProviderError | None:
        """Return the error that awaiting raises, or None."""
        return self._session.error if self.error is not None else None

    def __await__(self) -> Generator[Any, None, Turn]:
        """Wait until the conversation rests."""
        return self._wait().__await__()

    async def _wait(self) -> Turn:
        self._expect_end()
        try:
            # Shielded: another wait for this turn goes on, and `done` keeps its meaning.
            await asyncio.shield(asyncio.wrap_future(self._rested))
        except (asyncio.CancelledError, KeyboardInterrupt):
            if not caller(self._session):  # a call that was cancelled ends alone
                self._session.engine.post(self._session.stop)
            raise
        if (fault := self.fault()) is not None:
            raise fault
        return self

    def _expect_end(self) -> None:
        """Raise where the wait would never end: the turn waits for the call that awaits it."""
        calls = {call.id: call for call in self._session.calls()}
        call = calls.get(caller(self._session))
        if not self.done and call is not None and call.state == "running":
            raise NbtoolsError(
                f"This turn waits for the tool that awaits it ({call.tool!r}); do not await it "
                "here. What it was to do is done."
            )

    def __repr__(self) -> str:
        return f"<Turn {self.status}: {self.text[:60]!r}, {len(self.calls)} calls>"


def kept_call(session: Session, call_id: str) -> ToolCall:
    """Return a call that a handle names.

    Raises:
        NbtoolsError: It was cleared.
    """
    try:
        return find_call(session.conversation, call_id)
    except IllegalMove:
        raise NbtoolsError(f"The call {call_id!r} was cleared from the chat.") from None


class CallHandle:
    """One call, live: what it shows is what the conversation holds now."""

    def __init__(self, session: Session, call_id: str) -> None:
        self._session = session
        self.id = call_id

    @property
    def call(self) -> ToolCall:
        """The call as it is now, frozen.

        Raises:
            NbtoolsError: It was cleared.
        """
        return kept_call(self._session, self.id)

    @property
    def tool(self) -> str:
        """The tool's name as the model wrote it."""
        return self.call.tool

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments: while they stream, what could be parsed so far."""
        return self.call.args or {}

    @property
    def state(self) -> State:
        """One of streaming, pending, running, result, error."""
        return self.call.state

    @property
    def waiting(self) -> str:
        """What a pending call waits for: `approval` or `result`."""
        return self.call.waiting

    @property
    def question(self) -> Question | None:
        """What the running call asks of the person, or None."""
        return self.call.question

    @property
    def outcome(self) -> Outcome:
        """How it ended, "" while it is open."""
        return self.call.outcome

    @property
    def error(self) -> str:
        """Why it gave no value."""
        return self.call.error

    @property
    def told(self) -> str:
        """What the model was told of its end."""
        return self.call.told

    @property
    def pictures(self) -> Sequence[Picture]:
        """What the model was given to see with it, if it takes pictures."""
        return self.call.pictures

    @property
    def result(self) -> object:
        """The Python value that the tool returned.

        Raises:
            KeyError: There is none, or it was let go.
        """
        if (job := self._running_job()) and self.id not in self._session.results:
            raise KeyError(
                f"The call {self.id!r} works on in the background; await chat.jobs[{job!r}] first."
            )
        return self._session.results[self.id]

    def _running_job(self) -> str:
        """Return the id of the job that goes on after this call has ended, or ""."""
        parts = (part for each in self._session.conversation.messages for part in each.parts)
        jobs = (part for part in parts if isinstance(part, Job) and part.call == self.id)
        return next((job.id for job in jobs if job.state == "running"), "")

    def approve(self, args: Mapping[str, Json] | None = None) -> Turn:
        """Let the call run, with edited arguments if `args` is given.

        Raises:
            AlreadyDecided: It does not wait for approval any more.
            InvalidArguments: `args` do not fit the tool.
        """
        approve = self._session.approve
        return self._act(lambda: approve(self.id, mark=None, args=args, by="python"))

    def decline(self, reason: str = "") -> Turn:
        """Refuse the call; the model is told the reason.

        Raises:
            AlreadyDecided: It does not wait any more.
        """
        return self._act(lambda: self._session.decline(self.id, reason, by="python"))

    def answer(self, **fields: Json) -> Turn:
        """Answer what the running call asks; `decline_question` refuses to.

        Args:
            fields: Those of the form in `call.question.form`; none for a consent.

        Raises:
            AlreadyDecided: It asks nothing.
            InvalidArguments: They do not fit the form; the question stays.
        """
        return self._act(lambda: self._session.answer_question(self.id, fields))

    def decline_question(self) -> Turn:
        """Refuse what the running call asks for; it goes on and is told so.

        Raises:
            AlreadyDecided: It asks nothing.
        """
        return self._act(lambda: self._session.decline_question(self.id))

    def cancel(self, after: float | None = None) -> Turn:
        """End the call, the rest of the turn going on.

        Args:
            after: Seconds that it may still take; None ends it now.

        Raises:
            AlreadyDecided: It is over.
            ValueError: `after` is no number above 0.
        """
        return self._act(lambda: self._session.cancel(self.id, after))

    def rerun(self, args: Mapping[str, Json] | None = None) -> Turn:
        """Run the finished call once more, as a new call, beside what else runs.

        Raises:
            ChatBusy: The model is being asked.
            AlreadyDecided: It is not over yet.
        """
        return self._act(lambda: self._session.rerun(self.id, args))

    def _act(self, action: Callable[[], object]) -> Turn:
        def act() -> None:
            kept_call(self._session, self.id)
            action()

        return Turn(self._session, act)

    def __repr__(self) -> str:
        try:
            call = self.call
        except NbtoolsError:
            return f"<call {self.id!r} cleared>"
        state = " ".join(filter(None, (call.state, call.waiting or call.outcome)))
        return f"<call {self.id!r} {call.tool}({dict(call.args or {})}) {state}>"


class Calls(Sequence[CallHandle]):
    """Calls in their order, also found by id."""

    def __init__(self, session: Session, ids: list[str]) -> None:
        self._session = session
        self._ids = ids

    @overload
    def __getitem__(self, key: int | str) -> CallHandle: ...
    @overload
    def __getitem__(self, key: slice) -> Calls: ...
    def __getitem__(self, key: int | str | slice) -> CallHandle | Calls:
        """Return the call at a place, or with an id."""
        if isinstance(key, slice):
            return Calls(self._session, self._ids[key])
        if isinstance(key, int):
            return CallHandle(self._session, self._ids[key])
        if key in self._ids:
            return CallHandle(self._session, key)
        raise KeyError(f"There is no call {key!r}; there are: {', '.join(self._ids) or 'none'}.")

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[CallHandle]:
        return (CallHandle(self._session, call_id) for call_id in self._ids)

    @property
    def pending(self) -> Calls:
        """Those that wait for a person."""
        waiting = {call.id for call in self._session.calls() if call.state == "pending"}
        return Calls(self._session, [call_id for call_id in self._ids if call_id in waiting])

    def approve(self) -> Turn:
        """Let those run that wait for approval: all of them, or none where one cannot.

        Raises:
            InvalidArguments: A rule refuses one of them.
        """
        return self._decide(approved=True)

    def decline(self, reason: str = "") -> Turn:
        """Refuse those that wait for approval; the model is told the reason."""
        return self._decide(approved=False, reason=reason)

    def _decide(self, *, approved: bool, reason: str = "") -> Turn:
        def act() -> None:
            found = [kept_call(self._session, call_id) for call_id in self._ids]
            verdicts = [
                Verdict(
                    call=call.id,
                    approved=approved,
                    digest=call.digest,
                    preview=call.preview.mark if call.preview else "",
                    reason=reason,
                )
                for call in found
                if call.waiting == "approval"
            ]
            self._session.decide(verdicts, by="python")

        return Turn(self._session, act)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


def all_calls(session: Session) -> Calls:
    """Return handles of every call of the conversation."""
    conversation: Conversation = session.conversation
    ids = [call.id for message in conversation.messages for call in calls_of(message)]
    return Calls(session, ids)


def total_usage(messages: Sequence[Message]) -> Usage:
    """Add up the tokens of messages; a field that no provider reported stays None."""
    known = [message.usage for message in messages if message.usage is not None]

    def total(name: str) -> int | None:
        counts = [getattr(usage, name) for usage in known if getattr(usage, name) is not None]
        return sum(counts) if counts else None

    return Usage(
        input=total("input"),
        output=total("output"),
        total=total("total"),
        cached=total("cached"),
        written=total("written"),
        reasoning=total("reasoning"),
    )
