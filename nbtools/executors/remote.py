"""What an executor offers that runs the functions of tools on other machines."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Made(Enum):
    """Stands among the arguments for what is made where the function runs."""

    CONTEXT = "context"


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """A function for another machine, with what has to be known of it."""

    name: str
    """The name of the tool, for whoever looks at the cluster."""
    function: Callable[..., object]
    positional: tuple[object, ...]
    """`Made.CONTEXT` stands in the place of a context; in `named` too."""
    named: dict[str, object]
    idempotent: bool
    """Whether it may run once more where its machine was lost."""
    on_progress: Callable[[float | None, str], object]
    """Takes how far it is, from any thread."""


class Remote(Executor):
    """An executor for errands: it reports progress, and ends them by asking them to."""

    async def run(self, errand: Errand) -> Any:
        """Run an errand; cancelling the caller asks it to end, and leaves it to itself.

        Returns:
            What the function returned.

        Raises:
            BrokenExecutor: Its machine was lost, and it was not run again.
        """
        raise NotImplementedError(f"{type(self).__name__} has to define run().")
