"""Any Python value becomes strict JSON of bounded size, by one rule."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import math
from collections import UserDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools.jsontext import clean_text, dumps
from nbtools.plain import plain

unhurried = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy: no property here is about time."""


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Box:
    width: float
    lid: Colour


class Order(pydantic.BaseModel):
    number: int
    day: dt.date


class Point(NamedTuple):
    x: int
    y: int


def refuse(constant: str):
    raise AssertionError(f"{constant} is no JSON")


def strict(value: object) -> Any:
    return json.loads(dumps(plain(value)), parse_constant=refuse)


def test_a_result_with_numpy_times_and_odd_keys_is_strict_json_by_the_documented_rule():
    """R-01: NaN, infinities, numpy scalars and arrays, times, sets and keys that are no text."""
    result = {
        "mean": float("nan"),
        "hi": float("inf"),
        "n": np.int64(3),
        "row": np.arange(3),
        "at": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        ("a", 1): {1, 2},
        "who": UUID(int=5),
        "cost": Decimal("1.20"),
    }
    assert strict(result) == {
        "mean": "NaN",
        "hi": "Infinity",
        "n": 3,
        "row": [0, 1, 2],
        "at": "2024-05-01T00:00:00+00:00",
        '["a", 1]': [1, 2],
        "who": "00000000-0000-0000-0000-000000000005",
        "cost": "1.20",
    }


def test_missing_values_and_a_dict_that_contains_itself_are_no_trouble():
    """R-01: the variants pandas.NA, NaT, and a dict that contains itself."""
    result: dict[str, object] = {"na": pd.NA, "nat": pd.NaT, "day": np.datetime64("NaT")}
    result["me"] = result
    assert strict(result) == {"na": None, "nat": None, "day": None, "me": "… (contains itself)"}


def test_bytes_become_a_note_with_their_size():
    """R-02: bytes that are no text, alone, within a dict, and 100 MB of them."""
    assert strict(b"\x89PNG\x00\xff") == "<6 bytes>"
    assert strict({"blob": b"\xff\x00", "n": 2}) == {"blob": "<2 bytes>", "n": 2}
    assert strict([bytearray(1), memoryview(b"abc")]) == ["<1 byte>", "<3 bytes>"]
    assert strict(bytes(100_000_000)) == "<100,000,000 bytes>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (-1.5, -1.5),
        (-math.inf, "-Infinity"),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (10**5_000, "<int of 16,610 bits>"),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.float64("nan"), "NaN"),
        (np.longdouble(1.5), "1.5"),
        (np.datetime64("2024-05-01"), "2024-05-01"),
        (np.array(7), 7),
        (np.ma.array([1, 2], mask=[False, True]), [1, None]),
        (np.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Box(1.0, Colour.RED), {"width": 1.0, "lid": "red"}),
        (Order(number=1, day=dt.date(2024, 5, 1)), {"number": 1, "day": "2024-05-01"}),
        (Point(1, 2), {"x": 1, "y": 2}),
        ((1, "a"), [1, "a"]),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        (UserDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({"b": 1}.keys(), ["b"]),
        ({"pear", "apple"}, ["apple", "pear"]),
        ({10, 9, True}, [True, 9, 10]),
        ({1.5, 10.5, 2.5}, [1.5, 2.5, 10.5]),
        ({"a", 1, None}, [None, 1, "a"]),
        ({frozenset({"x", "y"}), frozenset({"z"})}, [["x", "y"], ["z"]]),
        (Fraction(1, 3), "1/3"),
        (1j, "1j"),
        (PurePosixPath("/a/b"), "/a/b"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=1, seconds=2.5), "P1DT2.5S"),
        (dt.timedelta(hours=-1), "-PT3600S"),
        (dt.timedelta(days=2), "P2D"),
        (dt.timedelta(0), "PT0S"),
        (pd.Timestamp("2024-05-01"), "2024-05-01T00:00:00"),
        (pd.Timedelta("1s"), "PT1S"),
        (pd.Categorical(["a", "b"]), ["a", "b"]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1, 2], index=["a", "a"]), {"a": 1, "a (2)": 2}),
        (pd.DataFrame({"n": [1]}), [{"n": 1}]),
        (pd.DataFrame({"n": [1]}, index=["r"]), [{"index": "r", "n": 1}]),
        (pd.Period("2024-05"), "2024-05"),
        (
            {1: "a", "1": "b", None: "c", 2.5: "d"},
            {"1": "a", "1 (2)": "b", "null": "c", "2.5": "d"},
        ),
        (ValueError("no"), "ValueError('no')"),
        (len, "<built-in function len>"),
        (Box, repr(Box)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_value_has_one_form(value, expected):
    assert strict(value) == expected


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")


class HostileMapping(dict[str, int]):
    def items(self):
        raise RuntimeError("no")


def test_a_value_whose_own_code_raises_is_named_and_its_neighbours_stay():
    value = [1, Hostile(), HostileMapping(a=1), {Hostile: 2}]
    assert strict(value)[:3] == [1, "<Hostile: RuntimeError>", "<HostileMapping: RuntimeError>"]


def test_a_long_text_is_cut_and_says_how_long_it_was():
    cut = plain("x" * 20_000_000, limit=1_000)
    assert cut.endswith("x… (cut; 20,000,000 characters in all)")
    assert len(dumps(cut)) == 1_000


def test_a_long_list_ends_with_the_number_of_items_left_out():
    items = plain(list(range(1_000_000)), limit=1_000)
    assert items[:3] == [0, 1, 2]
    assert items[-1] == f"… {1_000_000 - (len(items) - 1):,} more"


def test_a_long_object_ends_with_the_number_of_names_left_out():
    pairs = plain({f"n{index}": index for index in range(10_000)}, limit=1_000)
    assert pairs["…"] == f"{10_000 - (len(pairs) - 1):,} more"


def test_deep_nesting_stops_with_words():
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert dumps(plain(value, depth=2)) == '[["… (nested deeper)"]]'


def test_half_a_surrogate_pair_is_replaced_and_two_halves_are_joined():
    assert clean_text("a\ud83d\ude00b\ud800") == "a😀b\ufffd"
    assert strict({"\ud800": "\udfff"}) == {"\ufffd": "\ufffd"}


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.timedeltas(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.none(), inner)
        | st.frozensets(st.integers() | st.text() | st.floats() | st.none())
    ),
)


@unhurried
@given(value=anything, limit=st.integers(min_value=256, max_value=2_000))
def test_whatever_comes_gives_valid_text_within_the_limit(value, limit):
    text = dumps(plain(value, limit=limit))
    assert len(text) <= limit
    assert text.encode()
    json.loads(text, parse_constant=refuse)


@unhurried
@given(st.recursive(st.none() | st.booleans() | st.text(), st.lists))
def test_what_is_plain_already_stays_as_it_is(value):
    assert plain(value) == value
