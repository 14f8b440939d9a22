"""Text that is safe to show: bounded, valid, and had from objects whose own code may raise."""

from __future__ import annotations

from nbtools.jsontext import clean_text


def cut(text: str, limit: int) -> str:
    """Shorten text in its middle, where the least is lost, and say by how much.

    Args:
        text: Any text.
        limit: The most characters to give.

    Returns:
        Valid text of at most `limit` characters, as long as `limit` is at least 64.
    """
    if len(text) <= limit:
        return clean_text(text)
    note = f"\n… ({len(text) - limit:,} of {len(text):,} characters left out) …\n"
    keep = max(limit - len(note) - 2, 0)
    tail = keep // 3
    return clean_text(text[: keep - tail] + note + text[len(text) - tail :])


def kept(length: int, limit: int) -> int:
    """Say how many characters of a text `head` gives besides the words on the rest."""
    return length if length <= limit else max(limit - len(_rest(length)), 0)


def head(text: str, limit: int) -> str:
    """Shorten text at its end, and say by how much.

    Args:
        text: Any text.
        limit: The most characters to give.

    Returns:
        Valid text of at most `limit` characters, as long as `limit` is at least 64.
    """
    keep = kept(len(text), limit)
    return clean_text(text[:keep]) + (_rest(len(text) - keep) if keep < len(text) else "")


def _rest(length: int) -> str:
    return f"… ({length:,} more characters)"


def safe_repr(value: object, *, limit: int = 2_000) -> str:
    """Give the repr of a value, or a note where the value's own code raises.

    Args:
        value: Anything.
        limit: The most characters to give.
    """
    try:
        return cut(repr(value), limit) or f"<{type(value).__name__}>"
    except Exception as error:  # noqa: BLE001 - the value's own code raised
        return f"<{type(value).__name__}; its repr {raised(error)}>"


def raised(error: BaseException) -> str:
    """Say what an exception was, as the end of a sentence."""
    try:
        said = cut(str(error), 500)
    except BaseException:  # noqa: BLE001 - the exception's own code raised
        said = ""
    return f"raised {type(error).__name__}: {said}".rstrip(": ")
