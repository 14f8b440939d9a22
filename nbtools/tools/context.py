"""What a running tool may know of its chat, and how it hears that it was cancelled."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, Generic, TypeVar

from nbtools.errors import ToolError
from nbtools.messages import Json

Deps = TypeVar("Deps")
OnProgress = Callable[[float | None, str], object]
OnAsk = Callable[[str, Mapping[str, Json] | None, str], Coroutine[Any, Any, dict[str, Json] | None]]


class ToolContext(Generic[Deps]):
    """What the program gives a tool and the model never sees.

    A parameter with this annotation is in no schema. Every method may be used from any thread.

    Args:
        context: The chat's hidden context: identity, connections, secrets.
        call_id: The id of the call.
        on_progress: Takes what `progress` reports; it has to be safe from any thread.
        on_ask: Takes what `ask` asks; it has to be safe from any loop.
    """

    __slots__ = ("_cancelled", "_on_ask", "_on_progress", "call_id", "context")

    def __init__(
        self,
        context: Deps,
        *,
        call_id: str = "",
        on_progress: OnProgress | None = None,
        on_ask: OnAsk | None = None,
    ) -> None:
        self.context = context
        self.call_id = call_id
        self._on_progress = on_progress
        self._on_ask = on_ask
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled; a long loop should look and return."""
        return self._cancelled

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        """Show how far the call is.

        Args:
            fraction: From 0 to 1, kept within that range; None where it is not known.
            text: A few words.
        """
        if self._on_progress is not None:
            self._on_progress(_bounded(fraction), str(text))

    def ask(
        self, text: str, form: Mapping[str, Json] | None = None, *, link: str = ""
    ) -> Coroutine[Any, Any, dict[str, Json] | None]:
        """Ask the person something on the card of the call, and wait; only in `async` tools.

        The chat rests meanwhile, and the time of the tool does not run.

        Args:
            text: The question.
            form: What the answer may be: a JSON Schema of type object whose properties are texts,
                numbers, booleans, choices (`enum`) or lists of choices. None asks for consent.
            link: An address that the person is asked to open.

        Returns:
            The fields of the form, checked; {} for a consent; None where the person declined.

        Raises:
            ToolDefinitionError: `form` is no such schema.
            ToolError: There is no chat whose person could be asked, or the tool is not `async`.
            CancelledError: The call has ended meanwhile, or had ended before.
        """
        if self._on_ask is None:
            raise ToolError("There is nobody here who could be asked.")
        return _Asked(self._on_ask(text, form, link))

    def __repr__(self) -> str:
        # The context may hold secrets.
        return f"ToolContext(call_id={self.call_id!r})"


class _Asked(Coroutine[Any, Any, dict[str, Json] | None]):
    """What has to be awaited before it is an answer; it never passes for a yes."""

    __slots__ = ("_work",)

    def __init__(self, work: Coroutine[Any, Any, dict[str, Json] | None]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, dict[str, Json] | None]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    def __bool__(self) -> bool:
        self.close()
        raise ToolError("Nobody was asked: write `await ctx.ask(…)`.")


def cancel(context: ToolContext[Any]) -> None:
    """Tell a running tool that nobody waits for it any more."""
    context._cancelled = True  # noqa: SLF001 - a tool may read it and not set it


def _bounded(fraction: float | None) -> float | None:
    if fraction is None:
        return None
    number = float(fraction)
    # What is not a number (0 / 0 of an empty loop, say) is not known.
    return min(max(number, 0.0), 1.0) if number == number else None  # noqa: PLR0124
