"""Values that never change: dataclasses that are made at a tenth of the usual cost.

The constructor of a frozen dataclass goes through `object.__setattr__` once a field, which takes as
long as all else that is done with most of these values: each event of a chat makes several.
"""

from __future__ import annotations

import functools
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind", bound=type)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(kind: Kind) -> Kind:
    """Make a class one of frozen values, as `dataclass(frozen=True, kw_only=True)` does.

    Args:
        kind: A class with annotated fields; their defaults are values, and it has no `__post_init__`.

    Returns:
        The class. Its constructor takes what that of the dataclass takes, and raises as that does.
    """
    made: Any = dataclass(frozen=True, kw_only=True)(kind)
    slow = made.__init__
    known = fields(made)
    defaults = {each.name: each.default for each in known if each.default is not MISSING}
    required = frozenset([each.name for each in known if each.default is MISSING])
    count = len(known)

    @functools.wraps(slow)
    def init(self: Any, /, **given: Any) -> None:
        held = {**defaults, **given}
        if len(held) != count or not required <= given.keys():
            slow(self, **given)  # says what is wrong
        object.__setattr__(self, "__dict__", held)

    made.__init__ = init
    kept: Kind = made
    return kept
