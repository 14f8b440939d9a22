"""One client that reads one answer again and again, in a process of its own.

    clients.py nbtools-anthropic http://127.0.0.1:8000 9

It prints the CPU seconds of each reading but the first, as a JSON list. Each client is imported in
its own function, so that none pays for another.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

Ask = Callable[[], Awaitable[int]]
QUESTION = "Go on."


def nbtools_client(kind: str, address: str) -> Ask:
    import nbtools as nb
    from nbtools.events import ModelText
    from nbtools.messages import Message, Request, Text

    provider = getattr(nb, kind)("model-1", base_url=address, api_key="k")
    asked = Message(id="m", role="user", parts=(Text(id="p", text=QUESTION),))
    request = Request(messages=[asked])

    async def ask() -> int:
        size = 0
        async for events in provider.stream(request):
            for event in events:
                if type(event) is ModelText:
                    size += len(event.text)
        return size

    return ask


def openai_client(address: str) -> Ask:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0)
    messages: Any = [{"role": "user", "content": QUESTION}]

    async def ask() -> int:
        size = 0
        stream = await client.chat.completions.create(
            model="model-1", messages=messages, stream=True
        )
        async for chunk in stream:
            if chunk.choices:
                size += len(chunk.choices[0].delta.content or "")
        return size

    return ask


def anthropic_client(address: str) -> Ask:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(base_url=address, api_key="k", max_retries=0)
    messages: Any = [{"role": "user", "content": QUESTION}]

    async def ask() -> int:
        size = 0
        stream = await client.messages.create(
            model="model-1", messages=messages, stream=True, max_tokens=9
        )
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                size += len(event.delta.text)
        return size

    return ask


CLIENTS: dict[str, Callable[[str], Ask]] = {
    "nbtools-openai-chat": lambda address: nbtools_client("OpenAI", f"{address}/v1"),
    "nbtools-anthropic": lambda address: nbtools_client("Anthropic", address),
    "openai": openai_client,
    "anthropic": anthropic_client,
}


async def main(client: str, address: str, runs: int) -> None:
    ask = CLIENTS[client](address)
    size = await ask()
    spent = []
    for _ in range(runs):
        gc.collect()
        begun = time.process_time()
        assert await ask() == size > 0
        spent.append(time.process_time() - begun)
    print(json.dumps(spent))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
