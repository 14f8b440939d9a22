"""A client of the user's own, used on an event loop that need not be the user's.

An idle connection of a pool belongs to the loop that opened it: taken up on another it fails, or
hangs. So each loop has pools of its own; all else (hooks, headers, cookies, transports that the user
wrote) is the user's. httpx has no words for that, so the fields of its objects are copied by name.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


def lend(client: httpx.AsyncClient) -> tuple[httpx.AsyncClient, list[httpx.AsyncBaseTransport]]:
    """Copy a client, with pools that are empty.

    Args:
        client: The user's client.

    Returns:
        The copy, and those of its transports that the user does not have: they are to be closed.
    """
    fields = vars(client)
    main = _emptied(fields["_transport"])
    mounts = {pattern: _emptied(each) for pattern, each in fields["_mounts"].items()}
    theirs = {id(fields["_transport"]), *map(id, fields["_mounts"].values())}
    ours = [each for each in (main, *mounts.values()) if id(each) not in theirs]
    return _copied(client, _transport=main, _mounts=mounts), ours


def _emptied(transport: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
    """Copy a transport of httpx itself, without its connections; any other is left as it is."""
    import httpx  # noqa: PLC0415 - `import nbtools` has no need of it

    if type(transport) is not httpx.AsyncHTTPTransport:
        return transport
    pool = vars(transport)["_pool"]
    lock = type(vars(pool)["_optional_thread_lock"])
    emptied = _copied(pool, _connections=[], _requests=[], _optional_thread_lock=lock())
    return _copied(transport, _pool=emptied)


def _copied(given: T, **fields: object) -> T:
    made = copy.copy(given)
    vars(made).update(fields)
    return made
