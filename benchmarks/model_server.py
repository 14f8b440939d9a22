"""A loopback Chat Completions server whose model name says what it answers, and how fast.

    text-2000            2,000 tokens of markdown, all in one write
    text-2000@200        the same, 200 tokens a second
    arguments-2000       one call of `save` whose arguments come in 2,000 pieces, then a short text
    rounds-10x3          ten rounds of three parallel calls of `lookup`, then a short text
    mixed-10x3           the same, but every second call is one of `change`

It runs as a process of its own, so that its CPU time is not that of what is measured. Each token is
an event and an HTTP chunk of its own, as with real servers; everything is written down before the
first byte is sent.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TOKEN = 4
"""Characters of one token."""

PIECE = 10
"""Characters of one piece of a call's arguments."""

_PROSE = (
    "The mean of the sample moves with its size, and so does the error that we report for it. "
    "A `median` is steadier, and **ranks** are steadier still: they cost a sort and nothing more. "
    "What is left over is noise, or a cause that nobody has measured yet. "
)
_SECTION = f"""## Part {{number}}

{_PROSE}

- rows are kept in the order in which they came
- a column that holds text is counted, not added

```python
def share(part, whole={{number}}):
    return part / whole if whole else 0.0
```

| name | value | unit |
|---|---:|---|
| share | {{number}} | % |

"""
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def text(tokens: int) -> str:
    """Write markdown of exactly this many tokens."""
    size = tokens * TOKEN
    written = ""
    for number in itertools.count(1):
        written += _SECTION.format(number=number)
        if len(written) >= size:
            return written[:size]
    raise AssertionError


def arguments(pieces: int) -> dict[str, Any]:
    """Make arguments whose JSON text has exactly this many pieces: half a text, half a table."""
    size = pieces * PIECE
    rows = [
        {"id": n, "name": f"item-{n:05}", "share": n / 8, "ok": n % 3 == 0} for n in range(size)
    ]
    share = len(json.dumps(rows[:64])) / 64
    made: dict[str, Any] = {"path": "out/report.md", "rows": rows[: int(size * 0.45 / share)]}
    made["content"] = ""
    room = size - len(json.dumps(made))
    made["content"] = _PROSE * (room // len(_PROSE)) + "." * (room % len(_PROSE))
    return made


@contextmanager
def serve() -> Iterator[str]:
    """Run the server in a process of its own; give the base URL of its API."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()


@functools.cache
def _events(model: str, done: int) -> tuple[bytes, ...]:
    """Write down one reply, as the pieces of an HTTP body.

    Args:
        model: The name without its speed.
        done: Rounds of calls that the request brings results of.
    """
    kind, _, size = model.partition("-")
    if kind == "text":
        whole = text(int(size))
        deltas = [{"content": whole[at : at + TOKEN]} for at in range(0, len(whole), TOKEN)]
        return _reply(model, deltas, "stop")
    rounds, _, width = ("1", "", "1") if kind == "arguments" else size.partition("x")
    if done >= int(rounds):
        return _reply(model, [{"content": "All "}, {"content": "done"}], "stop")
    if kind == "arguments":
        written = json.dumps(arguments(int(size)))
        calls = [_call(0, "call_0", "save", [*_cut(written, PIECE)])]
    else:
        names = ("lookup", "change" if kind == "mixed" else "lookup")
        calls = [
            _call(n, f"call_{done}_{n}", names[(done + n) % 2], _key(f"k{done}-{n}"))
            for n in range(int(width))
        ]
    return _reply(model, [*itertools.chain(*calls)], "tool_calls")


def _call(index: int, call: str, name: str, pieces: list[str]) -> list[dict[str, Any]]:
    begun = {"name": name, "arguments": ""}
    first = {"index": index, "id": call, "type": "function", "function": begun}
    rest = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [fragment]} for fragment in (first, *rest)]


def _key(key: str) -> list[str]:
    return ['{"ke', 'y": "', key, '"}']


def _cut(whole: str, size: int) -> Iterator[str]:
    return (whole[at : at + size] for at in range(0, len(whole), size))


def _reply(model: str, deltas: list[dict[str, Any]], finish: str) -> tuple[bytes, ...]:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": len(deltas),
        "total_tokens": 10 + len(deltas),
    }
    chunks = [
        _chunk(model, [_choice({"role": "assistant", "content": ""})]),
        *(_chunk(model, [_choice(delta)]) for delta in deltas),
        _chunk(model, [_choice({}, finish)]),
        _chunk(model, [], usage),
    ]
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return tuple(_framed(event) for event in (*events, b"data: [DONE]\n\n"))


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _chunk(model: str, choices: list[Any], usage: Any = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1764460800,
        "model": model,
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": usage,
    }


def _framed(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def _rounds_done(request: dict[str, Any]) -> int:
    """Count the rounds since the last question of the user."""
    done = 0
    for message in reversed(request["messages"]):
        if message["role"] == "user":
            break
        done += message["role"] == "assistant" and bool(message.get("tool_calls"))
    return done


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            request = json.loads(await reader.readexactly(int(length[1]) if length else 0))
            model, _, speed = request["model"].partition("@")
            events = _events(model, _rounds_done(request))
            await _play(writer, events, int(speed or 0))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _play(writer: asyncio.StreamWriter, events: tuple[bytes, ...], speed: int) -> None:
    """Send a reply at so many events a second; 0 sends all of it at once."""
    if not speed:
        writer.write(b"".join((_HEAD, *events, b"0\r\n\r\n")))
        await writer.drain()
        return
    writer.write(_HEAD)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number, event in enumerate(events):
        wait = begun + number / speed - loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
        writer.write(event)
        await writer.drain()  # raises once nobody listens
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _run() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_run())
