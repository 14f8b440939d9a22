"""JSON as text: compact, strict, such as UTF-8 can hold, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cache

from nbtools.messages import Json

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Make text that UTF-8 can hold.

    Args:
        text: Any text; it may hold halves of surrogate pairs.

    Returns:
        The text with adjacent halves joined and lone ones replaced by U+FFFD.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dumps(value: Json) -> str:
    """Write plain JSON as compact, strict JSON text.

    Args:
        value: JSON, such as `plain` or `encode` gives.

    Returns:
        The text, without spaces; characters beyond ASCII stay as they are, and half a surrogate
        pair, which no UTF-8 holds, is replaced.

    Raises:
        ValueError: A number is not finite.
        TypeError: Something is no JSON.
    """
    return clean_text(_compact(value))


def json_text(value: Json) -> bytes:
    """Write plain JSON as quickly as can be.

    Args:
        value: JSON, or what has one form in it, such as a date; half a surrogate pair in its texts
            becomes "?".

    Returns:
        The JSON text in UTF-8, without spaces.

    Raises:
        TypeError: Something cannot be written as JSON.
    """
    try:
        return _writer()(value)
    except ValueError:  # half a surrogate pair, something too deep, or no JSON at all
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


@cache
def _writer() -> Callable[[Json], bytes]:
    # Three times as fast as json; pydantic is there anyway, but not to be imported at the start.
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json


# Made once: `json.dumps` makes an encoder for every call with options.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def digest(tool: str, args: Mapping[str, Json]) -> str:
    """Make the fingerprint of a call, which an approval has to name.

    Args:
        tool: The name of the tool.
        args: Its effective arguments.

    Returns:
        16 hexadecimal characters; the order of keys does not matter.
    """
    try:
        text = _writer()([tool, _in_order(args)])
    except (ValueError, RecursionError):  # half a surrogate pair, or something deep
        text = _sorted([tool, args]).encode()
    return hashlib.sha256(text).hexdigest()[:16]


_SCALARS = frozenset({str, int, float, bool, type(None)})

# Slower, and nothing is too odd for it.
_sorted = json.JSONEncoder(sort_keys=True, allow_nan=False, default=dict).encode


def _in_order(value: Json) -> Json:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list | tuple) else value
