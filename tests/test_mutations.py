"""No decoder raises, whatever the bytes are; `benchmarks/mutate.py` tries many more of them."""

from __future__ import annotations

import random

import pytest

from nbtools.providers.wires import Wire
from tests.mutations import WIRES, absorb, mutated, seeds

TRIES = 600
PREFIXES = 12


@pytest.mark.parametrize("wire", WIRES)
def test_no_broken_body_does_harm(wire: Wire):
    chance = random.Random(f"{wire} 1")
    bodies = seeds(wire)
    for _ in range(TRIES):
        absorb(wire, mutated(chance.choice(bodies), chance))


@pytest.mark.parametrize("wire", WIRES)
def test_no_prefix_of_a_body_does_harm(wire: Wire):
    chance = random.Random(f"{wire} 2")
    for body in seeds(wire):
        for _ in range(PREFIXES):
            absorb(wire, body[: chance.randint(0, len(body))])


@pytest.mark.parametrize("wire", WIRES)
def test_the_pieces_of_a_broken_body_make_no_difference(wire: Wire):
    chance = random.Random(f"{wire} 3")
    bodies = seeds(wire)
    for _ in range(TRIES // 10):
        body = mutated(chance.choice(bodies), chance)
        assert said(wire, body, 1) == said(wire, body, None)


def said(wire: Wire, body: bytes, size: int | None) -> list[str]:
    """The texts that a body has, joined by kind, and what ended it."""
    events = absorb(wire, body, size)
    kinds = sorted({type(event).__name__ for event in events})
    texts = [
        "".join(getattr(e, "text", "") for e in events if type(e).__name__ == k) for k in kinds
    ]
    return [*kinds, *texts]
