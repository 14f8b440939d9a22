"""How long to wait before another try: what a server asks for, and our own back-off."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 120.0
"""Seconds; a server that asks for more than this is not waited for."""

RETRIES = 2
"""How often a request is repeated."""

_FIRST = 0.5
_CAP = 8.0


def stated_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read how long a server asks to hold off.

    Args:
        headers: The headers of its answer, found by lower-case name.
        now: The present, for a header that names a date.

    Returns:
        Seconds, never negative; None where nothing readable is said.

    Source: RFC 9110, section 10.2.3; `retry-after-ms` is a custom of several providers.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = headers.get("retry-after")
    seconds = _number(stated)
    return _until(stated, now or datetime.now(UTC)) if seconds is None else seconds


def back_off(attempt: int) -> float:
    """Choose our own wait, growing with the number of tries and spread at random.

    Args:
        attempt: How many tries have failed before this one, from 0.

    Returns:
        Seconds, at most 10.
    """
    base: float = min(_FIRST * 2.0**attempt, _CAP)
    return base * random.uniform(0.75, 1.25)  # noqa: S311 - spread, not secrecy


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(date: str | None, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date or "")
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
