"""Carries out steps: one model request, the preparation of one call.

Nothing here changes the conversation: what happens is handed to `emit` as events.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nbtools import events as ev
from nbtools import previews
from nbtools.altered import altered
from nbtools.assembly import Assembly
from nbtools.checks import (
    SECONDS,
    Check,
    approval_policy,
    expect_all,
    function_or_none,
    optional,
    text,
    whole,
)
from nbtools.endings import ended
from nbtools.errors import InvalidArguments, ProviderError, StreamError
from nbtools.executors import in_worker, is_cancelled
from nbtools.failure import explain, told_of
from nbtools.frozen import freeze
from nbtools.history import OnTrim
from nbtools.jsontext import digest, dumps
from nbtools.limits import Limits
from nbtools.messages import (
    Decision,
    Failure,
    Message,
    Preview,
    Request,
    ToolCall,
)
from nbtools.outcomes import refused_by_rule
from nbtools.partial import parse_arguments
from nbtools.paths import without_folders
from nbtools.plain import plain
from nbtools.privacy import Privacy
from nbtools.providers import Provider
from nbtools.rules import Rule
from nbtools.tools import Offered, Tool, ToolContext
from nbtools.variables import Variables

POLICY_TIMEOUT = 10.0
"""Seconds that an approval policy may take; after that the person is asked."""

WHOLE = 1 << 30
"""Characters of arguments; nothing of them may be left out, or something else would run."""

Policy = bool | Callable[[ToolCall], object] | None
Handler = Callable[[ToolCall, ToolContext[Any]], object]
Move = ev.CallWaiting | ev.CallStarted | ev.CallEnded
Repeated = Callable[[ToolCall, str], str]
RuleFor = Callable[[ToolCall, Tool], Rule | None]


class Emit(Protocol):
    """Takes what happened, on the engine's loop."""

    def __call__(self, event: ev.Event, /) -> None:
        """Take in one event."""


@dataclass(kw_only=True)
class Settings:
    """What the program chose for one chat; changed only while the chat rests."""

    provider: Provider
    tools: dict[str, Tool] = field(default_factory=dict)
    offered: Sequence[Offered] = ()
    """What the tools come from, where toolsets are among it: those are asked when needed."""
    system: str = ""
    context: Any = field(default=None, repr=False)
    approval: Policy = None
    on_tool_call: Handler | None = None
    max_roundtrips: int = 5
    max_parallel: int = 8
    """How many tools of the chat execute at a time."""
    limits: Limits = field(default_factory=Limits)
    auto_send: bool = True
    context_limit: int | None = None
    context_turns: int | None = None
    on_trim: OnTrim = "drop"
    privacy: Privacy = field(default_factory=Privacy)
    approval_timeout: float | None = None
    """Seconds after which a call that nobody decided about ends."""
    variables: Variables = field(default_factory=Variables)

    def __post_init__(self) -> None:
        expect_all(self, _CHECKS)
        self.provider.check([tool.spec for tool in self.tools.values()])


_CHECKS: Mapping[str, Check] = {
    "system": (text, "a text, or None"),
    "approval": (approval_policy, "True, False, None or a function of the call"),
    "on_tool_call": (function_or_none, "a function of the call and its context, or None"),
    "max_roundtrips": (whole(0), "a whole number of 0 or more"),
    "max_parallel": (whole(1), "a whole number of 1 or more"),
    "limits": (lambda value: isinstance(value, Limits), "nbtools.Limits, or None"),
    "context_limit": optional((whole(1), "a whole number of tokens of 1 or more")),
    "context_turns": optional((whole(0), "a whole number of 0 or more")),
    "on_trim": (
        lambda value: value == "drop",
        "'drop': the oldest turns are left out. There is no other way yet",
    ),
    "approval_timeout": optional(SECONDS),
}


async def request(
    provider: Provider,
    question: Request,
    assembly: Assembly,
    emit: Emit,
    on_wait: Callable[[float, str], None],
) -> ProviderError | None:
    """Ask the model once and emit its reply.

    Args:
        provider: The model.
        question: What it is sent.
        assembly: Turns what it says into events of one message.
        emit: Takes them.
        on_wait: Is told before each wait for another try: its seconds, and why.

    Returns:
        Why the reply failed, or None; a reply that broke off is a failure too.
    """
    try:
        async for said in provider.stream(question, on_wait=on_wait):
            for event in assembly.feed(said):
                emit(event)
    except ProviderError as error:
        assembly.fault = error
    except BaseException as error:
        if is_cancelled():
            raise
        assembly.fault = StreamError(f"The model's provider failed: {explain(error)}")
    end = assembly.end(time.time())
    emit(end)
    if assembly.fault is None and end.finish == "cut":
        return StreamError(
            "The answer broke off before its end.", hint="What had arrived is kept; ask again."
        )
    return assembly.fault


