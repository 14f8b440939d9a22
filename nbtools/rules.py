"""Rules: which calls may run without being asked about, as data.

A rule names tools by a pattern and arguments by conditions. The strictest rule that holds decides:
`refuse` before `ask` before `allow`, whatever their order. An `allow` rule covers only the very
tools, by fingerprint of their schema, that it was made for; the other two cover every tool that
their pattern fits, now and later. Where a condition cannot be told, `allow` does not hold and the
others do. So nothing widens what may run but a person who says so.

A condition is a value, or one or more of these, all of which have to hold:

| word | holds for an argument that |
|---|---|
| `const` | is this value; the short form of it is the value itself |
| `enum` | is one of these values |
| `minimum`, `maximum` | is a number of at least, of at most this |
| `like` | is a text of this form; `*` stands for any characters, `?` for one |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from nbtools.checks import Check, expect_all, flag, number, optional, text
from nbtools.codec import decode, encode
from nbtools.frozen import freeze
from nbtools.jsontext import dumps
from nbtools.messages import Json

Ruling = Literal["ask", "allow", "refuse"]
Scope = Literal["call", "chat", "notebook"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Who may call what, until when, and why.

    Raises:
        ValueError: Something in it cannot be understood; the text names it.
    """

    id: str = ""
    tool: str
    """A tool's name, or a pattern of names: `*` stands for any characters, `?` for one."""
    decision: Ruling
    when: Mapping[str, Json] | None = None
    """Conditions by argument; None: whatever the arguments are."""
    only: bool = False
    """Whether a call with an argument that has no condition is left out."""
    scope: Scope = "chat"
    """`call`: the first call it decides; then it is spent. `notebook`: every chat of the kernel."""
    until: float | None = None
    """When it ends, in seconds since 1970."""
    reason: str = ""
    bound: Mapping[str, str] | None = None
    """The fingerprints of the tools that an `allow` rule covers, by name."""

    def __post_init__(self) -> None:
        _expect(self.decision in get_args(Ruling), "decision", self.decision, get_args(Ruling))
        _expect(self.scope in get_args(Scope), "scope", self.scope, get_args(Scope))
        _expect(isinstance(self.tool, str) and self.tool != "", "tool", self.tool, ["a name"])
        expect_all(self, _CHECKS)
        for name, condition in (self.when or {}).items():
            _expect(isinstance(name, str), "an argument in when", name, ["a name"])
            _check_condition(name, condition)
        for field in ("when", "bound"):
            object.__setattr__(self, field, freeze(getattr(self, field)))


_CHECKS: Mapping[str, Check] = {
    "when": optional((lambda value: isinstance(value, Mapping), "conditions by argument")),
    "only": (flag, "True or False"),
    "until": optional((number(0), "seconds since 1970")),
    "reason": (text, "a text"),
}


def decide(
    rules: Iterable[Rule], tool: str, fingerprint: str, args: Mapping[str, Json], now: float
) -> Rule | None:
    """Find the rule that decides about a call.

    Args:
        rules: The rules, in any order.
        tool: The tool's name.
        fingerprint: Of the tool's schema.
        args: The effective arguments.
        now: Seconds since 1970.

    Returns:
        The strictest rule that holds, the first of equals; None where none does.
    """
    holding = [rule for rule in rules if holds(rule, tool, fingerprint, args, now)]
    if len(holding) < 2:
        return holding[0] if holding else None
    return min(holding, key=lambda rule: _STRICTEST_FIRST.index(rule.decision))


def holds(rule: Rule, tool: str, fingerprint: str, args: Mapping[str, Json], now: float) -> bool:
    """Say whether a rule is about this call."""
    if rule.until is not None and now >= rule.until:
        return False
    if not fits(tool, rule.tool):
        return False
    allows = rule.decision == "allow"
    if allows and (rule.bound or {}).get(tool) != fingerprint:
        return False
    conditions = rule.when or {}
    if rule.only and args.keys() - conditions.keys():
        return False
    return all(
        name in args and _meets(args[name], condition, unclear=not allows)
        for name, condition in conditions.items()
    )


def covered(rule: Rule, fingerprints: Mapping[str, str]) -> dict[str, str]:
    """List the tools that a pattern fits, with their fingerprints."""
    return {name: mark for name, mark in fingerprints.items() if fits(name, rule.tool)}


def sentence(rule: Rule) -> str:
    """Say in one sentence what a rule covers."""
    conditions = [
        f"{name} {_condition_words(condition)}" for name, condition in (rule.when or {}).items()
    ]
    if conditions and rule.only:
        conditions.append("nothing else is given")
    where = f"where {' and '.join(conditions)}" if conditions else _UNCONDITIONAL[rule.only]
    what = f"{_VERBS[rule.decision]} {rule.tool} {where}"
    return f"{what}, {_SCOPES[rule.scope]}{_end(rule)}."


