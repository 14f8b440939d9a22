"""What an answer cost, and when that is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nbtools as nb
from nbtools.cost import Cost, Prices, prices
from nbtools.messages import Message, Usage
from nbtools.testing import say
from nbtools.testing import usage as tokens

TABLE = {
    "date": "2026-11-30",
    "models": {
        "openai:big": {"input": 2, "output": 8, "cached": 0.5},
        "anthropic:big": {"input": 3, "output": 15, "cached": 0.3, "written": 3.75},
        "gemini:big": {"input": 1, "output": 10},
    },
}


def reply(model: str, number: int = 1, **counts: int) -> Message:
    usage = Usage(**counts) if counts else None
    return Message(id=f"m-{number}", role="assistant", model=model, finish="stop", usage=usage)


def cost(*messages: Message) -> Cost:
    return Prices(TABLE).cost(messages)


@pytest.mark.parametrize(
    ("message", "amount"),
    [
        (reply("openai:big", input=1_000_000, output=0), 2.0),
        (reply("openai:big", input=1_000_000, output=0, cached=400_000), 1.4),
        (reply("openai-responses:big-2026-01-01", input=0, output=1_000_000), 8.0),
        (reply("anthropic:big", input=100_000, output=0, cached=1_000_000), 0.6),
        (reply("anthropic:big", input=0, output=0, written=1_000_000), 3.75),
        (reply("gemini:big", input=0, output=100_000, reasoning=900_000), 10.0),
    ],
)
def test_tokens_of_each_price_are_counted_once(message: Message, amount: float):
    assert cost(message).amount == pytest.approx(amount)


def test_costs_of_several_answers_are_added():
    one = reply("openai:big", 1, input=500_000, output=0)
    other = reply("anthropic:big", 2, input=1_000_000, output=0)
    asked = Message(id="m-0", role="user")
    total = cost(asked, one, other)
    assert total == Cost(amount=4.0, date="2026-11-30")
    assert str(total) == "4.0000 USD (prices of 2026-11-30)"


@pytest.mark.parametrize(
    "message",
    [
        reply("ollama:qwen3", input=5, output=5),
        reply("openai:big"),
        reply("openai:big", output=5),
        reply("openai:", input=5, output=5),
    ],
)
def test_an_unknown_cost_is_not_nothing(message: Message):
    known = reply("openai:big", 2, input=5, output=5)
    total = cost(known, message)
    assert (total.amount, total.unknown) == (None, (message.model,))
    assert str(total) == f"unknown ({message.model})"


def test_nothing_asked_costs_nothing():
    assert cost().amount == 0


def test_the_shipped_table_has_a_date_and_prices_that_make_sense():
    table = prices()
    assert table.date >= "2026-11-30"
    known = table.of("anthropic:claude-sonnet-4-5-20250929")
    assert known is not None
    assert known["cached"] < known["input"] < known["output"]


def test_the_table_can_be_replaced_and_put_back(tmp_path: Path):
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(TABLE), "utf-8")
    shipped = prices()
    nb.use_prices(file)
    assert prices().of("openai:big") == TABLE["models"]["openai:big"]  # type: ignore[index]
    nb.use_prices(None)
    assert prices().date == shipped.date


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "The table has no object 'models'."),
        ([], "The table has no object 'models'."),
        ({"models": {"a:b": {"input": 1, "output": float("inf")}}}, "The prices of 'a:b' are"),
        ({"models": {"a:b": {"input": 1}}}, "The prices of 'a:b' are {'input': 1}; expected"),
        ({"models": {"a:b": {"input": "1", "output": 2}}}, "The prices of 'a:b' are"),
        ({"models": {"a:b": 3}}, "The prices of 'a:b' are 3; expected numbers for 'input'"),
    ],
)
def test_a_table_of_another_shape_is_refused(table: Any, words: str):
    with pytest.raises(ValueError, match=r"models|expected") as caught:
        nb.use_prices(table)
    assert str(caught.value).startswith(words)


async def test_a_chat_and_a_turn_say_what_they_cost():
    labelled = nb.Scripted(
        [say("One."), tokens(input=1_000_000, output=0)],
        [say("Two."), tokens(input=500_000, output=0)],
        label="openai:big",
    )
    nb.use_prices(TABLE)
    chat = nb.Chat(labelled)
    await chat.send("1")
    turn = await chat.send("2")
    costs = (chat.cost.amount, turn.cost.amount)
    nb.use_prices(None)
    chat.close()
    assert costs == (3.0, 1.0)
