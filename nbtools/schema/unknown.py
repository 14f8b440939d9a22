"""Fields that a model wrote and pydantic would drop without a word, within nested models.

Outside of models pydantic refuses what it does not know. A model class ignores it by default, which
is right for data that a program reads, and wrong for arguments: the model believes they counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtools.messages import Json

if TYPE_CHECKING:
    from pydantic import BaseModel

Path = tuple[str | int, ...]


def unknown_fields(read: object, given: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Find what a nested model left out of what it was given.

    A class that says what it does with further fields is left alone, and so is one that looks at
    what it is given by a validator of its own.

    Args:
        read: What pydantic made of a value.
        given: The value as JSON has it.
        path: Where it stands.

    Returns:
        The place of each such field, and what stands there.
    """
    read = _unwrapped(read)
    if isinstance(given, list):
        items = list(read) if isinstance(read, list | tuple) else []
        for place, (each, written) in enumerate(zip(items, given, strict=False)):
            yield from unknown_fields(each, written, (*path, place))
    elif isinstance(given, Mapping):
        parts = _parts(read)
        if drops_unknown(type(read)):
            yield from (((*path, name), given[name]) for name in given if name not in parts)
        for name in given.keys() & parts.keys():
            yield from unknown_fields(parts[name], given[name], (*path, name))


def drops_unknown(kind: type[Any]) -> bool:
    """Say whether a class is a model that ignores further fields only because nothing else was said."""
    from pydantic import BaseModel, RootModel  # noqa: PLC0415 - loaded with the first tool

    if not issubclass(kind, BaseModel) or issubclass(kind, RootModel):
        return False
    validators = kind.__pydantic_decorators__.model_validators.values()
    return kind.model_config.get("extra") is None and all(
        each.info.mode == "after" for each in validators
    )


def _unwrapped(read: object) -> object:
    """Give what a model stands for that is no object of its own."""
    from pydantic import RootModel  # noqa: PLC0415 - as above

    while isinstance(read, RootModel):
        read = read.root
    return read


def _parts(read: object) -> dict[str, object]:
    """Give what a value holds, by every name that JSON may have for it."""
    from pydantic import BaseModel  # noqa: PLC0415 - as above

    if isinstance(read, BaseModel):
        return {
            name: value for field, value in vars(read).items() for name in _names(type(read), field)
        }
    if dataclasses.is_dataclass(read) and not isinstance(read, type):
        return {each.name: getattr(read, each.name, None) for each in dataclasses.fields(read)}
    return dict(read) if isinstance(read, Mapping) else {}


def _names(kind: type[BaseModel], field: str) -> Iterator[str]:
    from pydantic import AliasChoices, AliasPath  # noqa: PLC0415 - as above

    known = kind.model_fields.get(field)
    alias = known.validation_alias if known is not None else None
    if alias is None or kind.model_config.get("populate_by_name"):
        yield field
    if kind.model_config.get("validate_by_name"):
        yield field
    for each in alias.choices if isinstance(alias, AliasChoices) else (alias,):
        if isinstance(each, AliasPath):
            yield str(each.path[0])
        elif isinstance(each, str):
            yield each
