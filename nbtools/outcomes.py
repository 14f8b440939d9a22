"""What became of a call: the legal ends, and the short fixed sentences that tell the model."""

from __future__ import annotations

from collections.abc import Mapping

from nbtools.messages import Outcome

LEGAL_ENDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("streaming", ""): frozenset(
        {"invalid", "unknown", "limit", "incomplete", "cancelled", "declined", "unanswered"}
    ),
    ("pending", "approval"): frozenset(
        {"declined", "expired", "unanswered", "cancelled", "invalid", "unknown", "limit"}
    ),
    ("pending", "result"): frozenset(
        {"ok", "failed", "declined", "expired", "unanswered", "cancelled", "unknown", "limit"}
    ),
    ("running", ""): frozenset({"ok", "failed", "timeout", "cancelled", "interrupted", "limit"}),
}
"""How a call may end, by its state and what it waits for."""

_SENTENCES: Mapping[Outcome, str] = {
    "failed": "The tool failed: {reason}",
    "timeout": "The tool did not finish in time and was ended. It may have done part of its work.",
    "cancelled": "The user cancelled this call. Nothing of it was returned.",
    "declined": "The user declined this call, so it was not run.",
    "expired": "Nobody decided about this call in time, so it was not run.",
    "invalid": "The call was not run, because its arguments are not valid: {reason}",
    "unknown": "The call was not run, because there is no such tool: {reason}",
    "unanswered": "The user wrote on without answering this call, so it was not run.",
    "incomplete": "The call was not run, because the reply that held it was cut off.",
    "interrupted": "The program restarted while this call ran. What it had done is not known.",
    "limit": "The call was not run, because the limit was reached: {reason}",
}
_WITH_REASON: Mapping[Outcome, str] = {
    "declined": "The user declined this call, so it was not run. Their reason: {reason}",
    "interrupted": "{reason} What it had done is not known.",
    "timeout": "The tool was ended: {reason} It may have done part of its work.",
    "unanswered": "The user wrote on without answering this call. {reason}",
}


def sentence(outcome: Outcome, reason: str = "") -> str:
    """Say what became of a call that gave no value.

    Args:
        outcome: Any outcome but "ok".
        reason: The reason of the person or the program, if there is one.

    Returns:
        A sentence for the model, never empty.
    """
    template = _WITH_REASON.get(outcome) if reason else None
    text = (template or _SENTENCES[outcome]).replace("{reason}", reason or "no reason was given")
    return text.strip()


def refused_by_rule(reason: str = "") -> str:
    """Say to the model that a rule refused a call, which no person has seen."""
    return f"A rule of this chat refuses this call, so it was not run. {reason}".strip()


def cancelled_at_work() -> str:
    """Say to the model that a call was ended while it ran, because a person wanted that."""
    return (
        "The user cancelled this call while it ran. Nothing of it was returned; it may have done "
        "part of its work."
    )


def ended_at_limit(reason: str) -> str:
    """Say to the model that a call was ended while it ran, because a limit was reached."""
    return f"The call was ended, because a limit was reached: {reason} It may have done part of it."
