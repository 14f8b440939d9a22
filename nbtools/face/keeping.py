"""The side of a chat that is kept in files: the conversation, a page that shows it, the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from nbtools import page, storage
from nbtools.audit import Audit, Redact
from nbtools.bridge import Bridge
from nbtools.checks import Check, expect
from nbtools.frontend import runtime_code
from nbtools.jsontext import clean_text
from nbtools.messages import Conversation
from nbtools.session import Session
from nbtools.tools import Tool

_PATH: Check = (lambda value: isinstance(value, str | Path), "the path of a file")


class Keeping:
    """Write a chat to files, now or at each rest."""

    _session: Session
    _bridge: Bridge
    _id: str

    def save(self, path: str | Path) -> None:
        """Write the conversation to a file.

        Raises:
            OSError: The file cannot be written.
        """
        _saver(self._session, Path(path))(self._session.conversation)

    def to_html(self, path: str | Path) -> Path:
        """Write a page that shows the conversation and needs neither a kernel nor a network.

        Returns:
            The path of the page.
        """
        written, conversation = Path(path), self._session.conversation
        snapshot = self._bridge.snapshot(conversation)
        carried = self._bridge.assets.carried(conversation)
        shown = page.render(conversation, snapshot, carried, runtime_code())
        written.write_text(clean_text(shown), encoding="utf-8")
        return written

    def _write_down(
        self, autosave: str | Path | None, audit: str | Path | None, redact: Redact | None
    ) -> None:
        """Let the session write what happens to the files that were named."""
        session = self._session
        if autosave is not None:
            session.save = _saver(session, _file_of("autosave", autosave))
        file = None if audit is None else _file_of("audit", audit)
        session.audit = Audit(file, redact=redact, chat=self._id)


def fingerprints(tools: Mapping[str, Tool]) -> dict[str, str]:
    """Give the fingerprint of each tool's schema by the tool's name."""
    return {name: tool.fingerprint for name, tool in tools.items()}


def _saver(session: Session, path: Path) -> Callable[[Conversation], None]:
    def write(conversation: Conversation) -> None:
        storage.save(path, conversation, fingerprints(session.settings.tools))

    return write


def _file_of(name: str, path: str | Path) -> Path:
    expect(name, path, _PATH)
    file = Path(path).absolute()  # a cell may go to another folder
    if file.is_dir():
        raise ValueError(f"{name} is the folder {str(path)!r}; expected a file.")
    if not file.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {str(Path(path).parent)!r}.")
    return file
