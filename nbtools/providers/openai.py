"""The Chat Completions wire: OpenAI, and every server that speaks it.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbtools.messages import Json, Request
from nbtools.providers.http import HttpProvider
from nbtools.providers.naming import own_names, wire_names
from nbtools.providers.openai_decoder import Decoder
from nbtools.providers.openai_encoder import encode_request

if TYPE_CHECKING:
    import httpx

__all__ = ["Decoder", "OpenAI"]

_HOME = "https://api.openai.com/v1"


class OpenAI(HttpProvider):
    """A model behind the Chat Completions protocol.

    Args:
        model: The model's name, such as "gpt-5.1".
        api_key: The key; None reads OPENAI_API_KEY at each request, "" sends none.
        base_url: Where the server is, such as "http://localhost:11434/v1"; None takes
            OPENAI_BASE_URL, or else OpenAI itself.
        headers: Further headers of every request.
        timeout: Seconds of silence after which a request is given up; None allows 120 before the
            first word and 60 afterwards.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        temperature: How freely the model chooses its words; None leaves it to the server.
        max_tokens: The most tokens that a reply may have; None leaves it to the server.
        extra: Further fields of the request's body, which win over the others.

    Raises:
        ValueError: `base_url` is no address.
    """

    path = "/chat/completions"
    variable = "OPENAI_API_KEY"
    home = _HOME

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        client: httpx.AsyncClient | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        extra: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(
            model,
            label=f"openai:{model}",
            base_url=base_url or os.environ.get("OPENAI_BASE_URL") or _HOME,
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            client=client,
        )
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._extra = dict(extra or {})

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.

        Returns:
            The body; the history is in the order and the form that a strict server accepts.
        """
        body = {
            "model": self.model,
            **encode_request(request, wire_names(request)),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        if self._max_tokens is not None:
            # OpenAI's newer models refuse the old name, and most other servers know no other.
            name = "max_completion_tokens" if self._base == _HOME else "max_tokens"
            body[name] = self._max_tokens
        return {**body, **self._extra}

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request, wire_names(request)))
