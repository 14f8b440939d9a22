"""Recorded answers of Messages servers, read as Anthropic's own library reads them.

The recordings stand beside the repository and are not part of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools.testing import decode

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "anthropic"
FIELDS = [
    "text",
    "reasoning",
    "refusal",
    "tool_calls",
    "server_tool_calls",
    "finish_reason",
    "usage",
    "error",
]

DIFFERENCES: dict[tuple[str, str], str] = {}

CASES = sorted(path.name for path in CORPUS.iterdir()) if CORPUS.is_dir() else []


def load(case: str) -> tuple[dict[str, Any], bytes, dict[str, Any]]:
    folder = CORPUS / case
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    body = (folder / meta["body_file"]).read_bytes()
    return meta, body, json.loads((folder / "expected.json").read_text("utf-8"))


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize("size", [None, 7, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_recorded_answer_is_read_as_its_library_reads_it(case: str, size: int | None):
    meta, body, expected = load(case)
    answer = decode("anthropic", meta["status"], meta["response_headers"], body, chunk=size)
    compared = [field for field in FIELDS if (case, field) not in DIFFERENCES]
    assert {f: answer[f] for f in compared} == {f: expected[f] for f in compared}
