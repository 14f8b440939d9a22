"""Rules as data: what they cover, what they decide, and that they never widen by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtools as nb
from nbtools import rulebook, rules
from nbtools.messages import Decision, ToolCall
from nbtools.outcomes import refused_by_rule
from nbtools.rules import Rule
from nbtools.testing import call
from nbtools.tools import collect
from tests.stage import Page, Strict, tools_that_ran


@pytest.fixture(autouse=True)
def empty_notebook() -> Iterator[None]:
    """Let no rule of a notebook outlive its test."""
    yield
    rulebook.NOTEBOOK.change(lambda _: ())


def rule(decision: Any = "refuse", **fields: Any) -> Rule:
    return Rule(**{"id": "r", "tool": "pay", "decision": decision, **fields})


def covers(when: Any, args: dict[str, Any], decision: Any = "refuse", **fields: Any) -> bool:
    made = rule(decision, when=when, bound={"pay": "f-1"}, **fields)
    return rules.holds(made, "pay", "f-1", args, 0.0)


# --- conditions ---------------------------------------------------------------------------------

CONDITIONS: list[tuple[Any, Any, bool]] = [
    ("Ann", "Ann", True),
    ("Ann", "ann", False),
    (1, True, False),
    (True, 1, False),
    (1, 1.0, True),
    (None, None, True),
    ({"const": {"a": [1]}}, {"a": [1]}, True),
    ({"const": {"a": [1]}}, {"a": [True]}, False),
    ({"enum": ["a", "b"]}, "b", True),
    ({"enum": ["a", "b"]}, "c", False),
    ({"minimum": 5}, 5, True),
    ({"minimum": 5}, 4.9, False),
    ({"maximum": 5}, 5, True),
    ({"maximum": 5}, 6, False),
    ({"minimum": 1, "maximum": 5}, 0, False),
    ({"like": "tmp_*"}, "tmp_orders", True),
    ({"like": "tmp_*"}, "orders", False),
    ({"like": "a?c"}, "abc", True),
    ({"like": "report[12]*"}, "report[12].csv", True),
    ({"like": "report[12]*"}, "report1.csv", False),
]


@pytest.mark.parametrize(("condition", "value", "holds"), CONDITIONS)
def test_a_condition_holds_for_what_it_says(condition: Any, value: Any, holds: bool) -> None:
    """Values are compared as JSON: true is no number."""
    assert covers({"x": condition}, {"x": value}) is holds


@pytest.mark.parametrize("condition", [{"maximum": 5}, {"minimum": 5}, {"like": "*"}])
def test_what_cannot_be_told_never_allows(condition: Any) -> None:
    """A number is wanted and a list came: a rule that allows lets go, the others hold on."""
    assert not covers({"x": condition}, {"x": [7]}, "allow")
    assert covers({"x": condition}, {"x": [7]}, "refuse")
    assert covers({"x": condition}, {"x": [7]}, "ask")


def test_an_argument_that_is_missing_meets_no_condition() -> None:
    """Neither to allow nor to refuse."""
    assert not covers({"x": 1}, {}, "allow")
    assert not covers({"x": 1}, {}, "refuse")


def test_a_rule_about_exact_arguments_leaves_out_calls_with_more() -> None:
    """Otherwise it would cover what its preview did not show."""
    assert covers({"x": 1}, {"x": 1}, "allow", only=True)
    assert not covers({"x": 1}, {"x": 1, "force": True}, "allow", only=True)
    assert not covers(None, {"x": 1}, "allow", only=True)


ODD: list[tuple[dict[str, Any], str]] = [
    ({"decision": "permit"}, "decision is 'permit'; expected ask or allow or refuse."),
    ({"scope": "world"}, "scope is 'world'; expected call or chat or notebook."),
    ({"tool": ""}, "tool is ''; expected a name."),
    ({"until": "soon"}, "until is 'soon'; expected seconds since 1970, or None."),
    ({"until": float("nan")}, "until is nan; expected seconds since 1970, or None."),
    ({"when": 5}, "when is 5; expected conditions by argument, or None."),
    ({"only": "yes"}, "only is 'yes'; expected True or False."),
    ({"when": {"x": {}}}, "The condition on 'x' is empty"),
    ({"when": {"x": {"maximun": 5}}}, "a condition on 'x' is 'maximun'; expected const or enum"),
    ({"when": {"x": {"maximum": "5"}}}, "'maximum' of 'x' is '5'; expected a number."),
    ({"when": {"x": {"maximum": True}}}, "'maximum' of 'x' is True; expected a number."),
    ({"when": {"x": {"enum": []}}}, "'enum' of 'x' is []; expected a list."),
    ({"when": {"x": {"like": 5}}}, "'like' of 'x' is 5; expected a text."),
]


@pytest.mark.parametrize(("fields", "text"), ODD)
def test_a_rule_that_cannot_be_understood_is_refused(fields: dict[str, Any], text: str) -> None:
    """A misspelt condition would otherwise cover everything."""
    with pytest.raises(ValueError, match="expected") as error:
        rule(**fields)
    assert text in str(error.value)


def test_a_rule_cannot_be_changed_in_place() -> None:
    """What was shown stays what is in force."""
    made = rule(when={"x": {"maximum": 5}})
    assert made.when is not None
    with pytest.raises(TypeError, match="change a copy"):
        made.when["x"] = 1  # type: ignore[index]


# --- which rule decides -------------------------------------------------------------------------

ALLOW, ASK, REFUSE = (rule(it, id=it, bound={"pay": "f-1"}) for it in ("allow", "ask", "refuse"))


@given(st.permutations([ALLOW, ASK, REFUSE]), st.integers(0, 3))
def test_the_strictest_rule_decides_whatever_the_order(order: list[Rule], count: int) -> None:
    """More rules of any kind never loosen what one of them refuses or asks about."""
    given_rules = order[:count]
    found = rules.decide(given_rules, "pay", "f-1", {}, 0.0)
    wanted = next((it for it in (REFUSE, ASK, ALLOW) if it in given_rules), None)
    assert found is wanted


@given(st.text(max_size=5), st.text(max_size=5))
def test_only_the_tool_that_a_rule_was_made_for_is_allowed(tool: str, mark: str) -> None:
    """By name and by the fingerprint of its schema, whatever the pattern fits."""
    broad = rule("allow", tool="*", bound={"pay": "f-1"})
    found = rules.decide([broad], tool, mark, {}, 0.0)
    assert (found is broad) is ((tool, mark) == ("pay", "f-1"))


def test_a_rule_that_tightens_holds_for_a_tool_that_has_changed() -> None:
    """If it did not, a changed schema would widen what may run."""
    assert rules.decide([ASK], "pay", "f-2", {}, 0.0) is ASK
    assert rules.decide([REFUSE], "pay", "f-2", {}, 0.0) is REFUSE


def test_a_rule_ends_when_its_time_is_over() -> None:
    """At the very moment."""
    ends = rule("refuse", until=100.0)
    assert rules.decide([ends], "pay", "", {}, 99.9) is ends
    assert rules.decide([ends], "pay", "", {}, 100.0) is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Refuse pay with any arguments, in this chat, until it is taken back."),
        ({"scope": "call"}, "Refuse pay with any arguments, once."),
        (
            {"decision": "allow", "scope": "notebook", "when": {"x": {"maximum": 5}, "y": "a"}},
            (
                'Allow without asking pay where x is at most 5 and y is "a", in every chat of this '
                "kernel, until it is taken back."
            ),
        ),
        (
            {"decision": "ask", "when": {"x": 1}, "only": True},
            (
                "Ask about pay where x is 1 and nothing else is given, in this chat, "
                "until it is taken back."
            ),
        ),
        ({"only": True}, "Refuse pay without arguments, in this chat, until it is taken back."),
    ],
)
def test_a_rule_says_what_it_covers_in_a_sentence(fields: dict[str, Any], text: str) -> None:
    """The same sentence on the page and in Python."""
    assert rules.sentence(rule(**fields)) == text


# --- in a chat ----------------------------------------------------------------------------------


def wiping(count: int = 1, *, ran: list[str] | None = None, **settings: Any) -> Page:
    """Make a page whose model wipes the cache, once in each turn."""
    replies = [[call("wipe_cache", {"force": True}, id=f"k-{n}")] for n in range(1, count + 1)]
    both = [reply for each in replies for reply in (each, "Done.")]
    return Page(Strict(*both), tools_that_ran(ran if ran is not None else []), **settings)


async def test_a_rule_allows_what_a_tool_asks_about() -> None:
    """Rule 2: approval is skipped because a rule allows it, and the call says which."""
    ran: list[str] = []
    page = wiping(ran=ran)
    made = page.session.rules.allow("wipe_*", when={"force": True}, reason="it is a cache")
    await page.say("Wipe")
    assert ran == ["wipe_cache True"]
    assert page.call("k-1").decision == Decision(
        approved=True, by="rule", rule=made.id, reason="it is a cache"
    )


async def test_a_rule_that_does_not_hold_leaves_the_question_to_the_person() -> None:
    """Other arguments, another tool, or a rule that was taken back."""
    page = wiping(3)
    page.session.rules.allow("wipe_cache", when={"force": False})
    page.session.rules.allow("read_log")
    await page.say("Wipe")
    assert page.call("k-1").waiting == "approval"
    page.command("decline", call="k-1")
    await page.session.rest()
    made = page.session.rules.allow("wipe_cache")
    page.session.rules.remove(made.id)
    await page.say("Wipe")
    assert page.call("k-2").waiting == "approval"


async def test_a_rule_asks_about_what_would_run_by_itself() -> None:
    """A rule can be stricter than tool and chat."""
    ran: list[str] = []
    page = Page(Strict([call("read_log", {"day": "mon"}, id="k-1")]), tools_that_ran(ran))
    page.session.rules.ask("read_*")
    await page.say("Read")
    assert (page.call("k-1").waiting, ran) == ("approval", [])


async def test_a_refused_call_is_declined_by_the_rule_and_the_model_is_told_why() -> None:
    """The body is never entered and nobody is asked."""
    ran: list[str] = []
    page = wiping(ran=ran)
    made = page.session.rules.refuse("*", when={"force": True}, reason="Never force.")
    await page.say("Wipe")
    known = page.call("k-1")
    assert (ran, known.outcome) == ([], "declined")
    assert known.decision == Decision(
        approved=False, by="rule", rule=made.id, reason="Never force."
    )
    assert known.told == refused_by_rule("Never force.")


async def test_a_person_cannot_approve_what_a_rule_refuses() -> None:
    """Not by editing the arguments, and not where the rule came later."""
    ran: list[str] = []
    page = wiping(ran=ran)
    page.session.rules.refuse("wipe_cache", when={"force": False}, reason="No.")
    await page.say("Wipe")
    answer = page.approve("k-1", args={"force": False})
    assert (answer["ok"], page.call("k-1").state, ran) == (False, "pending", [])
    assert answer["text"].endswith("refuses this call. No.")
    page.session.rules.refuse("wipe_cache")
    assert page.approve("k-1")["ok"] is False
    assert ran == []


async def test_a_rule_for_one_call_is_spent_by_it() -> None:
    """The next one is asked about."""
    page = wiping(2)
    page.session.rules.allow("wipe_cache", scope="call")
    await page.say("Wipe")
    await page.say("Wipe")
    assert [known.waiting for known in page.calls] == ["", "approval"]
    assert len(page.session.rules) == 0


async def test_a_rule_of_the_notebook_holds_in_every_chat_for_the_same_tool() -> None:
    """A tool of the same name with other parameters is another tool."""
    ran: list[str] = []
    one, two = wiping(ran=ran), wiping(ran=ran)
    made = one.session.rules.allow("wipe_cache", scope="notebook")
    await two.say("Wipe")
    assert (ran, two.session.rules[made.id]) == (["wipe_cache True"], made)

    @nb.tool(approval=True)
    def wipe_cache(force: bool = False, everywhere: bool = True) -> str:
        """Empty every cache."""
        return "wiped"

    other = Page(Strict([call("wipe_cache", {"force": True}, id="k-1")]), [wipe_cache])
    await other.say("Wipe")
    assert other.call("k-1").waiting == "approval"
    assert other.session.rules.covers(made) == []


async def test_a_tool_that_comes_later_is_not_covered_by_a_pattern() -> None:
    """A pattern names the tools that there were when the rule was made."""
    page = wiping()
    made = page.session.rules.allow("*")
    assert page.session.rules.covers(made) == ["read_log", "wipe_cache"]
    tools = [*tools_that_ran([]), nb.Tool("wipe_disk", "Wipe.", function=lambda: None)]
    page.session.settings.tools = collect(tools)
    assert page.session.rules.covers(made) == ["read_log", "wipe_cache"]
    assert page.session.rules.edit(made.id, reason="as before").bound == made.bound
    wider = page.session.rules.edit(made.id, tool="*")
    assert page.session.rules.covers(wider) == ["read_log", "wipe_cache", "wipe_disk"]


def test_a_rule_that_allows_has_to_fit_a_tool() -> None:
    """A misspelt name would allow nothing, silently."""
    with pytest.raises(ValueError, match="'wipe' fits none of the tools; there are: read_log"):
        _book().allow("wipe")


def test_a_slip_in_a_rule_that_tightens_is_told() -> None:
    """Else every call passes it."""
    book = _book()
    meant = r"has the argument 'dya' \(did you mean 'day'\?\); there are: day\."
    for add in (book.refuse, book.ask, book.allow):
        with pytest.raises(ValueError, match=f"No tool that 'read_log' fits {meant}"):
            add("read_log", when={"dya": "mon"})
    with pytest.warns(UserWarning, match=r"'read_lgo', and there is no such tool now \(did you"):
        kept = book.refuse("read_lgo", when={"dya": "mon"})
    assert [*book] == [kept]
    known = book.refuse("read_log", when={"day": "mon"})
    with pytest.raises(ValueError, match=f"No tool that 'read_log' fits {meant}"):
        book.edit(known.id, when={"dya": "mon"})
    with pytest.raises(ValueError, match=r"A rule has no 'minute' \(did you mean 'minutes'\?\);"):
        book.edit(known.id, minute=3)
    with pytest.raises(
        ValueError, match=r"A rule has no 'wehn' \(did you mean 'when'\?\); it has: "
    ):
        book.refuse("read_log", wehn={})
    with pytest.raises(ValueError, match="an argument in when is 1; expected a name"):
        book.refuse("read_log", when={1: 2})
    with pytest.raises(ValueError, match="decision is 'refuse' by the name of the method"):
        book.refuse("read_log", decision="allow")
    assert book[known.id] == known


def test_a_rule_may_be_about_what_is_not_known_here() -> None:
    """Tools of a server that was not asked yet, of other chats, and rules that were saved."""
    tools = collect(tools_that_ran([]))
    book = rulebook.Rules(lambda: tools, list[ToolCall], lambda: False)
    book.refuse("read_*", when={"path": "x"})
    book.refuse("delete_file")
    book = _book()
    shared = book.refuse("read_log", when={"path": "x"}, scope="notebook")
    assert book.edit(shared.id, reason="No.").reason == "No."
    with pytest.raises(ValueError, match=f"The id of '{shared.id}' stays"):
        book.edit(shared.id, id="r-2")


@pytest.mark.parametrize(("schema", "refused"), [
    ({"properties": {"a": {}}}, True),
    ({"properties": {"a": {}}, "additionalProperties": False}, True),
    ({"properties": {"a": {}}, "additionalProperties": True}, False),
    ({"properties": {"a": {}}, "additionalProperties": False, "patternProperties": {"^b": {}}}, False),
    ({"anyOf": [{"properties": {"b": {}}}]}, False),
    ({}, False),
])  # fmt: skip
def test_a_schema_by_hand_says_what_arguments_there_are(schema: Any, refused: bool) -> None:
    tools = {"pay": nb.Tool("pay", "Pay.", {"type": "object", **schema})}
    book = rulebook.Rules(lambda: tools, list[ToolCall])
    if refused:
        with pytest.raises(ValueError, match="No tool that 'pay' fits has the argument 'b'"):
            book.refuse("pay", when={"b": 1})
    else:
        assert book.refuse("pay", when={"b": 1}) == book[0]


@pytest.mark.parametrize("add", ["add", "refuse"])
def test_a_warning_points_at_who_made_the_rule(add: str) -> None:
    book = _book()
    with pytest.warns(UserWarning, match="no such tool now") as heard:
        book.add(Rule(tool="pay", decision="ask")) if add == "add" else book.refuse("pay")
    assert heard[0].filename == __file__


def test_a_range_that_nothing_is_in_is_refused() -> None:
    with pytest.raises(ValueError, match="The minimum of 'n' is 3, which is above its maximum, 1"):
        rule(when={"n": {"minimum": 3, "maximum": 1}})


def _book() -> rulebook.Rules:
    tools = collect(tools_that_ran([]))
    return rulebook.Rules(lambda: tools, list[ToolCall])


def test_rules_are_found_changed_and_taken_back_by_id() -> None:
    """The table is a sequence, with ids."""
    book = _book()
    one, two = book.allow("read_log"), book.refuse("wipe_*", scope="notebook")
    assert ([*book], book[0], book[two.id]) == ([one, two], one, two)
    moved = book.edit(two.id, scope="chat", minutes=5)
    assert (moved.id, moved.until is not None) == (two.id, True)
    assert rulebook.NOTEBOOK.rules == ()
    del book[one.id]
    assert [known.id for known in book] == [two.id]
    with pytest.raises(KeyError, match=f"There is no rule '{one.id}'; there are: {two.id}."):
        book.remove(one.id)
    book.clear()
    assert (repr(book), len(book)) == ("No rules.", 0)


@pytest.mark.parametrize("minutes", [0, -1, True, "5"])
def test_minutes_are_a_number_above_zero(minutes: Any) -> None:
    """Anything else is named."""
    with pytest.raises(ValueError, match="expected a number above 0"):
        _book().ask("pay", minutes=minutes)


async def test_rules_are_tried_out_on_the_calls_there_were() -> None:
    """Those in force, or one that is not yet; trying spends nothing."""
    page = wiping(2)
    book = page.session.rules
    await page.say("Wipe")
    page.command("decline", call="k-1")
    book.allow("wipe_cache", scope="call")
    (row,) = book.test().to_dict("records")
    assert (row["call"], row["decision"], row["was"]) == ("k-1", "allow", "declined")
    assert len(book) == 1
    (row,) = book.test(Rule(tool="wipe_*", decision="refuse")).to_dict("records")
    assert (row["decision"], row["args"]) == ("refuse", {"force": True})


def test_saved_rules_cover_the_same_tools_or_none(tmp_path: Path) -> None:
    """What is shared allows nothing that it did not allow where it came from."""
    book = _book()
    allowed, refused = book.allow("*", when={"force": True}), book.refuse("read_log")
    book.save(tmp_path / "rules.json")
    same = _book()
    assert same.load(tmp_path / "rules.json") == [allowed, refused]
    assert same.covers(allowed) == ["read_log", "wipe_cache"]
    other = collect([nb.Tool("read_log", "Read.", function=lambda: "")])
    elsewhere = rulebook.Rules(lambda: other, list[ToolCall])
    elsewhere.load(tmp_path / "rules.json")
    assert (elsewhere.covers(allowed), elsewhere.covers(refused)) == ([], ["read_log"])
    assert len(elsewhere.load(tmp_path / "rules.json")) == len(elsewhere) == 2


def test_a_rule_stands_in_one_place_and_is_gone_when_it_is_taken_back(tmp_path: Path) -> None:
    """Also where a file has it with another scope."""
    book = _book()
    made = book.allow("read_log", scope="notebook")
    book.save(tmp_path / "rules.json")
    book.edit(made.id, scope="chat")
    book.load(tmp_path / "rules.json")
    assert list(book) == [made]
    book.remove(made.id)
    assert list(book) == []


BROKEN: list[tuple[str, str]] = [
    ("[]", "These are no rules"),
    ('{"nbtools-rules": 1}', "These are no rules"),
    ("{", "holds no rules"),
    (json.dumps({"nbtools-rules": 1, "rules": [{"tool": "pay"}]}), "rules[0] has no 'decision'"),
    (
        json.dumps({"nbtools-rules": 1, "rules": [{"tool": "a", "decision": "allow", "x": 1}]}),
        "rules[0] has no field 'x'",
    ),
    (
        json.dumps({"nbtools-rules": 1, "rules": [{"tool": "a", "decision": "permit"}]}),
        "rules[0].decision is 'permit'",
    ),
]


@pytest.mark.parametrize(("text", "problem"), BROKEN)
def test_a_file_that_holds_no_rules_is_refused_whole(
    text: str, problem: str, tmp_path: Path
) -> None:
    """The text names the place."""
    (tmp_path / "rules.json").write_text(text)
    book = _book()
    with pytest.raises(ValueError, match="rules") as error:
        book.load(tmp_path / "rules.json")
    assert problem in str(error.value)
    assert len(book) == 0


def test_the_table_can_be_read() -> None:
    """As a table of pandas, as HTML with everything escaped, as text."""
    book = _book()
    made = book.refuse("wipe_cache", reason="<b>No</b>", when={"force": True})
    (row,) = book.table().to_dict("records")
    assert (row["tool"], row["when"], row["covers"]) == (
        "wipe_cache",
        {"force": True},
        ["wipe_cache"],
    )
    assert "&lt;b&gt;No&lt;/b&gt;" in book._repr_html_()
    assert repr(book) == (
        f"{made.id}: Refuse wipe_cache where force is true, in this chat, until it is taken back."
    )


# --- from a card --------------------------------------------------------------------------------


def always(page: Page, name: str = "k-1", **fields: Any) -> dict[str, Any]:
    """Ask for a rule, or confirm it."""
    wanted = {"same": False, "scope": "chat", "digest": page.call(name).digest, **fields}
    return page.command("allow", call=name, **wanted)


async def test_always_allow_first_says_exactly_what_it_would_cover() -> None:
    """Nothing runs and no rule is made before that is confirmed."""
    ran: list[str] = []
    page = wiping(3, ran=ran)
    await page.say("Wipe")
    page.command("decline", call="k-1")
    await page.session.rest()
    await page.say("Wipe")
    shown = always(page, "k-2")["value"]
    assert shown["lines"][:2] == [
        "Allow without asking wipe_cache with any arguments, in this chat, until it is taken back.",
        "Of 1 earlier call of wipe_cache in this chat it covers 1, 1 of them declined.",
    ]
    assert (ran, len(page.session.rules)) == ([], 0)
    assert always(page, "k-2", mark=shown["mark"]) == {"ack": "c5", "ok": True}
    await page.session.rest()
    await page.say("Wipe")
    (made,) = page.session.rules
    assert ran == ["wipe_cache True", "wipe_cache True"]
    assert page.call("k-2").decision == Decision(approved=True, by="person", rule=made.id)
    assert page.call("k-3").decision == Decision(approved=True, by="rule", rule=made.id)
    assert page.command("revoke", rule=made.id)["ok"]
    late = page.command("revoke", rule=made.id)
    assert (late["error"], len(page.session.rules)) == ("late", 0)


@pytest.mark.parametrize(
    "changed",
    [{"same": True}, {"scope": "notebook"}, {"minutes": 30}, {"mark": "0" * 16}],
)
async def test_a_confirmation_of_another_preview_makes_no_rule(changed: dict[str, Any]) -> None:
    """P-03: a rule cannot be looser than what was shown."""
    ran: list[str] = []
    page = wiping(ran=ran)
    await page.say("Wipe")
    mark = always(page, same=False, minutes=10)["value"]["mark"]
    answer = always(page, **{"minutes": 10, "mark": mark, **changed})
    assert (answer["error"], len(page.session.rules), ran) == ("late", 0, [])


async def test_always_allow_of_these_arguments_covers_no_others() -> None:
    """The condition names each argument, and that there is no other."""
    page = wiping(2)
    await page.say("Wipe")
    shown = always(page, same=True, minutes=10)["value"]
    assert shown["lines"][0] == (
        "Allow without asking wipe_cache where force is true and nothing else is given, "
        "in this chat, for 10 minutes."
    )
    assert always(page, same=True, minutes=10, mark=shown["mark"])["ok"]
    await page.session.rest()
    (made,) = page.session.rules
    assert (made.when, made.only) == ({"force": {"const": True}}, True)
    assert made.until is not None


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"digest": "0" * 16}, "late"),
        ({"preview": "0" * 16}, "late"),
        ({"minutes": 0}, "invalid"),
        ({"minutes": 1.5}, "invalid"),
        ({"scope": "call"}, "invalid"),
        ({"same": 1}, "invalid"),
    ],
)
async def test_an_odd_wish_for_a_rule_makes_none(fields: dict[str, Any], error: str) -> None:
    """P-03: also not where it is confirmed."""
    page = wiping()
    await page.say("Wipe")
    mark = always(page)["value"]["mark"]
    for known in ("", mark):
        assert always(page, **{**fields, "mark": known})["error"] == error
    assert (len(page.session.rules), page.call("k-1").waiting) == (0, "approval")


async def test_a_rule_is_not_made_where_another_one_refuses_the_call() -> None:
    """The stricter one wins, and nothing is left behind."""
    page = wiping()
    await page.say("Wipe")
    mark = always(page)["value"]["mark"]
    page.session.rules.refuse("wipe_cache")
    assert always(page, mark=mark)["ok"] is False
    assert [known.decision for known in page.session.rules] == ["refuse"]
