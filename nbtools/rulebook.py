"""The rules in force for one chat: a table that can be read, edited, tried out, kept and shared.

Rules of the scope `notebook` are on a shelf that every chat of the process looks at. Edits come
from any thread, decisions from the engine's, so a shelf is an immutable tuple behind a lock.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, TypeAlias, overload

from nbtools import rules
from nbtools.checks import meant
from nbtools.messages import ToolCall
from nbtools.records import as_table
from nbtools.rules import Rule, Scope
from nbtools.tools import Tool

COLUMNS = ("id", "decision", "tool", "when", "only", "scope", "until", "reason", "covers")
_FIELDS = tuple(field.name for field in fields_of(Rule) if field.name != "bound")
TEST_COLUMNS = ("call", "tool", "args", "decision", "rule", "was")


class Shelf:
    """Rules that belong together, and who is told when they change."""

    def __init__(self) -> None:
        self.rules: tuple[Rule, ...] = ()
        self._lock = threading.Lock()
        self._listeners: weakref.WeakSet[Rules] = weakref.WeakSet()

    def tell(self, book: Rules) -> None:
        """Tell this table of each change, as long as somebody holds it."""
        self._listeners.add(book)

    def change(self, edit: Callable[[tuple[Rule, ...]], Iterable[Rule]]) -> None:
        """Put other rules in the place of those there are."""
        with self._lock:
            self.rules = tuple(edit(self.rules))
        for book in list(self._listeners):
            book.on_change()


NOTEBOOK = Shelf()
"""The rules of every chat of this process."""


_Sorted: TypeAlias = tuple[tuple[Rule, ...], tuple[Rule, ...], dict[str, tuple[Rule, ...]]]
"""The rules of a chat and of the notebook, and which of them are about each tool."""


class Rules(Sequence[Rule]):
    """The rules of a chat, by place and by id; the strictest one that holds decides.

    Args:
        tools: Gives the chat's tools, which an `allow` rule is bound to.
        calls: Gives the calls there were, for `test`.
        knows_all: Says whether no further tools may come from a toolset that was not asked yet.
    """

    def __init__(
        self,
        tools: Callable[[], Mapping[str, Tool]],
        calls: Callable[[], Iterable[ToolCall]],
        knows_all: Callable[[], bool] = lambda: True,
    ) -> None:
        self._tools = tools
        self._calls = calls
        self._knows_all = knows_all
        self._own = Shelf()
        self._sorted: _Sorted = (), (), {}
        self.on_change: Callable[[], object] = lambda: None
        for shelf in (self._own, NOTEBOOK):
            shelf.tell(self)

    # --- editing ----------------------------------------------------------------------------

    def allow(self, tool: str, **fields: Any) -> Rule:
        """Let calls run without asking.

        Args:
            tool: A tool's name, or a pattern such as "read_*". The rule covers the tools there are
                now, as they are now; one that comes or changes later is asked about.
            fields: `when` (conditions by argument, see `nbtools.rules`), `only` (no argument
                without a condition), `scope` ("call", "chat" or "notebook"), `minutes`, `reason`.

        Returns:
            The rule with its id.

        Raises:
            ValueError: Something cannot be understood, or there is no such tool.
        """
        return self.add(_rule("allow", tool, fields))

    def ask(self, tool: str, **fields: Any) -> Rule:
        """Ask about calls that would run by themselves; see `allow` for the arguments."""
        return self.add(_rule("ask", tool, fields))

    def refuse(self, tool: str, **fields: Any) -> Rule:
        """Decline calls without asking; see `allow` for the arguments."""
        return self.add(_rule("refuse", tool, fields))

    def add(self, rule: Rule) -> Rule:
        """Put a rule into force, bound to the tools there are now.

        Raises:
            ValueError: It allows and fits none of the chat's tools, or none of those that it fits
                has an argument of its conditions.
        """
        made = self._bound(replace(rule, id=rule.id or f"r-{secrets.token_hex(3)}"))
        self._expect_sense(made)
        self._put(made)
        return made

    def edit(self, rule_id: str, **changes: Any) -> Rule:
        """Change a rule; one that allows covers other tools only if its `tool` is given.

        Args:
            rule_id: The rule.
            changes: Fields of `Rule`, or `minutes` from now.

        Raises:
            KeyError: There is no such rule.
            ValueError: A field cannot be understood.
        """
        old = self[rule_id]
        if "id" in changes:
            raise ValueError(f"The id of {rule_id!r} stays; expected other fields of it.")
        new = replace(old, **_with_end(changes), id=old.id)
        if changes.keys() & {"tool", "when"}:
            self._expect_sense(new)
        if changes.keys() & {"tool", "decision"}:
            new = self._bound(new)
        self._put(new)
        return new

    def _put(self, rule: Rule) -> None:
        """Put a rule in the place of the one with its id, or after the others."""

        def put(known: tuple[Rule, ...]) -> Iterable[Rule]:
            if rule.id not in {old.id for old in known}:
                return (*known, rule)
            return (rule if old.id == rule.id else old for old in known)

        shelf = self._shelf(rule.scope)
        self._take_from(NOTEBOOK if shelf is self._own else self._own, rule.id)
        shelf.change(put)

    def remove(self, rule_id: str) -> None:
        """Take a rule back.

        Raises:
            KeyError: There is no such rule.
        """
        self._take_from(self._shelf(self[rule_id].scope), rule_id)

    def _take_from(self, shelf: Shelf, rule_id: str) -> None:
        if any(rule.id == rule_id for rule in shelf.rules):
            shelf.change(lambda known: _without(known, rule_id))

    def __delitem__(self, rule_id: str) -> None:
        self.remove(rule_id)

    def clear(self) -> None:
        """Take back every rule of this chat; those of the notebook stay."""
        self._own.change(lambda _: ())

    # --- deciding ---------------------------------------------------------------------------

    def decide(self, call: ToolCall, tool: Tool) -> Rule | None:
        """Return the rule that decides about a call, and spend it if it holds once only."""
        rule = self.find(call, tool)
        if rule is not None and rule.scope == "call":
            self._own.change(lambda known: _without(known, rule.id))
        return rule

    def find(self, call: ToolCall, tool: Tool) -> Rule | None:
        """Return the rule that would decide about a call."""
        about = self._about(tool.name)
        if not about:
            return None
        return rules.decide(about, tool.name, tool.fingerprint, call.args or {}, time.time())

    def _about(self, tool: str) -> tuple[Rule, ...]:
        """Return the rules whose pattern fits a tool: looked up once, until there are others."""
        known = self._own.rules, NOTEBOOK.rules
        if self._sorted[0] is not known[0] or self._sorted[1] is not known[1]:
            self._sorted = *known, {}
        found = self._sorted[2].get(tool)
        if found is None:
            every = (*known[0], *known[1])
            found = tuple([rule for rule in every if rules.fits(tool, rule.tool)])
            self._sorted[2][tool] = found
        return found

    def test(self, rule: Rule | None = None) -> Any:
        """Try the rules out on the calls there were; nothing is decided or spent.

        Args:
            rule: Try this one alone, as if it were in force; None tries those that are.

        Returns:
            A row for each call: what would be decided, by which rule ("" where none holds), and
            what was.
        """
        tried = list(self) if rule is None else [self._bound(rule)]
        return as_table([self._tried(call, tried) for call in self._calls()], TEST_COLUMNS)

    def _tried(self, call: ToolCall, tried: Sequence[Rule]) -> dict[str, Any]:
        tool = self._tools().get(call.tool)
        mark, args = (tool.fingerprint if tool else ""), call.args or {}
        rule = rules.decide(tried, call.tool, mark, args, time.time())
        return {
            "call": call.id,
            "tool": call.tool,
            "args": dict(args),
            "decision": rule.decision if rule else "",
            "rule": rule.id if rule else "",
            "was": call.outcome or call.waiting or call.state,
        }

    # --- keeping ----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the rules to a file that another chat can load.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(rules.write(self), encoding="utf-8")

    def load(self, path: str | Path) -> list[Rule]:
        """Add the rules of a file, as they are: one that allows covers the same tools or none.

        Returns:
            The rules that were added.

        Raises:
            OSError: The file cannot be read.
            ValueError: It holds no rules; the text says what is wrong.
        """
        try:
            written = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{Path(path).name!r} holds no rules: {error}") from error
        found = rules.read(written)
        for rule in found:
            self._put(rule)
        return found

    # --- looking ----------------------------------------------------------------------------

    @overload
    def __getitem__(self, key: int | str) -> Rule: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Rule]: ...
    def __getitem__(self, key: int | str | slice) -> Rule | Sequence[Rule]:
        """Return the rule at a place, or with an id."""
        known = self._all()
        if not isinstance(key, str):
            return known[key]
        for rule in known:
            if rule.id == key:
                return rule
        raise KeyError(f"There is no rule {key!r}; there are: {_ids(known)}.")

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._all())

    def table(self) -> Any:
        """Return the rules as a table; `covers` names the tools that one covers now."""
        return as_table([self._row(rule) for rule in self], COLUMNS)

    def covers(self, rule: Rule) -> list[str]:
        """List the chat's tools that a rule covers, as they are now."""
        marks = self._fingerprints()
        fitting = rules.covered(rule, marks)
        if rule.decision != "allow":
            return list(fitting)
        return [name for name, mark in fitting.items() if (rule.bound or {}).get(name) == mark]

    def describe(self) -> list[dict[str, str]]:
        """List the rules for the page."""
        return [{"id": rule.id, "text": rules.sentence(rule)} for rule in self]

    def __repr__(self) -> str:
        lines = [f"{rule.id}: {rules.sentence(rule)}" for rule in self]
        return "\n".join(lines) or "No rules."

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in COLUMNS) + "</tr>"
            for row in map(self._row, self)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _row(self, rule: Rule) -> dict[str, Any]:
        row = {name: getattr(rule, name, None) for name in COLUMNS}
        return row | {"when": dict(rule.when or {}), "covers": self.covers(rule)}

    def _all(self) -> tuple[Rule, ...]:
        now = time.time()
        known = (*self._own.rules, *NOTEBOOK.rules)
        return tuple([rule for rule in known if rule.until is None or now < rule.until])

    def _shelf(self, scope: Scope) -> Shelf:
        return NOTEBOOK if scope == "notebook" else self._own

    def _fingerprints(self) -> dict[str, str]:
        return {name: tool.fingerprint for name, tool in self._tools().items()}

    def _expect_sense(self, rule: Rule) -> None:
        """Make sure that a rule is about something: a slip in a name would let all calls pass it."""
        if rule.scope == "notebook" or not self._knows_all():
            return  # it is for tools that are not known here
        tools = self._tools()
        fitting = [tool for name, tool in tools.items() if rules.fits(name, rule.tool)]
        if not fitting:
            _warn(
                f"The rule {rule.id} is about {rule.tool!r}, and there is no such tool now"
                f"{meant(rule.tool, tools)}; it holds for one that comes later."
            )
        if not fitting or any(tool.names is None for tool in fitting):
            return
        known = {name for tool in fitting for name in tool.names or ()}
        for name in rule.when or {}:
            if name not in known:
                raise ValueError(
                    f"No tool that {rule.tool!r} fits has the argument {name!r}"
                    f"{meant(name, known)}; there are: {', '.join(sorted(known)) or 'none'}."
                )

    def _bound(self, rule: Rule) -> Rule:
        """Bind a rule that allows to the tools that there are now, and to no others."""
        if rule.decision != "allow":
            return replace(rule, bound=None)
        bound = rules.covered(rule, self._fingerprints())
        if not bound:
            known = ", ".join(self._tools()) or "none"
            raise ValueError(f"{rule.tool!r} fits none of the tools; there are: {known}.")
        return replace(rule, bound=bound)


