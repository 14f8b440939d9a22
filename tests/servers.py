"""A local server that speaks Chat Completions: it says what it was given, and is strict.

It runs on threads of its own, so that a test may block. A request whose history a real server
would refuse is answered with 400, and the reason is kept in `refused`.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

Body = dict[str, Any]
Piece = bytes | str | float | threading.Event
"""Bytes to send, seconds to wait, or an event to wait for."""


@dataclass(kw_only=True)
class Answer:
    """What the server does with one request."""

    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    end: Literal["whole", "cut", "reset", "silent"] = "whole"
    """`cut` closes in the middle of the body, `reset` before any of it, `silent` says no more."""


def Fault(  # noqa: N802 - reads as a value
    status: int, body: object = "", **headers: str
) -> Answer:
    """An error status; header names are written with underscores."""
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "text/html" if text.startswith("<") else "application/json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, pieces=[text], headers={"content-type": kind, **named})


Queued = Answer | bytes | str | Sequence[Piece] | Callable[[Body], Any]


def sse(*chunks: object, done: bool = True) -> str:
    """A stream of events, each the JSON of one value."""
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*events, "data: [DONE]\n\n"] if done else events)


def chunk(delta: object, finish: str | None = None) -> Body:
    return {"id": "c-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(index: int, call: str | None, name: str | None, arguments: str | None) -> Body:
    """A chunk with a piece of a call."""
    function = {"name": name, "arguments": arguments}
    item = {"index": index, "id": call, "type": "function", "function": function}
    return chunk({"tool_calls": [item]})


def text_reply(*texts: str) -> str:
    return sse(*(chunk({"content": text}) for text in texts), chunk({}, "stop"))


def calls_reply(*calls: tuple[str, str, str]) -> str:
    """A reply that calls tools: id, name and arguments of each."""
    fragments = [fragment(index, *call) for index, call in enumerate(calls)]
    return sse(*fragments, chunk({}, "tool_calls"))


class ModelServer:
    """Serves the queued answers, in order, below `url`; `judge` says what is wrong with a request."""

    def __init__(
        self,
        *queued: Queued,
        models: Iterable[str] = (),
        judge: Callable[[Body], str] | None = None,
    ) -> None:
        self._judge = judge or problem
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.refused: list[str] = []
        self.models = list(models)
        self._queue: deque[Queued] = deque(queued)
        self._sockets: set[socket.socket] = set()
        self.connections = 0

    def queue(self, *queued: Queued) -> None:
        """Add answers."""
        self._queue.extend(queued)

    def start(self) -> Self:
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self})
        )
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._sockets):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    def answer(self, body: Body) -> Answer:
        """Take the next answer for this request."""
        self.requests.append(body)
        wrong = self._judge(body)
        if wrong:
            self.refused.append(wrong)
            return Fault(400, {"error": {"message": wrong, "type": "invalid_request_error"}})
        if not self._queue:
            return Fault(400, {"error": {"message": "No answer is queued.", "type": "test"}})
        queued = self._queue.popleft()
        given = queued(body) if callable(queued) else queued
        if isinstance(given, Answer):
            return given
        return Answer(pieces=[given] if isinstance(given, bytes | str) else list(given))


def problem(body: Body) -> str:
    """Why a strict server would refuse this request; "" if it would not."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in body.get("messages", ()):
        wrong = _wrong_message(message, open_calls, seen)
        if wrong:
            return wrong
    if open_calls:
        return f"The call {open_calls[0]!r} has no result."
    return next(filter(None, map(_wrong_tool, body.get("tools", ()))), "")


def _wrong_message(message: Body, open_calls: list[str], seen: set[str]) -> str:
    role, content, calls = (message.get(name) for name in ("role", "content", "tool_calls"))
    if role == "tool":
        return _wrong_result(message, open_calls)
    if open_calls:
        return f"The call {open_calls[0]!r} has no result."
    if calls is not None and (role != "assistant" or not calls):
        return "tool_calls is empty, or in a message that cannot have any."
    if not calls and not content:
        return f"A message of {role!r} is empty."
    open_calls.extend(call.get("id") for call in calls or ())
    return next(filter(None, (_wrong_call(call, seen) for call in calls or ())), "")


def _wrong_result(message: Body, open_calls: list[str]) -> str:
    if not open_calls or message.get("tool_call_id") != open_calls.pop(0):
        return f"The result of {message.get('tool_call_id')!r} is not where it belongs."
    content = message.get("content")
    return "" if content and isinstance(content, str) else "A result has no text."


def _wrong_call(call: Body, seen: set[str]) -> str:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if not call.get("id") or call["id"] in seen:
        return f"The id {call.get('id')!r} is empty or used twice."
    seen.add(call["id"])
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return f"The name {name!r} has characters or a length that are not allowed."
    try:
        value = json.loads(arguments)
    except (TypeError, ValueError):
        return f"The arguments {arguments!r} are not JSON."
    return "" if isinstance(value, dict) else f"The arguments {arguments!r} are no object."


def _wrong_tool(tool: Body) -> str:
    function = tool["function"]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function["name"]):
        return f"The tool {function['name']!r} has a name that is not allowed."
    return "" if function["parameters"].get("type") == "object" else "parameters is no object."


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ModelServer

    def setup(self) -> None:
        super().setup()
        self.owner.connections += 1
        self.owner._sockets.add(self.connection)

    def finish(self) -> None:
        self.owner._sockets.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's word
        pass

    def do_GET(self) -> None:
        listed = json.dumps({"data": [{"id": name} for name in self.owner.models]}).encode()
        self.send_response(200 if self.owner.models else 404)
        self.send_header("content-length", str(len(listed)))
        self.end_headers()
        self.wfile.write(listed)

    def do_POST(self) -> None:
        self.owner.paths.append(self.path)
        self.owner.headers.append({name.lower(): value for name, value in self.headers.items()})
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.owner.answer(body)
        if answer.end == "reset":
            self._reset()
            return
        self.send_response(answer.status)
        headers = {"content-type": "text/event-stream", **answer.headers}
        for name, value in {**headers, "transfer-encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in answer.pieces:
            self._play(piece)
        self._end(answer)

    def _play(self, piece: Piece) -> None:
        if isinstance(piece, threading.Event):
            piece.wait(30)
        elif isinstance(piece, float | int):
            time.sleep(piece)
        elif piece:
            data = piece.encode() if isinstance(piece, str) else piece
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _end(self, answer: Answer) -> None:
        if answer.end == "whole":
            self.wfile.write(b"0\r\n\r\n")
            return
        self.wfile.flush()
        self.close_connection = True
        if answer.end == "silent":
            with contextlib.suppress(OSError):
                self.connection.recv(1)

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
