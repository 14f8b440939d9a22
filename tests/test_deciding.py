"""Deciding about calls that wait: several at once, too late, and on a preview that still holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtools as nb
from nbtools import previews
from nbtools.errors import AlreadyDecided, InvalidArguments, ToolDefinitionError
from nbtools.events import CallEnded, CallStarted, CallWaiting
from nbtools.executors import Engine
from nbtools.expiry import Expiry
from nbtools.face.turns import all_calls
from nbtools.messages import Conversation, Decision
from nbtools.outcomes import refused_by_rule, sentence
from nbtools.runner import Settings
from nbtools.session import Session
from nbtools.testing import call
from nbtools.tools import ToolContext
from tests.servers import calls_reply, text_reply
from tests.stage import Page, Serve, Strict, run_jumping, serve

__all__ = ["serve"]


def granting(granted: list[str], *users: str, **settings: Any) -> Page:
    """Make a page whose model asks to grant something to each user, all in one message."""

    @nb.tool(approval=True)
    async def grant(user: str, level: int = 1) -> str:
        """Grant."""
        granted.append(f"{user} {level}")
        return "granted"

    calls = [call("grant", {"user": user}, id=f"k-{user}") for user in users]
    return Page(Strict(calls, "So."), [grant], **settings)


def verdict(page: Page, name: str, approved: Any = True, **fields: Any) -> dict[str, Any]:
    known = page.call(name)
    return {"call": name, "approved": approved, "digest": known.digest, **fields}


# --- several at once ----------------------------------------------------------------------------


async def test_several_calls_are_decided_with_one_command() -> None:
    """P-05: each entry names its call; one that is not named waits on."""
    granted: list[str] = []
    page = granting(granted, "ann", "bob", "cy")
    await page.say("Grant")
    verdicts = [
        verdict(page, "k-ann", args={"user": "ann", "level": "3"}),
        verdict(page, "k-bob", approved=False, reason="not bob"),
    ]
    assert page.command("decide", verdicts=verdicts)["ok"]
    await page.session.rest()
    assert (granted, page.call("k-cy").waiting) == (["ann 3"], "approval")
    assert page.call("k-ann").proposed == {"user": "ann", "level": 1}
    assert page.call("k-bob").told == sentence("declined", "not bob")
    assert page.call("k-bob").decision == Decision(approved=False, by="person", reason="not bob")


def spoilt(page: Page) -> list[tuple[dict[str, Any], str]]:
    """Give a second entry that does not hold, and the word by which it is refused."""
    return [
        (verdict(page, "k-bob", approved=1), "invalid"),
        (verdict(page, "k-bob", approved="true"), "invalid"),
        (verdict(page, "k-bob", digest="0" * 16), "late"),
        (verdict(page, "k-bob", preview="0" * 16), "late"),
        (verdict(page, "k-bob", args={"user": 7, "level": "x"}), "invalid"),
        (verdict(page, "k-bob", extra=1), "invalid"),
        (verdict(page, "k-ann"), "invalid"),
        ({"call": "k-dora", "approved": True, "digest": ""}, "unknown"),
        ({"call": "k-bob", "approved": True}, "invalid"),
        ({}, "invalid"),
    ]


async def test_where_one_entry_does_not_hold_none_does() -> None:
    """P-03: nothing runs and every call waits on."""
    granted: list[str] = []
    page = granting(granted, "ann", "bob")
    await page.say("Grant")
    for entry, word in spoilt(page):
        answer = page.command("decide", verdicts=[verdict(page, "k-ann"), entry])
        assert (answer["ok"], answer["error"]) == (False, word)
    for odd in (None, "all", [1], {"call": "k-ann"}, [["k-ann"]]):
        assert page.command("decide", verdicts=odd)["error"] == "invalid"
    await page.session.rest()
    assert (granted, [known.waiting for known in page.calls]) == ([], ["approval"] * 2)


async def test_python_approves_or_declines_all_that_wait() -> None:
    """`chat.calls.pending.approve()` and `.decline()`."""
    granted: list[str] = []
    page = granting(granted, "ann", "bob")
    await page.say("Grant")
    await all_calls(page.session).pending.approve()
    assert sorted(granted) == ["ann 1", "bob 1"]
    assert {known.decision for known in page.calls} == {Decision(approved=True, by="python")}
    await all_calls(page.session).approve()
    assert len(granted) == 2
    other = granting(granted, "cy")
    await other.say("Grant")
    await all_calls(other.session).pending.decline("no")
    assert other.call("k-cy").told == sentence("declined", "no")


async def test_all_are_approved_or_none_where_a_rule_refuses_one() -> None:
    """The error names the rule."""
    granted: list[str] = []
    page = granting(granted, "ann", "bob")
    await page.say("Grant")
    made = page.session.rules.refuse("grant", when={"user": "bob"})
    with pytest.raises(InvalidArguments, match=made.id):
        all_calls(page.session).pending.approve()
    assert (granted, len(all_calls(page.session).pending)) == ([], 2)


# --- too late -----------------------------------------------------------------------------------


def test_a_call_that_nobody_decides_about_expires_and_the_chat_goes_on() -> None:
    """The model is told, and the turn ends without a person."""

    async def go() -> None:
        granted: list[str] = []
        page = granting(granted, "ann", approval_timeout=60.0)
        await page.say("Grant")
        shown = page.shown["messages"][1]["parts"][0]
        assert shown["expires"] > 0
        await asyncio.sleep(59)
        assert page.call("k-ann").waiting == "approval"
        await asyncio.sleep(2)
        await page.session.rest()
        known = page.call("k-ann")
        assert (known.outcome, known.told, known.decision) == ("expired", sentence("expired"), None)
        assert (granted, page.texts[-1], known.expires) == ([], "So.", None)
        assert page.approve("k-ann")["text"] == "This call is over already (expired)."

    run_jumping(go())


def test_a_decision_in_time_is_not_undone_by_the_clock() -> None:
    """Nor is one that changes the arguments; the time for it does not begin anew."""

    async def go() -> None:
        granted: list[str] = []
        page = granting(granted, "ann", "bob", approval_timeout=60.0)
        await page.say("Grant")
        expires = page.call("k-bob").expires
        page.approve("k-ann")
        page.session.propose("k-bob", {"level": 2})
        assert page.call("k-bob").expires == expires
        await asyncio.sleep(61)
        await page.session.rest()
        assert granted == ["ann 1"]
        assert [known.outcome for known in page.calls] == ["ok", "expired"]

    run_jumping(go())


class Unread(Conversation):
    """A conversation that may not be looked through."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")


