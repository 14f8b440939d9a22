"""Renderers written in JavaScript: an anywidget front-end module whose model is the call."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Literal

Traits = Literal["", "args"]
_SUFFIXES = (".js", ".mjs")


class JavaScriptRenderer:
    """An anywidget module, from a file or a string, that draws calls on the page.

    Args:
        esm: A path, a text that ends in `.js` or `.mjs` (a path too), or the module's code. An
            anywidget class's own `_esm` will do.
        traits: What the module's `model.get` reads: "" gives the fields of the call, "args" its
            arguments and nothing else, so that a published widget serves as it is.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The code is no anywidget module, or `traits` is another word.
    """

    kind: Literal["javascript"] = "javascript"

    def __init__(self, esm: str | PathLike[str] | object, *, traits: Traits = "") -> None:
        if traits not in ("", "args"):
            raise ValueError(f'traits is {traits!r}; expected "" (the call) or "args".')
        self.traits = traits
        self._path = _path(esm)
        self._stamp: tuple[int, int] | None = None
        self._code = "" if self._path is not None else _checked(str(esm), "The code")
        self._read()

    @property
    def code(self) -> str:
        """The module's code; a file is read again when it has changed."""
        self._read()
        return self._code

    @property
    def asset(self) -> str:
        """The id under which the page fetches the code; other code has another id."""
        return "r" + hashlib.sha256(self.code.encode()).hexdigest()[:15]

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            status = self._path.stat()
        except FileNotFoundError:
            if self._stamp is not None:
                return  # an editor replaces the file this moment, or it is gone: what was read stays
            raise FileNotFoundError(
                f"There is no file {str(self._path)!r}; expected the JavaScript of a renderer."
            ) from None
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            code = self._path.read_text(encoding="utf-8")
            self._code = _checked(code, f"The file {str(self._path)!r}")
            self._stamp = stamp

    def __repr__(self) -> str:
        source = repr(str(self._path)) if self._path is not None else f"<{len(self._code):,} chars>"
        return f"JavaScriptRenderer({source}, traits={self.traits!r})"


def _path(esm: object) -> Path | None:
    if isinstance(esm, PathLike):
        return Path(esm)
    if isinstance(esm, str) and esm.endswith(_SUFFIXES) and "\n" not in esm:
        if "://" in esm:
            raise ValueError(
                f"{esm!r} is an address. Save the module as a file and give its path: code that a "
                "renderer runs does not change behind your back."
            )
        return Path(esm)
    return None


def _checked(code: str, name: str) -> str:
    if "export" not in code:
        raise ValueError(
            f"{name} is no anywidget module: it has no `export default {{ render }}`. "
            f"It begins with {code[:40]!r}."
        )
    return code
