"""A model in this very process: a GGUF file, run by llama.cpp through `xllamacpp`.

llama.cpp brings a server of its own, which runs on threads here and listens to this process alone.
The extra `nbtools-chat[local]` installs what it needs; nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import urllib.request
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Unpack

from nbtools.errors import NotFoundError, ProviderError
from nbtools.events import ModelEvent
from nbtools.messages import Request
from nbtools.providers.base import OnWait
from nbtools.providers.connections import Timeouts
from nbtools.providers.openai import OpenAI, ToolMode
from nbtools.settings import Settings, SettingsFields, merge

_UNBOUND = "http://127.0.0.1:1/v1"
_LONGEST_REPLY = 1_024
"""Tokens; the smallest of models may go on for ever."""


class Local(OpenAI):
    """A model in a GGUF file, in this process.

    The file is loaded with the first question, and let go by `close`. Several chats may share one.

    Args:
        path: The file.
        context: Tokens that question, history and answer may have together.
        threads: Threads that compute. More than one help only where other processors are idle:
            they wait for each other at every step.
        tools: How the model is told of tools: "native" by the template in the file, "emulated" by
            the shape of its answer; None decides by whether that template knows of tools.
        timeout: How long it may take: `Timeouts`, or the seconds of silence after which a request
            is given up.
        settings: How the model is to answer.
        fields: Single fields of the settings, such as `temperature`, on top of them.

    Raises:
        ValueError: A setting has a value that it cannot have.
    """

    _worked = True

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = 4_096,
        threads: int = 1,
        tools: ToolMode | None = None,
        timeout: float | Timeouts | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        self._file = Path(path).expanduser()
        super().__init__(
            self._file.stem,
            api_key="",
            base_url=_UNBOUND,
            timeout=timeout,
            tools=tools or "native",
            settings=merge(Settings(max_tokens=_LONGEST_REPLY), settings),
            **fields,
        )
        self.label = f"local:{self._file.name}"
        self.host = ""
        self._context = context
        self._threads = threads
        self._decides = tools is None
        self._server: Any = None
        self._lock = threading.Lock()

    async def stream(
        self, request: Request, *, on_wait: OnWait | None = None
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Ask the model, and give its reply piece by piece; see `Provider.stream`."""
        if self._server is None:
            await asyncio.to_thread(self.start)
        replies = super().stream(request, on_wait=on_wait)
        try:
            async for events in replies:
                yield events
        finally:
            await replies.aclose()

    def start(self) -> None:
        """Load the file, if that was not done; the first question does it otherwise.

        Raises:
            NotFoundError: There is no such file.
            ProviderError: `xllamacpp` is not installed, or cannot read the file.
        """
        with self._lock:
            if self._server is None:
                self._api_key = secrets.token_hex(16)  # no other user of the machine may ask
                self._server = self._load()
                self._base = f"{self._server.listening_address}/v1"
                if self._decides:
                    self._mode = "native" if self._knows_tools() else "emulated"

    async def close(self) -> None:
        """Let go of the model and its memory; the next question loads it again."""
        await super().close()
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            holder = [server]
            del server
            await asyncio.to_thread(holder.clear)  # its end waits for its threads

    def _sees(self) -> bool:
        return False  # the file holds no part for pictures

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_server": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = threading.Lock()

    def _load(self) -> Any:
        if not self._file.is_file():
            raise NotFoundError(f"There is no file {str(self._file)!r}.", hint="Check the path.")
        try:
            import xllamacpp  # noqa: PLC0415 - an extra
        except ImportError:
            raise ProviderError(
                "A model in this process needs the package xllamacpp.",
                hint="Install it with `pip install 'nbtools-chat[local]'`.",
            ) from None
        try:
            return xllamacpp.Server(self._parameters(xllamacpp.CommonParams()))
        except RuntimeError:
            raise ProviderError(
                f"llama.cpp cannot load {self._file.name!r}.",
                hint="Is it a whole GGUF file, and is there memory for it?",
            ) from None

    def _parameters(self, parameters: Any) -> Any:
        parameters.model.path = str(self._file)
        parameters.n_ctx = self._context
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = self._threads
        parameters.cpuparams_batch.n_threads = self._threads
        parameters.port = 0
        parameters.api_keys = [self._api_key]
        parameters.ui = False
        parameters.warmup = False
        parameters.verbosity = -1
        return parameters

    def _knows_tools(self) -> bool:
        """Ask whether the template in the file knows of tools; where it does not, they are lost."""
        address = f"{self._server.listening_address}/props"
        headers = self._authorization(self._key())
        asked = urllib.request.Request(address, headers=headers)  # noqa: S310 - our own server
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(asked) as answer:
            known = json.load(answer)["chat_template_caps"]
        return bool(known.get("supports_tools"))
