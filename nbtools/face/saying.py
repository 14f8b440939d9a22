"""What a program says, as the parts of a message."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from nbtools.messages import File, Part
from nbtools.session import Session


def parts_of(session: Session, said: object) -> tuple[Part, ...]:
    """Make the parts of a user message.

    Args:
        session: The conversation that it is for.
        said: A text, or a list of texts, paths of files and `File` parts.

    Raises:
        TypeError: It is something else.
        ValueError: Nothing is in it.
    """
    # A dict or a table is iterable too, and would give the names of its keys or columns.
    named = isinstance(said, bytes | Mapping) or hasattr(said, "columns")
    if named or not isinstance(said, Iterable):
        raise TypeError(f"A message is a text, or a list of texts and files, not {said!r:.80}.")
    given = [said] if isinstance(said, str) else list(said)
    texts = [part for part in given if isinstance(part, str)]
    files = [_file(session, part) for part in given if not isinstance(part, str)]
    text = "\n\n".join(texts)
    if not text.strip() and not files:
        raise ValueError("A message cannot be empty.")
    return session.engine.do(lambda: session.user_parts(text, tuple(files)))


def _file(session: Session, part: Path | File) -> File:
    made = session.engine.do(lambda: session.new_id("f"))
    if isinstance(part, File):
        return replace(part, id=made)  # the same file may be sent twice
    if not isinstance(part, Path):
        raise TypeError(f"A message holds texts, paths and File parts, not {part!r}.")
    mime = mimetypes.guess_type(part.name)[0] or "application/octet-stream"
    content = base64.b64encode(part.read_bytes()).decode()
    return File(id=made, mime=mime, name=part.name, data=content)
