"""CPU of reading a call's arguments while they arrive, with a live value at the page's rate.

20 kB come in 2,000 chunks and 200 kB in 20,000. Each chunk is read as it comes, and the value so far
is taken once in each flush of a session, from a fast model and from a slow one, which has fewer chunks
in a flush. The growth tells whether the cost is linear. The cost of a chunk is told as a multiple of
`json.loads` of the same chunk as a text of its own: where that takes 0.94 µs, 3.2 of it are 3 µs.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable

from common import Measure, judge, median_ratio
from model_server import PIECE, arguments

from nbtools.partial import PartialJson
from nbtools.record import FLUSH

FEW, MANY = 2_000, 20_000
SPEEDS = (100, 1_000)
"""Chunks a second."""
RUNS = 21

Read = Callable[[list[str]], object]


def chunks(count: int) -> list[str]:
    """Write arguments, and cut them into so many pieces."""
    whole = json.dumps(arguments(count))
    return [whole[at : at + PIECE] for at in range(0, len(whole), PIECE)]


def live(speed: int) -> Read:
    """Make the reader of a stream of so many chunks a second; it returns the last value taken."""
    taken = max(1, int(speed * FLUSH))

    def read(pieces: list[str]) -> object:
        parser = PartialJson()
        for number, piece in enumerate(pieces):
            parser.feed(piece)
            if number % taken == 0:
                parser.snapshot()
        return parser.snapshot()

    return read


def floor(quoted: list[str]) -> None:
    """Read each chunk as a JSON text of its own, and keep nothing."""
    for text in quoted:
        json.loads(text)


def cpu(read: Read, pieces: list[str]) -> float:
    gc.collect()
    begun = time.process_time()
    read(pieces)
    return time.process_time() - begun


def measure(speed: int) -> list[Measure]:
    """Read both sizes and the floor, in turns."""
    read, few, many = live(speed), chunks(FEW), chunks(MANY)
    quoted = [json.dumps(piece) for piece in many]
    assert (len(few), read(few)) == (FEW, arguments(FEW))
    assert (len(many), read(many)) == (MANY, arguments(MANY))
    runs = [(cpu(read, few), cpu(read, many), cpu(floor, quoted)) for _ in range(RUNS)]
    short, long, least = zip(*runs, strict=True)
    each = statistics.median(long) / MANY * 1e6
    print(f"{speed} chunks a second: {each:.2f} µs a chunk, with each {speed * FLUSH:.0f}th shown")
    name = f"partial_arguments {speed}/s"
    return [
        Measure(name=f"{name} growth x10", value=median_ratio(long, short), goal=13),
        Measure(name=f"{name} over json.loads", value=median_ratio(long, least), goal=3.2),
    ]


def main() -> None:
    judge([measured for speed in SPEEDS for measured in measure(speed)])


if __name__ == "__main__":
    main()
