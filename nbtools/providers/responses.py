"""The Responses wire of OpenAI, and of the servers that speak it.

Nothing is kept at the server: every request carries the whole history, and reasoning comes back
encrypted so that it can be part of it.

Source: https://platform.openai.com/docs/api-reference/responses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from nbtools.messages import Json, Request
from nbtools.providers.connections import Timeouts
from nbtools.providers.naming import own_names, wire_names
from nbtools.providers.openai_server import OpenAIServer, openai_address
from nbtools.providers.responses_decoder import Decoder
from nbtools.providers.responses_encoder import encode_input, encode_tool
from nbtools.providers.responses_items import WIRE
from nbtools.providers.responses_settings import encode_settings
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

__all__ = ["Decoder", "OpenAIResponses"]

# These do not reason, and refuse to be asked for what they thought.
_UNTHINKING = re.compile(r"(chatgpt-)?(gpt-[34]|4o)")


class OpenAIResponses(OpenAIServer):
    """A model behind the Responses protocol.

    Args:
        model: The model's name, such as "gpt-5.1".
        api_key: The key; None reads the environment at each request, OPENAI_API_KEY or the
            variable of a vendor that is known by its address; "" sends none.
        base_url: Where the server is; None takes OPENAI_BASE_URL, or else OpenAI itself.
        headers: Further headers of every request.
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        strict: Whether tools and output are held to their schemas word by word, where OpenAI's
            strict mode can express them; None does so at OpenAI itself.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them. Tools that
            the provider runs go into `extra`: `extra={"tools": [{"type": "web_search"}]}` adds
            them to the chat's own.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path = "/responses"
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
        strict: bool | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        super().__init__(
            model,
            label=f"openai-responses:{model}",
            base_url=openai_address(base_url),
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            proxy=proxy,
            client=client,
            settings=settings,
            **fields,
        )
        self._note_server(strict=strict)

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
        names = wire_names(request)
        settings = self._settings_for(request)
        extra = dict(settings.extra or {})
        tools = [encode_tool(tool, names, strict=self._strict) for tool in request.tools]
        tools += extra.pop("tools", [])
        body: dict[str, Json] = {
            "model": self.model,
            "input": encode_input(request, names),
            "stream": True,
            "store": False,
        }
        if request.system:
            body["instructions"] = request.system
        if tools:
            body["tools"] = tools
        if not _UNTHINKING.match(self.model):
            body["include"] = ["reasoning.encrypted_content"]
        body |= encode_settings(request, settings, names, strict=self._strict)
        return {**body, **extra}

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request))
