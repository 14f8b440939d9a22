"""Recorded answers of many Chat Completions servers, read as their own libraries read them."""

from __future__ import annotations

import pytest

from tests.recordings import FIELDS, cases, read

DIFFERENCES: dict[tuple[str, str], str] = {
    (
        "rig-venice-error-envelope-nonexistent-model-error-preserves-status-and-body",
        "error",
    ): "the body's `error` is a text, which the library drops and we show",
}

CASES = cases("openai-chat")


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize("size", [None, 7, 1])
@pytest.mark.parametrize("case", CASES)
def test_a_recorded_answer_is_read_as_its_library_reads_it(case: str, size: int | None):
    answer, expected = read("openai-chat", case, size)
    compared = [field for field in FIELDS if (case, field) not in DIFFERENCES]
    assert {f: answer[f] for f in compared} == {f: expected[f] for f in compared}


@pytest.mark.skipif(not CASES, reason="the recordings are not beside the repository")
@pytest.mark.parametrize(("case", "field"), DIFFERENCES)
def test_a_difference_on_purpose_is_still_one(case: str, field: str):
    answer, expected = read("openai-chat", case)
    assert answer[field] != expected[field], DIFFERENCES[case, field]
