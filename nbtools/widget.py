"""The chat as a widget: its traits, its face in Python, and the wiring between both.

The traits are what a page needs to begin; none of them is changed while an answer streams. Only
the engine's thread sends to the page; what comes from the page is handed over to it at once.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import secrets
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import anywidget
import ipywidgets
import traitlets

from nbtools import display, events, page, storage, transcript
from nbtools.asking import Approve, Asking
from nbtools.audit import COLUMNS, Audit, Redact
from nbtools.bridge import Bridge
from nbtools.checks import expect, function_or_none
from nbtools.choosing import Choosing
from nbtools.cost import Cost, prices
from nbtools.drawing import Drawer
from nbtools.errors import NbtoolsError
from nbtools.executors import engine, in_worker, remember_main
from nbtools.frontend import (
    SHOWING,
    Runtime,
    free_children,
    free_reply_route,
    runtime_code,
    shared_runtime,
    stub_code,
    version_of,
)
from nbtools.history import OnTrim
from nbtools.hooks import Hook, Hooks, Kind
from nbtools.jobs import Jobs
from nbtools.limits import Limits
from nbtools.messages import Conversation, File, Message, Part, Status, Usage
from nbtools.pace import Pace
from nbtools.plain import clean_text
from nbtools.privacy import ColumnPolicy, check_columns
from nbtools.providers import Provider, resolve
from nbtools.providers.sealing import left_behind
from nbtools.publisher import Publisher
from nbtools.records import as_table
from nbtools.renderers import JavaScriptRenderer, Registry
from nbtools.report import ContextReport
from nbtools.results import KEPT, Results
from nbtools.rulebook import Rules
from nbtools.runner import Handler, Policy, Settings
from nbtools.session import Session
from nbtools.settings import Settings as AnswerSettings
from nbtools.tools import Offered, Tool, collect
from nbtools.tools.failure import explain
from nbtools.turns import CallHandle, Calls, Turn, all_calls, on_engine, total_usage
from nbtools.variables import Variables

BOOT = secrets.token_hex(6)
"""Names this start of nbtools; a command from another one is refused."""

_RESTS = (events.StatusChanged, events.MessagesRemoved)

_PATH = (lambda value: isinstance(value, str | Path), "the path of a file")
_ON_ACT = (function_or_none, "a function of the call and the changes, or None")

SMALL_MODULE = 65_536
"""Characters up to which a JavaScript renderer is saved with the notebook."""


class SendOptions(TypedDict, total=False):
    """What holds for the answer to one message."""

    settings: AnswerSettings | None
    """How the model is to answer, on top of its own settings."""
    until: str
    """A tool: after its first success nothing more is sent, and `turn.result` is its value."""
    tools: Iterable[str | Tool]
    """The tools that the model may call, of those that the chat has."""


class Chat(anywidget.AnyWidget):
    """Talk to a model in a notebook; each of its tool calls is a live component.

    Args:
        model: A model's name such as "openai:gpt-5.1", a provider, or None for the demo.
        system: Instructions that stand before the conversation.
        tools: Typed functions, `Tool` objects, and sources of tools such as `nb.MCP`.
        context: Handed to tools as `ctx.context`; neither the model nor the page ever sees it.
        approval: True to ask before every call, or a function of the call that returns exactly
            False where it may run. It can make a tool stricter and never looser.
        max_roundtrips: Rounds of tool calls that one message may cause.
        max_parallel: How many tools of this chat execute at a time.
        max_results: How many Python values `results` keeps; the oldest go first.
        limits: Further limits of the answer to one message, and of what the model is told.
        autosave: A file that the conversation is written to at each rest and before each effect.
        on_tool_call: Answers calls of tools without a function; None means not handled.
        auto_send_tool_results: Whether results go to the model by themselves.
        on_act: Takes the handle of a call and the changes that its renderer sent.
        context_limit: Estimated tokens that a request may hold; the oldest turns are left out.
        context_turns: How many of the newest turns a request holds; pinned ones come on top.
        on_trim: What becomes of turns that a request has no room for: "drop" leaves them out.
        approval_timeout: Seconds after which a call that nobody decided about ends as `expired`;
            None: never.
        audit: A file of JSON lines to which every call is appended each time it moves on; a call
            whose start cannot be written does not run.
        redact: Takes a row of the audit and gives it with other contents; see `audit`.
        conversation: What was said before; it is taken up as it stands.

    Raises:
        ToolDefinitionError: A tool cannot be described; the text names it.
        ValueError: There is no such model, and the text names those there are; or an argument
            cannot be what it is, and the text says what is expected.
    """

    assets = traitlets.Instance(Runtime).tag(sync=True, **ipywidgets.widget_serialization)
    version = traitlets.Unicode().tag(sync=True)
    modules = traitlets.Dict().tag(sync=True)
    state = traitlets.Any().tag(sync=True, to_json=lambda _, chat: chat.snapshot())
    _ended = True  # where construction fails there is nothing to stop

    def __init__(
        self,
        model: str | Provider | None = None,
        *,
        system: str | None = None,
        tools: Iterable[Offered] = (),
        context: Any = None,
        approval: Policy = None,
        max_roundtrips: int = 5,
        max_parallel: int = 8,
        max_results: int = KEPT,
        limits: Limits | None = None,
        autosave: str | Path | None = None,
        on_tool_call: Handler | None = None,
        auto_send_tool_results: bool = True,
        on_act: Callable[[CallHandle, Mapping[str, Any]], object] | None = None,
        context_limit: int | None = None,
        context_turns: int | None = None,
        on_trim: OnTrim = "drop",
        approval_timeout: float | None = None,
        audit: str | Path | None = None,
        redact: Redact | None = None,
        conversation: Conversation | None = None,
    ) -> None:
        remember_main()
        self._own_tools = tuple(tools)
        provider = resolve(model)
        offered = (*provider.tools, *self._own_tools)
        settings = Settings(
            provider=provider,
            tools=collect(offered),
            offered=offered,
            system="" if system is None else system,
            context=context,
            approval=approval,
            on_tool_call=on_tool_call,
            max_roundtrips=max_roundtrips,
            max_parallel=max_parallel,
            limits=Limits() if limits is None else limits,
            auto_send=auto_send_tool_results,
            context_limit=context_limit,
            context_turns=context_turns,
            on_trim=on_trim,
            approval_timeout=approval_timeout,
            variables=Variables(display.user_names, Results(max_results)),
        )
        self._id = secrets.token_hex(6)
        self._widget = secrets.token_hex(16)  # chosen here: the first state names it already
        self._session = Session(settings, engine(), conversation)
        self._registry = Registry(settings.tools)
        expect("on_act", on_act, _ON_ACT)
        self._on_act = on_act
        self._hooks = on_engine(self._session, lambda: Hooks(self._session))
        self._autosave(autosave)
        file = None if audit is None else _in_folder("audit", audit)
        self._session.audit = Audit(file, redact=redact, chat=self._id)
        self._choosing = Choosing(self._session, self._set_model)
        self._bridge = on_engine(self._session, self._build_bridge)
        self._choosing.on_change = self._bridge.refresh
        self._drawer = on_engine(self._session, lambda: Drawer(self._session, self._registry))
        self._ended = False
        self._displayed = False
        runtime = shared_runtime()
        super().__init__(model_id=self._widget, assets=runtime, version=version_of(runtime.code))
        self.on_msg(_handle_message)
        on_engine(self._session, self._publish_renderers)
        if conversation is not None:
            on_engine(self._session, self._session.take_up)
        _close_earlier(self)

    # --- the face: talking --------------------------------------------------------------------

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
            ValueError: An option names a tool that there is not.
        """
        pace = Pace(until=options.get("until") or "", tools=_names(options.get("tools")))
        return self._say(text, pace, options.get("settings"))

    def step(
        self,
        text: str | Iterable[str | Path | File] | None = None,
        *,
        settings: AnswerSettings | None = None,
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
        settings: AnswerSettings | None,
    ) -> Turn:
        parts, send = self._parts(text), self._session.send
        return Turn(self._session, lambda: send(parts, settings, pace), until=pace.until)

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
        """
        if self._session.engine.here:
            raise NbtoolsError("chat.ask would wait for itself here: use `await chat.send(…)`.")
        remember_main()
        try:
            turn = self.send(text, **options)
        except KeyboardInterrupt:  # it may have begun
            self.stop()
            raise
        Asking(self._session, self._bridge, approve).settle(turn)
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
            loop.call_soon_threadsafe(queue.put_nowait, event)

        end = on_engine(self._session, lambda: self._session.subscribe(put))
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

    def pin(self, message_id: str) -> None:
        """Keep a message, with the turn it is part of, in every request.

        Args:
            message_id: The id of one of `messages`.

        Raises:
            IllegalMove: There is no such message.
        """
        on_engine(self._session, lambda: self._session.pin(message_id))

    def unpin(self, message_id: str) -> None:
        """Let a message be left out again once the conversation is too long."""
        on_engine(self._session, lambda: self._session.pin(message_id, pinned=False))

    def stop(self) -> None:
        """End the turn: every open call is closed, and what comes later continues nothing."""
        on_engine(self._session, self._session.stop)

    def clear(self) -> None:
        """Empty the conversation; what is open is closed first."""
        on_engine(self._session, self._session.clear)

    def on(self, kind: Kind, hook: Hook) -> Callable[[], None]:
        """Let a function hear what happens; return what ends that.

        A hook holds nothing up: it hears of one thing after the other, beside the chat. One that
        raises is logged and shown once.

        Args:
            kind: "identified", "started", "progress" and "settled" give the handle of a call,
                "message" a message that is complete, "usage" the tokens of a request, "trimmed" the
                ids of the messages that requests leave out, "limit" the notice, "error" the failure.
            hook: A function of one value, synchronous or `async`.

        Raises:
            ValueError: There is no such kind; the text names those there are.
        """
        end = on_engine(self._session, lambda: self._hooks.add(kind, hook))
        return lambda: on_engine(self._session, end)

    # --- the face: deciding -------------------------------------------------------------------

    def approve(self, call_id: str, args: Mapping[str, Any] | None = None) -> Turn:
        """Let a call run; see `CallHandle.approve`."""
        return self.calls[call_id].approve(args)

    def decline(self, call_id: str, reason: str = "") -> Turn:
        """Refuse a call; see `CallHandle.decline`."""
        return self.calls[call_id].decline(reason)

    def add_tool_result(
        self, call_id: str, *, result: object = ..., error: str | None = None
    ) -> Turn:
        """Give the result of a call that waits for one.

        Args:
            call_id: The call.
            result: Any value; None is a result too.
            error: Why there is no result, in words for the model.

        Raises:
            AlreadyDecided: The call does not wait for a result; the text names what to use.
            TypeError: Neither or both of `result` and `error` were given.
        """
        if (result is ...) == (error is None):
            raise TypeError("add_tool_result takes either result=… or error=….")
        value = None if error is not None else result
        answer = self._session.answer
        return Turn(self._session, lambda: answer(call_id, value=value, error=error))

    # --- the face: sharing values -------------------------------------------------------------

    def share(self, *patterns: str, **values: object) -> None:
        """Let the model name values of the kernel, for parameters that take a table or an array.

        The model is told names, and nothing else of the values; the tool gets the object itself.

        Args:
            patterns: Of names of the notebook's own variables, such as "sales_*"; what fits is
                looked up when a call runs, and names with a leading underscore never fit.
            values: Objects by the name that the model may use.
        """
        variables = self._session.settings.variables
        on_engine(self._session, lambda: variables.share(patterns, values))

    def unshare(self, *names: str) -> None:
        """Take shared names or patterns back.

        Raises:
            KeyError: One of them is not shared; the text names it.
        """
        variables = self._session.settings.variables
        on_engine(self._session, lambda: variables.unshare(names))

    @property
    def shared(self) -> Mapping[str, object]:
        """The values that the model may name now, without results."""
        return self._session.settings.variables.shared

    def protect(self, **tables: Mapping[str, ColumnPolicy]) -> None:
        """Set what the model may be told of the columns of shared tables.

        It binds what nbtools writes about any table that has such a column. Other text is looked
        through for exact values before each request; where one is found the request is not sent,
        and you decide: `resume` sends it without the values, `release` sends them.

        Args:
            tables: For each table the policies of its columns: "drop" (it is not mentioned), "mask"
                (its name and type) or "aggregate" (a summary too); {} ends the protection.

        Raises:
            ValueError: There is no such policy, or no such column in a table that is shared.
        """
        settings = self._session.settings

        def protect() -> None:
            for table, columns in tables.items():
                check_columns(table, columns, settings.variables.shared.get(table))
                settings.privacy.protect(table, columns)

        on_engine(self._session, protect)

    def release(self) -> Turn:
        """Send the values for which the last request was withheld, now and later.

        Raises:
            ChatBusy: An answer is under way.
        """
        return Turn(self._session, self._session.release)

    # --- the face: looking --------------------------------------------------------------------

    def context_report(self) -> ContextReport:
        """Say what the next request would hold, part by part, and to which host it would go.

        Raises:
            ContextLengthError: The newest message alone is over `context_limit`.
        """
        return on_engine(self._session, self._session.context_report)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation as it stands, frozen."""
        return self._session.conversation.messages

    @property
    def conversation(self) -> Conversation:
        """Messages, status and error as they stand, frozen."""
        return self._session.conversation

    @property
    def calls(self) -> Calls:
        """Live handles of every call, in order; also found by id."""
        return all_calls(self._session)

    @property
    def jobs(self) -> Jobs:
        """Live handles of what tools do in the background, in order; also found by id."""
        return Jobs(self._session)

    @property
    def results(self) -> Results:
        """The Python values that tools returned, by call id, handle, and tool name (latest)."""
        return self._session.results

    @property
    def rules(self) -> Rules:
        """The rules that decide which calls run without asking, are asked about, or are refused."""
        return self._session.rules

    def audit(self) -> Any:
        """Return what became of every call, also of conversations that were cleared.

        Returns:
            A DataFrame with a row for each call (a list of dicts where there is no pandas): its
            proposed and effective arguments, who decided and by which rule, when and for how long,
            and what came of it; times are seconds since 1970.
        """
        rows = on_engine(self._session, self._session.audit.rows)
        return as_table(rows, COLUMNS)

    @property
    def status(self) -> Status:
        """One of ready, running, waiting, error."""
        return self._session.conversation.status

    @property
    def usage(self) -> Usage:
        """Tokens of all requests; a field that no provider reported is None."""
        return total_usage(self.messages)

    @property
    def cost(self) -> Cost:
        """What the answers cost by the table of prices; unknown where a model has no price."""
        return prices().cost(self.messages)

    # --- the face: choosing, at rest ------------------------------------------------------------

    @property
    def model(self) -> Provider:
        """The model; a name or a provider may be assigned while the chat rests."""
        return self._session.settings.provider

    @model.setter
    def model(self, model: str | Provider | None) -> None:
        self._set_model(model)

    def _set_model(self, model: str | Provider | None) -> None:
        provider = resolve(model)
        offered = (*provider.tools, *self._own_tools)
        left = left_behind(self.messages, provider.wire)
        notice = f"The model is now {provider.label}. {left}".strip()
        self._change(notice, provider=provider, offered=offered, tools=collect(offered))

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name; a list of tools may be assigned while the chat rests."""
        return dict(self._session.settings.tools)

    @tools.setter
    def tools(self, tools: Iterable[Offered]) -> None:
        own = tuple(tools)
        offered = (*self.model.tools, *own)
        known = collect(offered)
        notice = f"The tools are now: {', '.join(known) or 'none'}."
        self._change(notice, offered=offered, tools=known)
        self._own_tools = own

    @property
    def system(self) -> str:
        """The instructions; text may be assigned while the chat rests."""
        return self._session.settings.system

    @system.setter
    def system(self, system: str | None) -> None:
        self._change("The instructions were changed.", system="" if system is None else system)

    def renderer(
        self,
        tool: str,
        render: Callable[..., Any] | None = None,
        *,
        esm: str | Path | None = None,
        traits: Literal["", "args"] = "",
    ) -> Any:
        """Choose what draws the calls of a tool, inside the frame of its card.

        Args:
            tool: The tool's name, or "*" for every tool without a renderer of its own.
            render: A function of the call that returns anything a notebook can show. Without it
                and without `esm` this is a decorator.
            esm: An anywidget front-end module, as a file or a string; its model is the call.
            traits: "args" to give that module the arguments and nothing else.
        """
        if esm is not None:
            return self._draw_with(tool, JavaScriptRenderer(esm, traits=traits))
        if render is not None:
            return self._draw_with(tool, render)
        return lambda function: self._draw_with(tool, function)

    # --- keeping ------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: str | Provider | None = None,
        tools: Iterable[Offered] = (),
        context: Any = None,
        **settings: Any,
    ) -> Chat:
        """Open a saved conversation. Nothing is sent or run; a call that waited waits on.

        Args:
            path: A file that `autosave` or `save` wrote; it names no endpoint, key or code.
            model: As for `Chat`.
            tools: As for `Chat`; a pending call stays only if its tool is here and unchanged.
            context: As for `Chat`.
            settings: Further arguments of `Chat`.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is no saved chat; the text says what is wrong.
        """
        provider = resolve(model)
        given = tuple(tools)
        known = collect((*provider.tools, *given))
        conversation = storage.load(Path(path), _fingerprints(known))
        chat = cls(provider, tools=given, context=context, conversation=conversation, **settings)
        if left := left_behind(conversation.messages, provider.wire):
            on_engine(chat._session, lambda: chat._session.notice(left))
        return chat

    def save(self, path: str | Path) -> None:
        """Write the conversation to a file.

        Raises:
            OSError: The file cannot be written.
        """
        storage.save(Path(path), self.conversation, _fingerprints(self._session.settings.tools))

    def to_html(self, path: str | Path) -> Path:
        """Write a page that shows the conversation and needs neither a kernel nor a network.

        Returns:
            The path of the page.
        """
        written, conversation = Path(path), self.conversation
        snapshot = self._bridge.snapshot(conversation)
        shown = page.render(conversation, snapshot, self._bridge.assets(), runtime_code())
        written.write_text(clean_text(shown), encoding="utf-8")
        return written

    def close(self) -> None:
        """Stop the chat and take its views off the page."""
        if not self._ended:
            self._ended = True
            on_engine(self._session, self._session.close)
            self._drawer.close()
            on_engine(self._session, self._bridge.close)
        super().close()

    def __del__(self) -> None:
        # When Python ends, the engine's thread is frozen already: whoever waits for it hangs.
        if not sys.is_finalizing():
            super().__del__()

    # --- showing ------------------------------------------------------------------------------

    def _ipython_display_(self, **_: Any) -> None:
        """Show the live view, and beside it the transcript for readers without a kernel."""
        view, metadata = super()._repr_mimebundle_() or ({}, {})
        display.show_view({**view, "text/plain": ""}, metadata)
        display.show_static(self._static(), self._id)
        self._displayed = True

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        view, metadata = super()._repr_mimebundle_() or ({}, {})
        return {**view, **self._static()}, metadata

    def _static(self) -> dict[str, str]:
        conversation = self.conversation
        return {
            "text/plain": transcript.to_text(conversation),
            "text/html": transcript.to_html(conversation, chat=self._id),
        }

    def __repr__(self) -> str:
        return f"<Chat {self.model.label} {self.status}: {len(self.messages)} messages>"

    # --- wiring -------------------------------------------------------------------------------

    def _build_bridge(self) -> Bridge:
        self._session.subscribe(free_children, SHOWING)
        self._session.subscribe(self._note_rest, _RESTS)
        self._session.rules.on_change = self._note_rules
        self._session.on_tools = self._note_tools
        return Bridge(
            self._session,
            self._to_page,
            _publisher(),
            boot=BOOT,
            chat=self._id,
            describe=self._describe,
            choosing=self._choosing,
            on_act=self._act,
        )

    def _note_rules(self) -> None:
        self._session.engine.post(self._bridge.refresh)

    def _note_tools(self) -> None:
        self._registry.tools = self._session.settings.tools
        self._publish_renderers()

    def _to_page(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        if self.comm is None:
            return
        free_reply_route(self.comm)
        super().send(message, buffers)

    def snapshot(self) -> dict[str, Any]:
        """Write down what a page needs to draw this chat (`docs/wire.md`)."""
        return dict(self._bridge.snapshot())

    def _describe(self) -> dict[str, Any]:
        provider = self._session.settings.provider
        tools = self._session.settings.tools.values()
        return {
            "widget": self._widget,
            "model": {"label": provider.label, "host": provider.host, "demo": provider.demo},
            "renderers": self._registry.describe(),
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }
                for tool in tools
            ],
            "rules": self._session.rules.describe(),
            **({} if (offered := self._choosing.offered) is None else {"choices": offered}),
        }

    def _note_rest(self, _: events.Event, conversation: Conversation) -> None:
        """At each rest: renew the static transcript, and the state where no page answers."""
        if conversation.status == "running":
            return
        if self._displayed:
            display.update_static(self._static(), self._id)
        if not self._bridge.heard and self.comm is not None:
            self._bridge.settle()
            self.send_state("state")

    def _draw_with(self, tool: str, renderer: Any) -> Any:
        self._registry.set(tool, renderer)
        on_engine(self._session, self._publish_renderers)
        return renderer

    def _publish_renderers(self) -> None:
        """Offer the code of JavaScript renderers; what is small is saved with the notebook."""
        modules = self._registry.modules()
        for asset, code in modules.items():
            self._bridge.register_asset(asset, "text/javascript", code.encode())
        small = {asset: code for asset, code in modules.items() if len(code) <= SMALL_MODULE}
        if small != self.modules:
            self.modules = small
        self._bridge.refresh()

    def _act(self, call_id: str, changes: dict[str, Any]) -> None:
        if self._on_act is None:
            raise NbtoolsError("This chat has no on_act that takes what a renderer sends.")
        handle, handler, session = self.calls[call_id], self._on_act, self._session

        async def tell() -> None:
            try:
                await in_worker(lambda: handler(handle, changes), name="on_act")
            except Exception as error:  # noqa: BLE001 - the user's code may raise anything
                session.notice(f"on_act failed. {explain(error)}", level="error")

        session.engine.submit(tell())

    def _change(self, notice: str, **changes: Any) -> None:
        def change() -> None:
            session = self._session
            session.expect_rest("change this")
            before = session.settings.tools
            session.settings = replace(session.settings, **changes)
            self._registry.tools = session.settings.tools
            session.drop_unknown(before)
            session.notice(notice)
            session.advance()
            self._publish_renderers()

        on_engine(self._session, change)

    def _parts(self, said: object) -> tuple[Part, ...]:
        if isinstance(said, bytes) or not isinstance(said, Iterable):
            raise TypeError(f"A message is a text, or a list of texts and files, not {said!r:.80}.")
        given = [said] if isinstance(said, str) else list(said)
        texts = [part for part in given if isinstance(part, str)]
        files = [self._file(part) for part in given if not isinstance(part, str)]
        text = "\n\n".join(texts)
        if not text.strip() and not files:
            raise ValueError("A message cannot be empty.")
        make = self._session.user_parts
        return on_engine(self._session, lambda: make(text, tuple(files)))

    def _file(self, part: Path | File) -> File:
        made = on_engine(self._session, lambda: self._session.new_id("f"))
        if isinstance(part, File):
            return replace(part, id=made)  # the same file may be sent twice
        if not isinstance(part, Path):
            raise TypeError(f"A message holds texts, paths and File parts, not {part!r}.")
        mime = mimetypes.guess_type(part.name)[0] or "application/octet-stream"
        content = base64.b64encode(part.read_bytes()).decode()
        return File(id=made, mime=mime, name=part.name, data=content)

    def _autosave(self, path: str | Path | None) -> None:
        if path is None:
            return
        file = _in_folder("autosave", path)
        session = self._session

        def write(conversation: Conversation) -> None:
            storage.save(file, conversation, _fingerprints(session.settings.tools))

        session.save = write


Chat._esm = stub_code()  # noqa: SLF001 - anywidget's name for the module


@cache
def _publisher() -> Publisher:
    return Publisher(engine().loop)


def _handle_message(chat: Chat, content: object, _buffers: object) -> None:
    """Hand over what came from the page; this may run on any thread and does nothing else."""
    chat._session.engine.post(chat._bridge.receive, content)  # noqa: SLF001 - the widget's own door


_by_cell: dict[str, tuple[str, weakref.WeakSet[Chat]]] = {}


def _close_earlier(chat: Chat) -> None:
    """Close the chats that an earlier run of the same cell made: their outputs are gone."""
    cell, run = display.current_cell()
    if not cell:
        return
    last, made = _by_cell.get(cell, ("", weakref.WeakSet()))
    if last != run:
        for old in list(made):
            old.close()
        made = weakref.WeakSet()
    made.add(chat)
    _by_cell[cell] = (run, made)


def _fingerprints(tools: Mapping[str, Tool]) -> dict[str, str]:
    return {name: tool.fingerprint for name, tool in tools.items()}


def _in_folder(name: str, path: str | Path) -> Path:
    expect(name, path, _PATH)
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{name} is the folder {str(path)!r}; expected a file.")
    if not file.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {str(file.parent)!r}.")
    return file


def _names(tools: Iterable[str | Tool] | None) -> frozenset[str] | None:
    if tools is None:
        return None
    return frozenset(tool.name if isinstance(tool, Tool) else tool for tool in tools)
