"""Arguments are read while they arrive, strictly, wherever the pieces are cut."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools.errors import InvalidArguments
from nbtools.partial import DEEPEST, PartialJson, parse_arguments

unhurried = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: no property here is about time."""

short_text = st.text(max_size=12)
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | short_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(short_text, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(short_text, documents, max_size=4)


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(marks)]


def grows_into(part: Any, whole: Any) -> bool:
    """Whether a value so far may become the whole one."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and grows_into(part[name], whole[name]) for name in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(grows_into, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return bool(part == whole) and type(part) is type(whole)


@unhurried
@given(
    value=objects,
    places=st.lists(st.integers(min_value=0)),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 2]),
)
def test_cut_anywhere_it_reads_what_json_loads_reads(value, places, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    parser = PartialJson()
    for piece in cut(text, places):
        parser.feed(piece)
    assert (parser.value, parser.complete, parser.failed) == (value, True, "")


@unhurried
@given(value=objects, ascii_only=st.booleans())
def test_every_prefix_gives_a_value_that_grows_into_the_whole(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    parser = PartialJson()
    seen: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    for character in text:
        parser.feed(character)
        snapshot = parser.snapshot()
        assert snapshot is not None
        assert grows_into(snapshot, value)
        seen.append(snapshot)
        copies.append(copy.deepcopy(snapshot))
    assert seen == copies, "a snapshot changed after it was taken"
    assert seen[-1] == value


@unhurried
@given(st.text() | st.text(alphabet='{}[]":,\\u0123dDeE+-.truefalsn \n'), st.text())
def test_no_text_raises_and_what_json_refuses_is_refused(text, more):
    parser = PartialJson()
    for character in text + more:
        parser.feed(character)
    parser.feed(" ")
    try:
        json.loads(text + more, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        assert parser.failed or not parser.complete
    else:
        assert parser.complete


@pytest.mark.parametrize("more", ["", " \n", " x", "{}"])
@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, {"b": null}], "c": "d", "a": -0}',
        ' {"n": 1e5, "big": 123456789012345678901234567890, "half": 0.5, "minus": -0.0}',
        '{"too large": 1e400}',
        '{"no number": NaN, "neither": Infinity}',
        '{"zero": 01}',
        '{"escaped": "\\n\\\\ \\u00e9 \\ud83d\\ude00 \\ud83d"}',
        '{"beyond": "\U0001f600 \x7f\u2028", "half": "\ud83d"}',
        '{"raw": "\t"}',
        '{"a": {"b": 1}',
        '{"a": 1}}',
        '["a", {}',
        '{"": {}, "" : []}',
        '{"deep": ' + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1) + "}",
        '{"deeper": ' + "[" * DEEPEST + "]" * DEEPEST + "}",
        '{"digits": ' + "9" * 5_000 + "}",
    ],
)
def test_an_object_that_comes_in_one_piece_is_read_as_in_many(text: str, more: str):
    whole, apart = PartialJson(), PartialJson()
    for piece in (text, more):
        whole.feed(piece)
        for character in piece:
            apart.feed(character)
        assert repr(whole.value) == repr(apart.value)
        assert whole.snapshot() == apart.snapshot()
        assert whole.complete == apart.complete
        assert bool(whole.failed) == bool(apart.failed)


def test_an_open_string_is_shown_as_far_as_it_came():
    parser = PartialJson()
    parser.feed('{"code": "line 1\\n')
    assert parser.value == {"code": "line 1\n"}
    parser.feed("line 2\\")
    assert parser.value == {"code": "line 1\nline 2"}
    parser.feed('"')
    assert parser.value == {"code": 'line 1\nline 2"'}
    assert not parser.complete


def test_a_number_is_shown_once_it_cannot_grow():
    parser = PartialJson()
    parser.feed('{"rows": [1, 23')
    assert parser.value == {"rows": [1]}
    parser.feed("4]")
    assert parser.value == {"rows": [1, 234]}


def test_a_surrogate_pair_cut_in_half_is_joined_and_half_a_one_replaced():
    parser = PartialJson()
    parser.feed('{"a": "\\ud83d')
    assert parser.value == {"a": ""}
    parser.feed('\\ude00", "b": "\\ud83d", "c": "\ud83d')
    parser.feed('\ude00"}')
    assert parser.value == {"a": "😀", "b": "\ufffd", "c": "😀"}


def test_there_is_no_snapshot_of_what_is_no_object():
    parser = PartialJson()
    assert parser.snapshot() is None
    parser.feed("[1, ")
    assert parser.snapshot() is None


def test_after_a_failure_the_value_stays_and_the_place_is_named():
    parser = PartialJson()
    parser.feed('{"a": 1, ')
    parser.feed("b")
    parser.feed('"c": 2}')
    assert parser.value == {"a": 1}
    assert parser.failed == "expected a name in quotes, found 'b' at character 10"


def test_nesting_without_end_fails_instead_of_filling_the_stack():
    parser = PartialJson()
    parser.feed('{"a":' + "[" * 100_000)
    assert parser.failed.startswith(f"nested deeper than {DEEPEST} levels")


@pytest.mark.parametrize("raw", ["", "   ", "null", " null\n", "{}"])
def test_empty_arguments_of_every_form_mean_none(raw):
    """W-02: a tool without parameters is called with nothing, white space or null."""
    assert parse_arguments(raw) == {}


def test_arguments_encoded_twice_are_decoded_twice():
    """W-03: one extra decode is tried, and used only when it yields an object."""
    assert parse_arguments(json.dumps(json.dumps({"rows": 3}))) == {"rows": 3}
    with pytest.raises(InvalidArguments, match="a text, expected a JSON object"):
        parse_arguments(json.dumps(json.dumps(json.dumps({"rows": 3}))))


def test_a_text_that_looks_like_json_stays_text():
    """W-03: the value of a string parameter is never decoded."""
    assert parse_arguments('{"filter": "{\\"a\\": 1}"}') == {"filter": '{"a": 1}'}


def test_two_objects_glued_together_are_refused_and_quoted():
    """W-04: form 3 is never run with half of the data."""
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments('{"city":"Bergen"}{"city":"Oslo"}')
    assert str(caught.value) == (
        "The arguments are not valid JSON: "
        'more text after the end, \'{"city":"Oslo"}\', at character 18.'
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000, "01"])
def test_a_number_that_strict_json_does_not_have_is_an_error(number):
    """R-01: NaN in the model's own arguments."""
    with pytest.raises(InvalidArguments, match="not valid JSON"):
        parse_arguments(f'{{"x": {number}}}')


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("[1]", "an array, expected a JSON object: '[1]'"),
        ("3", "a number, expected a JSON object: '3'"),
        ("true", "true or false, expected a JSON object: 'true'"),
        ('"rows"', "a text, expected a JSON object"),
        ('{"a": 1', "the text ends too early, after '{\"a\": 1'"),
        ('{"a": "\\x"}', "escape '\\\\x' may not stand in a string at character 8"),
        ('{"a": tru}', "'tru' is no JSON value at character 7"),
        ('{"a":,}', "expected a value, found ',' at character 6"),
        ('{"a" 1}', "expected ':', found '1' at character 6"),
        ('{"a": 1]', "expected ',' or '}', found ']' at character 8"),
        ('{"a": "\n"}', "'\\n' may not stand in a string at character 8"),
    ],
)
def test_other_arguments_are_refused_with_the_reason(raw, text):
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(raw)
    assert text in str(caught.value)


