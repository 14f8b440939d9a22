"""What a page fetches by its id: the code of renderers, and pictures that are too large for the state.

A picture is there for as long as the conversation holds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from nbtools.display.mime import SEVERAL, apart, picture_bytes
from nbtools.messages import Conversation, Job, Json, Part, ToolCall

INLINE = 65_536
"""Characters up to which a picture travels inside the state; larger ones are fetched."""

LOOK_AFTER = 64
"""How many pictures are known before it is looked whether the conversation still holds them."""

Content = tuple[str, bytes]
"""A MIME type, and data of it."""


class Assets:
    """Give ids to what is large, and find it by them.

    Args:
        conversation: Gives the conversation as it stands.
    """

    def __init__(self, conversation: Callable[[], Conversation]) -> None:
        self._conversation = conversation
        self._code: dict[str, Content] = {}
        self._pictures: dict[str, tuple[str, str]] = {}
        self._look_at = LOOK_AFTER

    def add_code(self, asset: str, code: str) -> None:
        """Keep the code of a renderer for good."""
        self._code[asset] = ("text/javascript", code.encode())

    def find(self, asset: str) -> Content | None:
        """Return what has this id, or None where it is gone."""
        if asset in self._code:
            return self._code[asset]
        mime, text = self._pictures.get(asset, ("", ""))
        content = picture_bytes(mime, text)
        return (mime, content) if mime and content is not None else None

    def carried(self, conversation: Conversation) -> dict[str, Content]:
        """Return all that a page of this conversation refers to, by id."""
        found = dict(self._code)
        for mime, text in _pictures(conversation):
            content = picture_bytes(mime, text)
            if content is not None:
                found[_name(content)] = (mime, content)
        return found

    def outsource(self, shown: Mapping[str, Json]) -> dict[str, Json]:
        """Put references in the place of the large pictures of a MIME bundle."""
        written = dict(shown)
        if isinstance(several := shown.get(SEVERAL), list):
            written[SEVERAL] = [self.outsource(one) for one in several if isinstance(one, Mapping)]
        for mime, text in _large(shown):
            content = picture_bytes(mime, text)
            if content is None:  # a file may say that anything is a picture
                del written[mime]
            else:
                written[mime] = {"asset": self._keep(mime, text, content), "size": len(content)}
        return written

    def _keep(self, mime: str, text: str, content: bytes) -> str:
        asset = _name(content)
        self._pictures[asset] = (mime, text)
        if len(self._pictures) > self._look_at:
            self.let_go()
            self._look_at = max(LOOK_AFTER, 2 * len(self._pictures))
        return asset

    def let_go(self) -> None:
        """Forget the pictures that the conversation holds no more."""
        held = {id(text) for _, text in _pictures(self._conversation())}
        for asset, (_, text) in tuple(self._pictures.items()):  # any thread may add to them
            if id(text) not in held:
                self._pictures.pop(asset, None)


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _pictures(conversation: Conversation) -> Iterator[tuple[str, str]]:
    for message in conversation.messages:
        for part in message.parts:
            for shown in _faces(part):
                for one in apart(shown):
                    yield from _large(one)


def _faces(part: Part) -> Iterator[Mapping[str, Json]]:
    """Give the MIME bundles of a part."""
    if isinstance(part, ToolCall):
        preview = part.preview.display if part.preview is not None else None
        yield from (shown for shown in (preview, part.display, part.drawn) if shown)
    elif isinstance(part, Job) and part.display:
        yield part.display


def _large(shown: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for mime, content in shown.items():
        if mime.startswith("image/") and isinstance(content, str) and len(content) > INLINE:
            yield mime, content
