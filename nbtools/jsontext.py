"""JSON as text: compact, strict, such as UTF-8 can hold, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

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


# Made once: `json.dumps` makes an encoder for every call with options.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_sorted = json.JSONEncoder(sort_keys=True, allow_nan=False, default=dict).encode


def digest(tool: str, args: Mapping[str, Json]) -> str:
    """Make the fingerprint of a call, which an approval has to name.

    Args:
        tool: The name of the tool.
        args: Its effective arguments.

    Returns:
        16 hexadecimal characters; the order of keys does not matter.
    """
    return hashlib.sha256(_sorted([tool, args]).encode()).hexdigest()[:16]
