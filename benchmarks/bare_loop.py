"""The least that a program needs to talk to a model: httpx, httpx-sse and orjson, and nothing kept.

What nbtools costs is told as a multiple of this loop over the same stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import orjson
from httpx_sse import EventSource

Functions = Mapping[str, Callable[..., str]]


class BareLoop:
    """Asks a model and runs what it calls.

    Args:
        base_url: Where the server is.
        tools: Descriptions of the functions, as the server wants them.
        functions: What the model may call.
    """

    def __init__(self, base_url: str, tools: list[Any], functions: Functions) -> None:
        self._client = httpx.AsyncClient(timeout=60)
        self._url = f"{base_url}/chat/completions"
        self._tools = tools
        self._functions = functions

    async def ask(self, model: str, question: str) -> str:
        """Ask, run calls until there are none, and return the text."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        while True:
            text, calls = await self._request(model, messages)
            if not calls:
                return text
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [self._result(call) for call in calls]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _request(
        self, model: str, messages: list[dict[str, Any]]
    ) -> tuple[str, list[dict[str, Any]]]:
        body = {"model": model, "messages": messages, "stream": True, "tools": self._tools}
        body["stream_options"] = {"include_usage": True}
        texts: list[str] = []
        calls: dict[int, dict[str, Any]] = {}
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        async with self._client.stream(
            "POST", self._url, content=orjson.dumps(body), headers=headers
        ) as response:
            async for event in EventSource(response).aiter_sse():
                if event.data == "[DONE]":
                    continue
                for choice in orjson.loads(event.data)["choices"]:
                    delta = choice["delta"]
                    if delta.get("content"):
                        texts.append(delta["content"])
                    for fragment in delta.get("tool_calls", ()):
                        _take(fragment, calls)
        for call in calls.values():
            call["function"]["arguments"] = "".join(call["function"]["arguments"])
        return "".join(texts), list(calls.values())

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        value = self._functions[function["name"]](**orjson.loads(function["arguments"]))
        return {"role": "tool", "tool_call_id": call["id"], "content": value}


def _take(fragment: dict[str, Any], calls: dict[int, dict[str, Any]]) -> None:
    function = fragment["function"]
    if "id" in fragment:
        named = {"name": function["name"], "arguments": []}
        calls[fragment["index"]] = {"id": fragment["id"], "type": "function", "function": named}
    calls[fragment["index"]]["function"]["arguments"].append(function["arguments"])
