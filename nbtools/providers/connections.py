"""Which HTTP client belongs to which event loop, and what a failed connection is called."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nbtools import errors
from nbtools.checks import SECONDS, expect_all
from nbtools.providers.lending import lend
from nbtools.providers.proxies import host_of, lost_at_proxy, no_socks, proxy_for, useless_proxy
from nbtools.providers.secrecy import quietly

if TYPE_CHECKING:
    import httpx

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables that name other certificates, as httpx reads them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """How long a server may take, in seconds.

    Raises:
        ValueError: One of them is no number above 0; the text names it.
    """

    connect: float = 10.0
    """Until a connection stands."""
    first: float = 120.0
    """For any silence before the first word of the model; every byte ends a silence."""
    idle: float = 60.0
    """For any silence afterwards."""

    def __post_init__(self) -> None:
        expect_all(self, {"connect": SECONDS, "first": SECONDS, "idle": SECONDS})


class Clients:
    """One HTTP client an event loop: made when first needed, closed with its loop.

    Args:
        client: A client of the user's own, used everywhere and never closed; each loop opens its
            own connections with it.
        connect: Seconds until a connection has to stand.
        proxy: The address that our own clients go through; None reads the environment.
        direct: Whether the environment is not asked for a proxy: one cannot reach this machine.
    """

    def __init__(
        self,
        client: httpx.AsyncClient | None = None,
        *,
        connect: float = 10.0,
        proxy: str | None = None,
        direct: bool = False,
    ) -> None:
        self._direct = direct
        self._given = client
        self._connect = connect
        self._proxy = proxy
        self._kept: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()

    async def send(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        body: bytes | None = None,
        login: tuple[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request over the connections of the running loop.

        Args:
            method: Such as "POST".
            address: The whole address.
            headers: What it has besides those of every request.
            body: The content, if there is any.
            login: User and password, where the address had them.

        Returns:
            The response, whose body has yet to be read.

        Raises:
            ConnectionError: The way there is blocked: by a proxy, or by certificates.
            httpx.HTTPError: There was no connection, or no answer.
        """
        kept = await self._of_this_loop(address)
        with quietly():
            return await kept.send(method, address, headers, body, login)

    async def _of_this_loop(self, address: str) -> _Kept:
        loop = asyncio.get_running_loop()
        if loop not in self._kept:
            kept = self._kept[loop] = self._made(address)
            await anext(kept.keeper)
        return self._kept[loop]

    def _made(self, address: str) -> _Kept:
        if self._given is not None:
            return _Lent(self._given)
        if self._direct:
            return _Own(self._connect, None, _trust())
        return _Own(self._connect, self._proxy or proxy_for(address), _trusted())

    async def close(self) -> None:
        """Close the client of the running loop; the next request makes another."""
        own = self._kept.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.keeper.aclose()


class _Lent:
    """The user's client on one loop."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._given = client
        self._copy, transports = lend(client)
        self.keeper = _keep(*transports)

    async def send(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        body: bytes | None,
        login: tuple[str, str] | None,
    ) -> httpx.Response:
        """Send a request with the user's own defaults."""
        request = self._copy.build_request(method, address, content=body, headers=headers)
        # What the user closed is asked itself, and says so.
        client = self._given if self._given.is_closed else self._copy
        if login is None:
            return await client.send(request, stream=True)
        return await client.send(request, auth=login, stream=True)


