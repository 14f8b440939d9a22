"""The Gemini wire: Google's own models.

Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from nbtools.messages import Json, Request, ToolSpec
from nbtools.providers.connections import Timeouts
from nbtools.providers.gemini_decoder import Decoder
from nbtools.providers.gemini_encoder import encode_contents, encode_tool
from nbtools.providers.gemini_parts import WIRE
from nbtools.providers.gemini_settings import encode_choice, encode_config
from nbtools.providers.http import HttpProvider
from nbtools.providers.naming import own_names, wire_names
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

__all__ = ["Decoder", "Gemini"]

_HOME = "https://generativelanguage.googleapis.com/v1beta"
_OLDER = re.compile(r"(.*/)?gemini-[12]\b")
_OTHER_VARIABLE = "GOOGLE_API_KEY"


class Gemini(HttpProvider):
    """A model of Google behind the Gemini protocol.

    Args:
        model: The model's name, such as "gemini-3-pro-preview".
        api_key: The key; None reads GEMINI_API_KEY or GOOGLE_API_KEY at each request, "" sends
            none.
        base_url: Where the server is; None takes Google itself.
        headers: Further headers of every request.
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them. Tools that
            Google runs go into `extra`: `extra={"tools": [{"googleSearch": {}}]}` adds them to
            the chat's own.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    variable = "GEMINI_API_KEY"
    home = _HOME
    address_hint = "Check base_url: it usually ends in /v1beta."
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
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        super().__init__(
            model,
            label=f"gemini:{model}",
            base_url=base_url or _HOME,
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            proxy=proxy,
            client=client,
            settings=settings,
            **fields,
        )
        place = model if "/" in model else f"models/{model}"
        self.path = f"/{place}:streamGenerateContent?alt=sse"
        self._newer = not _OLDER.match(model)

    def check(self, tools: Sequence[ToolSpec]) -> None:
        """Make sure that the model can be told of these tools; see `Provider.check`."""
        names = _names(Request(messages=(), tools=tools))
        for tool in tools:
            encode_tool(tool, names)

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.

        Returns:
            The body; the history is in the order and the form that a strict server accepts.

        Raises:
            ToolDefinitionError: A tool has a parameter that the wire has no words for.
            ValueError: The settings name a tool or an output that cannot be meant.
        """
        request = self._fitted(request)
        names = _names(request)
        settings = self._settings_for(request)
        extra = dict(settings.extra or {})
        tools: list[Json] = extra.pop("tools", [])
        if request.tools:
            declared = [encode_tool(tool, names) for tool in request.tools]
            tools = [{"functionDeclarations": declared}, *tools]
        fields: dict[str, Json] = {
            "contents": encode_contents(request, names, newer=self._newer),
            "systemInstruction": {"parts": [{"text": request.system}]} if request.system else None,
            "tools": tools or None,
            "toolConfig": encode_choice(request, settings, names),
            "generationConfig": encode_config(settings, levels=self._newer) or None,
        }
        return {**{name: value for name, value in fields.items() if value is not None}, **extra}

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request, letter_first=True))

    def _authorization(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def _key(self) -> str:
        key = super()._key()
        if key or self._api_key is not None:
            return key
        return os.environ.get(_OTHER_VARIABLE, "").strip()


def _names(request: Request) -> Mapping[str, str]:
    return wire_names(request, letter_first=True)