def failure(error: ProviderError) -> Failure:
    """Write an error down for the conversation."""
    return Failure(
        kind=type(error).__name__,
        text=error.text,
        hint=error.hint,
        status=error.status,
        retry=error.retryable,
    )


def is_prepared_at_once(call: ToolCall, settings: Settings) -> bool:
    """Say whether nothing has to be awaited before it is clear how a call goes on."""
    tool = settings.tools.get(call.tool)
    if tool is None:
        return True
    return tool.preview is None and not any(map(callable, _policies(tool, settings)))


def prepare_at_once(
    call: ToolCall, settings: Settings, repeated: Repeated, rule_for: RuleFor
) -> Move:
    """Decide as `prepare` does about a call for which nothing has to be awaited."""
    known = _checked(call, settings, repeated)
    if isinstance(known, ev.CallEnded):
        return known
    tool = settings.tools[known.tool]
    strict = any(policy is not False for policy in _policies(tool, settings))
    return _permitted(known, tool, settings, rule_for(known, tool), strict=strict) or _waiting(
        known, tool, settings, None
    )


async def prepare(
    call: ToolCall, settings: Settings, repeated: Repeated, rule_for: RuleFor
) -> Move:
    """Decide how a call goes on whose arguments are complete.

    Args:
        call: A call that is `streaming` and whose message is over.
        settings: The chat's tools and policies.
        repeated: Gives the failure that the same call has met too often, or "".
        rule_for: Gives the rule that decides about a call with its effective arguments.

    Returns:
        The call waits, starts, or ends as `unknown`, `invalid` or `limit`.
    """
    known = _checked(call, settings, repeated)
    if isinstance(known, ev.CallEnded):
        return known
    tool = settings.tools[known.tool]
    rule = rule_for(known, tool)
    strict = rule is None and await asks(known, tool, settings)
    permitted = _permitted(known, tool, settings, rule, strict=strict)
    return permitted or await ask(known, tool, settings)


def _checked(call: ToolCall, settings: Settings, repeated: Repeated) -> ToolCall | ev.CallEnded:
    """Give a call its effective arguments, or end it where it cannot run."""
    tool = settings.tools.get(call.tool)
    if tool is None:
        return ended(call, "unknown", _no_such_tool(call.tool, settings.tools))
    try:
        args = freeze(settings.variables.check(tool, parse_arguments(call.raw)))
    except InvalidArguments as error:
        return ended(call, "invalid", error.text, told=error.told)
    except Exception as error:  # noqa: BLE001 - a type of the user's own may raise anything
        return ended(call, "invalid", explain(error), told=told_of(error, tool.errors))
    known = altered(call, args=args, digest=digest(tool.name, args))
    if again := repeated(known, known.digest):
        reason = f"the same call failed before in the same way ({again}). Do not repeat it."
        return replace(ended(call, "limit", reason, told=without_folders(reason)), args=args)
    return known


def _permitted(
    call: ToolCall, tool: Tool, settings: Settings, rule: Rule | None, *, strict: bool
) -> Move | None:
    """Let a checked call run or refuse it; None where a person decides.

    Args:
        call: The call with its effective arguments.
        tool: Its tool.
        settings: The chat's.
        rule: The rule that decides about it, whatever the policies say.
        strict: Whether the policies want a person to decide.
    """
    if rule is not None and rule.decision == "refuse":
        return refused(call, rule)
    if rule is not None and rule.decision == "allow":
        return let_run(call, tool, settings, decision=ruled(rule))
    if rule is not None or strict:
        return None
    decision = Decision(approved=True, by="policy") if tool.asks is not None else None
    return let_run(call, tool, settings, decision=decision)


async def ask(call: ToolCall, tool: Tool, settings: Settings) -> ev.CallWaiting:
    """Let a call wait until a person decides about it; its tool shows what it would do."""

    def objects() -> dict[str, object]:
        return settings.variables.objects(tool, call.args or {})

    return _waiting(
        call, tool, settings, await previews.look(call, tool, settings.context, objects)
    )


