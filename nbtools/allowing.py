"""Making a rule of an approval: first what it would cover, then, if that is confirmed, the rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nbtools import commands as cmd
from nbtools import rules
from nbtools.codec import encode
from nbtools.errors import CommandError, NbtoolsError
from nbtools.jsontext import digest
from nbtools.messages import ToolCall
from nbtools.protocol import AllowPreview
from nbtools.rules import Rule
from nbtools.session import Session
from nbtools.tools import Tool

MOST_MINUTES = 7 * 24 * 60


def allow(session: Session, command: cmd.Allow) -> AllowPreview | None:
    """Show what a rule would cover, or put it into force and let its call run.

    Args:
        session: The conversation.
        command: With a mark, the confirmation of what was shown under it.

    Returns:
        What the rule would cover; None where it is in force now.

    Raises:
        AlreadyDecided: The call does not wait any more, or shows something else.
        CommandError: What the rule would cover is not what was confirmed.
        InvalidArguments: Another rule refuses the call.
    """
    call = session.expect_shown(command.call, command.digest, command.preview)
    tool = session.settings.tools[call.tool]
    wanted = _wanted(call, tool, command)
    shown = _preview(session, wanted, tool, command)
    if not command.mark:
        return shown
    if command.mark != shown["mark"]:
        text = "What this rule would cover has changed since it was shown; look again."
        raise CommandError(text, error="late")
    made = session.rules.allow(wanted.tool, **_fields(wanted), minutes=command.minutes)
    try:
        session.approve(call.id, mark=command.digest, preview=command.preview, rule=made.id)
    except NbtoolsError:
        session.rules.remove(made.id)
        raise
    return None


def _wanted(call: ToolCall, tool: Tool, command: cmd.Allow) -> Rule:
    if command.minutes is not None and not 0 < command.minutes <= MOST_MINUTES:
        text = f"minutes is {command.minutes}, expected 1 to {MOST_MINUTES:,}."
        raise CommandError(text, field="minutes")
    args = call.args or {}
    same = {name: {"const": value} for name, value in args.items()}
    return Rule(
        tool=tool.name,
        decision="allow",
        when=same if command.same else None,
        only=command.same,
        scope=command.scope,
        bound={tool.name: tool.fingerprint},
    )


def _fields(rule: Rule) -> dict[str, Any]:
    return {"when": rule.when, "only": rule.only, "scope": rule.scope}


def _preview(session: Session, rule: Rule, tool: Tool, command: cmd.Allow) -> AllowPreview:
    lines = _lines(session, rule, tool, command.minutes)
    asked = {"minutes": command.minutes, "call": command.call, "lines": lines}
    return {"mark": digest(tool.name, {**encode(rule), **asked}), "lines": lines}


def _lines(session: Session, rule: Rule, tool: Tool, minutes: int | None) -> list[str]:
    covered = rules.sentence(rule)
    if minutes is not None:
        covered = covered.replace("until it is taken back", f"for {minutes} minutes")
    lines = [covered, _past(session, rule, tool)]
    if tool.destructive:
        lines.append("This tool is marked as destructive.")
    if tool.preview is not None:
        lines.append("Later calls run without showing what they would do.")
    return [*lines, "It covers the tool as it is now: with other parameters it is asked about."]


def _past(session: Session, rule: Rule, tool: Tool) -> str:
    """Say what the rule would have meant for the calls there were."""
    earlier = [
        call for call in session.calls() if call.tool == tool.name and call.state != "pending"
    ]
    fits = [
        call
        for call in earlier
        if rules.holds(replace(rule, until=None), tool.name, tool.fingerprint, call.args or {}, 0.0)
    ]
    declined = sum(call.outcome == "declined" for call in fits)
    if not earlier:
        return f"There were no earlier calls of {tool.name} in this chat."
    noun = "call" if len(earlier) == 1 else "calls"
    text = f"Of {len(earlier)} earlier {noun} of {tool.name} in this chat it covers {len(fits)}"
    return f"{text}, {declined} of them declined." if declined else f"{text}."
