"""JSON that cannot be changed in place.

What a conversation holds is what the page shows and what an approval names; a list or dict that
somebody changed behind its back would run something else. Readers that need their own get a copy.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from nbtools.messages import Json


def freeze(value: Json) -> Json:
    """Make JSON that refuses to be changed.

    Args:
        value: JSON; what is frozen already is returned as it is.

    Returns:
        An equal value; its dicts and lists, at every depth, raise `TypeError` when changed. A
        number that JSON cannot hold, such as a server's 1e999, becomes None.
    """
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, dict):
        return FrozenDict(
            {key: item if type(item) in _AS_IT_IS else freeze(item) for key, item in value.items()}
        )
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return None if isinstance(value, float) and not math.isfinite(value) else value


def thaw(value: Json) -> Json:
    """Copy JSON into plain dicts and lists, which may be changed."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, list) else value


def _refuse(value: object, *_: object, **__: object) -> NoReturn:
    kind = "dict" if isinstance(value, dict) else "list"
    raise TypeError(
        f"This {kind} is shown or sent as it is and cannot be changed in place; change a copy of it."
    )


class FrozenDict(dict[str, Any]):
    """A dict that refuses to be changed."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


class FrozenList(list[Any]):
    """A list that refuses to be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = _refuse
    clear = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (thaw(self),)


_AS_IT_IS = frozenset({str, int, bool, type(None), FrozenDict, FrozenList})
"""Types of which nothing has to be frozen."""