def test_a_call_is_watched_by_what_its_events_say_however_many_others_wait() -> None:
    """A thousand calls cost a thousand looks, not a million."""

    async def go() -> list[str]:
        expired: list[str] = []
        expiry = Expiry(asyncio.get_running_loop, expired.append)
        in_a_minute = time.time() + 60
        for number in range(4):
            waits = CallWaiting(
                call=f"k-{number}", waiting="approval", args={}, expires=in_a_minute
            )
            expiry.note(waits, Unread())
        expiry.note(CallStarted(call="k-0", args={}), Unread())
        expiry.note(CallEnded(call="k-1", outcome="declined"), Unread())
        expiry.note(CallWaiting(call="k-2", waiting="result", args={}), Unread())
        expiry.note(CallWaiting(call="k-3", waiting="approval", args={"n": 1}), Unread())
        await asyncio.sleep(61)
        return expired

    assert run_jumping(go()) == ["k-3"]


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf")])
def test_the_time_to_decide_is_a_number_of_seconds(seconds: Any) -> None:
    """Anything else is named when the chat is made."""
    with pytest.raises(ValueError, match=r"approval_timeout is .*; expected a number of seconds"):
        nb.Chat(approval_timeout=seconds)


# --- on a preview -------------------------------------------------------------------------------


class Orders:
    """A table, and a tool that drops rows of it and shows which."""

    def __init__(self, preview: Callable[..., object] | None = None, **settings: Any) -> None:
        self.rows = [1, 2, 30]
        self.dropped: list[int] = []

        @nb.tool(approval=True, preview=preview or self.affected, **settings)
        async def drop(over: int) -> int:
            """Drop rows."""
            self.dropped.append(over)
            return 1

        self.tool = drop

    def affected(self, over: int) -> str:
        """Show the rows that would be dropped."""
        return f"rows {[row for row in self.rows if row > over]}"

    def page(self, *more: Any) -> Page:
        """Make a page whose model drops rows over 10."""
        return Page(Strict([call("drop", {"over": 10}, id="k-1"), *more], "So."), [self.tool])


