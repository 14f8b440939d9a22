"""Answers that were asked for in a shape, read as that shape."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

import nbtools as nb
from nbtools.providers import OpenAI
from nbtools.testing import call, finish, hold, say

SCHEMA = {
    "title": "person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


class Person(BaseModel):
    name: str
    age: int = 0


@nb.tool
def age(name: str) -> int:
    """Look up how old somebody is."""
    return 41


async def answered(text: str, output: Any) -> nb.Turn:
    """A turn whose answer is this text, with this shape asked for."""
    settings = None if output is None else nb.Settings(output=output)
    turn = nb.Chat(nb.Scripted(text)).send("Who?", settings=settings)
    return await turn


async def test_an_answer_is_an_instance_of_the_model_that_was_asked_for():
    turn = await answered('{"name": "Ann", "age": 41}', Person)
    assert turn.output == Person(name="Ann", age=41)


async def test_an_answer_to_a_schema_is_what_its_json_says():
    turn = await answered('{"name": "Ann", "age": 41}', SCHEMA)
    assert turn.output == {"name": "Ann", "age": 41}


async def test_what_was_said_before_the_calls_is_no_part_of_it():
    model = nb.Scripted(
        [say("Let me look."), call("age", {"name": "Ann"})], '{"name": "Ann", "age": 41}'
    )
    turn = await nb.Chat(model, tools=[age]).send("Who?", settings=nb.Settings(output=Person))
    assert turn.output == Person(name="Ann", age=41)


async def test_the_shape_may_be_a_setting_of_the_model():
    model = nb.Scripted('{"name": "Ann"}', '{"name": "Bob"}')
    model.settings = nb.Settings(output=Person)
    chat = nb.Chat(model)
    assert (await chat.send("Who?")).output == Person(name="Ann")
    turn = await chat.send("And?", settings=nb.Settings(output=SCHEMA))
    assert turn.output == {"name": "Bob"}
    fallback = nb.Fallback(OpenAI("a", output=Person), OpenAI("b"))
    assert fallback.settings == nb.Settings(output=Person)


@pytest.mark.parametrize(
    ("text", "output", "words"),
    [
        (
            '{"age": "old"}',
            Person,
            (
                "The answer does not fit 'Person': name: Field required; age: Input should be a valid "
                'integer, unable to parse string as an integer. It is \'{"age": "old"}\''
            ),
        ),
        (
            '{"age": -1}',
            SCHEMA,
            (
                "The answer does not fit 'person': age: -1 is less than the minimum of 0; 'name' is a "
                "required property. It is '{\"age\": -1}'"
            ),
        ),
        (
            "Ann",
            SCHEMA,
            "The answer does not fit 'person': expected value at line 1 column 1. It is 'Ann'",
        ),
        (
            '{"name": NaN}',
            {"type": "object"},
            (
                "The answer does not fit 'answer': expected value at line 1 column 10. It is "
                "'{\"name\": NaN}'"
            ),
        ),
        (
            "{}",
            {"type": "thing"},
            (
                "The answer does not fit 'answer': its schema is not valid at $.type: 'thing' is not "
                "valid under any of the given schemas. It is '{}'"
            ),
        ),
    ],
)
async def test_a_text_that_does_not_fit_is_quoted_with_what_is_wrong(
    text: str, output: Any, words: str
):
    turn = await answered(text, output)
    with pytest.raises(ValueError, match="does not fit") as caught:
        _ = turn.output
    assert str(caught.value) == words


async def test_where_no_shape_was_asked_for_the_error_says_how_to():
    turn = await answered('{"name": "Ann"}', None)
    with pytest.raises(ValueError, match=r"send with settings=nb\.Settings\(output=…\)"):
        _ = turn.output


async def test_an_answer_that_is_not_whole_is_not_read():
    asked = nb.Settings(output=Person)
    gate = asyncio.Event()
    chat = nb.Chat(nb.Scripted([say('{"name": "Ann"}'), hold(gate)], [say("{"), finish("length")]))
    turn = chat.send("Who?", settings=asked)
    with pytest.raises(ValueError, match="no whole answer to read: it stands at 'running'"):
        _ = turn.output
    chat.stop()
    with pytest.raises(ValueError, match="it stands at 'stopped'"):
        _ = (await turn).output
    with pytest.raises(ValueError, match="it stands at 'length'"):
        _ = (await chat.send("Who?", settings=asked)).output
