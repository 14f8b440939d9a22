"""A thousand calls in one conversation, fifty at a time."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections import Counter

from nbtools.testing import Steps, call
from tests.stage import Page, Strict

PARALLEL = 50
ROUNDS = 20


class Crowd:
    """A conversation whose every question makes the model call `PARALLEL` times at once.

    The tool gives a result only when all calls of its round are inside.
    """

    def __init__(self, rounds: int) -> None:
        self.entered: Counter[int] = Counter()
        self._barrier = threading.Barrier(PARALLEL)
        numbers = range(rounds)
        replies: list[Steps] = [reply for n in numbers for reply in (self._round(n), "Done.")]
        self.model = Strict(*replies)
        self.page = Page(self.model, [self.work], max_parallel=PARALLEL)

    def work(self, n: int) -> str:
        """Take a number."""
        self._barrier.wait(30)
        self.entered[n] += 1
        return f"result {n}"

    async def ask(self, rounds: int) -> int:
        """Ask so many questions; return by how many bytes memory has grown."""
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _number in range(rounds):
            await self.page.say("Go on")
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    def _round(self, number: int) -> Steps:
        begin = number * PARALLEL
        return [call("work", {"n": n}, id=f"k-{n}") for n in range(begin, begin + PARALLEL)]


async def test_of_a_thousand_calls_every_result_is_in_place_and_none_is_there_twice():
    crowd = Crowd(ROUNDS)
    await crowd.ask(ROUNDS)
    numbers = range(ROUNDS * PARALLEL)
    results = [f"result {n}" for n in numbers]
    assert crowd.entered == dict.fromkeys(numbers, 1)
    assert [known.args for known in crowd.page.calls] == [{"n": n} for n in numbers]
    assert [known.value for known in crowd.page.calls] == results
    assert crowd.model.told == results
    assert crowd.model.refused == []
    shown = [part for message in crowd.page.shown["messages"] for part in message["parts"]]
    assert [part["value"] for part in shown if part["type"] == "tool-call"] == results


async def test_memory_grows_with_the_calls_that_are_kept_and_no_faster():
    await Crowd(1).ask(1)  # what is imported and cached at first use is not the calls' own
    tracemalloc.start()
    try:
        crowd = Crowd(ROUNDS)
        first = await crowd.ask(ROUNDS // 2)
        second = await crowd.ask(ROUNDS // 2)
    finally:
        tracemalloc.stop()
    assert sum(crowd.entered.values()) == ROUNDS * PARALLEL
    assert 0 < second <= 1.5 * first, (first, second)
