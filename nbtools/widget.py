"""What a notebook shows of a chat: its traits, its two outputs, and the wiring to its pages.

The traits are what a page needs to begin; none of them is changed while an answer streams. Only
the engine's thread sends to the page; what comes from the page is handed over to it at once.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import anywidget
import ipywidgets
import traitlets

from nbtools import display, events, transcript
from nbtools.bridge import Bridge
from nbtools.choosing import Choosing
from nbtools.description import describe
from nbtools.drawing import Drawer
from nbtools.executors import engine
from nbtools.frontend import (
    SHOWING,
    Runtime,
    free_children,
    free_reply_route,
    shared_runtime,
    stub_code,
    version_of,
)
from nbtools.messages import Conversation
from nbtools.publisher import Publisher
from nbtools.renderers import Registry
from nbtools.session import Session

BOOT = secrets.token_hex(6)
"""Names this start of nbtools; a command from another one is refused."""

_RESTS = (events.StatusChanged, events.MessagesRemoved)

SMALL_MODULE = 65_536
"""Characters up to which a JavaScript renderer is saved with the notebook."""

Act = Callable[[str, dict[str, Any]], None]
Take = Callable[[str], None]


class ChatWidget(anywidget.AnyWidget):
    """Show one conversation, which is there before its widget.

    Args:
        act: Takes what a renderer sends for a call that is not pending.
        take: Makes a model, given by its name, the chat's own.
    """

    assets = traitlets.Instance(Runtime).tag(sync=True, **ipywidgets.widget_serialization)
    version = traitlets.Unicode().tag(sync=True)
    modules = traitlets.Dict().tag(sync=True)
    state = traitlets.Any().tag(sync=True, to_json=lambda _, chat: chat.snapshot())
    _session: Session
    _id: str
    _bridge: Bridge
    _registry: Registry

    def __init__(self, act: Act, take: Take) -> None:
        self._widget = secrets.token_hex(16)  # chosen here: the first state names it already
        self._displayed = False
        session = self._session
        self._registry = Registry(lambda: session.settings.tools)
        session.engine.do(lambda: self._join(act, take))
        runtime = shared_runtime()
        super().__init__(model_id=self._widget, assets=runtime, version=version_of(runtime.code))
        self.on_msg(self._receive)
        session.engine.do(self._publish_renderers)

    def _join(self, act: Act, take: Take) -> None:
        """Make what goes between the session and the page; called on the engine's loop."""
        session = self._session
        self._choosing = Choosing(session, take)
        session.subscribe(free_children, SHOWING)
        session.subscribe(self._note_rest, _RESTS)
        self._bridge = Bridge(
            session,
            self._to_page,
            _publisher(),
            boot=BOOT,
            chat=self._id,
            describe=self._describe,
            choosing=self._choosing,
            on_act=act,
        )
        self._drawer = Drawer(session, self._registry)
        self._choosing.on_change = self._bridge.refresh
        self._registry.on_change = session.on_tools = self._publish_renderers
        session.rules.on_change = lambda: session.engine.post(self._bridge.refresh)

    def _leave(self) -> None:
        self._drawer.close()
        self._session.engine.do(self._bridge.close)

    def __del__(self) -> None:
        # When Python ends, the engine's thread is frozen already: whoever waits for it hangs.
        if not sys.is_finalizing():
            super().__del__()

    # --- to and from the page -----------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Write down what a page needs to draw this chat (`docs/wire.md`)."""
        return dict(self._bridge.snapshot())

    def _describe(self) -> dict[str, Any]:
        described = describe(self._session, self._registry, self._choosing)
        return {"widget": self._widget, **described}

    def _to_page(self, message: dict[str, Any], buffers: list[bytes]) -> None:
        if self.comm is None:
            return
        free_reply_route(self.comm)
        super().send(message, buffers)

    def _receive(self, _: object, content: object, _buffers: object) -> None:
        """Hand over what came from the page; this may run on any thread and does nothing else."""
        self._session.engine.post(self._bridge.receive, content)

    def _publish_renderers(self) -> None:
        """Offer the code of JavaScript renderers; what is small is saved with the notebook."""
        modules = self._registry.modules()
        for asset, code in modules.items():
            self._bridge.assets.add_code(asset, code)
        small = {asset: code for asset, code in modules.items() if len(code) <= SMALL_MODULE}
        if small != self.modules:
            self.modules = small
        self._bridge.refresh()

    def _note_rest(self, _: events.Event, conversation: Conversation) -> None:
        """At each rest: renew the static transcript, and the state where no page answers."""
        if conversation.status == "running":
            return
        if self._displayed:
            display.update_static(self._static(), self._id)
        if not self._bridge.heard and self.comm is not None:
            self._bridge.settle()
            self.send_state("state")

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
        conversation = self._session.conversation
        return {
            "text/plain": transcript.to_text(conversation),
            "text/html": transcript.to_html(conversation, chat=self._id),
        }


ChatWidget._esm = stub_code()  # noqa: SLF001 - anywidget's name for the module


@cache
def _publisher() -> Publisher:
    return Publisher(engine().loop)
