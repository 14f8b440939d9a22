"""Recorded answers of Gemini, read as Google's own library reads them."""

from __future__ import annotations

import pytest

from tests.recordings import FIELDS, cases, read

CASES = cases("gemini")
DIFFERENCES: dict[tuple[str, str], str] = {
    (
        "firebase-streaming-failure-invalid-json",
        "error",
    ): "JSON that is no answer: the library gives an empty reply, we an error",
    (
        "firebase-unary-failure-invalid-response",
        "error",
    ): "JSON that is no answer: the library gives an empty reply, we an error",
}


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize("size", [None, 7, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_recorded_answer_is_read_as_its_library_reads_it(case: str, size: int | None):
    answer, expected = read("gemini", case, size)
    compared = [field for field in FIELDS if (case, field) not in DIFFERENCES]
    assert {f: answer[f] for f in compared} == {f: expected[f] for f in compared}


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize(("case", "field"), DIFFERENCES)
def test_a_difference_on_purpose_is_still_one(case: str, field: str):
    answer, expected = read("gemini", case)
    assert answer[field] != expected[field], DIFFERENCES[case, field]
