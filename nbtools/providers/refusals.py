"""What an answer with a bad status means, and what to do about it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from nbtools import errors
from nbtools.providers.failures import error_of, looks_like_html, read_refusal
from nbtools.providers.fields import word
from nbtools.providers.waiting import LONGEST, stated_wait

ADDRESS_HINT = "Check base_url: it usually ends in /v1."
_LOGIN = ("login", "signin", "sign-in", "sso", "oauth", "auth")
_SHOWN = 6
_BY_GATEWAYS = frozenset({413, *range(500, 600)})
"""Statuses whose pages come from what stands before the server."""


def refusal(
    status: int, headers: Mapping[str, str], content: bytes, *, host: str, hint: str = ""
) -> errors.ProviderError:
    """Make an error of an answer whose status is not a good one.

    Args:
        status: The HTTP status.
        headers: The headers, found by lower-case name.
        content: The body; it may be anything.
        host: Who answered.
        hint: What to do about it, where that is known.

    Returns:
        The error with the server's own type and message.
    """
    if 300 <= status < 400:
        return _redirected(headers.get("location", ""), status, host)
    body = decoded(content)
    report = read_refusal(body)
    stated = stated_wait(headers)
    wait = report.wait if stated is None else stated
    if wait is not None and wait > LONGEST:
        hint = f"It asks to wait {wait:,.0f} seconds. {hint}".strip()
    by_server = status not in _BY_GATEWAYS
    if not hint and by_server and isinstance(body, str) and looks_like_html(body):
        hint = ADDRESS_HINT
    return error_of(report, status=status, said_by=host, hint=hint, wait=wait)


def decoded(content: bytes) -> object:
    """Read a body as JSON, or else as text."""
    text = content.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def models_hint(model: str, content: bytes) -> str:
    """Say which models a server has.

    Args:
        model: The one that it does not have.
        content: What it answers to `GET /models`.

    Returns:
        A sentence that names the nearest ones; "" if the body names none.
    """
    listed = decoded(content)
    entries = listed.get("data") or listed.get("models") if isinstance(listed, dict) else None
    given = (word(entry, "id") or word(entry, "name") for entry in _as_list(entries))
    names = [name.removeprefix("models/") for name in given if name]
    if not names or model in names:
        return ""
    return f"It has: {', '.join(_nearest(model, names))}."


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _nearest(model: str, names: Sequence[str]) -> Sequence[str]:
    near = difflib.get_close_matches(model, names, n=_SHOWN, cutoff=0.3)
    rest = [name for name in names if name not in near]
    shown = [*near, *rest][:_SHOWN]
    return [*shown, "…"] if len(names) > len(shown) else shown


def _redirected(location: str, status: int, host: str) -> errors.ProviderError:
    target = urlsplit(location)
    place = f"{target.netloc.rpartition('@')[2]}{target.path}" or "nowhere"
    login = any(word in location.lower() for word in _LOGIN)
    kind = errors.AuthenticationError if login else errors.NotFoundError
    return kind(
        f"{host} answered {status}: it redirects to {place} instead of answering.",
        status=status,
        kind="redirect",
        hint="Log in there first, or check base_url." if login else "Check base_url.",
    )
