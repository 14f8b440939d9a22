"""What both wires of OpenAI share: where their server is, which key it wants, whether it is OpenAI."""

from __future__ import annotations

import os

from nbtools.providers.http import HttpProvider
from nbtools.providers.vendors import OPENAI, key_headers, variable_of, wants_key


class OpenAIServer(HttpProvider):
    """A model at OpenAI, or at a server that speaks one of its wires."""

    home = OPENAI
    _strict: bool

    def _note_server(self, *, strict: bool | None) -> None:
        """Take from the address what depends on it; the constructors do so last."""
        self.variable = variable_of(self.host)
        self._strict = self._base == OPENAI if strict is None else strict

    def _wants_key(self) -> bool:
        return super()._wants_key() or wants_key(self.host)

    def _authorization(self, key: str) -> dict[str, str]:
        return key_headers(self.host, key)


def openai_address(stated: str | None) -> str:
    """Give the address of the server: the stated one, that of OPENAI_BASE_URL, or OpenAI's own."""
    return stated or os.environ.get("OPENAI_BASE_URL") or OPENAI
