"""Where an MCP server is: what it is called, how it is reached, and what of that is secret."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from nbtools.providers.secrecy import scrub

LONGEST_LABEL = 120
"""Characters of a command that are shown."""

_SPEAKS = re.compile(r"key|token|secret|pass|auth|credential|cookie|\bpat\b|_pat$", re.IGNORECASE)
_RANDOM = re.compile(r"(?=.*\d)[^\s/\\]{12,}")
_WRAPPING = re.compile(r"^(mcp|server)[-_]|[-_](mcp|server)$")
_HIDDEN = "[hidden]"
_SHORTEST = 6


@dataclass(frozen=True, kw_only=True)
class Address:
    """A command that starts a server, or the URL of one that runs."""

    command: tuple[str, ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """What may be shown: the beginning of the command, or the host; arguments may be secret."""
        if self.url:
            parts = urlsplit(self.url)
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        label = scrub(" ".join(_beginning(self.command)), self.secrets)
        return label if len(label) <= LONGEST_LABEL else f"{label[:LONGEST_LABEL]}…"

    @property
    def name(self) -> str:
        """A short name, for prefixes: "filesystem" for "npx -y @acme/server-filesystem"."""
        if self.url:
            words = (urlsplit(self.url).hostname or "").split(".")
            name = max((word for word in words if word != "www"), key=len, default="")
        else:
            name = PurePath(_beginning(self.command)[-1]).name.partition("@")[0]
            name = name.removesuffix(".py").removesuffix(".js")
        while (short := _WRAPPING.sub("", name)) != name:
            name = short
        return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "mcp"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """What must be in no text that anybody is shown."""
        named = [*self.env.items(), *_named(self.command)]
        found = [value for name, value in named if _is_secret(name, value)]
        return (*found, *self.headers.values())

    def hide(self, text: str) -> str:
        """Take the known secrets out of what a server said."""
        words = {word for secret in self.secrets for word in (secret, *secret.split())}
        for word in sorted(words, key=len, reverse=True):
            if len(word) >= _SHORTEST:
                text = text.replace(word, _HIDDEN)
        return text

    def scrub(self, text: str) -> str:
        """Take out of a text about the connection whatever is or looks like a secret."""
        return scrub(text, self.secrets)


def read_address(
    target: str | Sequence[str],
    *,
    env: Mapping[str, str] | None,
    cwd: str | Path | None,
    headers: Mapping[str, str] | None,
) -> Address:
    """Read where a server is.

    Args:
        target: A command as one text or as its words, or a URL.
        env: Variables for the command.
        cwd: The folder that it starts in.
        headers: Sent with every request to the URL.

    Raises:
        ValueError: It is neither, or a setting does not go with it; the text says which.
        TypeError: It is no text and no list of texts.
    """
    words = [target] if isinstance(target, str) else list(target)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("An MCP server is given as a command or a URL, which are texts.")
    if len(words) == 1 and words[0].lower().startswith(("http://", "https://")):
        if env or cwd:
            raise ValueError("env and cwd belong to a command; a URL takes headers.")
        return Address(url=words[0].strip(), headers=dict(headers or {}))
    if headers:
        raise ValueError("headers belong to a URL; a command takes env.")
    command = shlex.split(target) if isinstance(target, str) else words
    if not command or not command[0]:
        raise ValueError("The command is empty, expected such as 'npx -y server'.")
    folder = Path(cwd).expanduser() if cwd is not None else None
    return Address(command=tuple(command), env=dict(env or {}), cwd=folder)


def _beginning(command: Sequence[str]) -> list[str]:
    """Give a command up to its first argument that is no flag; what follows may be secret."""
    shown = [PurePath(command[0]).name]
    for word in command[1:]:
        if "=" not in word:
            shown.append(word)
        if not word.startswith("-"):
            break
    return shown


def _named(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give the arguments that have a name: `--name value`, `--name=value`, `NAME=value`."""
    for word, following in pairwise([*command, ""]):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value
        elif word.startswith("-"):
            yield word, following


def _is_secret(name: str, value: str) -> bool:
    """Guess by its name, or by looking random; paths and words have to stay readable."""
    return bool(value) and bool(_SPEAKS.search(name) or _RANDOM.fullmatch(value))
