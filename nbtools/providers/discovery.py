"""What this machine could use, and why not the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, overload

from nbtools.providers.fields import inner, listed, word
from nbtools.providers.ollama import ollama_address
from nbtools.providers.vendors import LOCAL_SERVERS, VENDORS, Vendor

_PATIENCE = 0.5
"""Seconds for each server on this machine to say who it is."""

_KEYED = (
    Vendor(name="openai", title="OpenAI", variable="OPENAI_API_KEY", example="gpt-5.1"),
    Vendor(
        name="anthropic",
        title="Anthropic",
        variable="ANTHROPIC_API_KEY",
        example="claude-sonnet-5",
    ),
    Vendor(
        name="gemini",
        title="Google Gemini",
        variable="GEMINI_API_KEY or GOOGLE_API_KEY",
        example="gemini-2.5-flash",
    ),
    *VENDORS,
)
_GGUF = "NBTOOLS_GGUF"


@dataclass(frozen=True, kw_only=True, slots=True)
class Availability:
    """Whether one vendor or server can be used from here."""

    title: str
    usable: bool
    reason: str
    """What makes it usable, or what is missing."""
    model: str = ""
    """A model's name to give to `Chat`."""


class Available(Sequence[Availability]):
    """What this machine could use, as a table; it shows itself in a notebook."""

    def __init__(self, rows: Sequence[Availability]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> Availability: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Availability]: ...
    def __getitem__(self, index: int | slice) -> Availability | Sequence[Availability]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        cells = [("", "provider", "why", "model"), *map(_cells, self._rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(4)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("", "provider", "why", "model"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
            for row in self._rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def available() -> Available:
    """Look around for models that this machine could use.

    Keys are looked up by the names of their environment variables. Ollama, LM Studio and
    llama-server are asked at their usual ports on this machine and have to say who they are.
    Nothing else is sent anywhere.

    Returns:
        A table, those that can be used first.
    """
    rows = [*map(_keyed, _KEYED), *_local_servers(), _in_process()]
    return Available(sorted(rows, key=lambda row: not row.usable))


def _cells(row: Availability) -> tuple[str, str, str, str]:
    return "✓" if row.usable else "-", row.title, row.reason, row.model


def _keyed(vendor: Vendor) -> Availability:
    variables = vendor.variable.split(" or ")
    found = next((name for name in variables if os.environ.get(name, "").strip()), "")
    return Availability(
        title=vendor.title,
        usable=bool(found),
        reason=f"{found} is set" if found else f"{vendor.variable} is not set",
        model=f"{vendor.name}:{vendor.example}",
    )


def _in_process() -> Availability:
    path, installed = os.environ.get(_GGUF, ""), find_spec("xllamacpp") is not None
    exists = Path(path).is_file()
    if not installed:
        reason = "xllamacpp is not installed: pip install 'nbtools-chat[local]'"
    elif not path:
        reason = f"{_GGUF} names no file"
    else:
        reason = f"{_GGUF} is set" if exists else f"{_GGUF} names no file that exists"
    usable = installed and exists
    model = f"local:{path}" if usable else "local:model.gguf"
    return Availability(title="In this process", usable=usable, reason=reason, model=model)


# Servers on this machine


def _local_servers() -> Iterator[Availability]:
    import httpx  # noqa: PLC0415 - `import nbtools` has no need of it

    with httpx.Client(timeout=_PATIENCE, trust_env=False) as client:
        yield _ollama(client)
        for server, identify in zip(LOCAL_SERVERS, (_is_lmstudio, _is_llama), strict=True):
            yield _compatible(client, server, identify)


def _ollama(client: Any) -> Availability:
    address = ollama_address()
    answer = _get(client, address)
    found = answer is not None and "Ollama is running" in answer.text
    tags = _json(_get(client, f"{address}/api/tags")) if found else None
    names = [word(model, "name") for model in listed(tags, "models")]
    return _served("Ollama", "ollama", address, names, found=found)


def _compatible(client: Any, server: Vendor, identify: Any) -> Availability:
    root = server.address.removesuffix("/v1")
    found = identify(client, root)
    listing = _json(_get(client, f"{server.address}/models")) if found else None
    names = [word(model, "id") for model in listed(listing, "data")]
    return _served(server.title, server.name, root, names, found=found)


def _is_lmstudio(client: Any, root: str) -> bool:
    return inner(_json(_get(client, f"{root}/lmstudio-greeting")), "lmstudio") is True


def _is_llama(client: Any, root: str) -> bool:
    answer = _get(client, f"{root}/health")
    return answer is not None and answer.headers.get("server", "").lower().startswith("llama.cpp")


def _served(
    title: str, wire: str, address: str, names: Sequence[str], *, found: bool
) -> Availability:
    host = address.partition("://")[2].rpartition("@")[2].rstrip("/")
    if not found:
        reason = f"no {title} answers at {host}"
    elif not names:
        reason = f"answers at {host}, and has no model yet"
    else:
        reason = f"answers at {host}, with {len(names)} model{'s' if len(names) > 1 else ''}"
    model = f"{wire}:{names[0] if names else '…'}"
    return Availability(title=title, usable=found and bool(names), reason=reason, model=model)


def _get(client: Any, address: str) -> Any:
    """Ask for an address; None if nothing good answers."""
    import httpx  # noqa: PLC0415 - `import nbtools` has no need of it

    try:
        answer = client.get(address)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None
    return answer if answer.is_success else None


def _json(answer: Any) -> Any:
    try:
        return answer.json() if answer is not None else None
    except ValueError:
        return None
