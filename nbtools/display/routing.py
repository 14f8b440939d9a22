"""What code prints and displays goes to the card of the call that runs it.

Which call that is, is a context variable, so that it holds in this thread, in the worker threads
that are started with this context, and in tasks. The streams and IPython's publisher are wrapped
once; whatever runs outside a `capture` finds them as they were. Not caught: threads that a tool
starts itself, subprocesses, and what C code prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Protocol

from nbtools.display.mime import finish
from nbtools.jsontext import clean_text
from nbtools.messages import Json
from nbtools.within import Within

LIMIT = 65_536


class Sink(Protocol):
    """Takes what code prints and displays, on the thread where it runs."""

    def output(self, text: str, /) -> None:
        """Take text that was printed."""

    def display(self, shown: Mapping[str, Json], /) -> None:
        """Take a MIME bundle that was displayed."""


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.text = ""
        self.shown: list[Mapping[str, Json]] = []

    def output(self, text: str, /) -> None:
        """Keep text that was printed."""
        self.text += text

    def display(self, shown: Mapping[str, Json], /) -> None:
        """Keep a MIME bundle that was displayed."""
        self.shown.append(shown)


_sink: ContextVar[Sink | None] = ContextVar("nbtools_sink", default=None)


def capture(sink: Sink) -> Within[Sink | None]:
    """Send to `sink` what the code inside prints, warns of and displays, and nowhere else.

    Args:
        sink: Is called on whatever thread the code runs.
    """
    _route()
    return Within(_sink, sink)


def uncaptured() -> Within[Sink | None]:
    """Let the code inside print and display where it would without any `capture`."""
    return Within(_sink, None)


def current_sink() -> Sink | None:
    """Return the sink of the code that runs now, if it is captured."""
    return _sink.get()


def shell() -> Any:
    """Return IPython's shell, or None outside of it."""
    module = sys.modules.get("IPython.core.interactiveshell")
    if module is None or not module.InteractiveShell.initialized():
        return None
    return module.InteractiveShell.instance()


def user_names() -> dict[str, Any]:
    """Give the notebook's own variables: those of IPython's user, or of the main module.

    What IPython itself puts beside them, such as `In`, `Out` and `exit`, is left out.
    """
    host = shell()
    names: dict[str, Any] = getattr(host, "user_ns", None) or vars(sys.modules["__main__"])
    hidden = getattr(host, "user_ns_hidden", {})
    # A copy at once: the notebook's own thread may change it meanwhile.
    return {
        name: value for name, value in dict(names).items() if hidden.get(name, hidden) is not value
    }


def _route() -> None:
    # Again each time: whoever redirects the streams for a while puts other ones there.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Stream):
            setattr(sys, name, _Stream(stream))
    publisher = getattr(shell(), "display_pub", None)
    if publisher is not None and not isinstance(publisher.publish, _Publish):
        publisher.publish = _Publish(publisher.publish)
        publisher.clear_output = _Clear(publisher.clear_output)


class _Stream:
    """A text stream that writes to the sink of the code that runs, if there is one."""

    def __init__(self, base: Any) -> None:
        self._base = base

    def write(self, text: str) -> int:
        sink = _sink.get()
        if sink is None or not isinstance(text, str):
            return int(self._base.write(text) or 0)
        if text:
            sink.output(clean_text(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._base)


class _Publish:
    """IPython's `publish`, which gives to the sink of the code that runs, if there is one."""

    def __init__(self, base: Any) -> None:
        self._base = base

    def __call__(self, data: Any, *args: Any, **options: Any) -> None:
        sink = _sink.get()
        if sink is None:
            self._base(data, *args, **options)
        else:
            sink.display(finish(data, limit=LIMIT))


class _Clear:
    """IPython's `clear_output`, which leaves the cells alone while code is captured."""

    def __init__(self, base: Any) -> None:
        self._base = base

    def __call__(self, *args: Any, **options: Any) -> None:
        if _sink.get() is None:
            self._base(*args, **options)
