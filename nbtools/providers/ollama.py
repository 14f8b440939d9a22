"""The wire of Ollama: models on this machine, or wherever it runs.

Source: https://docs.ollama.com/api/chat.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack
from urllib.parse import urlsplit

from nbtools import errors
from nbtools.messages import Json, Request
from nbtools.providers.connections import Timeouts
from nbtools.providers.http import HttpProvider
from nbtools.providers.naming import own_names, wire_names
from nbtools.providers.ollama_decoder import WIRE, Decoder
from nbtools.providers.ollama_encoder import encode_messages, encode_settings, encode_tools
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

__all__ = ["Decoder", "Ollama", "ollama_address"]

_PORT = 11434
_OTHERS = re.compile(r"/(v1|api)/*\s*$")
"""What other programs want at the end of an address of the same server."""
_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - what a server listens on, not we


class Ollama(HttpProvider):
    """A model behind Ollama.

    Args:
        model: The model's name, such as "qwen3:4b".
        base_url: Where Ollama is, with or without "/v1"; None takes OLLAMA_HOST, or else this
            machine.
        api_key: A key, which only Ollama's own cloud wants; None reads OLLAMA_API_KEY at each
            request, "" sends none.
        headers: Further headers of every request.
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up. A model is loaded before its first word.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path = "/api/chat"
    variable = "OLLAMA_API_KEY"
    home = "https://ollama.com"
    models = "/api/tags"
    address_hint = "Check base_url: it is the server's, without a path."
    wire = WIRE

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | Timeouts | None = None,
        proxy: str | None = None,
        client: httpx.AsyncClient | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        super().__init__(
            model,
            label=f"ollama:{model}",
            base_url=_OTHERS.sub("", base_url or ollama_address()),
            api_key=api_key,
            headers=headers,
            timeout=timeout,
            proxy=proxy,
            client=client,
            settings=settings,
            **fields,
        )

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
        names, settings = wire_names(request), self._settings_for(request)
        extra = dict(settings.extra or {})
        tools = [*encode_tools(request, settings, names), *extra.pop("tools", ())]
        return {
            "model": self.model,
            "messages": encode_messages(request, names),
            **({"tools": tools} if tools else {}),
            **encode_settings(settings),
            "stream": True,
            **extra,
        }

    def decoder(self, request: Request) -> Decoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        return Decoder(own_names(request))

    async def _send(
        self, method: str, path: str, seconds: float, body: bytes | None = None
    ) -> httpx.Response:
        try:
            return await super()._send(method, path, seconds, body)
        except errors.ConnectionError as error:
            if error.kind == "ConnectError":
                error.hint = "Start it with `ollama serve`, or say where it is: OLLAMA_HOST."
            raise

    async def _hint(self, status: int) -> str:
        hint = await super()._hint(status)
        return f"Get it with `ollama pull {self.model}`. {hint}" if status == 404 else hint


def ollama_address() -> str:
    """Give the address that OLLAMA_HOST means, in any of the forms that Ollama itself takes."""
    stated = os.environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    scheme, mark, rest = stated.partition("://")
    if not mark:
        scheme, rest = "http", stated
    place = urlsplit(f"//{rest}")
    host = "127.0.0.1" if (place.hostname or "") in _ANY else place.hostname or ""
    ports = {"http": 80, "https": 443} if mark else {}
    port = place.port or ports.get(scheme, _PORT)
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{place.path.rstrip('/')}"
