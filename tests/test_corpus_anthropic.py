"""Recorded answers of Messages servers, read as Anthropic's own library reads them."""

from __future__ import annotations

import pytest

from tests.recordings import FIELDS, cases, read

CASES = cases("anthropic")


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize("size", [None, 7, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_recorded_answer_is_read_as_its_library_reads_it(case: str, size: int | None):
    answer, expected = read("anthropic", case, size)
    assert {f: answer[f] for f in FIELDS} == {f: expected[f] for f in FIELDS}
