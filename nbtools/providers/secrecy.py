"""What must not be shown: keys, headers, user names in addresses, and the queries of addresses."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from urllib.parse import unquote, urlsplit, urlunsplit

from nbtools.within import Within

_HIDDEN = "[hidden]"
_SHORTEST = 6
_QUERY = re.compile(r"(https?://[^\s?#\"'<>]+)[?#][^\s\"'<>]*", re.IGNORECASE)
_USER = re.compile(r"(\w+://)[^\s/@\"'<>]+@")
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=*-]{4,}", re.IGNORECASE)
# Providers quote a refused key with its middle blanked and its last characters in the open.
_MASKED = re.compile(r"[\w-]*(?:\*{2,}|…|(?<=\w)\.{3}(?=\w))[\w*.…-]*\w")
_KEY = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|csk|pplx|r8|nvapi|AIza)[-_]?[\w-]{12,}")

_RECEIVED = re.compile(r"return_value=.*", re.DOTALL)
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy")
_OURS: ContextVar[bool] = ContextVar("nbtools_asks", default=False)


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Remove from a text whatever is or looks like a secret.

    Args:
        text: A text from outside, such as the message of a server.
        secrets: What is known to be secret; the shortest are let be, for the sake of the text.

    Returns:
        The text, with "[hidden]" in place of each secret.
    """
    words = {word for secret in secrets for word in (secret, *secret.split())}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _SHORTEST:
            text = text.replace(word, _HIDDEN)
    text = _QUERY.sub(r"\1", text)
    text = _USER.sub(r"\1", text)
    text = _BEARER.sub(rf"\1 {_HIDDEN}", text)
    return _KEY.sub(_HIDDEN, _MASKED.sub(_HIDDEN, text))


def split_address(address: str) -> tuple[str, tuple[str, str] | None]:
    """Take the login out of the address of a server, and what stands behind a cross.

    Args:
        address: What the program gives as the address.

    Returns:
        The address without them; and user and password, or None where it has none.

    Raises:
        ValueError: It is no address of a server; the text shows neither login nor query.
    """
    given = address.strip().partition("#")[0]
    if not _is_address(given):
        shown = given.partition("?")[0].rpartition("@")[2]  # a login may stand before it
        raise ValueError(f"base_url is {shown!r}; expected an address such as 'https://host/v1'.")
    return split_login(given)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname)
        return fits and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:  # such as a port that is no number
        return False


def split_login(address: str) -> tuple[str, tuple[str, str] | None]:
    """Take the user name and the password out of an address.

    Args:
        address: An address, such as "https://user:password@host/v1".

    Returns:
        The address without them; and the two, or None where it has none.
    """
    parts = urlsplit(address)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return address, None
    user, _, password = login.partition(":")
    bare = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return bare, (unquote(user), unquote(password))


def quietly() -> Within[bool]:
    """Keep queries and headers out of what the HTTP client logs of requests within."""
    _filter_logs()
    return Within(_OURS, True)


@cache
def _filter_logs() -> None:
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_bare)


def _bare(record: logging.LogRecord) -> bool:
    if _OURS.get():
        record.msg = scrub(_RECEIVED.sub("", record.getMessage())).rstrip()
        record.args = ()
    return True
