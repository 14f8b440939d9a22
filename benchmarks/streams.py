"""One answer on every wire, as the events that its server sends, and a server that sends them.

Every token is an event and an HTTP chunk of its own, as with real servers.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from model_server import TOKEN, text

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
PATHS = {"chat/completions": "openai-chat", "messages": "anthropic"}
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def events(wire: str, tokens: int) -> list[bytes]:
    """Write down a text of so many tokens, one event for each, with what stands around it."""
    whole = text(tokens)
    pieces = [whole[at : at + TOKEN] for at in range(0, len(whole), TOKEN)]
    return _WRITERS[wire](pieces)


def _chat(pieces: list[str]) -> list[bytes]:
    def chunk(choices: list[Any], usage: Any = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-0123456789abcdef",
            "object": "chat.completion.chunk",
            "created": 1764460800,
            "model": "model-1",
            "service_tier": "default",
            "system_fingerprint": "fp_0123456789",
            "choices": choices,
            "usage": usage,
        }

    def choice(delta: Any, finish: str | None = None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}

    usage = {"prompt_tokens": 9, "completion_tokens": len(pieces), "total_tokens": 9 + len(pieces)}
    chunks = [
        chunk([choice({"role": "assistant", "content": ""})]),
        *(chunk([choice({"content": piece})]) for piece in pieces),
        chunk([choice({}, "stop")]),
        chunk([], usage),
    ]
    return [*map(_data, chunks), b"data: [DONE]\n\n"]


def _responses(pieces: list[str]) -> list[bytes]:
    place = {"item_id": "msg_0123456789", "output_index": 0, "content_index": 0}
    item = {"id": "msg_0123456789", "type": "message", "role": "assistant", "content": []}
    delta = {"type": "response.output_text.delta", **place, "logprobs": []}
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    done = {
        **response,
        "status": "completed",
        "output": [{**item, "content": [{"type": "output_text", "text": "".join(pieces)}]}],
        "usage": {"input_tokens": 9, "output_tokens": len(pieces)},
    }
    said = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**delta, "delta": piece, "obfuscation": "abcdefgh"} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": done["output"][0]},
        {"type": "response.completed", "response": done},
    ]
    return [_named({**each, "sequence_number": number}) for number, each in enumerate(said)]


def _messages(pieces: list[str]) -> list[bytes]:
    message = {
        "id": "msg_0123456789",
        "type": "message",
        "role": "assistant",
        "model": "model-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    delta = {"type": "content_block_delta", "index": 0}
    block = {"type": "text", "text": ""}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    said = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({**delta, "delta": {"type": "text_delta", "text": piece}} for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": len(pieces)}},
        {"type": "message_stop"},
    ]
    return list(map(_named, said))


def _gemini(pieces: list[str]) -> list[bytes]:
    def chunk(piece: str, **more: Any) -> dict[str, Any]:
        candidate = {"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0, **more}
        usage = {"promptTokenCount": 9, "totalTokenCount": 9}
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": "model-1",
            "responseId": "r-1",
        }

    *first, last = pieces
    return list(map(_data, [*map(chunk, first), chunk(last, finishReason="STOP")]))


def _ollama(pieces: list[str]) -> list[bytes]:
    frame = {"model": "model-1", "created_at": "2026-11-30T08:00:00.000000000Z"}
    said = [
        *({**frame, "message": {"role": "assistant", "content": p}, "done": False} for p in pieces),
        {
            **frame,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 9,
            "eval_count": len(pieces),
        },
    ]
    return [json.dumps(each).encode() + b"\n" for each in said]


_WRITERS = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _messages,
    "gemini": _gemini,
    "ollama": _ollama,
}


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _named(value: Any) -> bytes:
    return f"event: {value['type']}\n".encode() + _data(value)


# A server in a process of its own, so that its CPU time is not that of what is measured.


@contextmanager
def serve(tokens: int) -> Iterator[str]:
    """Serve Chat Completions and Messages below `/v1`; give the server's address."""
    command = [sys.executable, __file__, str(tokens)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


async def _main(tokens: int) -> None:
    bodies = {
        path: b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events(wire, tokens))
        for path, wire in PATHS.items()
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                await reader.readexactly(int(length[1]) if length else 0)
                path = head.split(b" ", 2)[1].decode().partition("/v1/")[2].partition("?")[0]
                writer.write(_HEAD + bodies[path] + b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
