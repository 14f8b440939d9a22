"""A conversation as still text and HTML, for readers without a kernel and without scripts.

Everything is escaped; nothing that a model or a tool wrote is HTML here. It serves as the static
output beside a live view, and as the body of an exported page before its script runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape

from nbtools.messages import (
    Conversation,
    Data,
    File,
    Job,
    Json,
    Message,
    Notice,
    Part,
    Reasoning,
    Source,
    Text,
    ToolCall,
)

TABLE = "application/vnd.nbtools.table+json"
NOTE = "application/vnd.nbtools.note+json"
SEVERAL = "application/vnd.nbtools.several+json"
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
LARGEST_PICTURE = 700_000
"""Characters of base64 up to which a picture is kept in the transcript."""
LONGEST = 8_000
"""Characters that the transcript keeps of each text of a call; the notebook's file holds it twice."""

_SPEAKERS = {"user": "You", "assistant": "Assistant"}
_STATES: Mapping[str, str] = {
    "streaming": "being written",
    "pending": "waiting",
    "running": "running",
}
WORDS: Mapping[str, str] = {
    "ok": "done",
    "failed": "failed",
    "timeout": "timed out",
    "cancelled": "cancelled",
    "declined": "declined",
    "expired": "expired",
    "invalid": "invalid arguments",
    "unknown": "no such tool",
    "unanswered": "not answered",
    "incomplete": "cut off",
    "interrupted": "interrupted",
    "limit": "over the limit",
}
"""How each outcome reads, in the page's words too."""


def to_text(conversation: Conversation) -> str:
    """Write the conversation as plain text."""
    return (
        "\n\n".join(_message_text(message) for message in conversation.messages) or "(empty chat)"
    )


def to_html(conversation: Conversation, *, chat: str = "") -> str:
    """Write the conversation as one block of HTML without scripts, styles or addresses.

    Args:
        conversation: What to write.
        chat: Names the chat, so that a live view can hide its static sibling.
    """
    body = "".join(_message_html(message) for message in conversation.messages)
    name = f"nbt-static nbt-static-{escape(chat, quote=True)}" if chat else "nbt-static"
    return f'<div class="{name}">{body or "<p><em>An empty chat.</em></p>"}</div>'


def call_words(call: ToolCall) -> str:
    """Say in words where a call stands."""
    return WORDS.get(call.outcome) or _STATES[call.state]


def job_words(job: Job) -> str:
    """Say in words where a job stands."""
    return WORDS.get(job.outcome) or _STATES[job.state]


def _message_text(message: Message) -> str:
    parts = "\n".join(filter(None, map(_part_text, message.parts)))
    return f"{_SPEAKERS[message.role]}: {parts}"


def _part_text(part: Part) -> str:
    match part:
        case Text() | Notice():
            return part.text
        case ToolCall():
            plain = (part.display or {}).get("text/plain", "")
            shown = _short(part.error if part.state == "error" else str(plain))
            return f"[{part.tool}({_short(_json(part.args))}): {call_words(part)}] {shown}".strip()
        case Job():
            shown = _short(part.error or str((part.display or {}).get("text/plain", "")))
            return f"[{part.id} of {part.tool}: {job_words(part)}] {shown}".strip()
        case File():
            return f"[{part.name or part.mime}]"
        case Source():
            return f"[{part.title or part.url}]"
        case Data() | Reasoning():
            return ""


def _message_html(message: Message) -> str:
    shown = "".join(filter(None, map(_part_html, message.parts)))
    return f"<p><strong>{_SPEAKERS[message.role]}</strong></p>{shown}" if shown else ""


def _part_html(part: Part) -> str:
    match part:
        case Text():
            return _block(part.text)
        case Reasoning() if not part.text:  # its sealed form is the provider's affair
            return ""
        case Reasoning():
            return f"<details><summary>Reasoning</summary>{_block(part.text)}</details>"
        case ToolCall():
            return _call_html(part)
        case Job():
            return _job_html(part)
        case Notice():
            return f"<p><em>{escape(part.text)}</em></p>"
        case File():
            return _picture(part.mime, part.data) or f"<p>{escape(part.name or part.mime)}</p>"
        case Source():
            return f"<p>{escape(part.title or part.url)}</p>"
        case Data():
            return _block(_json(part.data))


def _call_html(call: ToolCall) -> str:
    head = f"<strong>{escape(call.tool)}</strong> — {call_words(call)}"
    body = "".join(_call_body(call))
    return f"<details open><summary>{head}</summary>{body}</details>"


def _job_html(job: Job) -> str:
    head = f"<strong>{escape(job.id)} of {escape(job.tool)}</strong> — {job_words(job)}"
    shown = _block(_short(job.error)) if job.error else _bundle(job.display or {})
    return f"<details open><summary>{head}</summary>{shown}</details>"


def _call_body(call: ToolCall) -> Iterator[str]:
    yield _block(_short(_json(call.args) if call.args is not None else call.raw))
    if call.decision is not None and call.decision.reason:
        yield f"<p>Reason: {escape(call.decision.reason)}</p>"
    if call.output:
        yield _block(_short(call.output))
    if call.state == "error":
        yield _block(_short(call.error))
    elif call.display:
        yield _bundle(call.display)


def _bundle(shown: Mapping[str, Json]) -> str:
    several = shown.get(SEVERAL)
    if isinstance(several, list):
        return "".join(_bundle(one) for one in several if isinstance(one, Mapping))
    for mime in PICTURES:
        if picture := _picture(mime, shown.get(mime)):
            return picture
    text = _block(_short(str(shown.get("text/plain", "")))) + _remark(shown.get(NOTE))
    return _table(shown.get(TABLE)) or text


def _table(value: Json) -> str:
    """Draw a table from its values, never from somebody's HTML."""
    if not _is_table(value):  # a file may hold anything
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in value["columns"])
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in value["rows"]
    )
    said = _remark(value.get("note")) + _remark(value.get("whole"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{said}"


def _remark(words: object) -> str:
    return f"<p>{escape(str(words))}</p>" if words else ""


def _is_table(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("columns"), list):
        return False
    rows = value.get("rows")
    return isinstance(rows, list) and all(isinstance(row, list) for row in rows)


def _picture(mime: str, content: object) -> str:
    if mime not in PICTURES or not isinstance(content, str) or len(content) > LARGEST_PICTURE:
        return ""
    return f'<img alt="picture" src="data:{mime};base64,{escape(content, quote=True)}">'


def _short(text: str) -> str:
    """Leave out the end of a long text, and say how much of it."""
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}\n… ({left:,} more characters)"


def _block(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text.strip() else ""


def _json(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=dict)
