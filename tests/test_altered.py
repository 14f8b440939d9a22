"""Copies of frozen values, and who hears of which events."""

from __future__ import annotations

import pickle
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass, replace
from typing import Any

import pytest

from nbtools import events as ev
from nbtools import messages
from nbtools.altered import altered
from nbtools.messages import Conversation, Message, Text, ToolCall
from tests.stage import Page, Strict

FROZEN = [
    kind
    for kind in vars(messages).values()
    if is_dataclass(kind) and kind.__module__ == messages.__name__
]


@pytest.mark.parametrize("kind", [*FROZEN, *ev.EVENT_TYPES], ids=lambda kind: kind.__name__)
def test_a_value_is_made_as_a_frozen_dataclass_is(kind: Any):
    given = {field.name: f"the {field.name}" for field in fields(kind)}
    required = {field.name: given[field.name] for field in fields(kind) if _is_required(field)}
    value = kind(**required)
    for field in fields(kind):
        expected = required.get(field.name, field.default)
        assert getattr(value, field.name) == expected
    assert kind(**given) == kind(**given) != value or given == required
    assert pickle.loads(pickle.dumps(kind(**given))) == kind(**given)
    for name in given:
        with pytest.raises(FrozenInstanceError, match=repr(name)):
            setattr(value, name, "another")


@pytest.mark.parametrize("kind", [*FROZEN, *ev.EVENT_TYPES], ids=lambda kind: kind.__name__)
def test_what_is_missing_or_unknown_is_named_also_where_both_are(kind: Any):
    given = {field.name: "" for field in fields(kind)}
    with pytest.raises(TypeError, match="'colour'"):
        kind(**given, colour="red")
    with pytest.raises(TypeError, match="positional"):
        kind("red", **given)
    for field in filter(_is_required, fields(kind)):
        left = {name: each for name, each in given.items() if name != field.name}
        with pytest.raises(TypeError, match=repr(field.name)):
            kind(**left)
        with pytest.raises(TypeError, match="'colour'"):
            kind(**left, colour="red")


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING


@pytest.mark.parametrize("kind", FROZEN, ids=lambda kind: kind.__name__)
def test_a_copy_is_what_dataclasses_replace_makes(kind: Any):
    value = kind(**{field.name: f"the {field.name}" for field in fields(kind)})
    for field in fields(kind):
        change = {field.name: "another"}
        assert altered(value, **change) == replace(value, **change) != value


def test_a_copy_leaves_its_original_as_it_was():
    call = ToolCall(id="c1", tool="look", raw="{}")
    running = altered(call, state="running", started=1.5)
    assert call == ToolCall(id="c1", tool="look", raw="{}")
    assert running == ToolCall(id="c1", tool="look", raw="{}", state="running", started=1.5)


def test_a_copy_of_a_conversation_shares_what_did_not_change():
    first, second = (Message(id=f"m{n}", role="user", parts=(Text(id=f"p{n}"),)) for n in (1, 2))
    before = Conversation(messages=(first,))
    after = altered(before, messages=(*before.messages, second))
    assert after.messages[0] is first


def test_a_field_that_there_is_not_is_named():
    with pytest.raises(KeyError, match="colour"):
        altered(Text(id="p1"), colour="red")


async def test_a_listener_hears_of_the_kinds_that_it_wants_and_of_no_others():
    page = Page(Strict("Hello."))
    heard: list[str] = []
    end = page.session.subscribe(lambda event, _: heard.append(event.type), (ev.MessageEnded,))
    await page.say("Hi")
    end()
    assert heard == ["message-ended"]


async def test_a_listener_hears_nothing_more_once_that_is_ended():
    page = Page(Strict("One.", "Two."))
    heard: list[str] = []
    end = page.session.subscribe(lambda event, _: heard.append(event.type), (ev.MessageAdded,))
    await page.say("Hi")
    end()
    await page.say("And?")
    assert heard == ["message-added"]
