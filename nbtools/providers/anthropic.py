"""The Messages wire: Anthropic, and servers that speak it.

Source: https://docs.claude.com/en/api/messages.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal, Unpack

from nbtools.events import ModelEvent
from nbtools.messages import Json, Request
from nbtools.providers.anthropic_blocks import WIRE
from nbtools.providers.anthropic_decoder import Decoder
from nbtools.providers.anthropic_encoder import encode_request, mark_for_cache
from nbtools.providers.anthropic_pauses import MOST, PausedReply
from nbtools.providers.anthropic_settings import encode_settings
from nbtools.providers.base import OnWait
from nbtools.providers.connections import Timeouts
from nbtools.providers.http import HttpProvider
from nbtools.providers.naming import own_names, wire_names
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

__all__ = ["Anthropic", "Decoder"]

_HOME = "https://api.anthropic.com"
_VERSION = "2023-06-01"


class Anthropic(HttpProvider):
    """A model behind the Messages protocol.

    Args:
        model: The model's name, such as "claude-sonnet-5".
        api_key: The key; None reads ANTHROPIC_API_KEY at each request, "" sends none.
        base_url: Where the server is, with or without "/v1"; None takes ANTHROPIC_BASE_URL, or
            else Anthropic itself.
        headers: Further headers of every request, such as "anthropic-beta".
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        cache: How long the server keeps the prompt, so that the next request costs less; None
            does not ask it to.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them. Tools that
            Anthropic runs go into `extra`, such as
            `extra={"tools": [{"type": "web_search_20250305", "name": "web_search"}]}`.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path = "/v1/messages"
    models = "/v1/models"
    variable = "ANTHROPIC_API_KEY"
    home = _HOME
    address_hint = "Check base_url: it is the server's, with or without /v1."
    wire = WIRE

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | Timeouts | None = None,
        proxy: str | None = None,
        client: httpx.AsyncClient | None = None,
        cache: Literal["5m", "1h"] | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        address = base_url or os.environ.get("ANTHROPIC_BASE_URL") or _HOME
        super().__init__(
            model,
            label=f"anthropic:{model}",
            base_url=address.strip().rstrip("/").removesuffix("/v1"),
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            proxy=proxy,
            client=client,
            settings=settings,
            **fields,
        )
        if cache not in {None, "5m", "1h"}:
            raise ValueError(f"cache is {cache!r}; expected '5m', '1h' or None.")
        self._cache = cache

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.

        Returns:
            The body; the history is in the order and the form that a strict server accepts.

        Raises:
            ValueError: The settings name a tool or an output that cannot be meant.
        """
        request = self._fitted(request)
        settings, names = self._settings_for(request), wire_names(request)
        extra = dict(settings.extra or {})
        body = encode_request(request, names, [dict(tool) for tool in extra.pop("tools", ())])
        if self._cache is not None:
            mark_for_cache(body, self._cache)
        return {
            "model": self.model,
            **body,
            **encode_settings(request, settings, names, self.model),
            "stream": True,
            **extra,
        }

    async def stream(
        self, request: Request, *, on_wait: OnWait | None = None
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Ask the model, and give its reply piece by piece; see `Provider.stream`."""
        if "tools" not in (self._settings_for(request).extra or {}):
            async for events in super().stream(request, on_wait=on_wait):
                yield events
            return
        reply, question = PausedReply(request), request
        for left in reversed(range(MOST + 1)):
            async with aclosing(super().stream(question, on_wait=on_wait)) as stream:
                async for events in stream:
                    if shown := reply.take(events, last=left == 0):
                        yield shown
            if not reply.paused:
                return
            question = reply.go_on()

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request))

    def _authorization(self, key: str) -> dict[str, str]:
        version = {"anthropic-version": _VERSION}
        return {**version, "x-api-key": key} if key else version
