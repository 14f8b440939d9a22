"""What Ollama answers: a line of JSON for each piece, or one JSON value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbtools.events import ModelArgs, ModelCall, ModelEvent, ModelText
from nbtools.messages import Finish, Usage
from nbtools.providers.bodies import parse
from nbtools.providers.decoding import BodyDecoder, Reader, WholeCall
from nbtools.providers.failures import read_report
from nbtools.providers.fields import inner, listed, word
from nbtools.providers.lines import LineReader
from nbtools.providers.thoughts import Thoughts

WIRE = "ollama"
"""The name of the wire in sealed material."""


class Decoder(BodyDecoder):
    """Reads the lines of an Ollama answer; see `BodyDecoder`.

    Args:
        names: The names that tools have on the wire, each with the tool's own name.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._names = names or {}
        self._thoughts = Thoughts(WIRE)
        self._called = False

    def _new_reader(self) -> Reader:
        return LineReader()

    def _sniff(self, data: bytes) -> list[ModelEvent]:
        """Tell a stream by its first line, which is a value by itself."""
        if b"\n" not in data:
            return self._hold(data)
        self._held = (self._held + data).lstrip()
        line, end, _ = self._held.partition(b"\n")
        if not end:
            return []
        if not self._is_value(bytes(line)):
            self._take = self._hold
            return []
        self._take, self.streamed, self._seen = self._stream, True, True
        return self._stream(bytes(self._held))

    def _is_value(self, line: bytes) -> bool:
        try:
            return type(parse(self._loads, line)) is dict
        except ValueError:
            return False

    def _body(self, body: dict[str, Any], into: list[ModelEvent]) -> bool:
        self._chunk(body, into)
        if self._begun and not self.over:
            self._end(into, whole=False)
        return self._begun

    def _chunk(self, chunk: dict[str, Any], into: list[ModelEvent]) -> None:
        report = read_report(chunk) if "error" in chunk else None
        if report is not None:
            self._report(report, into)
            return
        message = chunk.get("message")
        if type(message) is dict:
            self._begun = True
            text = message.get("content")
            if len(message) == 2 and type(text) is str and not self._thoughts.open:
                if text:
                    into.append(ModelText(text))
            else:
                self._message(message, into)
        if chunk.get("done") is True:
            self._begun = True
            self.reason = word(chunk, "done_reason") or None
            self._count(_usage(chunk), into)
            self._end(into, whole=True)

    def _message(self, message: dict[str, Any], into: list[ModelEvent]) -> None:
        if thinking := word(message, "thinking"):
            self._thoughts.grow(thinking, "", into)
        if text := word(message, "content"):
            self._thoughts.close(into)
            into.append(ModelText(text))
        for call in listed(message, "tool_calls"):
            self._call(call, into)

    def _call(self, call: object, into: list[ModelEvent]) -> None:
        """Take a call, which always comes whole."""
        name = word(inner(call, "function"), "name")
        arguments = inner(inner(call, "function"), "arguments")
        if not name and not arguments:
            return
        self._thoughts.close(into)
        self._called = True
        key = WholeCall()
        into.append(ModelCall(key, word(call, "id"), self._names.get(name, name)))
        written = arguments if type(arguments) is str else json.dumps(arguments or {})
        if written:
            into.append(ModelArgs(key, written))

    # How it ends

    def _leave(self, into: list[ModelEvent]) -> None:
        self._thoughts.close(into)
        super()._leave(into)

    def _finish(self, reason: str) -> Finish:
        if reason == "length":
            return "length"
        if self._called:
            return "calls"
        return "stop" if reason in {"", "stop"} else "other"


def _usage(chunk: Mapping[str, Any]) -> Usage | None:
    counts = {"input": chunk.get("prompt_eval_count"), "output": chunk.get("eval_count")}
    known = {name: count for name, count in counts.items() if type(count) is int}
    return Usage(**known) if known else None
