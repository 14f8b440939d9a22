"""Who lets a call run: only an exact decision, on the arguments that were shown."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

import nbtools as nb
from nbtools.messages import ToolCall
from nbtools.outcomes import sentence
from nbtools.testing import call, encode
from tests.servers import calls_reply, text_reply
from tests.stage import Page, Serve, Strict, serve, tools_that_ran

__all__ = ["serve"]

READ_AND_WIPE = (("k-1", "read_log", '{"day":"mon"}'), ("k-2", "wipe_cache", '{"force":true}'))


def results_of(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]


# --- decisions ----------------------------------------------------------------------------------


async def test_of_two_parallel_calls_the_declined_one_has_a_result_with_the_reason(serve: Serve):
    """P-01: exactly two results; the body is never entered."""
    ran: list[str] = []
    page, server = serve(
        calls_reply(*READ_AND_WIPE), text_reply("Then not."), tools=tools_that_ran(ran)
    )
    await page.say("Clean up")
    assert page.command("decline", call="k-2", reason="not today")["ok"]
    await page.session.rest()
    assert results_of(server.requests[1]) == [
        ("k-1", "log of mon"),
        ("k-2", sentence("declined", "not today")),
    ]
    assert (ran, page.call("k-2").outcome) == (["read_log mon"], "declined")
    assert (page.texts[-1], server.refused) == ("Then not.", [])


async def test_a_declined_call_has_its_result_beside_the_other_on_every_wire():
    """P-01: for Anthropic and Gemini both stand in one message."""
    calls = [call("read_log", {"day": "mon"}, id="k-1"), call("wipe_cache", {}, id="k-2")]
    page = Page(Strict(calls, "Then not."), tools_that_ran([]))
    await page.say("Clean up")
    page.command("decline", call="k-2", reason="not today")
    await page.session.rest()
    declined = sentence("declined", "not today")
    conversation = page.session.conversation
    blocks = encode("anthropic", conversation)["messages"][2]["content"]
    assert blocks == [
        {"type": "tool_result", "tool_use_id": "k-1", "content": "log of mon"},
        {"type": "tool_result", "tool_use_id": "k-2", "content": declined, "is_error": True},
    ]
    parts = encode("gemini", conversation)["contents"][2]["parts"]
    assert [part["functionResponse"]["response"] for part in parts] == [
        {"result": "log of mon"},
        {"error": declined},
    ]
    items = encode("openai-responses", conversation)["input"]
    outputs = {item["call_id"]: item["output"] for item in items if "output" in item}
    assert outputs == {"k-1": "log of mon", "k-2": declined}
    messages = encode("ollama", conversation)["messages"]
    told = [message["content"] for message in messages if message["role"] == "tool"]
    assert told == ["log of mon", declined]


async def test_both_parallel_calls_may_be_declined_without_a_reason(serve: Serve):
    """P-01: variants, decline both with an empty reason."""
    ran: list[str] = []
    wipes = [(f"k-{n}", "wipe_cache", "{}") for n in (1, 2)]
    page, server = serve(calls_reply(*wipes), text_reply("Fine."), tools=tools_that_ran(ran))
    await page.say("Wipe")
    for known in ("k-1", "k-2"):
        page.command("decline", call=known, reason="")
    await page.session.rest()
    assert results_of(server.requests[1]) == [
        ("k-1", sentence("declined")),
        ("k-2", sentence("declined")),
    ]
    assert (ran, server.refused) == ([], [])


async def test_a_call_is_approved_after_its_sibling_failed(serve: Serve):
    """P-01: variant, approve k-2 after k-1 failed."""
    ran: list[str] = []

    @nb.tool
    async def fail() -> None:
        """Fail."""
        raise ValueError("closed")

    calls = calls_reply(("k-1", "fail", "{}"), ("k-2", "wipe_cache", "{}"))
    page, server = serve(calls, text_reply("Half."), tools=[fail, *tools_that_ran(ran)])
    await page.say("Go")
    assert page.call("k-1").outcome == "failed"
    page.approve("k-2")
    await page.session.rest()
    assert results_of(server.requests[1]) == [
        ("k-1", "The tool failed: ValueError: closed"),
        ("k-2", "wiped"),
    ]
    assert server.refused == []


ODD_DECISIONS: list[dict[str, Any]] = [
    {"call": "k-1"},
    {"call": "k-1", "approved": None},
    {"call": "k-1", "approved": "yes"},
    {"call": "k-1", "approved": "true"},
    {"call": "k-1", "approved": 1},
    {"call": "k-1", "approved": False},
    {"call": "k-1", "approve": True},
    {"call": "k-1", "approved": True, "digest": ""},
    {"call": "k-1", "approved": True, "digest": "0" * 16},
    {"call": "k-1", "approved": True, "digest": None},
    {"call": "k-9", "approved": True},
    {"call": ["k-1"], "approved": True},
    {"call": "k-1", "approved": True, "args": []},
    {"call": "k-1", "approved": True, "args": {"force": "perhaps"}},
    {"call": "k-1", "approved": True, "args": {"forced": True}},
    {},
]


@pytest.mark.parametrize("fields", ODD_DECISIONS)
async def test_an_odd_decision_runs_nothing_and_is_logged(
    fields: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    """P-03: only the exact true, for the right call and its arguments, approves."""
    ran: list[str] = []
    page = Page(Strict([call("wipe_cache", id="k-1")], "Done."), tools_that_ran(ran))
    await page.say("Wipe")
    digest = page.call("k-1").digest
    answer = page.command("approve", **({"digest": digest, **fields} if fields else {}))
    await page.session.rest()
    assert (answer["ok"], ran, page.call("k-1").state) == (False, [], "pending")
    assert "A command of the page was refused" in caplog.text
    assert page.approve("k-1")["ok"]
    await page.session.rest()
    assert ran == ["wipe_cache False"]


def raises(_call: ToolCall) -> bool:
    raise RuntimeError("a bug of the rule")


async def says_no_later(_call: ToolCall) -> bool:
    return False


async def says_none_later(_call: ToolCall) -> None:
    return None


async def is_cancelled(_call: ToolCall) -> bool:
    raise asyncio.CancelledError


def changes_arguments(known: ToolCall) -> bool:
    known.args["force"] = True  # type: ignore[index]
    return False


RULES: list[tuple[Any, bool]] = [
    (True, True),
    (False, False),
    (raises, True),
    (is_cancelled, True),
    (changes_arguments, True),
    (lambda _: None, True),
    (lambda _: 0, True),
    (lambda _: "", True),
    (lambda _: True, True),
    (lambda _: False, False),
    (says_no_later, False),
    (says_none_later, True),
]


@pytest.mark.parametrize(("rule", "is_asked"), RULES)
@pytest.mark.parametrize("place", ["tool", "chat", "both"])
async def test_only_an_exact_false_of_a_rule_lets_a_call_run(rule: Any, is_asked: bool, place: str):
    """P-03: rules on the tool and on the chat behave alike; one that raises asks."""
    ran = []

    async def act(force: bool = False) -> str:
        ran.append(force)
        return "acted"

    on_tool = rule if place in ("tool", "both") else None
    on_chat = rule if place in ("chat", "both") else None
    tool = nb.Tool("act", "Act.", function=act, approval=on_tool)
    page = Page(Strict([call("act", id="k-1")], "Done."), [tool], approval=on_chat)
    await page.say("Act")
    assert (ran, page.call("k-1").waiting) == (([], "approval") if is_asked else ([False], ""))
    assert page.call("k-1").args == {"force": False}


@pytest.mark.parametrize(
    ("on_tool", "on_chat", "is_asked"),
    [(None, None, False), (False, None, False), (False, True, True), (True, False, True),
     (None, True, True), (None, False, False), (True, None, True)],
)  # fmt: skip
async def test_the_chat_can_make_a_tool_stricter_and_never_looser(
    on_tool: bool | None, on_chat: bool | None, is_asked: bool
):
    tool = nb.Tool("act", "Act.", function=lambda: "acted", approval=on_tool)
    page = Page(Strict([call("act", id="k-1")], "Done."), [tool], approval=on_chat)
    await page.say("Act")
    assert (page.call("k-1").waiting == "approval") is is_asked


async def test_what_destroys_asks_by_default_and_says_so():
    tool = nb.Tool("drop", "Drop.", function=lambda: None, destructive=True)
    page = Page(Strict([call("drop", id="k-1")]), [tool])
    await page.say("Drop")
    assert (page.call("k-1").waiting, page.call("k-1").destructive) == ("approval", True)


# --- what is shown is what runs -----------------------------------------------------------------


def at_most_twenty(amount: int) -> int:
    return min(amount, 20)


def pay_tool(paid: list[tuple[str, int]]) -> nb.Tool:
    @nb.tool(approval=True)
    async def pay(to: str, amount: Annotated[int, AfterValidator(at_most_twenty)] = 10) -> str:
        """Pay."""
        paid.append((to, amount))
        return "paid"

    return pay


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ('{"to":"Ann"}', {"to": "Ann", "amount": 10}),
        ('{"to":"Ann","amount":"15"}', {"to": "Ann", "amount": 15}),
        ('{"amount":99,"to":"Ann"}', {"to": "Ann", "amount": 20}),
    ],
)
async def test_the_card_shows_the_arguments_that_run(raw: str, shown: dict[str, Any]):
    """P-04: defaults, coercions and limits are applied before the person looks."""
    paid: list[tuple[str, int]] = []
    page = Page(Strict([call("pay", raw, id="k-1")], "Paid."), [pay_tool(paid)])
    await page.say("Pay")
    (card,) = page.shown["messages"][1]["parts"]
    assert (card["args"], paid) == (shown, [])
    page.approve("k-1")
    await page.session.rest()
    assert paid == [(shown["to"], shown["amount"])]


async def test_an_approval_of_other_arguments_is_refused_and_logged(
    caplog: pytest.LogCaptureFixture,
):
    """P-04: (d) edited after the card was shown, and (e) an old approval with new arguments."""
    paid: list[tuple[str, int]] = []
    page = Page(Strict([call("pay", {"to": "Ann"}, id="k-1")], "Paid."), [pay_tool(paid)])
    await page.say("Pay")
    old = page.call("k-1").digest
    page.session.propose("k-1", {"amount": 15})
    assert page.call("k-1").digest != old
    assert page.approve("k-1", digest=old)["error"] == "late"
    assert (paid, page.call("k-1").state) == ([], "pending")
    assert "not those that were shown" in caplog.text
    page.approve("k-1")
    await page.session.rest()
    assert page.approve("k-1", digest=old, args={"to": "Bob", "amount": 1})["error"] == "late"
    await page.session.rest()
    assert paid == [("Ann", 15)]


async def test_shown_arguments_cannot_be_changed_in_place():
    """P-04, F-07: neither from Python nor by a tool, and never silently."""
    page = Page(Strict([call("pay", {"to": "Ann"}, id="k-1")]), [pay_tool([])])
    await page.say("Pay")
    known = page.call("k-1")
    assert isinstance(known.args, dict)
    with pytest.raises(TypeError, match="change a copy"):
        known.args["amount"] = 1000
    with pytest.raises(AttributeError):
        known.args = {}  # type: ignore[misc]
    assert page.shown["messages"][1]["parts"][0]["args"] == {"to": "Ann", "amount": 10}


async def test_edited_arguments_are_checked_kept_beside_the_proposed_ones_and_told():
    paid: list[tuple[str, int]] = []
    model = Strict([call("pay", {"to": "Ann"}, id="k-1")], "Paid.")
    page = Page(model, [pay_tool(paid)])
    await page.say("Pay")
    answer = page.approve("k-1", args={"to": "Ann", "amount": "many"})
    assert (answer["error"], answer["field"]) == ("invalid", "amount")
    assert page.call("k-1").state == "pending"
    assert page.approve("k-1", args={"to": "Bob", "amount": "12"})["ok"]
    await page.session.rest()
    known = page.call("k-1")
    assert (paid, known.args) == ([("Bob", 12)], {"to": "Bob", "amount": 12})
    assert known.proposed == {"to": "Ann", "amount": 10}
    assert model.told[0] == (
        '(The user changed the arguments to {"to":"Bob","amount":12} before it ran.)\npaid'
    )
    assert known.decision is not None
    assert known.decision.by == "person"


async def test_arguments_edited_back_to_the_same_are_no_edit():
    model = Strict([call("pay", {"to": "Ann"}, id="k-1")], "Paid.")
    page = Page(model, [pay_tool([])])
    await page.say("Pay")
    page.approve("k-1", args={"amount": 10, "to": "Ann"})
    await page.session.rest()
    assert (page.call("k-1").proposed, model.told) == (None, ["paid"])


async def test_a_long_argument_reaches_the_page_whole():
    """P-04: variant; approving needs all of it on the page."""
    text = "x" * 300_000 + "; rm -rf /"
    tool = nb.Tool("run", "Run.", function=lambda text: text, approval=True)
    page = Page(Strict([call("run", {"text": text}, id="k-1")]), [tool])
    await page.say("Run")
    assert page.shown["messages"][1]["parts"][0]["args"]["text"] == text


async def test_a_pattern_that_backtracks_does_not_freeze_the_loop():
    """P-04: variant; the card comes at once."""

    @nb.tool(approval=True)
    def find(text: Annotated[str, Field(pattern=r"^(a+)+$")]) -> str:
        """Find."""
        return text

    raw = json.dumps({"text": "a" * 40 + "!"})
    page = Page(Strict([call("find", raw, id="k-1")], "No."), [find])
    await asyncio.wait_for(page.say("Find"), 5)
    assert page.call("k-1").outcome == "invalid"


async def test_a_validator_that_raises_anything_ends_its_call_alone():
    def boom(value: int) -> int:
        raise RuntimeError(f"no {value}")

    @nb.tool
    def use(n: Annotated[int, AfterValidator(boom)]) -> int:
        """Use."""
        return n

    ran: list[str] = []
    calls = [call("use", {"n": 1}, id="k-1"), call("read_log", {"day": "mon"}, id="k-2")]
    page = Page(Strict(calls, "So."), [use, *tools_that_ran(ran)])
    await page.say("Use")
    assert (page.call("k-1").outcome, page.call("k-2").outcome) == ("invalid", "ok")
    assert "RuntimeError: no 1" in page.call("k-1").error
    assert page.texts[-1] == "So."


# --- which call ---------------------------------------------------------------------------------


def grant_tool(granted: list[str]) -> nb.Tool:
    @nb.tool(approval=True)
    async def grant(user: str) -> str:
        """Grant."""
        granted.append(user)
        return f"granted to {user}"

    return grant


@pytest.mark.parametrize("ids", [("k-1", "k-2"), ("k-1", "k-1"), ("", "")])
async def test_two_calls_with_the_same_arguments_are_decided_each_for_itself(
    serve: Serve, ids: tuple[str, str]
):
    """P-05: approve the second, decline the first; also where the provider gives one id for both."""
    granted: list[str] = []
    calls = calls_reply(*((known, "grant", '{"user":"ann"}') for known in ids))
    page, server = serve(calls, text_reply("So."), tools=[grant_tool(granted)])
    await page.say("Grant")
    first, second = (known.id for known in page.calls)
    assert first != second
    page.approve(second)
    page.command("decline", call=first)
    await page.session.rest()
    assert results_of(server.requests[1]) == [
        (first, sentence("declined")),
        (second, "granted to ann"),
    ]
    assert (granted, server.refused) == (["ann"], [])


async def test_two_clicks_and_two_tabs_make_one_run():
    """P-05: the first decision wins, every later one is told so."""
    granted: list[str] = []
    page = Page(Strict([call("grant", {"user": "ann"}, id="k-1")], "So."), [grant_tool(granted)])
    await page.say("Grant")
    assert page.approve("k-1")["ok"]
    assert page.approve("k-1")["error"] == "late"
    late = page.command("decline", call="k-1", reason="from another tab")
    text = "This call runs already: it is too late to decide about it. Cancel ends it."
    assert (late["error"], late["text"]) == ("late", text)
    await page.session.rest()
    assert page.approve("k-1")["text"] == "This call is over already (ok)."
    await page.session.rest()
    assert (granted, page.call("k-1").outcome) == (["ann"], "ok")


async def test_of_two_tabs_a_first_decline_wins():
    """P-05: the other way round."""
    granted: list[str] = []
    page = Page(Strict([call("grant", {"user": "ann"}, id="k-1")], "So."), [grant_tool(granted)])
    await page.say("Grant")
    assert page.command("decline", call="k-1")["ok"]
    assert page.approve("k-1")["text"] == "This call is over already (declined)."
    await page.session.rest()
    assert granted == []


# --- the person does something else -------------------------------------------------------------


@pytest.mark.parametrize("text", ["what is 2+2?", "yes", "approve k-1", "true"])
async def test_a_message_while_a_call_waits_is_no_approval(serve: Serve, text: str):
    """P-09: the call gets the result `unanswered` before the new message."""
    ran: list[str] = []
    calls = calls_reply(("k-1", "wipe_cache", "{}"))
    page, server = serve(calls, text_reply("4."), tools=tools_that_ran(ran))
    await page.say("Wipe")
    assert (await page.say(text))["ok"]
    asked = server.requests[1]["messages"]
    assert [message["role"] for message in asked] == ["user", "assistant", "tool", "user"]
    assert asked[2]["content"] == sentence("unanswered")
    assert (ran, page.call("k-1").outcome) == ([], "unanswered")
    assert (server.refused, page.texts[-1]) == ([], "4.")
    assert page.approve("k-1")["error"] == "late"
    assert ran == []


@pytest.mark.parametrize("end", ["stop", "clear"])
async def test_a_late_click_after_stop_or_clear_does_nothing_and_says_so(serve: Serve, end: str):
    """P-09: stop, or clear from Python, then Approve on the old card."""
    ran: list[str] = []
    calls = calls_reply(("k-1", "wipe_cache", "{}"))
    page, server = serve(calls, text_reply("Hello."), tools=tools_that_ran(ran))
    await page.say("Wipe")
    digest = page.call("k-1").digest
    getattr(page.session, end)()
    answer = page.command("approve", call="k-1", approved=True, digest=digest)
    assert answer["error"] == ("late" if end == "stop" else "unknown")
    await page.say("hi")
    assert (ran, server.refused, page.texts[-1]) == ([], [], "Hello.")


async def test_a_late_click_never_reaches_a_new_call_with_an_old_id():
    """P-09: the provider gives the id of a call that was cleared away once more."""
    ran: list[str] = []
    wipe = [call("wipe_cache", id="k-1")]
    page = Page(Strict(wipe, wipe), tools_that_ran(ran))
    await page.say("Wipe")
    digest = page.call("k-1").digest
    page.session.clear()
    await page.say("Wipe")
    answer = page.command("approve", call="k-1", approved=True, digest=digest)
    await page.session.rest()
    assert (answer["error"], ran, page.calls[0].waiting) == ("unknown", [], "approval")


async def test_stop_closes_every_call_that_waits_before_the_turn_ends():
    ran: list[str] = []
    ask = nb.Tool("ask", "Ask.", {"type": "object", "properties": {}})
    model = Strict([call("wipe_cache", id="k-1"), call("ask", id="k-2")], "Hello.")
    page = Page(model, [ask, *tools_that_ran(ran)])
    await page.say("Go")
    assert [known.waiting for known in page.calls] == ["approval", "result"]
    page.command("stop")
    assert [known.outcome for known in page.calls] == ["cancelled", "cancelled"]
    await page.say("hi")
    assert model.told == [sentence("cancelled")] * 2
    assert (ran, model.refused) == ([], [])


async def test_a_tool_without_a_function_that_asks_is_approved_and_then_answered():
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    sign = nb.Tool("sign", "Sign.", schema, approval=True)
    model = Strict([call("sign", {"what": "it"}, id="k-1")], "Signed.")
    page = Page(model, [sign])
    await page.say("Sign")
    assert page.command("answer", call="k-1", value="forged")["error"] == "late"
    page.approve("k-1")
    assert (page.call("k-1").state, page.call("k-1").waiting) == ("pending", "result")
    assert page.approve("k-1")["error"] == "late"
    page.command("answer", call="k-1", value="signed by Ann")
    await page.session.rest()
    assert model.told == ["signed by Ann"]
