"""How a model is to answer, in words that hold for every wire.

Each wire writes them in its own terms. What a wire cannot say is left out of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, TypedDict

Effort = Literal["none", "minimal", "low", "medium", "high", "max"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "max")

Output: TypeAlias = type | Mapping[str, Any]
"""A pydantic model, or a JSON Schema of type object."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How a model is to answer; what is None is left to the provider.

    Raises:
        ValueError: A field has a value that none of the wires takes; the error names it.
    """

    temperature: float | None = None
    """How freely the model chooses its words, from 0."""
    max_tokens: int | None = None
    """The most tokens that one reply may have."""
    tool_choice: str | None = None
    """Whether tools are called: "auto", "none", "required", or the name of the one to call.

    A tool that has to be called is asked for once in answer to a message; with its result the
    model may go on as it likes.
    """
    parallel_calls: bool | None = None
    """False allows one call in a reply at most."""
    stop: Sequence[str] = ()
    """Texts that end the reply where they would begin."""
    seed: int | None = None
    """Makes answers repeatable, as far as the provider can."""
    reasoning: Effort | int | None = None
    """How much the model thinks before it answers: a word, or the most tokens to spend on it."""
    output: Output | None = None
    """The shape that the answer has to have; the text is then JSON."""
    images: bool | None = None
    """Whether it is given the pictures that tools return; None decides by the model's name."""
    extra: Mapping[str, Any] | None = None
    """Further fields of the request's body, which win over all others.

    `tools`, which the provider runs itself, are added to the chat's own.
    """

    def __post_init__(self) -> None:
        _number("temperature", self.temperature, least=0)
        _number("max_tokens", self.max_tokens, least=1, whole=True)
        _number("seed", self.seed, whole=True)
        if isinstance(self.reasoning, str):
            if self.reasoning not in EFFORTS:
                raise _unfit("reasoning", self.reasoning, f"a number or one of {EFFORTS}")
        else:
            _number("reasoning", self.reasoning, least=1, whole=True)
        if self.tool_choice is not None and not (
            self.tool_choice and type(self.tool_choice) is str
        ):
            raise _unfit("tool_choice", self.tool_choice, "'auto', 'none', 'required' or a tool")
        if not isinstance(self.images, bool | None):
            raise _unfit("images", self.images, "True, False or None")
        _texts(self)
        if not (self.output is None or isinstance(self.output, type | Mapping)):
            raise _unfit("output", self.output, "a pydantic model or a JSON Schema")


class SettingsFields(TypedDict, total=False):
    """The fields of `Settings` as keyword arguments."""

    temperature: float | None
    max_tokens: int | None
    tool_choice: str | None
    parallel_calls: bool | None
    stop: Sequence[str]
    seed: int | None
    reasoning: Effort | int | None
    output: Output | None
    images: bool | None
    extra: Mapping[str, Any] | None


def chosen(owner: str, settings: Settings | None, given: Mapping[str, Any]) -> Settings:
    """Put single fields, as a program gives them to a provider, on top of settings.

    Args:
        owner: The class that they are given to, for the text of an error.
        settings: What holds in general; None for nothing.
        given: Fields of `Settings`.

    Returns:
        The settings that hold.

    Raises:
        TypeError: A field is none of `Settings`, or the settings are none.
        ValueError: A field has a value that it cannot have.
    """
    if not isinstance(settings, Settings | None):
        raise TypeError(f"{owner}: settings is {settings!r:.80}; expected nbtools.Settings.")
    names = [field.name for field in fields(Settings)]
    if unknown := [name for name in given if name not in names]:
        raise TypeError(
            f"{owner} takes no argument {unknown[0]!r}; expected one of its own, "
            f"or of the settings {', '.join(names)}."
        )
    return merge(settings, Settings(**given))


def merge(settings: Settings | None, over: Settings | None) -> Settings:
    """Put settings on top of others.

    Args:
        settings: What holds in general; None for nothing.
        over: What holds now; its unset fields change nothing, `extra` is merged field by field.

    Returns:
        The settings that hold now.
    """
    if settings is None or over is None:
        return settings or over or Settings()
    changed: dict[str, Any] = {
        field.name: getattr(over, field.name)
        for field in fields(over)
        if getattr(over, field.name) != field.default
    }
    if settings.extra and over.extra:
        changed["extra"] = {**settings.extra, **over.extra}
    return replace(settings, **changed)


def _texts(settings: Settings) -> None:
    if not isinstance(settings.stop, Iterable):
        raise _unfit("stop", settings.stop, "texts that are not empty")
    stop = (settings.stop,) if isinstance(settings.stop, str) else tuple(settings.stop)
    if not all(isinstance(text, str) and text for text in stop):
        raise _unfit("stop", settings.stop, "texts that are not empty")
    object.__setattr__(settings, "stop", stop)


def _number(name: str, value: object, *, least: float | None = None, whole: bool = False) -> None:
    if value is None:
        return
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if type(value) not in kinds or (least is not None and not value >= least):  # type: ignore[operator]
        expected = "a whole number" if whole else "a number"
        raise _unfit(name, value, expected if least is None else f"{expected} from {least:g}")


def _unfit(name: str, value: object, expected: str) -> ValueError:
    return ValueError(f"{name} is {value!r:.80}; expected {expected}.")
