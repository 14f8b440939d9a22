"""Recorded answers of model servers, which stand beside the repository and are not part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbtools.providers.wires import Wire
from nbtools.testing import decode

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
FIELDS = (
    "text",
    "reasoning",
    "refusal",
    "tool_calls",
    "server_tool_calls",
    "finish_reason",
    "usage",
    "error",
)


def cases(wire: Wire) -> list[str]:
    """The names of the recordings of a wire; none where they are not there."""
    folder = CORPUS / wire
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def load(wire: Wire, case: str) -> tuple[dict[str, Any], bytes, dict[str, Any]]:
    """What a recording is, its body, and what the provider's own library makes of it."""
    folder = CORPUS / wire / case
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    body = (folder / meta["body_file"]).read_bytes()
    return meta, body, json.loads((folder / "expected.json").read_text("utf-8"))


def read(wire: Wire, case: str, size: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What we make of a recording, and what its own library makes of it."""
    meta, body, expected = load(wire, case)
    answer = decode(wire, meta["status"], meta["response_headers"], body, chunk=size)
    return answer, expected
