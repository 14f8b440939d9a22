"""The Chat Completions wire: OpenAI, and every server that speaks it.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from nbtools.messages import Json, Request
from nbtools.providers.connections import Timeouts
from nbtools.providers.http import HttpProvider
from nbtools.providers.naming import own_names, wire_names
from nbtools.providers.openai_decoder import Decoder
from nbtools.providers.openai_encoder import encode_request
from nbtools.providers.openai_settings import encode_settings
from nbtools.providers.vendors import OPENAI, variable_of
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

__all__ = ["Decoder", "OpenAI"]


class OpenAI(HttpProvider):
    """A model behind the Chat Completions protocol.

    Args:
        model: The model's name, such as "gpt-5.1".
        api_key: The key; None reads the environment at each request, OPENAI_API_KEY or the
            variable of a vendor that is known by its address; "" sends none.
        base_url: Where the server is, such as "http://localhost:11434/v1"; None takes
            OPENAI_BASE_URL, or else OpenAI itself.
        headers: Further headers of every request.
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        strict: Whether tools and output are held to their schemas word by word, where OpenAI's
            strict mode can express them; None does so at OpenAI itself.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path = "/chat/completions"
    home = OPENAI
    wire = "openai-chat"

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
        strict: bool | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        super().__init__(
            model,
            label=f"openai:{model}",
            base_url=base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI,
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            proxy=proxy,
            client=client,
            settings=settings,
            **fields,
        )
        self.variable = variable_of(self.host)
        self._own = self._base == OPENAI
        self._strict = self._own if strict is None else strict

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.

        Returns:
            The body; the history is in the order and the form that a strict server accepts.

        Raises:
            ValueError: The settings name a tool or an output that cannot be meant.
        """
        settings, names = self._settings_for(request), wire_names(request)
        return {
            "model": self.model,
            **encode_request(request, names, strict=self._strict),
            **encode_settings(request, settings, names, own=self._own, strict=self._strict),
            "stream": True,
            "stream_options": {"include_usage": True},
            **(settings.extra or {}),
        }

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request, wire_names(request)))
