"""The Chat Completions wire: OpenAI, and every server that speaks it.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Unpack, get_args

from nbtools.frozen import thaw
from nbtools.messages import Json, Request
from nbtools.providers.connections import Timeouts
from nbtools.providers.emulation import emulate, needs_emulation
from nbtools.providers.emulation_decoder import EmulatedDecoder
from nbtools.providers.naming import own_names, wire_names
from nbtools.providers.openai_decoder import Decoder
from nbtools.providers.openai_encoder import encode_request
from nbtools.providers.openai_server import OpenAIServer, openai_address
from nbtools.providers.openai_settings import encode_settings
from nbtools.providers.openai_thoughts import WIRE
from nbtools.providers.openai_vendors import suit, suit_fields
from nbtools.providers.vendors import is_openai
from nbtools.settings import Settings, SettingsFields

if TYPE_CHECKING:
    import httpx

    from nbtools.providers.reply import ReplyDecoder

__all__ = ["Decoder", "OpenAI"]


ToolMode = Literal["native", "emulated"]
"""Whether the server is told of tools, or the answer's schema speaks of them instead."""


class OpenAI(OpenAIServer):
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
        tools: "emulated" for a server that knows of no tools, or calls them badly: the model then
            answers in one JSON object, with an arm for each tool and one for a reply.
        strict: Whether tools and output are held to their schemas word by word, where OpenAI's
            strict mode can express them; None does so at OpenAI itself.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them.

    Raises:
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path = "/chat/completions"
    wire = WIRE
    many_models = True
    _worked = False

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
        tools: ToolMode = "native",
        strict: bool | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        super().__init__(
            model,
            label=f"openai:{model}",
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
        self._mode = _checked(tools)

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.

        Returns:
            The body; the history is in the order and the form that a strict server accepts. What
            later requests hold too cannot be changed in place, but for a subclass that overrides
            this and gets a body of its own.

        Raises:
            ValueError: The settings name a tool or an output that cannot be meant.
        """
        request = self._fitted(request)
        settings = self._settings_for(request)
        if self._emulates(request):
            request = emulate(request, settings, worked=self._worked)
            settings = self._settings_for(request)
        names = wire_names(request)
        extra = dict(settings.extra or {})
        body = encode_request(request, names, strict=self._strict)
        body["messages"] = suit(body["messages"], model=self.model, host=self.host)
        if "tools" in extra:
            extra["tools"] = [*body.get("tools", ()), *extra["tools"]]
        own = is_openai(self.host)
        fields = encode_settings(request, settings, names, own=own, strict=self._strict)
        written = {
            "model": self.model,
            **body,
            **suit_fields(fields, self.host),
            "stream": True,
            "stream_options": {"include_usage": True},
            **extra,
        }
        # Who overrides this may change what it gives; what is kept for later requests, nobody may.
        return written if type(self).encode is OpenAI.encode else thaw(written)

    def decoder(self, request: Request) -> ReplyDecoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        names = own_names(request)
        return EmulatedDecoder(Decoder(), names) if self._emulates(request) else Decoder(names)

    def _emulates(self, request: Request) -> bool:
        return self._mode == "emulated" and needs_emulation(request)


def _checked(tools: ToolMode) -> ToolMode:
    if tools not in get_args(ToolMode):
        raise ValueError(f"tools is {tools!r:.80}; expected 'native' or 'emulated'.")
    return tools