def _waiting(
    call: ToolCall, tool: Tool, settings: Settings, preview: Preview | None
) -> ev.CallWaiting:
    wait = settings.approval_timeout
    return ev.CallWaiting(
        call=call.id,
        waiting="approval",
        args=call.args or {},
        proposed=call.proposed,
        digest=call.digest,
        destructive=tool.destructive,
        expires=None if wait is None else time.time() + wait,
        preview=preview,
    )


async def look_again(
    call: ToolCall, tool: Tool, settings: Settings, decision: Decision | None
) -> Move:
    """Show anew what a call would do, and let it run if that is what was approved.

    Args:
        call: A call that waits, with the preview that was shown.
        tool: Its tool.
        settings: The chat's.
        decision: The approval; None where the arguments were changed and have yet to be approved.

    Returns:
        The call goes on, or waits with another preview.
    """
    shown = call.preview.mark if call.preview else ""
    waiting = replace(await ask(call, tool, settings), expires=call.expires)
    if waiting.preview is None:
        return waiting
    if decision is not None and waiting.preview.mark == shown:
        return let_run(call, tool, settings, decision=decision)
    note = previews.CHANGED if decision is None else previews.MOVED
    return replace(waiting, preview=replace(waiting.preview, note=note))


def ruled(rule: Rule) -> Decision:
    """Write down that a rule decided."""
    approved = rule.decision == "allow"
    return Decision(approved=approved, by="rule", reason=rule.reason, rule=rule.id)


def refused(call: ToolCall, rule: Rule) -> ev.CallEnded:
    """End a call that a rule refuses."""
    reason = f"A rule refuses it. {rule.reason}".strip()
    declined = replace(ended(call, "declined", reason), args=call.args)
    return replace(declined, told=refused_by_rule(rule.reason), decision=ruled(rule))


def let_run(
    call: ToolCall,
    tool: Tool,
    settings: Settings,
    *,
    decision: Decision | None,
) -> ev.CallStarted | ev.CallWaiting | ev.CallEnded:
    """Say how a call goes on that may run: it starts, or a person has to give its result.

    It ends as `invalid` where it names a value that is not in the kernel any more.
    """
    args = call.args or {}
    if lost := settings.variables.lost(tool, args):
        return replace(ended(call, "invalid", lost), decision=decision)
    if tool.function is None and settings.on_tool_call is None:
        return ev.CallWaiting(
            call=call.id,
            waiting="result",
            args=args,
            digest=call.digest,
            proposed=call.proposed,
            decision=decision,
        )
    return ev.CallStarted(
        call=call.id,
        args=args,
        proposed=call.proposed,
        digest=call.digest,
        decision=decision,
        time=time.time(),
    )


async def asks(call: ToolCall, tool: Tool, settings: Settings) -> bool:
    """Say whether a person has to approve a call.

    A policy lets it run only by being, or returning, exactly False. The chat's setting can make a
    tool stricter and never looser.
    """
    for policy in _policies(tool, settings):
        if await _verdict(policy, call) is not False:
            return True
    return False


def _policies(tool: Tool, settings: Settings) -> list[Policy]:
    return [policy for policy in (tool.asks, settings.approval) if policy is not None]


async def _verdict(policy: Policy, call: ToolCall) -> object:
    if not callable(policy):
        return policy
    try:
        async with asyncio.timeout(POLICY_TIMEOUT):
            said = await in_worker(lambda: policy(call))
            return await said if inspect.isawaitable(said) else said
    except BaseException:
        if is_cancelled():
            raise
        return True


def _no_such_tool(name: str, tools: Mapping[str, Tool]) -> str:
    known = ", ".join(tools) or "none"
    close = difflib.get_close_matches(name[:100], tools, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name[:100]!r} is not a tool.{meant} The tools are: {known}."


def user_call(message_id: str, call_id: str, tool: str, raw: str, again: str = "") -> Message:
    """Build the message by which a person calls a tool directly."""
    call = ToolCall(id=call_id, tool=tool, raw=raw, origin="user", again=again)
    return Message(id=message_id, role="user", parts=(call,), time=time.time())


def write_args(args: Mapping[str, object]) -> str:
    """Write arguments that a program gave as the JSON text of a call, whole."""
    return dumps(plain(dict(args), limit=WHOLE, depth=100))