def approve(page: Page, **fields: Any) -> dict[str, Any]:
    """Click Approve on what is shown."""
    preview = page.call("k-1").preview
    assert preview is not None
    return page.approve("k-1", **{"preview": preview.mark, **fields})


async def test_a_call_that_waits_shows_what_it_would_do() -> None:
    """The preview is on the page before anything runs, and the call runs once it is approved."""
    orders = Orders()
    page = orders.page()
    await page.say("Drop")
    shown = page.shown["messages"][1]["parts"][0]["preview"]
    assert shown["display"] == {"text/plain": "rows [30]"}
    assert orders.dropped == []
    assert approve(page)["ok"]
    await page.session.rest()
    assert (orders.dropped, page.call("k-1").outcome) == ([10], "ok")


async def test_an_approval_is_refused_where_the_data_has_moved_since() -> None:
    """The call waits on with the new preview, and can then be approved."""
    orders = Orders()
    page = orders.page()
    await page.say("Drop")
    orders.rows.append(99)
    assert approve(page)["ok"]
    await page.session.rest()
    known = page.call("k-1")
    assert (orders.dropped, known.waiting, known.decision) == ([], "approval", None)
    assert known.preview is not None
    assert (known.preview.display, known.preview.note) == (
        {"text/plain": "rows [30, 99]"},
        previews.MOVED,
    )
    approve(page)
    await page.session.rest()
    assert orders.dropped == [10]


@pytest.mark.parametrize("mark", ["", "0" * 16])
async def test_an_approval_has_to_name_the_preview_that_was_shown(mark: str) -> None:
    """P-04: an old page approves nothing new."""
    orders = Orders()
    page = orders.page()
    await page.say("Drop")
    assert approve(page, preview=mark)["error"] == "late"
    await page.session.rest()
    assert (orders.dropped, page.call("k-1").waiting) == ([], "approval")


async def test_edited_arguments_are_shown_before_they_can_be_approved() -> None:
    """P-04: what runs is what was shown, and so is what it would do."""
    orders = Orders()
    page = orders.page()
    await page.say("Drop")
    assert approve(page, args={"over": "1"})["ok"]
    await page.session.rest()
    known = page.call("k-1")
    assert (orders.dropped, known.args, known.proposed) == ([], {"over": 1}, {"over": 10})
    assert known.preview is not None
    assert (known.preview.display["text/plain"], known.preview.note) == (
        "rows [2, 30]",
        previews.CHANGED,
    )
    approve(page)
    await page.session.rest()
    assert orders.dropped == [1]


async def test_a_proposal_of_a_renderer_is_previewed_too() -> None:
    """The frame shows it, the person decides."""
    orders = Orders()
    page = orders.page()
    await page.say("Drop")
    assert page.session.propose("k-1", {"over": 1})
    await page.session.rest()
    preview = page.call("k-1").preview
    assert preview is not None
    assert preview.display["text/plain"] == "rows [2, 30]"


async def test_a_call_that_was_approved_is_not_decided_again_while_it_is_looked_at() -> None:
    """P-05: a second approval is late; a decline still ends it."""
    gate = asyncio.Event()

    async def held(over: int) -> str:
        if looks:
            await gate.wait()
        looks.append(over)
        return "the same"

    looks: list[int] = []
    orders = Orders(held)
    page = orders.page()
    await page.say("Drop")
    assert approve(page)["ok"]
    assert page.session.conversation.status == "running"
    assert approve(page)["error"] == "late"
    with pytest.raises(AlreadyDecided, match="looked at once more"):
        page.session.propose("k-1", {"over": 2})
    assert page.command("decline", call="k-1")["ok"]
    gate.set()
    await page.session.rest()
    assert (orders.dropped, page.call("k-1").outcome) == ([], "declined")


async def test_a_preview_that_fails_is_shown_and_leaves_the_decision_to_the_person() -> None:
    """The text says why; a failure that changes is shown anew."""
    problems = ["no table", "no table", "no disk", "no disk"]

    def fail(over: int) -> str:
        raise RuntimeError(problems.pop(0))

    orders = Orders(fail)
    page = orders.page()
    await page.say("Drop")
    preview = page.call("k-1").preview
    assert preview is not None
    text = "The preview failed. RuntimeError: no table"
    assert preview.display == {"text/plain": text}
    approve(page)
    await page.session.rest()
    assert orders.dropped == [10]