def _warn(text: str) -> None:
    """Warn whoever called, wherever in here it was noticed."""
    depth, frame = 2, sys._getframe(1)  # noqa: SLF001 - documented for this use
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def _rule(decision: rules.Ruling, tool: str, fields: dict[str, Any]) -> Rule:
    if "decision" in fields:
        raise ValueError(f"decision is {decision!r} by the name of the method; leave it out.")
    return Rule(tool=tool, decision=decision, **_with_end(fields))


def _with_end(fields: dict[str, Any]) -> dict[str, Any]:
    """Turn `minutes` from now into the time when a rule ends."""
    if unknown := fields.keys() - {*_FIELDS, "minutes"}:
        name = min(unknown)
        raise ValueError(
            f"A rule has no {name!r}{meant(name, (*_FIELDS, 'minutes'))}; it has: "
            f"{', '.join(_FIELDS)}, minutes."
        )
    kept = dict(fields)
    minutes = kept.pop("minutes", None)
    if minutes is None:
        return kept
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or minutes <= 0:
        raise ValueError(f"minutes is {minutes!r}, expected a number above 0.")
    return kept | {"until": time.time() + 60 * minutes}


def _without(known: Iterable[Rule], rule_id: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in known if rule.id != rule_id)


def _ids(known: Iterable[Rule]) -> str:
    return ", ".join(rule.id for rule in known) or "none"


def _cell(value: object) -> str:
    return "" if value in (None, {}, [], False) else escape(str(value))
