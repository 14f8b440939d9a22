"""Which proxy a request goes through, and what is said of one that is of no use."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from nbtools import errors
from nbtools.checks import expect

_PORTS = {"http": 80, "https": 443}
_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})
_EXPECTED = "an address such as 'http://host:3128', where a password has %23 for # and %2F for /"
_WHERE = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, or what proxy= gives."


def checked_proxy(given: str | None) -> str | None:
    """Give the address of a proxy as a program named it, without blanks around it.

    Raises:
        ValueError: It is no such address; the text does not show a login that stands before it.
    """
    if given is None:
        return None
    wanted = f"{_EXPECTED}, or None"
    expect("proxy", given, (lambda value: isinstance(value, str), wanted))
    expect("proxy", _shown(given), (lambda _: _is_proxy(given.strip()), wanted))
    return given.strip()


def proxy_for(address: str) -> str | None:
    """Give the proxy that the environment names for an address, if any.

    Args:
        address: Where a request goes.

    Raises:
        ConnectionError: It is no address of a proxy.
    """
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - only with a chat

    parts, named = urlsplit(address), getproxies()
    if proxy_bypass(parts.netloc) or _is_spared(parts, named.get("no", "")):
        return None
    proxy = (named.get(parts.scheme) or named.get("all") or "").strip()
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not _is_proxy(proxy):
        raise useless_proxy(proxy)
    return proxy


def useless_proxy(proxy: str) -> errors.ConnectionError:
    """Say that nothing can be sent through a proxy.

    Args:
        proxy: What was named as its address.
    """
    return errors.ConnectionError(
        f"The proxy {_shown(proxy)!r} cannot be used; expected {_EXPECTED}.",
        kind="malformed",
        hint=_WHERE,
    )


def no_socks(proxy: str) -> errors.ConnectionError:
    """Say what a SOCKS proxy needs.

    Args:
        proxy: Its address.
    """
    return errors.ConnectionError(
        f"The proxy {_shown(proxy)!r} speaks SOCKS, for which socksio is needed.",
        kind="malformed",
        hint="Run: pip install socksio",
    )


def host_of(proxy: str | None) -> str:
    """Give host and port of a proxy, without a login."""
    return urlsplit(proxy or "").netloc.rpartition("@")[2]


def lost_at_proxy(kind: str, text: str, proxy: str) -> errors.ConnectionError:
    """Say that a request did not get past a proxy.

    Args:
        kind: The class of what the HTTP client raised.
        text: Its words.
        proxy: Host and port of the proxy.
    """
    said = {
        "ConnectTimeout": f"The proxy {proxy} did not answer in time.",
        "ProxyError": f"The proxy {proxy} does not pass the request on: {text[:200]}",
    }
    return errors.ConnectionError(
        said.get(kind, f"No connection to the proxy {proxy}."), kind=kind, hint=_WHERE
    )


def _is_spared(parts: SplitResult, listed: str) -> bool:
    """Say whether a list of hosts that need no proxy has one, also in forms that urllib skips."""
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    for each in listed.lower().split(","):
        # An address with its scheme, a star before a domain, a port, an IPv6 address in brackets.
        name = each.strip().rpartition("://")[2].rstrip("/")
        if name == "*" or _is_in_network(host, name):
            return True
        host_part, _, last = name.rpartition(":")
        if last == str(port) and (":" not in host_part or host_part.endswith("]")):
            name = host_part
        name = name.strip("[]").removeprefix("*").removeprefix(".")
        if name and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _is_in_network(host: str, name: str) -> bool:
    """Say whether an IP address is in a network such as 10.0.0.0/8."""
    try:
        return "/" in name and ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        return False


def _is_proxy(text: str) -> bool:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        return False
    # Behind the host may stand the rest of a password that has such a character.
    return fits and "@" not in parts.path + parts.query + parts.fragment


def _shown(proxy: str) -> str:
    return proxy.strip().rpartition("@")[2]