async def test_a_preview_takes_the_arguments_it_names_and_the_context() -> None:
    """It gets the values that the function gets."""

    def show(ctx: ToolContext[str]) -> str:
        return f"for {ctx.context}, {ctx.call_id}"

    orders = Orders(show)
    page = Page(Strict([call("drop", {"over": 10}, id="k-1")], "So."), [orders.tool], context="Ann")
    await page.say("Drop")
    preview = page.call("k-1").preview
    assert preview is not None
    assert preview.display["text/plain"] == "for Ann, k-1"


@pytest.mark.parametrize(
    ("preview", "text"),
    [
        (lambda rows: "", "Tool 'drop': its preview needs 'rows', which the tool does not take"),
        ("rows", "Tool 'drop': preview is 'rows', no function."),
    ],
)
def test_a_preview_that_does_not_fit_its_tool_is_refused(preview: Any, text: str) -> None:
    """When the tool is made, with both named."""
    with pytest.raises(ToolDefinitionError) as error:
        Orders(preview)
    assert text in str(error.value)


async def test_what_runs_without_asking_is_not_previewed() -> None:
    """A rule that allows skips it."""
    looked: list[int] = []

    def look(over: int) -> None:
        looked.append(over)

    orders = Orders(look)
    page = orders.page()
    page.session.rules.allow("drop")
    await page.say("Drop")
    assert (looked, orders.dropped) == ([], [10])


@pytest.mark.parametrize("change", ["cell", "column", "dtype", "index"])
async def test_any_change_of_a_table_moves_its_preview(change: str) -> None:
    """The whole table counts, not the rows that are shown."""
    import pandas as pd

    frame = pd.DataFrame({"n": range(500), "name": ["a"] * 500})
    orders = Orders(lambda: frame)
    page = orders.page()
    await page.say("Drop")
    if change == "cell":
        frame.loc[499, "n"] = -1
    elif change == "column":
        frame.columns = pd.Index(["n", "title"])
    elif change == "dtype":
        frame["n"] = frame["n"].astype("int32")
    else:
        frame.index = pd.Index(range(1, 501))
    approve(page)
    await page.session.rest()
    assert (orders.dropped, page.call("k-1").waiting) == ([], "approval")
    approve(page)
    await page.session.rest()
    assert orders.dropped == [10]


def _values() -> dict[str, Callable[[int], object]]:
    """Give what a preview may return, each with one number in it that no display shows."""
    import numpy as np
    import pandas as pd

    return {
        "bytes": lambda n: bytes([0, n]),
        "within data": lambda n: {"file": [bytearray([n])]},
        "array": lambda n: np.array([*range(5_000), n]),
        "text in an array": lambda n: np.array(["a", {"n": n}], dtype=object),
        "table within data": lambda n: [1, pd.DataFrame({"n": [*range(500), n]})],
        "cells with lists": lambda n: pd.DataFrame({"n": [[0], [n]]}),
        "cells with bytes": lambda n: pd.DataFrame({"n": [[bytes([n])]]}),
    }


@pytest.mark.parametrize("kind", _values())
async def test_any_change_of_a_value_moves_its_preview(kind: str) -> None:
    made, number = _values()[kind], [1]
    orders = Orders(lambda: made(number[0]))
    page = orders.page()
    await page.say("Drop")
    number[0] = 2
    approve(page)
    await page.session.rest()
    assert (orders.dropped, page.call("k-1").waiting) == ([], "approval")
    approve(page)
    await page.session.rest()
    assert orders.dropped == [10]


async def test_a_preview_may_take_its_arguments_by_place() -> None:
    def rows(over: int, /, most: int = 5) -> str:
        return f"over {over}, at most {most}"

    orders = Orders(rows)
    page = orders.page()
    await page.say("Drop")
    preview = page.call("k-1").preview
    assert preview is not None
    assert preview.display["text/plain"] == "over 10, at most 5"


async def test_a_result_is_watched_for_its_value_and_shown_as_its_display() -> None:
    """So that what must not change need not be what is read."""
    version = [1]
    orders = Orders(lambda: nb.Result(version[0], display="1 row"))
    page = orders.page()
    await page.say("Drop")
    preview = page.call("k-1").preview
    assert preview is not None
    assert preview.display["text/plain"] == "1 row"
    version[0] = 2
    approve(page)
    await page.session.rest()
    assert orders.dropped == []


