"""Broken bodies that a decoder survives: 200,000 of each wire, made at random from recorded ones.

    mutate.py [--tries 200000] [--wire anthropic] [--seed 1]

What does harm is printed with its seed and its bytes, so that it can become a test.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from common import Measure, judge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.mutations import WIRES, absorb, mutated, seeds

SHOWN = 5


def survive(wire: str, tries: int, seed: int) -> int:
    """Break bodies of a wire; give how many did harm."""
    bodies, failed = seeds(wire), 0  # type: ignore[arg-type]
    begun = time.process_time()
    for number in range(tries):
        chance = random.Random(f"{wire} {seed} {number}")
        body = mutated(chance.choice(bodies), chance)
        try:
            absorb(wire, body, chance.choice([None, None, 1 + number % 64]))  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            failed += 1
            if failed <= SHOWN:
                print(f"{wire}, seed {seed}, number {number}: {error!r:.200}\n  {body[:400]!r}")
    spent = time.process_time() - begun
    print(f"{wire}: {tries:,} of {len(bodies)} bodies broken, {failed} did harm, {spent:.0f} s")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=200_000)
    parser.add_argument("--wire", choices=WIRES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wires = [options.wire] if options.wire else WIRES
    failed = sum(survive(wire, options.tries, options.seed) for wire in wires)
    judge([Measure(name="mutate bodies that did harm", value=failed, goal=0.5)])


if __name__ == "__main__":
    main()
