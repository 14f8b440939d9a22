"""The chat: how it is put together of its sides, its session and its widget.

What Python code does with a chat stands in `face`, what a notebook shows of it in `widget`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nbtools import display, storage
from nbtools.audit import Redact
from nbtools.checks import Check, expect, flag, optional
from nbtools.executors import engine, remember_main
from nbtools.face import Answering, Changing, Keeping, Looking, Sharing, Talking
from nbtools.face.acting import acting
from nbtools.face.changing import equipment, own_tools
from nbtools.face.hooks import Hooks
from nbtools.face.keeping import fingerprints
from nbtools.face.turns import CallHandle
from nbtools.gathering import gathered
from nbtools.history import OnTrim
from nbtools.limits import Limits
from nbtools.messages import Conversation
from nbtools.providers import Provider, resolve
from nbtools.providers.sealing import left_behind
from nbtools.reruns import close_earlier
from nbtools.results import KEPT, Results
from nbtools.runner import Handler, Policy, Settings
from nbtools.session import Session
from nbtools.tools import Offered
from nbtools.variables import Variables
from nbtools.widget import ChatWidget

_CONVERSATION: Check = optional(
    (lambda value: isinstance(value, Conversation), "what another chat's `conversation` gives")
)


class Chat(Talking, Answering, Sharing, Looking, Changing, Keeping, ChatWidget):
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
        autosave: A file that the conversation is written to at each rest and before each effect; what
            it held before is replaced, unless this is `Chat.load` of the same file.
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
        expect("auto_send_tool_results", auto_send_tool_results, (flag, "True or False"))
        self._own_tools = own_tools(tools)
        settings = Settings(
            **equipment(resolve(model), self._own_tools),
            system="" if system is None else system, context=context,
            variables=Variables(display.user_names, Results(max_results)),
            approval=approval, approval_timeout=approval_timeout,
            on_tool_call=on_tool_call, auto_send=auto_send_tool_results,
            max_roundtrips=max_roundtrips, max_parallel=max_parallel,
            limits=Limits() if limits is None else limits,
            context_limit=context_limit, context_turns=context_turns, on_trim=on_trim,
        )  # fmt: skip
        self._open(settings, conversation)
        self._write_down(autosave, audit, redact)
        super().__init__(acting(self._session, on_act), self._set_model)
        self._begin(conversation)

    def _open(self, settings: Settings, conversation: Conversation | None) -> None:
        """Make the session, and what hears of it from its beginning."""
        expect("conversation", conversation, _CONVERSATION)
        remember_main()
        self._id = secrets.token_hex(6)
        self._session = session = Session(settings, engine(), conversation)
        self._hooks = session.engine.do(lambda: Hooks(session))

    def _begin(self, conversation: Conversation | None) -> None:
        """Go on from what was said before, in the place of what an earlier run of the cell made."""
        self._ended = False
        if conversation is not None:
            self._session.engine.do(self._session.take_up)
        close_earlier(self)

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

        Toolsets such as `nb.MCP` are asked only where a call waits for a tool that is not known.

        Args:
            path: A file that `autosave` or `save` wrote; it names no endpoint, key or code.
            model: As for `Chat`.
            tools: As for `Chat`; a pending call stays only if its tool is here and unchanged.
            context: As for `Chat`.
            settings: Further arguments of `Chat`.

        Raises:
            OSError: The file cannot be read.
            NbtoolsError: A call waits for a tool of a toolset that cannot be asked from here.
            ToolsetError: Such a toolset cannot be reached; the text says what to do.
            ValueError: It is no saved chat; the text says what is wrong.
        """
        provider = resolve(model)
        given = own_tools(tools)
        saved = storage.read(Path(path))
        known = gathered((*provider.tools, *given), saved.waiting)
        conversation = storage.settle(saved, fingerprints(known))
        chat = cls(provider, tools=given, context=context, conversation=conversation, **settings)
        if left := left_behind(conversation.messages, provider.wire, provider.origin):
            chat._session.engine.do(lambda: chat._session.notice(left))
        return chat

    def close(self) -> None:
        """Stop the chat and take its views off the page."""
        if not self._ended:
            self._ended = True
            self._session.engine.do(self._session.close)
            self._leave()
        super().close()

    def __repr__(self) -> str:
        return f"<Chat {self.model.label} {self.status}: {len(self.messages)} messages>"
