"""The rules of a conversation, each on random walks of its own."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from nbtools import planner
from nbtools.codec import decode_conversation, encode
from nbtools.messages import FINAL, Notice, ToolCall
from nbtools.outcomes import sentence
from tests.page_copy import PageCopy
from tests.stage import run_jumping
from tests.walk import Walk, random_walk, settled


def walk(check: Callable[[Walk], object]) -> Callable[[], None]:
    """Make a test that walks at random and checks one rule."""

    def test(data: st.DataObject) -> None:
        async def take() -> None:
            await Walk(data.draw).take(check)

        run_jumping(take())

    return random_walk(given(data=st.data())(test))


def finals_stay(walk: Walk) -> None:
    known = {call.id: call for call in walk.page.calls}
    for call_id, final in walk.finals.items():
        assert known.get(call_id, final) == final
    walk.finals |= {call.id: call for call in known.values() if call.state in FINAL}
    assert set(walk.started.values()) | set(walk.entered.values()) <= {1}
    assert len(known) == len(walk.page.calls)


def approvals_are_exact(walk: Walk) -> None:
    assert walk.wrong == []
    for call in walk.page.calls:
        if call.tool in ("pay", "wipe", "later") and walk.started[call.id]:
            assert call.decision is not None
            assert call.decision.approved


def requests_are_accepted(walk: Walk) -> None:
    assert walk.model.refused == []
    decoded = decode_conversation(json.loads(json.dumps(encode(walk.conversation))))
    assert decoded == walk.conversation


def calls_wait_for_the_end_of_their_message(walk: Walk) -> None:
    for message in walk.conversation.messages:
        for call in message.parts:
            if not isinstance(call, ToolCall) or message.role == "user":
                continue
            if message.finish in ("", "cut", "failed", "length", "filter"):
                assert walk.started[call.id] == 0
                assert call.state == "streaming" or call.outcome in ("incomplete", "cancelled")
            elif message.finish != "stopped":
                assert call.state != "streaming"


def nothing_is_left_open(walk: Walk) -> None:
    conversation = walk.conversation
    if conversation.error is not None:
        assert not any(map(planner.is_open, conversation.messages))
    idle = not any(not gate.done() for gate in walk.gates)
    if idle:
        assert conversation.status != "running"
    if conversation.status in ("ready", "error"):
        assert settled(conversation)
    assert (conversation.status == "running") == bool(walk.session._tasks)


def none_is_a_result(walk: Walk) -> None:
    for call in walk.page.calls:
        if call.tool == "look" and call.origin == "model" and walk.entered[call.id]:
            n = (call.args or {})["n"]
            if n % 3 == 2:
                assert call.waiting == "result" or call.outcome not in ("", "failed")
            else:
                assert (call.outcome, call.value) == ("ok", [None, "seen"][n % 3])


def rounds_are_limited(walk: Walk) -> None:
    limit = walk.session.settings.max_roundtrips
    since = walk.model.requests[walk.asked :]
    if walk.session.settings.auto_send and not asked_by_program(walk):
        assert len(since) <= limit + 2
    for request in walk.model.requests:
        spoken = [message for message in request.messages if message.role == "assistant"]
        assert request.choice == "auto" or spoken or limit == 0
    for call in walk.page.calls:
        if call.outcome == "limit":
            assert walk.entered[call.id] == 0


def asked_by_program(walk: Walk) -> bool:
    """Whether the end of a job made the model go on, which spends another message's rounds."""
    parts = [part for message in walk.conversation.messages for part in message.parts]
    return any(isinstance(part, Notice) and part.asks for part in parts)


def ends_are_told(walk: Walk) -> None:
    for call in walk.page.calls:
        if call.state == "error":
            assert call.told
            assert "Traceback" not in call.told
            assert call.error
        if call.outcome == "declined" and call.decision is not None:
            assert call.told == sentence("declined", call.decision.reason)
        if call.outcome == "failed" and call.tool == "fail":
            assert call.told == "The tool failed: ValueError"


def the_page_has_what_python_has(walk: Walk) -> None:
    fresh = PageCopy(dict(walk.page.bridge.snapshot()))
    assert walk.page.copy.state == fresh.state
    assert walk.page.copy.seq == fresh.seq


test_a_final_state_never_changes_and_a_call_runs_once = walk(finals_stay)
test_only_an_exact_decision_approves = walk(approvals_are_exact)
test_every_request_would_be_accepted_by_a_strict_server = walk(requests_are_accepted)
test_calls_run_only_after_their_message_ended_well = walk(calls_wait_for_the_end_of_their_message)
test_stop_a_new_message_and_an_error_close_every_open_call = walk(nothing_is_left_open)
test_none_is_a_result_and_pending_waits_for_a_person = walk(none_is_a_result)
test_rounds_of_calls_are_limited_for_each_question = walk(rounds_are_limited)
test_the_model_is_told_what_became_of_each_call = walk(ends_are_told)
test_the_page_has_after_every_step_what_python_has = walk(the_page_has_what_python_has)
