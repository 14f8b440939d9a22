"""How a request goes over HTTP, whatever the wire: one loop for encode, decoder and client.

It knows which failures are worth another try, where the key comes from, and that no secret leaves
in a text. A wire adds what the body of a request and of an answer look like.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack
from urllib.parse import urlsplit

from nbtools import errors
from nbtools.checks import SECONDS, expect
from nbtools.events import ModelEvent, ModelFault
from nbtools.messages import Json, Message, Request
from nbtools.providers.base import OnWait, Provider
from nbtools.providers.bodies import written
from nbtools.providers.connections import Clients, Timeouts, connection_error, silence_error
from nbtools.providers.proxies import checked_proxy
from nbtools.providers.refusals import ADDRESS_HINT, models_hint, refusal
from nbtools.providers.sealing import mark, origin_of, without_foreign
from nbtools.providers.secrecy import scrub, split_address, split_login
from nbtools.providers.vision import takes_pictures
from nbtools.providers.waiting import LONGEST, RETRIES, back_off
from nbtools.settings import Settings, SettingsFields, chosen, merge
from nbtools.sight import unseen

if TYPE_CHECKING:
    import httpx

    from nbtools.providers.reply import Reply, ReplyDecoder

_HEADERS = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
_KEY_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "x-goog-api-key"})
_MODELS = 5.0
_NEAR = frozenset({"localhost", "127.0.0.1", "::1"})


class HttpProvider(Provider):
    """A provider that is asked over HTTP.

    Args:
        model: The model's name at the provider.
        label: What the page calls it.
        base_url: Address that the paths are added to.
        api_key: The key; None reads the environment at each request, "" sends none.
        headers: Further headers of every request.
        timeout: How long the server may take: `Timeouts`, or the seconds of silence after which
            a request is given up.
        proxy: The address to go through; None reads the environment.
        client: An `httpx.AsyncClient` to use instead of our own; it is never closed here.
        settings: How the model is to answer.
        fields: Single fields of the settings, on top of them.

    Raises:
        TypeError: A key or a header is no text.
        ValueError: `base_url` is no address, or a setting has a value that it cannot have.
    """

    path: str
    """Where requests go, below `base_url`."""
    variable: str
    """The environment variable that holds the key."""
    home: ClassVar[str]
    """The address of the vendor itself, who always wants a key."""
    models: ClassVar[str] = "/models"
    """Where the names of the models are, below `base_url`."""
    address_hint: ClassVar[str] = ADDRESS_HINT
    """What to do where the address seems wrong."""
    many_models: ClassVar[bool] = False
    """Whether the server may have models of many makers, which do not read what others sealed."""

    def __init__(
        self,
        model: str,
        *,
        label: str,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | Timeouts | None = None,
        proxy: str | None = None,
        client: httpx.AsyncClient | None = None,
        settings: Settings | None = None,
        **fields: Unpack[SettingsFields],
    ) -> None:
        bare, self._login = split_address(base_url)
        address, mark, query = bare.partition("?")
        parts = urlsplit(address)
        self.model = model
        self.label = label
        self.host = parts.netloc
        self.origin = origin_of(parts.hostname or "", model if self.many_models else "")
        self._base = address.rstrip("/")
        self._query = mark + query
        self._api_key = None if api_key is None else _text("api_key", api_key)
        self._headers = {n.lower(): _text(f"headers[{n!r}]", h) for n, h in (headers or {}).items()}
        self.settings: Settings = chosen(type(self).__name__, settings, fields)
        self._timeouts = _timeouts(timeout)
        self._proxy = checked_proxy(proxy)
        self._direct = proxy is None and parts.hostname in _NEAR
        self._clients = Clients(
            client, connect=self._timeouts.connect, proxy=self._proxy, direct=self._direct
        )

    def fit(
        self, messages: Sequence[Message], settings: Settings | None = None
    ) -> Sequence[Message]:
        """Leave out of a history what the model cannot take; see `Provider.fit`."""
        given = merge(self.settings, settings).images
        sees = self._sees() if given is None else given
        return messages if sees else unseen(messages)

    def encode(self, request: Request) -> dict[str, Json]:
        """Write the JSON body of a request.

        Args:
            request: The question.
        """
        raise NotImplementedError

    def decoder(self, request: Request) -> ReplyDecoder:
        """Make what reads the answer to a request.

        Args:
            request: The question.
        """
        raise NotImplementedError

    async def stream(
        self, request: Request, *, on_wait: OnWait | None = None
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Ask the model, and give its reply piece by piece; see `Provider.stream`."""
        reply, events = await self._begin(request, on_wait)
        try:
            while events and type(events[-1]) is not ModelFault:
                mark(events, self.origin)
                yield events
                events = await reply.read()
            mark(events, self.origin)
            if events and isinstance(fault := events[-1], ModelFault):
                yield [*events[:-1], ModelFault(self._scrubbed(fault.error))]
        finally:
            await reply.close()

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.close()

    def __getstate__(self) -> dict[str, Any]:
        secret: dict[str, Any] = {
            "_api_key": None,
            "_headers": {},
            "_login": None,
            "_query": "",
            "_proxy": None,
            "_clients": None,
        }
        return {**self.__dict__, **secret}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clients = Clients(connect=self._timeouts.connect, direct=self._direct)

    @property
    def _who(self) -> str:
        """Who answers, as errors name it."""
        return self.host or self.label

    def _sees(self) -> bool:
        """Say whether the model is known to take pictures."""
        return takes_pictures(self.model)

    def _fitted(self, request: Request) -> Request:
        """Leave out of a request what the model cannot take."""
        messages = self.fit(request.messages, request.settings)
        messages = without_foreign(messages, self.origin)
        return request if messages is request.messages else replace(request, messages=messages)

    def _settings_for(self, request: Request) -> Settings:
        """Give the settings that hold for a request."""
        return merge(self.settings, request.settings)

    # Trying, and trying again

    async def _begin(
        self, request: Request, on_wait: OnWait | None
    ) -> tuple[Reply, list[ModelEvent]]:
        body = written(self.encode(request))
        attempt = 0
        while True:
            try:
                return await self._try(body, self.decoder(request))
            except errors.ProviderError as error:
                failure = self._scrubbed(error)
            if attempt == RETRIES or not _worth_another_try(failure):
                raise failure
            seconds = failure.wait or back_off(attempt)
            if on_wait is not None:
                on_wait(seconds, failure.text)
            await asyncio.sleep(seconds)
            attempt += 1

    async def _try(self, body: bytes, decoder: ReplyDecoder) -> tuple[Reply, list[ModelEvent]]:
        from nbtools.providers.reply import Reply  # noqa: PLC0415 - it imports httpx

        response = await self._send("POST", self.path, self._timeouts.first, body)
        if not response.is_success:
            raise await self._refusal(response, self._timeouts.idle)
        reply = Reply(response, decoder, self._timeouts, self._who)
        try:
            return reply, await reply.begin()
        except BaseException:
            await reply.close()
            raise

    async def _send(
        self, method: str, path: str, seconds: float, body: bytes | None = None
    ) -> httpx.Response:
        import httpx  # noqa: PLC0415 - `import nbtools` has no need of it

        headers = self._all_headers()
        address = self._address(path)
        try:
            async with asyncio.timeout(seconds):
                return await self._clients.send(method, address, headers, body, self._login)
        except TimeoutError:
            raise silence_error(self._who, seconds) from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise connection_error(error, self._who) from None

    def _address(self, path: str) -> str:
        path, _, query = path.partition("?")
        queries = "&".join(filter(None, (query, self._query.removeprefix("?"))))
        return self._base + path + (f"?{queries}" if queries else "")

    async def _refusal(self, response: httpx.Response, seconds: float) -> errors.ProviderError:
        content = await _content(response, seconds)
        return refusal(
            response.status_code,
            response.headers,
            content,
            host=self._who,
            hint=await self._hint(response.status_code),
        )

    # Keys, and what else must not be shown

    def _all_headers(self) -> dict[str, str]:
        key = self._key()
        if not key and self._wants_key() and not self._brings_own():
            raise errors.AuthenticationError(f"No key for {self._who}.", hint=self._key_hint())
        headers = {**_HEADERS, **self._authorization(key), **self._headers}
        for name, value in headers.items():
            if not (name.isascii() and value.isascii() and value.isprintable()):
                raise errors.AuthenticationError(
                    f"The header {name!r} has characters that cannot be sent.",
                    hint="Was the key copied with a line break or a dot too many?",
                )
        return headers

    def _wants_key(self) -> bool:
        """Say whether the server is known to answer nobody without a key."""
        return self._base.startswith(self.home)

    def _brings_own(self) -> bool:
        """Say whether the program gives a login or a header that stands for the key."""
        return self._login is not None or not _KEY_HEADERS.isdisjoint(self._headers)

    def _authorization(self, key: str) -> dict[str, str]:
        """Give the headers that carry the key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _key(self) -> str:
        key = os.environ.get(self.variable, "") if self._api_key is None else self._api_key
        return key.strip()

    def _scrubbed(self, error: errors.ProviderError) -> errors.ProviderError:
        secrets = [self._key(), *self._headers.values(), *(self._login or ())]
        secrets += split_login(self._proxy or "")[1] or ()
        return type(error)(
            scrub(error.text, secrets),
            status=error.status,
            kind=scrub(error.kind, secrets),
            hint=scrub(error.hint.replace(ADDRESS_HINT, self.address_hint), secrets),
            wait=error.wait,
        )

    # What to do about it

    async def _hint(self, status: int) -> str:
        if status in {401, 403}:
            return self._key_hint()
        return await self._models_hint() if status == 404 else ""

    def _key_hint(self) -> str:
        if self._api_key:
            return "Check the key that api_key gives."
        if self._key():
            return f"Check the key in the environment variable {self.variable}."
        return f"Set the environment variable {self.variable}, or pass api_key."

    async def _models_hint(self) -> str:
        try:
            response = await self._send("GET", self.models, _MODELS)
        except errors.ProviderError:
            return ADDRESS_HINT
        content = await _content(response, _MODELS)
        return (models_hint(self.model, content) if response.is_success else "") or ADDRESS_HINT


def _timeouts(given: float | Timeouts | None) -> Timeouts:
    if given is None:
        return Timeouts()
    if isinstance(given, Timeouts):
        return given
    expect("timeout", given, (SECONDS[0], f"{SECONDS[1]}, Timeouts or None"))
    return Timeouts(first=given, idle=given)


def _text(name: str, given: str) -> str:
    """Give what has to be a text; its value may be a secret and is not shown."""
    if not isinstance(given, str):
        raise TypeError(f"{name} is of the type {type(given).__name__}; expected a text.")
    return given


async def _content(response: httpx.Response, seconds: float) -> bytes:
    """Read a body that may be of any length and may never end."""
    content = b""
    try:
        async with asyncio.timeout(seconds):
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > 1_000_000:
                    break
    except Exception:  # noqa: BLE001, S110 - the status says enough without the body
        pass
    finally:
        await response.aclose()
    return content


def _worth_another_try(error: errors.ProviderError) -> bool:
    """Tell whether the same request may succeed soon."""
    if error.kind in {"timeout", "malformed", "insufficient_quota", "LocalProtocolError"}:
        return False
    return error.retryable and (error.wait is None or error.wait <= LONGEST)
