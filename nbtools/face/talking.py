"""The side of a chat that talks: what is said to the model, and how one waits for the answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TypedDict, Unpack

from nbtools import events
from nbtools.bridge import Bridge
from nbtools.errors import NbtoolsError
from nbtools.executors import remember_main
from nbtools.face.asking import Approve, Asking
from nbtools.face.saying import read_said
from nbtools.face.turns import Turn
from nbtools.messages import File
from nbtools.pace import Pace
from nbtools.session import Session
from nbtools.settings import Settings
from nbtools.tools import Tool


class SendOptions(TypedDict, total=False):
    """What holds for the answer to one message."""

    settings: Settings | None
    """How the model is to answer, on top of its own settings."""
    until: str
    """A tool: after its first success nothing more is sent, and `turn.result` is its value."""
    tools: Iterable[str | Tool]
    """The tools that the model may call, of those that the chat has."""


class Talking:
    """Say something, go on, stop."""

    _session: Session
    _bridge: Bridge

    def send(self, text: str | Iterable[str | Path | File], **options: Unpack[SendOptions]) -> Turn:
        """Say something to the model; the effect starts whether or not the turn is awaited.

        Args:
            text: What to say, or a list of texts, image files and `File` parts. Text of the form
                "/tool name=value" calls a tool directly.
            options: See `SendOptions`; they hold for the answer to this message.

        Returns:
            A turn; `await` it to wait until the chat rests.

        Raises:
            ChatBusy: An answer is under way.
            TypeError: `text` is neither text nor a list of texts and files.
            ValueError: An option names a tool that there is not. Where toolsets have yet to be
                asked for theirs, this becomes a `ToolsetError` of the turn.
        """
        pace = Pace(until=options.get("until") or "", tools=_names(options.get("tools")))
        return self._say(text, pace, options.get("settings"))

    def step(
        self,
        text: str | Iterable[str | Path | File] | None = None,
        *,
        settings: Settings | None = None,
    ) -> Turn:
        """Do one thing and rest: run the calls that can run, else make one request.

        Args:
            text: What to say first; None goes on where the chat stopped.
            settings: As for `send`, where there is a text.

        Returns:
            A turn; `chat.resume()` goes on without stopping.

        Raises:
            ChatBusy: An answer is under way.
        """
        if text is None:
            return Turn(self._session, self._session.step)
        return self._say(text, Pace(requests=1, calls=False), settings)

    def _say(
        self,
        text: str | Iterable[str | Path | File],
        pace: Pace,
        settings: Settings | None,
    ) -> Turn:
        session = self._session
        words, files = read_said(text)

        def send() -> None:
            session.send(session.user_parts(words, files), settings, pace)

        return Turn(session, send, until=pace.until)

    def ask(
        self,
        text: str | Iterable[str | Path | File],
        *,
        approve: Approve | None = None,
        **options: Unpack[SendOptions],
    ) -> Turn:
        """Say something and block until the chat has answered.

        A call that needs approval is decided by `approve` if it is given, else by a click if clicks
        reach Python while this cell blocks, else at the keyboard; where nobody can be asked, it is
        declined.

        Args:
            text: As for `send`.
            approve: Takes the handle of a call; only an exact True approves.
            options: As for `send`.

        Returns:
            The finished turn.

        Raises:
            ChatBusy: An answer is under way.
            ProviderError: The model, or the way to it, failed; it stands in the chat too.
            KeyboardInterrupt: The cell was interrupted; the chat was stopped.
            NbtoolsError: This was called from the chat's own thread, by an async tool.
            ValueError: `approve` is no function.
        """
        if self._session.engine.here:
            raise NbtoolsError("chat.ask would wait for itself here: use `await chat.send(…)`.")
        asking = Asking(self._session, self._bridge, approve)
        remember_main()
        try:
            turn = self.send(text, **options)
        except KeyboardInterrupt:  # it may have begun
            self.stop()
            raise
        asking.settle(turn)
        if (fault := turn.fault()) is not None:
            raise fault
        return turn

    async def stream(
        self, text: str | Iterable[str | Path | File], **options: Unpack[SendOptions]
    ) -> AsyncIterator[events.Event]:
        """Say something and yield what happens, until the chat rests.

        Args:
            text: As for `send`.
            options: As for `send`.

        Returns:
            The events of `nbtools.events`, in order.

        Raises:
            ChatBusy: An answer is under way.
            ProviderError: The model, or the way to it, failed.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[events.Event | None] = asyncio.Queue()

        def put(event: events.Event | None, _: object = None) -> None:
            with contextlib.suppress(RuntimeError):  # whoever left the stream has closed the loop
                loop.call_soon_threadsafe(queue.put_nowait, event)

        end = self._session.engine.do(lambda: self._session.subscribe(put))
        try:
            turn = self.send(text, **options)
            turn.rested.add_done_callback(lambda _: put(None))
            while (event := await queue.get()) is not None:
                yield event
            await turn
        except asyncio.CancelledError:
            self.stop()
            raise
        finally:
            self._session.engine.post(end)

    def resume(self) -> Turn:
        """Send results that were held back, or repeat the request that failed.

        Raises:
            ChatBusy: An answer is under way.
            ChatWaiting: Calls are open; the text names them.
        """
        return Turn(self._session, self._session.resume)

    def stop(self) -> None:
        """End the turn: every open call is closed, and what comes later continues nothing."""
        self._session.engine.do(self._session.stop)

    def clear(self) -> None:
        """Empty the conversation; what is open is closed first."""
        self._session.engine.do(self._session.clear)


def _names(tools: Iterable[str | Tool] | None) -> frozenset[str] | None:
    if tools is None:
        return None
    return frozenset(tool.name if isinstance(tool, Tool) else tool for tool in tools)