class _Own:
    """Our own connections on one loop, and what all requests over them have in common.

    No client stands before them: an API has no cookies, and nobody follows it elsewhere.
    """

    def __init__(self, connect: float, proxy: str | None, trusted: ssl.SSLContext) -> None:
        import httpx  # noqa: PLC0415 - a third of the time of `import nbtools`

        self._httpx = httpx
        self._proxy = host_of(proxy)
        try:
            self._transport = httpx.AsyncHTTPTransport(verify=trusted, proxy=proxy)
        except ImportError:
            raise no_socks(proxy or "") from None
        except (ValueError, httpx.InvalidURL):
            raise useless_proxy(proxy or "") from None
        # How long a request and its answer may take is watched over by who asks.
        self._extensions = {"timeout": httpx.Timeout(None, connect=connect).as_dict()}
        self._asked: object = None
        self._url, self._headers = httpx.URL(), httpx.Headers()
        self.keeper = _keep(self._transport)

    async def send(
        self,
        method: str,
        address: str,
        headers: dict[str, str],
        body: bytes | None,
        login: tuple[str, str] | None,
    ) -> httpx.Response:
        """Send a request; what is the same each time is written and parsed once."""
        if (address, headers, login) != self._asked:
            self._asked = None  # what comes next may raise
            self._url = self._httpx.URL(address)
            self._headers = self._all(headers, login)
            self._asked = address, headers, login
        request = self._httpx.Request(
            method,
            self._url,
            headers=self._headers,
            stream=self._httpx.ByteStream(body or b""),
            extensions=self._extensions,
        )
        if body is not None:
            request.headers["content-length"] = str(len(body))
        try:
            return await self._transport.handle_async_request(request)
        except self._httpx.TransportError as error:
            if self._proxy and _is_of_proxy(error):
                kind = type(error).__name__
                raise lost_at_proxy(kind, str(error), self._proxy) from None
            raise

    def _all(self, headers: dict[str, str], login: tuple[str, str] | None) -> httpx.Headers:
        every = {
            "host": self._url.netloc.decode("ascii"),
            "user-agent": f"python-httpx/{self._httpx.__version__}",
            **headers,
        }
        if login is not None:
            pair = b64encode(":".join(login).encode()).decode("ascii")
            every["authorization"] = f"Basic {pair}"
        return self._httpx.Headers(every)


_Kept = _Own | _Lent


def _is_of_proxy(error: Exception) -> bool:
    """Say whether a request through a proxy failed there: a bad certificate is the server's."""
    kind = type(error).__name__
    at_proxy = kind in {"ProxyError", "ConnectError", "ConnectTimeout"}
    return at_proxy and not _caused_by(error, ssl.SSLError)


def _trusted() -> ssl.SSLContext:
    named = {name: os.environ[name] for name in _CERTIFICATES if os.environ.get(name)}
    try:
        return _trust(*map(named.get, _CERTIFICATES))
    except OSError as error:  # an ssl.SSLError is one too
        places = ", ".join(f"{name}={place!r}" for name, place in named.items())
        raise errors.ConnectionError(
            f"The certificates of {places} could not be read: {error}", kind="malformed"
        ) from None


@cache
def _trust(*named: str | None) -> ssl.SSLContext:
    """Read the certificates that are trusted: once, for it takes 25 ms in which no chat moves."""
    import httpx  # noqa: PLC0415 - as above

    return httpx.create_ssl_context(trust_env=any(named))


async def _keep(
    *closed: httpx.AsyncBaseTransport,
) -> AsyncGenerator[None, None]:
    # A loop closes the generators that it has begun before it closes itself.
    try:
        yield
    finally:
        for each in closed:
            await each.aclose()


def connection_error(error: Exception, host: str) -> errors.ConnectionError:
    """Say in plain words why there was no connection, or no answer.

    Args:
        error: What the HTTP client raised.
        host: Where the request went.

    Returns:
        The error, with a hint where the reason is known.
    """
    name = type(error).__name__
    if name == "ConnectTimeout":
        text, hint = f"{host} did not answer in time.", ""
    elif _caused_by(error, socket.gaierror):
        text, hint = f"There is no host {host!r}, or no network.", "Check base_url."
    elif _caused_by(error, ConnectionRefusedError):
        text, hint = f"Nothing answers at {host}.", "Is the server running, and the port right?"
    elif _caused_by(error, ssl.SSLError):
        text, hint = f"No secure connection to {host}: its certificate was not accepted.", ""
    elif name == "LocalProtocolError":
        text, hint = f"The request to {host} could not be written.", "Check key and headers."
    elif name == "ConnectError":
        text, hint = f"No connection to {host}.", "Check base_url and the network."
    else:
        text, hint = f"{host} broke the connection before it answered.", ""
    return errors.ConnectionError(text, kind=name, hint=hint)


def silence_error(host: str, seconds: float) -> errors.ConnectionError:
    """Say that a server kept silent for too long.

    Args:
        host: Which server.
        seconds: For how long.
    """
    return errors.ConnectionError(f"{host} sent nothing for {seconds:g} seconds.", kind="timeout")


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk through an exception, its causes and the members of its groups."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
