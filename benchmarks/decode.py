"""CPU of reading an answer: the decoders of all wires, and whole clients against the vendors' own.

A decoder is told as a multiple of httpx-sse and orjson over the same bytes (of httpx's lines and
orjson, where the wire has lines), with each event arriving alone, as models send them. What 64 kB
arriving at once cost is printed beside it. A client reads the same stream over a loopback connection, in a process of its
own. `--python` names an interpreter that has the vendors' libraries; without it, this one.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
from common import ROOT, Measure, judge, median_ratio
from httpx_sse import EventSource
from streams import WIRES, events, serve

from nbtools.events import ModelText
from nbtools.providers.wires import decoder_of

TOKENS = 2_000
ROUNDS = 25
RUNS = 9
BURST = 65_536
CONTESTS = (
    ("openai", "nbtools-openai-chat", 5.0),
    ("anthropic", "nbtools-anthropic", 1.4),
)


def ours(wire: str, pieces: list[bytes]) -> None:
    """Read with the decoder that the provider uses."""
    decoder = decoder_of(wire)  # type: ignore[arg-type]
    size = 0
    for piece in pieces:
        for event in decoder.feed(piece):
            if type(event) is ModelText:
                size += len(event.text)
    decoder.close()
    assert size >= TOKENS


def floor_of_events(_: str, pieces: list[bytes]) -> None:
    """Read with httpx-sse and orjson, and look at nothing."""
    headers = {"content-type": "text/event-stream"}
    for event in EventSource(
        httpx.Response(200, headers=headers, content=_each(pieces))
    ).iter_sse():
        if event.data != "[DONE]":
            orjson.loads(event.data)


def floor_of_lines(_: str, pieces: list[bytes]) -> None:
    """Read with httpx's lines and orjson, and look at nothing."""
    for line in httpx.Response(200, content=_each(pieces)).iter_lines():
        orjson.loads(line)


def _each(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces


def cpu(read: Callable[[str, list[bytes]], None], wire: str, pieces: list[bytes]) -> float:
    gc.collect()
    begun = time.process_time()
    read(wire, pieces)
    return time.process_time() - begun


def measure_decoder(wire: str) -> Measure:
    """Compare a decoder with its floor, in turns."""
    alone = events(wire, TOKENS)
    whole = b"".join(alone)
    burst = [whole[at : at + BURST] for at in range(0, len(whole), BURST)]
    floor = floor_of_lines if wire == "ollama" else floor_of_events
    ratios = {}
    for name, pieces in (("alone", alone), ("in bursts", burst)):
        cpu(ours, wire, pieces), cpu(floor, wire, pieces)
        pairs = [(cpu(ours, wire, pieces), cpu(floor, wire, pieces)) for _ in range(ROUNDS)]
        ratios[name] = median_ratio(*zip(*pairs, strict=True))
        each = statistics.median(one for one, _ in pairs) / len(alone)
        print(f"{wire} {name}: {each * 1e6:.2f} µs an event, {ratios[name]:.2f} x the floor")
    return Measure(name=f"decode {wire}", value=ratios["alone"], goal=1.5)


def measure_clients(python: str) -> Iterator[Measure]:
    """Compare whole clients, each in a process of its own."""
    with serve(TOKENS) as address:
        for theirs, our, goal in CONTESTS:
            if not _has(python, theirs):
                print(f"{theirs} is not installed: name an interpreter that has it, with --python.")
                continue
            pairs = [
                (_client(python, theirs, address), _client(python, our, address)) for _ in "123"
            ]
            value = statistics.median(one / other for one, other in pairs)
            spent = " and ".join(f"{each * 1e6 / TOKENS:.1f}" for each in pairs[0])
            print(f"{theirs} and nbtools: {spent} µs of CPU a token")
            yield Measure(name=f"client ahead of {theirs}", value=value, goal=goal, least=True)


def _client(python: str, name: str, address: str) -> float:
    command = [python, str(Path(__file__).with_name("clients.py")), name, address, str(RUNS)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    return float(statistics.median(json.loads(done.stdout)))


def _has(python: str, package: str) -> bool:
    found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
    return found.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    judge([*map(measure_decoder, WIRES), *measure_clients(options.python)])


if __name__ == "__main__":
    main()
