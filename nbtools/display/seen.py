"""What the model sees of a value: what it is told in words, and the pictures that go with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from nbtools.display.bundles import bundle, items_of, may_have_picture
from nbtools.display.copies import copy_of
from nbtools.display.faces import name, tell, words_of
from nbtools.display.mime import (
    PICTURES,
    apart,
    is_bundle,
    picture_bytes,
    pictures_in,
    together,
)
from nbtools.display.pictures import figure_of
from nbtools.display.text import cut, raised
from nbtools.limits import Limits
from nbtools.messages import Json, Picture

Bundle = Mapping[str, Json]


WORDS = frozenset({str, int, float, bool, type(None)})
"""Types whose values are told in words and nothing else, which is most of them."""


class Seen(NamedTuple):
    """The face of a value for the model."""

    told: str
    pictures: tuple[Picture, ...] = ()


def look(
    value: object, limits: Limits, *, drawn: Bundle | None = None, shown: Bundle | None = None
) -> Seen:
    """Give a value the face that the model sees; never raises.

    A figure or picture becomes one that the model is given. A list that holds pictures is told
    thing by thing.

    Args:
        value: Anything.
        limits: How much the model is told and given.
        drawn: The face of `value` for the person, where it was made already.
        shown: All that the person is shown of the call.

    Returns:
        Valid text that is never empty, and pictures.
    """
    if type(value) in WORDS:
        return Seen(tell(value, **_bounds(limits)))
    try:
        things = list(_things(value, drawn))
        sight = _Sight(limits, shown)
        told = "\n\n".join([sight.told(thing, each) for thing, each in things])
    except Exception as error:  # noqa: BLE001 - the value's own code raised
        return Seen(f"A {type(value).__name__} that cannot be told: it {raised(error)}")
    return Seen(cut(sight.noted(told), limits.told), tuple(sight.pictures))


def look_at(shown: Sequence[Bundle], limits: Limits) -> Seen:
    """Give what a call displayed, and did not return, the face that the model sees."""
    sight = _Sight(limits, together(shown))
    notes = [sight.take(data) for each in shown for one in apart(each) for data in _best(one)]
    told = f"Shown to the user: {tell(together(shown), **_bounds(limits))}"
    return Seen(sight.noted("\n".join(filter(None, [told, *notes]))), tuple(sight.pictures))


class _Sight:
    """Collects pictures up to a limit, and says what becomes of each."""

    def __init__(self, limits: Limits, shown: Bundle | None) -> None:
        self._limits = limits
        self._shown = {data for one in apart(shown or {}) for data in pictures_in(one)}
        self._left = 0
        self.pictures: list[Picture] = []

    def told(self, value: object, drawn: Bundle | None) -> str:
        """Tell what one thing is, and take its picture, if it is one."""
        drawn = drawn or {}
        data = next(iter(_best(drawn)), None)
        if data is None and figure_of(value) is None:
            return _unfit(value) or tell(value, **_bounds(self._limits))
        told = name(value, drawn, shown=data in self._shown)
        return "\n".join(filter(None, [told, "" if data is None else self.take(data)]))

    def take(self, data: str) -> str:
        """Take a picture; say why, where the model is not given it."""
        if len(self.pictures) >= self._limits.pictures:
            self._left += 1
            return ""
        copy = copy_of(data, self._limits.pixels)
        if isinstance(copy, str):
            return f"(You are not given this picture: {copy}.)"
        self.pictures.append(copy)
        return ""

    def noted(self, told: str) -> str:
        """Say how many pictures there are besides."""
        if not self._left:
            return told
        further = "further " if self.pictures else ""
        pictures = "picture" if self._left == 1 else "pictures"
        return f"{told}\n({self._left} {further}{pictures} of this result: not given to you.)"


def _things(value: object, drawn: Bundle | None) -> Iterable[tuple[object, Bundle | None]]:
    if items := items_of(value):
        known = apart(drawn or {})
        each = known if len(known) == len(items) else [_drawn(item) for item in items]
        return zip(items, each, strict=True)
    return [(value, _drawn(value) if drawn is None else drawn)]


def _drawn(value: object) -> Bundle | None:
    return bundle(value) if may_have_picture(value) else None


def _best(drawn: Bundle) -> list[str]:
    """Give the smallest form of the picture that a bundle is."""
    return sorted(pictures_in(drawn), key=len)[:1]


def _unfit(value: object) -> str:
    """Say of a picture of another type that no model takes it; "" for all else."""
    mimes = [mime for mime in value if mime.startswith("image/")] if is_bundle(value) else []
    if not mimes:
        return ""
    why = f"it is {mimes[0]}, and models take only PNG, JPEG, GIF and WebP"
    if mimes[0] in PICTURES:  # then the person is not shown it either
        data = value[mimes[0]] if is_bundle(value) else None
        broken = isinstance(data, str) and picture_bytes(mimes[0], data) is None
        why = "its data are no base64" if broken else "it is too large"
    return f"{words_of(value) or 'A picture.'}\n(You are not given this picture: {why}.)"


def _bounds(limits: Limits) -> dict[str, int]:
    return {"limit": limits.told, "rows": limits.rows, "columns": limits.columns}