def write(rules: Sequence[Rule]) -> str:
    """Write rules as JSON text, to be kept and shared."""
    return dumps({"nbtools-rules": 1, "rules": [encode(rule) for rule in rules]})


def read(data: object) -> list[Rule]:
    """Read what `write` wrote, from a source that may be wrong in any way.

    Raises:
        ValueError: It is no such list; the text names the place.
    """
    written = data if isinstance(data, dict) and data.get("nbtools-rules") == 1 else {}
    listed = written.get("rules")
    if isinstance(listed, list):
        return [decode(Rule, each, f"rules[{place}]") for place, each in enumerate(listed)]
    raise ValueError("These are no rules: expected {'nbtools-rules': 1, 'rules': […]}.")


_STRICTEST_FIRST: tuple[Ruling, ...] = ("refuse", "ask", "allow")
_VERBS: Mapping[Ruling, str] = {
    "ask": "Ask about",
    "allow": "Allow without asking",
    "refuse": "Refuse",
}
_UNCONDITIONAL = {False: "with any arguments", True: "without arguments"}
_SCOPES: Mapping[Scope, str] = {
    "call": "once",
    "chat": "in this chat",
    "notebook": "in every chat of this kernel",
}


def _end(rule: Rule) -> str:
    if rule.until is None:
        return "" if rule.scope == "call" else ", until it is taken back"
    return f", until {datetime.fromtimestamp(rule.until).astimezone():%H:%M:%S}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(one: Json, other: Json) -> bool:
    """Say whether two JSON values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _at_least(value: Json, limit: Json) -> bool | None:
    return bool(value >= limit) if _is_number(value) else None


def _at_most(value: Json, limit: Json) -> bool | None:
    return bool(value <= limit) if _is_number(value) else None


def _like(value: Json, form: Json) -> bool | None:
    return fits(value, form) if isinstance(value, str) else None


def fits(text: str, form: str) -> bool:
    """Say whether a text is of a form; brackets mean themselves, unlike in the names of files."""
    if "*" not in form and "?" not in form:
        return text == form
    return fnmatchcase(text, form.replace("[", "[[]"))


_TESTS: Mapping[str, Callable[[Json, Json], bool | None]] = {
    "const": same,
    "enum": lambda value, choices: any(same(value, choice) for choice in choices),
    "minimum": _at_least,
    "maximum": _at_most,
    "like": _like,
}
"""Whether a value meets a condition; None where that cannot be told."""

_OPERANDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "const": (lambda _: True, "any value"),
    "enum": (lambda operand: isinstance(operand, list | tuple) and bool(operand), "a list"),
    "minimum": (_is_number, "a number"),
    "maximum": (_is_number, "a number"),
    "like": (lambda operand: isinstance(operand, str), "a text"),
}
_WORDS: Mapping[str, str] = {
    "const": "is",
    "enum": "is one of",
    "minimum": "is at least",
    "maximum": "is at most",
    "like": "is like",
}


def _meets(value: Json, condition: Json, *, unclear: bool) -> bool:
    results = [_TESTS[word](value, operand) for word, operand in _tests_of(condition).items()]
    return all(unclear if result is None else result for result in results)


def _tests_of(condition: Json) -> Mapping[str, Json]:
    return condition if isinstance(condition, dict) else {"const": condition}


def _condition_words(condition: Json) -> str:
    tests = _tests_of(condition).items()
    return " and ".join(f"{_WORDS[word]} {dumps(operand)}" for word, operand in tests)


def _check_condition(name: str, condition: Json) -> None:
    if condition == {}:
        raise ValueError(f"The condition on {name!r} is empty; expected {', '.join(_TESTS)}.")
    for word, operand in _tests_of(condition).items():
        _expect(word in _TESTS, f"a condition on {name!r}", word, _TESTS)
        fits, expected = _OPERANDS[word]
        _expect(fits(operand), f"{word!r} of {name!r}", operand, [expected])
    least, most = (_tests_of(condition).get(word) for word in ("minimum", "maximum"))
    if least is not None and most is not None and least > most:
        raise ValueError(f"The minimum of {name!r} is {least}, which is above its maximum, {most}.")


def _expect(fits: bool, what: str, found: object, expected: Iterable[str]) -> None:
    if not fits:
        raise ValueError(f"{what} is {found!r:.80}; expected {' or '.join(expected)}.")