@unhurried
@given(st.text(alphabet='{}[]":,\\u0123 \n'))
def test_arguments_are_an_object_or_an_error(raw):
    with contextlib.suppress(InvalidArguments):
        assert isinstance(parse_arguments(raw), dict)


odd = st.sampled_from(["", '"', "{", "]", ",", "-", "1e999", "NaN", "\\u", "\x00", "\ud800", "01"])
"""What makes JSON of a text no JSON, or JSON that only some readers take."""


@unhurried
@given(objects, st.lists(st.tuples(st.integers(0, 10_000), odd), max_size=2))
def test_the_whole_text_means_what_its_pieces_meant(arguments, changes):
    text = json.dumps(arguments)
    for place, put in changes:
        at = place % (len(text) + 1)
        text = text[:at] + put + text[at + 1 :]
    streamed = PartialJson()
    streamed.feed(text)
    streamed.feed(" ")
    read = None
    with contextlib.suppress(InvalidArguments):
        read = parse_arguments(text)
    if streamed.complete and not streamed.failed and isinstance(streamed.value, dict):
        assert repr(read) == repr(streamed.value)
    elif text.strip() and not isinstance(streamed.value, str):
        assert read is None or (streamed.complete and streamed.value is None)


def test_an_integer_of_hundreds_of_digits_is_read_while_it_streams_too():
    streamed = PartialJson()
    streamed.feed('{"n": ' + "7" * 400 + "}")
    assert streamed.snapshot() == {"n": int("7" * 400)}