async def test_an_object_that_is_made_anew_is_the_same_preview() -> None:
    """Where it lies in memory is no difference."""

    class Plan:
        pass

    orders = Orders(lambda: [Plan()])
    page = orders.page()
    await page.say("Drop")
    approve(page)
    await page.session.rest()
    assert orders.dropped == [10]


def test_a_call_that_expired_while_the_program_was_away_is_over_and_nothing_is_sent() -> None:
    """P-07: loading sends and runs nothing."""

    async def go() -> None:
        granted: list[str] = []
        page = granting(granted, "ann", "bob", approval_timeout=60.0)
        await page.say("Grant")
        kept = page.session.conversation
        late = replace(page.call("k-ann"), expires=time.time() - 1)
        reply = replace(kept.messages[1], parts=(late, kept.messages[1].parts[1]))
        saved = replace(kept, messages=(kept.messages[0], reply))
        model = Strict("So.")
        again = Session(
            Settings(provider=model, tools=page.session.settings.tools),
            Engine(asyncio.get_running_loop()),
            saved,
        )
        again.take_up()
        await again.rest()
        states = [known.outcome or known.waiting for known in again.calls()]
        assert (states, model.requests, granted) == (["expired", "approval"], [], [])

    run_jumping(go())


@given(st.lists(st.sampled_from(["look", "move", "approve", "old", "edit"]), max_size=8))
@settings(max_examples=40, deadline=None)
def test_what_runs_is_what_was_shown_whatever_happens_between(steps: list[str]) -> None:
    """P-04: the rows that go are those of the preview that the approval named."""

    async def go() -> None:
        rows, dropped, marks = [20, 30], [], [""]

        async def affected(over: int) -> list[int]:
            return [row for row in rows if row > over]

        @nb.tool(approval=True, preview=affected)
        async def drop(over: int) -> int:
            """Drop rows."""
            dropped.append([row for row in rows if row > over])
            return 1

        page = Page(Strict([call("drop", {"over": 10}, id="k-1")], "So."), [drop])
        await page.say("Drop")
        shown: list[Any] = []
        for step in steps:
            known = page.call("k-1")
            if known.state != "pending":
                break
            assert known.preview is not None
            shown = known.preview.display["application/json"]
            if step == "move":
                rows.append(40 + len(rows))
            elif step == "edit":
                page.approve("k-1", preview=known.preview.mark, args={"over": len(rows) % 3})
            elif step in ("approve", "old"):
                mark = known.preview.mark if step == "approve" else marks[0]
                page.approve("k-1", preview=mark)
                marks.append(known.preview.mark)
            await page.session.rest()
        assert dropped in ([], [shown])

    asyncio.run(go())


# --- on the wire --------------------------------------------------------------------------------


async def test_calls_that_were_decided_together_have_one_result_each(serve: Serve) -> None:
    """P-01: one approved, one declined, one that a rule refused; in their order."""
    granted: list[str] = []
    tool = granting(granted).session.settings.tools["grant"]
    users = ("ann", "bob", "cy")
    calls = calls_reply(*((f"k-{user}", "grant", f'{{"user":"{user}"}}') for user in users))
    page, server = serve(calls, text_reply("So."), tools=[tool])
    page.session.rules.refuse("grant", when={"user": "cy"}, reason="Never.")
    await page.say("Grant")
    verdicts = [verdict(page, "k-bob", approved=False, reason="no"), verdict(page, "k-ann")]
    assert page.command("decide", verdicts=verdicts)["ok"]
    await page.session.rest()
    told = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert told == [
        "granted",
        sentence("declined", "no"),
        refused_by_rule("Never."),
    ]
    assert (granted, server.refused) == (["ann 1"], [])


@pytest.mark.parametrize("ending", ["stop", "clear"])
async def test_stop_ends_a_call_whose_preview_is_looked_at_once_more(ending: str) -> None:
    """P-09: nothing runs afterwards, and the next message works."""
    gate, looks = asyncio.Event(), [0]

    async def held(over: int) -> str:
        looks[0] += 1
        if looks[0] > 1:
            await gate.wait()
        return "the same"

    orders = Orders(held)
    page = orders.page()
    await page.say("Drop")
    assert approve(page)["ok"]
    assert page.command("send", text="yes")["error"] == "busy"
    assert page.command(ending)["ok"]
    gate.set()
    await page.session.rest()
    assert orders.dropped == []
    await page.say("Well?")
    assert page.texts[-1] == "So."
