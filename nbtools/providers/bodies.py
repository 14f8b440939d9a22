"""JSON from bytes and to bytes: quickly where it is good, and leniently where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from nbtools.errors import StreamError
from nbtools.facts import KEPT
from nbtools.frozen import FrozenDict
from nbtools.jsontext import json_text
from nbtools.messages import Json
from nbtools.providers.failures import looks_like_html
from nbtools.providers.refusals import ADDRESS_HINT

_QUOTED = 80


def json_reader() -> Callable[[bytes], Any]:
    """Give the function that reads good JSON; what it refuses goes to `parse`."""
    # Three times as fast as json; pydantic is there anyway, but not to be imported at the start.
    from pydantic_core import from_json  # noqa: PLC0415

    return from_json


def parse(loads: Callable[[bytes], Any], data: bytes) -> Any:
    """Read JSON.

    Args:
        loads: What `json_reader` gave.
        data: The JSON text in UTF-8, with or without mistakes in its characters.

    Returns:
        The value; no text in it has half of a surrogate pair.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return loads(data)
    except ValueError:
        return _lenient(data)


def written(body: Mapping[str, Json]) -> bytes:
    """Write the JSON body of a request.

    Args:
        body: JSON; half a surrogate pair in its texts becomes "?". What stands frozen in one of its
            lists is written once, however many requests hold it.

    Returns:
        The JSON text in UTF-8.

    Raises:
        TypeError: Something cannot be written as JSON.
    """
    kept = {
        name: value
        for name, value in body.items()
        if type(value) is list and FrozenDict in map(type, value)
    }
    rest = {name: value for name, value in body.items() if name not in kept}
    lists = [
        json_text(name) + b":[" + b",".join(map(_written_once, value)) + b"]"
        for name, value in kept.items()
    ]
    fields = [json_text(rest)[1:-1]] if rest else []
    return b"{" + b",".join(fields + lists) + b"}"


def _written_once(item: Json) -> bytes:
    if type(item) is not FrozenDict:
        return json_text(item)
    held = item.__dict__
    text: bytes | None = held.get(KEPT)
    if text is None:
        text = held[KEPT] = json_text(item)
    return text


def written_text(args: Mapping[str, Json]) -> str:
    """Write the arguments of a call as the text that a wire wants; see `written`."""
    return json_text(dict(args)).decode()


def _lenient(data: bytes) -> Any:
    """Read JSON that has broken characters, or half of a surrogate pair, in its texts."""
    try:
        value = json.loads(data.decode("utf-8-sig", "replace"), strict=False)
        whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(whole)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def unreadable(data: bytes) -> StreamError:
    """Say what a body is that is no answer of a model."""
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return StreamError("The answer is empty.", kind="malformed", hint=ADDRESS_HINT)
    if looks_like_html(text):
        return StreamError(
            "The answer is a web page, not a model's reply.", kind="malformed", hint=ADDRESS_HINT
        )
    return StreamError(
        f"The answer cannot be read as a model's reply: it has {text[:_QUOTED]!r}.",
        kind="malformed",
    )
