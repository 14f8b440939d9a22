"""The rules of a conversation hold, whatever a model says and people, pages and kernels do.

`NBTOOLS_EXAMPLES=10000` walks further, and each time elsewhere. A walk that fails prints its steps.
"""

from __future__ import annotations

import json
import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, run_state_machine_as_test

import nbtools as nb
from nbtools import planner
from nbtools.codec import decode_conversation, encode
from nbtools.messages import ENDED_WELL, FINAL, ToolCall
from nbtools.outcomes import refused_by_rule, sentence
from tests.page_copy import PageCopy
from tests.walk import GUARDED, World, settled
from tests.walkers import LIMITS, Walkers

EXAMPLES = int(os.environ.get("NBTOOLS_EXAMPLES", "0"))
FEW = 20
"""How many walks are taken where nobody says how many."""
BATCH = 500
"""How many walks hypothesis takes at once: it remembers each of them."""
WALKS = settings(
    stateful_step_count=60,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class Walk(Walkers):
    """One walk, and what always holds on it."""

    @initialize(
        rounds=st.sampled_from([5, 5, 3, 2, 1, 0]),
        auto_send=st.booleans(),
        limits=LIMITS,
        timeout=st.sampled_from([None, None, 57.5]),  # real time passes too: no sum of jumps
    )
    def begin(self, rounds: int, auto_send: bool, limits: nb.Limits, timeout: float | None) -> None:
        self.world = World(
            max_roundtrips=rounds, auto_send=auto_send, limits=limits, approval_timeout=timeout
        )

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.end()
            assert not self.world.wrong, self.world.wrong
            assert settled(self.world.conversation)

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert not self.world.wrong, self.world.wrong

    @invariant()
    def a_final_state_never_changes_and_a_call_runs_once(self) -> None:
        world = self.world
        known = {call.id: call for call in world.page.calls}
        assert len(known) == len(world.page.calls)
        for call_id, final in world.finals.items():
            assert known.get(call_id, final) == final
        world.finals |= {call.id: call for call in known.values() if call.state in FINAL}
        assert set(world.started.values()) | set(world.entered.values()) <= {1}

    @invariant()
    def only_a_decision_lets_a_guarded_call_run(self) -> None:
        for call in self.world.page.calls:
            if call.tool in GUARDED and self.world.started[call.id]:
                assert call.decision is not None
                assert call.decision.approved

    @invariant()
    def every_request_is_accepted_by_a_strict_server(self) -> None:
        conversation = self.world.conversation
        assert not self.world.model.refused, self.world.model.refused
        assert decode_conversation(json.loads(json.dumps(encode(conversation)))) == conversation

    @invariant()
    def calls_wait_for_the_end_of_their_message(self) -> None:
        for message in self.world.conversation.messages:
            for call in message.parts:
                if not isinstance(call, ToolCall) or message.role == "user":
                    continue
                if message.finish in ENDED_WELL:
                    assert call.state != "streaming" or self._is_held_back()
                elif message.finish != "stopped":
                    assert self.world.started[call.id] == 0
                    assert call.state == "streaming" or call.outcome in ("incomplete", "cancelled")

    def _is_held_back(self) -> bool:
        """Whether a program goes step by step, so that complete calls may lie unlooked at."""
        return not self.world.session._pace.calls

    @invariant()
    def nothing_is_left_open(self) -> None:
        world = self.world
        conversation, session = world.conversation, world.session
        if conversation.error is not None:
            assert not any(map(planner.is_open, conversation.messages))
        if not world.open_gates and not world.model.speaks:
            assert conversation.status != "running"
        if conversation.status in ("ready", "error"):
            assert settled(conversation)
        assert (conversation.status == "running") == session.busy
        running = {job.id for job in world.jobs if job.state == "running"}
        assert running == set(session.background._tasks)

    @invariant()
    def none_is_a_result_and_pending_waits_for_a_person(self) -> None:
        for call in self.world.page.calls:
            if call.tool != "look" or not self.world.entered[call.id]:
                continue
            n = (call.args or {})["n"]
            if n % 3 == 2:
                assert call.waiting == "result" or call.outcome not in ("", "failed")
            elif call.outcome != "interrupted":
                assert (call.outcome, call.value) == ("ok", [None, "seen"][n % 3])

    @invariant()
    def rounds_of_calls_are_limited_for_each_question(self) -> None:
        world = self.world
        limit = world.settings["max_roundtrips"]
        since = world.model.requests[world.asked :]
        assert len(since) <= limit + 2 or not world.settings["auto_send"]
        for request in world.model.requests:
            spoken = [message for message in request.messages if message.role == "assistant"]
            assert request.choice == "auto" or spoken or limit == 0
        for call in world.page.calls:
            if call.outcome == "limit":
                assert world.entered[call.id] == 0

    @invariant()
    def the_model_is_told_what_became_of_each_call(self) -> None:
        for call in self.world.page.calls:
            if call.state == "error":
                assert call.told
                assert call.error
                assert "Traceback" not in call.told
            if call.outcome == "declined" and call.decision is not None:
                reason = call.decision.reason
                by_rule = call.decision.by == "rule"
                assert call.told == (
                    refused_by_rule(reason) if by_rule else sentence("declined", reason)
                )
            if call.outcome == "failed" and call.tool == "fail":
                assert call.told == "The tool failed: ValueError"

    @invariant()
    def the_audit_knows_of_every_move(self) -> None:
        rows = {row["call"]: row for row in self.world.session.audit.rows()}
        jobs = {job.call: job for job in self.world.jobs}
        for call in self.world.page.calls:
            if self.world.started[call.id]:
                row, end = rows[call.id], jobs.get(call.id, call)
                assert (row["outcome"], row["args"]) == (end.outcome, call.args)

    @invariant()
    def every_window_has_what_python_had(self) -> None:
        page = self.world.page
        fresh = PageCopy(dict(page.bridge.snapshot()))
        assert (page.copy.state, page.copy.seq) == (fresh.state, fresh.seq)
        for window in page.windows:
            assert window.copy.state == page.states[window.copy.seq]
            # What came in the very moment in which all was looked at is looked at in the next step.
            if not (window.slow or window.is_unaware or window.has_to_look):
                assert window.copy.state == fresh.state


def test_the_rules_hold_whatever_a_model_says_and_people_pages_and_kernels_do() -> None:
    wanted = EXAMPLES or FEW
    for taken in range(0, wanted, BATCH):
        batch = settings(WALKS, max_examples=min(BATCH, wanted - taken))
        run_state_machine_as_test(Walk, settings=batch)
