"""What the errors of model servers look like, and which of ours each of them is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtools import errors

_LONGEST = 2_000
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|prompt is too long|too many (input )?tokens"
    r"|token count.{0,40}exceeds|maximum.{0,20}tokens.{0,40}(request|prompt|input)",
    re.IGNORECASE,
)
_PICTURES = re.compile(
    r"(image|vision|multi-?modal).{0,60}(support|allow|accept|valid|process|input|missing|data)"
    r"|(support|allow|accept|invalid|process|missing).{0,60}(image|vision|multi-?modal)",
    re.IGNORECASE | re.DOTALL,
)
_WORDS: tuple[tuple[str, type[errors.ProviderError]], ...] = (
    ("context", errors.ContextLengthError),
    ("content_filter", errors.ContentFilterError),
    ("content_policy", errors.ContentFilterError),
    ("model_not_found", errors.NotFoundError),
    ("not_found", errors.NotFoundError),
    ("api_key", errors.AuthenticationError),
    ("authentication", errors.AuthenticationError),
    ("permission", errors.AuthenticationError),
    ("insufficient_quota", errors.RateLimitError),
    ("rate_limit", errors.RateLimitError),
    ("overloaded", errors.OverloadedError),
    ("server_error", errors.OverloadedError),
    ("internal", errors.OverloadedError),
    ("invalid_request", errors.BadRequestError),
    ("tool_use_failed", errors.BadRequestError),
)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_STATUSES: Mapping[int, type[errors.ProviderError]] = {
    401: errors.AuthenticationError,
    403: errors.AuthenticationError,
    404: errors.NotFoundError,
    408: errors.OverloadedError,
    409: errors.OverloadedError,
    413: errors.ContextLengthError,
    425: errors.OverloadedError,
    429: errors.RateLimitError,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What a server said about an error, in its own words."""

    message: str = ""
    type: str = ""
    code: str = ""
    origin: str = ""
    """What a server further up the line had said, where a gateway passes it on."""
    reason: str = ""
    """The word that tells refusals of one type apart, where the server has one (Google)."""
    wait: float | None = None
    """Seconds that it asks to wait, where the body says it (Google)."""

    @property
    def kind(self) -> str:
        """The most telling of its two words."""
        return self.code if self.code and not self.code.isdecimal() else self.type


def read_report(body: object) -> Report | None:
    """Find the error in a decoded JSON value.

    Args:
        body: A body, or one chunk of a stream.

    Returns:
        What it reports, or None if it reports no error.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error") or body.get("errors")
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        return _report_of(error)
    if error:
        return Report(message=_text(error), code=_text(body.get("code")))
    if body.get("object") == "error" or body.get("type") == "error":
        return _report_of(body)
    return None


def read_refusal(body: object) -> Report:
    """Find out why a request was refused, from a decoded body of any shape.

    Args:
        body: The body of an answer with an error status; a text if it was no JSON.

    Returns:
        What it says; its message is "" if nothing readable was there.
    """
    if isinstance(body, str):
        return Report(message="" if looks_like_html(body) else body.strip()[:_LONGEST])
    report = read_report(body)
    if report is not None or not isinstance(body, dict):
        return report or Report()
    detail = body.get("detail")
    if isinstance(detail, list):
        detail = "; ".join(_validation(item) for item in detail)
    return _report_of({**body, "message": body.get("message") or detail})


def error_of(
    report: Report,
    *,
    status: int | None = None,
    said_by: str = "The provider",
    hint: str = "",
    wait: float | None = None,
) -> errors.ProviderError:
    """Make one of our errors of what a server said.

    Args:
        report: The server's words.
        status: The HTTP status, None for an error inside an answer that had begun.
        said_by: Who said it, as the subject of a sentence.
        hint: What to do about it, in one plain sentence.
        wait: Seconds that the server asked to wait.

    Returns:
        The error, of the class that fits, with the provider's type and message.
    """
    kind = _class_of(report, status)
    words = ": ".join(filter(None, (report.message, report.origin))) or "no reason was given"
    label = f" ({report.kind})" if report.kind and report.kind not in words else ""
    verb = "reported an error" if status is None else f"answered {status}"
    text = f"{said_by} {verb}{label}: {words}"
    return kind(text, status=status, kind=report.kind, hint=hint or _hint(report), wait=wait)


def looks_like_html(text: str) -> bool:
    """Tell whether a text begins as a web page does."""
    return text.lstrip("\ufeff \t\r\n")[:15].lower().startswith(("<!doctype", "<html", "<head"))


def _report_of(error: Mapping[str, Any]) -> Report:
    metadata, status = error.get("metadata"), error.get("status")
    return Report(
        message=_text(error.get("message")),
        type=_text(error.get("type")) or (status if isinstance(status, str) else ""),
        code=_text(error.get("code")),
        origin=_text(metadata.get("raw")) if isinstance(metadata, dict) else "",
        **_details(error.get("details")),
    )


def _details(details: object) -> dict[str, Any]:
    """Read the details of Google's errors: https://google.aip.dev/193."""
    found: dict[str, Any] = {}
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            delay = _DELAY.fullmatch(_text(detail.get("retryDelay")))
            found |= {"wait": float(delay[1])} if delay else {}
            found |= {"reason": _text(detail["reason"])} if detail.get("reason") else {}
    return found


def _class_of(report: Report, status: int | None) -> type[errors.ProviderError]:
    if status is None and report.code.isdecimal() and int(report.code) >= 400:
        status = int(report.code)
    if status in {None, 400, 413, 422} and _TOO_LONG.search(report.message):
        return errors.ContextLengthError
    if status is None or status in {400, 422}:
        words = f"{report.code} {report.type} {report.reason}".lower()
        for word, kind in _WORDS:
            if word in words:
                return kind
    if status is None:
        return errors.StreamError
    return _STATUSES.get(
        status, errors.OverloadedError if status >= 500 else errors.BadRequestError
    )


def _hint(report: Report) -> str:
    if _PICTURES.search(report.message):
        return (
            "If this model takes no pictures, leave yours out; images=False leaves out those that "
            "tools return."
        )
    if report.reason == "API_KEY_INVALID":
        return "Check the key."
    if "insufficient_quota" in report.code:
        return "The account has no credit left; see its billing page."
    return ""


def _validation(item: object) -> str:
    if not isinstance(item, dict):
        return _text(item)
    place = item.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{where}: {_text(item.get('msg'))}".removeprefix(": ")


def _text(value: object) -> str:
    return "" if value is None else str(value)[:_LONGEST]
