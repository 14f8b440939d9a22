"""Text that names no folder of this machine: an absolute path is told by the name of its file."""

from __future__ import annotations

import re

_CHAR = r"(?:[^\s'\"`<>|]|'(?=\w))"
"""What a path without quotes is made of; an apostrophe may stand within a word."""
_PLAIN = r"[^\s'\"`<>|.,:;\\/]"
"""What a folder with a space in its name is made of, besides the space."""

_SCHEME = r"[A-Za-z][\w+.-]+://"
_URL = rf"(?<![\w+.-])(?!file://localhost/){_SCHEME}[^\s/'\"`<>]{_CHAR}*"
_END_TAG = r"</[\w:-]+\s*>"

_LOCAL = rf"(?:file://localhost(?=/)|file:(?=/)|{_SCHEME}(?=/))?"
_POSIX = rf"{_LOCAL}(?:~[\w.-]*)?(?:\\?/)+(?=[^\s\\/'\"`])"
_DRIVE = r"[A-Za-z]:[\\/]+(?=[^\s\\/'\"`])"
_SHARE = r"\\{2,4}(?=\w[^\s\\]*\\+\w)"

# A bare path goes on after a space where what follows looks like the rest of it.
_MORE = rf"(?={_PLAIN}+/\w)"
_MORE_WINDOWS = rf"(?=(?:{_PLAIN}+ ){{0,3}}{_PLAIN}+\\)"
_BARE_POSIX = rf"{_POSIX}(?:(?:{_CHAR}*/)?{_PLAIN}+ {_MORE})*{_CHAR}+"
_BARE_WINDOWS = rf"(?:{_DRIVE}|{_SHARE})(?:(?:{_CHAR}*\\)?{_PLAIN}+ {_MORE_WINDOWS})*{_CHAR}+"

_FOUND = re.compile(
    rf"(?P<kept>{_URL}|{_END_TAG})"
    rf"|(?P<quote>['\"`])(?P<quoted>(?:{_POSIX}|{_DRIVE}|{_SHARE})(?:(?!(?P=quote)).)*)(?P=quote)"
    rf"|(?<![\w.~/\\*%)\]}}…])(?P<bare>{_BARE_POSIX}|{_BARE_WINDOWS})"
)
_SEPARATOR = re.compile(r"[\\/]+")


def without_folders(text: str) -> str:
    """Shorten each absolute path in a text to the name of its file.

    Args:
        text: The message of an exception, say. Paths of POSIX and of Windows are found in quotes
            and without; a URL with a host, and a path that is relative, are left as they are.

    Returns:
        The text with names only.
    """
    return _FOUND.sub(_shortened, text)


def _shortened(found: re.Match[str]) -> str:
    if found["kept"] is not None:
        return found["kept"]
    if found["quote"] is not None:
        return f"{found['quote']}{_names(found['quoted'])[-1]}{found['quote']}"
    names = _names(found["bare"])
    is_unit = len(found["bare"]) == 2  # such as "m /s"
    return found["bare"] if is_unit else names[-1]


def _names(path: str) -> list[str]:
    return [name for name in _SEPARATOR.split(path) if name]
