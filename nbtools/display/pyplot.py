"""Figures that tools make through pyplot, kept apart from each other and from the user's.

pyplot keeps its open figures in one registry for the whole process. Here each call gets a
registry of its own, by context variable: two tools do not draw into each other's figure, a cell
that ends does not show a tool's figure as its own, and the user's open figures stay as they are.
Since matplotlib itself is not made for threads, tools that use pyplot also take turns, from their
first use of it to their end. Inside a call pyplot draws with Agg, which never opens a window.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping, Sequence
from contextvars import ContextVar, Token
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from nbtools.display.bundles import bundle
from nbtools.display.pictures import draw_png, figure_of
from nbtools.display.routing import current_sink, shell
from nbtools.messages import Json

_PYPLOT = "matplotlib.pyplot"
_NONE: OrderedDict[Any, Any] = OrderedDict()
"""The figures of a call that has not touched pyplot; nothing is ever put into it."""

_turn = threading.Lock()
_guard = threading.Lock()
"""Held for a moment, where it is decided who has the turn."""


class Figures:
    """The figures that one call has open."""

    def __init__(self) -> None:
        self._managers: OrderedDict[Any, Any] = _NONE
        self._used = False
        self._holds = False
        self._over = False

    def collect(self, *, shown: object = None) -> list[dict[str, Json]]:
        """Draw the figures that are open and close them.

        Args:
            shown: A value that is shown anyway; its figure is closed and not drawn again.

        Returns:
            A MIME bundle for each, in the order they were opened.
        """
        if not self._managers:
            return []
        managers = sorted(self._managers.values(), key=lambda manager: manager.num)
        self._managers.clear()
        known = figure_of(shown)
        opened = [manager.canvas.figure for manager in managers]
        return [bundle(figure) for figure in opened if figure is not known]

    @property
    def used(self) -> bool:
        """Whether the code touched pyplot at all."""
        return self._used

    def registry(self) -> OrderedDict[Any, Any]:
        """Return pyplot's registry for this call; the first use of it waits for the turn."""
        if not self._used:
            self._used, self._managers = True, OrderedDict()
            self._take_turn()
        return self._managers

    def close(self) -> None:
        """Close what is open without showing it, and let the next tool use pyplot."""
        self._over = True  # first: who begins to use pyplot from here on sees it
        if self._used:
            self._managers.clear()
            with _guard:
                self._end_turn()

    def _take_turn(self) -> None:
        # On a thread that runs a loop, waiting would stop all that runs there.
        taken = _turn.acquire(blocking=not _loop_runs_here())
        with _guard:
            self._holds = taken
            if self._over:  # given up while it waited
                self._end_turn()

    def _end_turn(self) -> None:
        if self._holds:
            self._holds = False
            _turn.release()


_figures: ContextVar[Figures | None] = ContextVar("nbtools_figures", default=None)


class figures:  # noqa: N801 - it stands in a `with` statement, as a function would
    """Give the code inside pyplot figures of its own.

    Worker threads and tasks that inherit this context share them. Call `collect` before the end,
    on the thread that may take the time to draw; what is open at the end is closed unseen.

    `with figures() as opened` gives the figures that the code opens.
    """

    __slots__ = ("_opened", "_token")
    _token: Token[Figures | None]

    def __init__(self) -> None:
        self._opened = Figures()

    def __enter__(self) -> Figures:
        _watch()
        self._token = _figures.set(self._opened)
        return self._opened

    def __exit__(self, *_: object) -> None:
        _figures.reset(self._token)
        self._opened.close()


def _loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


# --- pyplot itself --------------------------------------------------------------------------------


def _watch() -> None:
    """Have pyplot prepared: now if it is imported, else when it will be."""
    if _PYPLOT in sys.modules:
        _prepare(importlib.import_module(_PYPLOT))  # waits if another thread is importing it
    elif type(sys.meta_path[0]) is not _Finder and _Finder not in map(type, sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds pyplot as always, and has it prepared once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PYPLOT:
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader = spec.loader if spec is not None else None
        if loader is not None:
            load = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                load(module)
                _prepare(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _prepare(pyplot: types.ModuleType) -> None:
    gcf = importlib.import_module("matplotlib._pylab_helpers").Gcf
    if isinstance(gcf.figs, _Registry):
        return
    gcf.figs = _Registry(gcf.figs)
    users_backend = pyplot._get_backend_mod  # noqa: SLF001 - pyplot has no public seam for it
    pyplot._get_backend_mod = lambda: (  # type: ignore[attr-defined] # noqa: SLF001
        users_backend() if _figures.get() is None else _backend()
    )
    _let_display_draw()


def _let_display_draw() -> None:
    """Let `display(figure)` draw in a card even if no cell has chosen a backend yet."""
    formatter = getattr(shell(), "display_formatter", None)
    if formatter is None:
        return
    png = formatter.formatters["image/png"]
    figure = importlib.import_module("matplotlib.figure").Figure
    if figure not in png:
        png.for_type(figure, lambda shown: draw_png(shown) if current_sink() else None)


class _Registry(MutableMapping[Any, Any]):
    """pyplot's registry of open figures: the call's inside a call, else the user's."""

    def __init__(self, users: OrderedDict[Any, Any]) -> None:
        self._users = users

    def _here(self) -> OrderedDict[Any, Any]:
        opened = _figures.get()
        return self._users if opened is None else opened.registry()

    def __getitem__(self, number: Any) -> Any:
        return self._here()[number]

    def __setitem__(self, number: Any, manager: Any) -> None:
        self._here()[number] = manager

    def __delitem__(self, number: Any) -> None:
        del self._here()[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._here())

    def __len__(self) -> int:
        return len(self._here())

    def values(self) -> Any:
        return self._here().values()

    def move_to_end(self, number: Any) -> None:
        self._here().move_to_end(number)


@functools.cache
def _backend() -> types.SimpleNamespace:
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    return types.SimpleNamespace(**{**vars(agg), "show": _show})


def _show(*_args: object, **_options: object) -> None:
    """Do what `plt.show()` says: the card shows the open figures now."""
    sink, opened = current_sink(), _figures.get()
    if sink is not None and opened is not None:
        for shown in opened.collect():
            sink.display(shown)
