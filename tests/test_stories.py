"""Every story of `tests/stories`: events, and the conversation or the error they lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools import codec, events
from nbtools.errors import IllegalMove
from nbtools.messages import Conversation
from nbtools.outcomes import LEGAL_ENDS
from nbtools.reducer import calls_of, reduce

STORIES = sorted(Path(__file__).with_name("stories").glob("*.json"))
KINDS = {kind.__dataclass_fields__["type"].default: kind for kind in events.EVENT_TYPES}

MOVES = {
    ("streaming", "", "pending", "approval"),
    ("streaming", "", "pending", "result"),
    ("streaming", "", "running", ""),
    ("pending", "approval", "running", ""),
    ("pending", "approval", "pending", "result"),
    ("pending", "approval", "pending", "approval"),
    ("running", "", "pending", "result"),
}
"""The legal moves of a call that do not end it; `LEGAL_ENDS` lists those that do."""


def read(path: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return story


def decoded(story: dict[str, Any]) -> list[events.Event]:
    return [codec.decode(KINDS[event["type"]], event, "event") for event in story["events"]]


def play(story: dict[str, Any]) -> Conversation:
    conversation = Conversation()
    for event in decoded(story):
        conversation = reduce(conversation, event)
    return conversation


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_ends_as_it_says(path: Path) -> None:
    """Each story leads to its conversation, or is refused with its error."""
    story = read(path)
    if "error" in story:
        with pytest.raises(IllegalMove) as refused:
            play(story)
        assert story["error"] in str(refused.value)
    else:
        assert codec.encode(play(story)) == story["conversation"]


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_conversation_survives_being_written_and_read(path: Path) -> None:
    """Decoding what was encoded gives the same conversation."""
    story = read(path)
    if "conversation" in story:
        conversation = play(story)
        assert codec.decode_conversation(codec.encode(conversation)) == conversation


def test_every_event_is_told_in_a_story() -> None:
    """No kind of event is without a story that ends well."""
    told = {
        event["type"]
        for path in STORIES
        for event in read(path)["events"]
        if "error" not in read(path)
    }
    assert told == set(KINDS)


def test_every_legal_move_of_a_call_is_told_in_a_story() -> None:
    """Each edge of the state machine, and each way to end, has a story; no story has another."""
    told = set()
    for path in STORIES:
        story = read(path)
        if "error" not in story:
            told |= moves(story)
    ends = {
        (state, waiting, "result" if outcome == "ok" else "error", outcome)
        for (state, waiting), outcomes in LEGAL_ENDS.items()
        for outcome in outcomes
    }
    assert told == MOVES | ends


def moves(story: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    """List how the calls of a story moved."""
    seen: set[tuple[str, str, str, str]] = set()
    before = Conversation()
    for event in decoded(story):
        after = reduce(before, event)
        known = {call.id: call for message in before.messages for call in calls_of(message)}
        for message in after.messages:
            for call in calls_of(message):
                old = known.get(call.id)
                if old is None or (old.state, old.waiting, old.digest) == (
                    call.state,
                    call.waiting,
                    call.digest,
                ):
                    continue
                seen.add((old.state, old.waiting, call.state, call.outcome or call.waiting))
        before = after
    return seen
