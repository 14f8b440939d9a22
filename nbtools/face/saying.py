"""What a program says, as text and files."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import Path

from nbtools.messages import File


def read_said(said: object) -> tuple[str, tuple[File, ...]]:
    """Read what a program says: a text, or a list of texts, paths of files and `File` parts.

    Returns:
        The text, and the files; the session gives them their ids.

    Raises:
        TypeError: It is something else.
        ValueError: Nothing is in it.
    """
    # A dict or a table is iterable too, and would give the names of its keys or columns.
    named = isinstance(said, bytes | Mapping) or hasattr(said, "columns")
    if named or not isinstance(said, Iterable):
        raise TypeError(f"A message is a text, or a list of texts and files, not {said!r:.80}.")
    given = [said] if isinstance(said, str) else list(said)
    text = "\n\n".join(part for part in given if isinstance(part, str))
    files = tuple(_file(part) for part in given if not isinstance(part, str))
    if not text.strip() and not files:
        raise ValueError("A message cannot be empty.")
    return text, files


def _file(part: object) -> File:
    if isinstance(part, File):
        return part
    if not isinstance(part, Path):
        raise TypeError(f"A message holds texts, paths and File parts, not {part!r}.")
    mime = mimetypes.guess_type(part.name)[0] or "application/octet-stream"
    content = base64.b64encode(part.read_bytes()).decode()
    return File(id="", mime=mime, name=part.name, data=content)
