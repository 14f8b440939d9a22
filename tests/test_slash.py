"""How a tool is called by hand."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.slash import Slash, parse_slash


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("/rows", {}),
        ("  /rows  ", {}),
        ("/rows table=orders", {"table": "orders"}),
        ("/rows n=3 rate=0.5 all=true none=null", {"n": 3, "rate": 0.5, "all": True, "none": None}),
        ('/rows where="price < 0"', {"where": "price < 0"}),
        ("/rows where='it is \"so\"'", {"where": 'it is "so"'}),
        ("/rows id=\"3\" other='4'", {"id": "3", "other": "4"}),
        ('/rows path="C:\\dir"', {"path": "C:\\dir"}),
        (
            '/rows names=[1, 2] deep={"a": [true]} x=1',
            {"names": [1, 2], "deep": {"a": [True]}, "x": 1},
        ),
        ("/rows a=b=c d=", {"a": "b=c", "d": ""}),
        ("/rows x=NaN", {"x": "NaN"}),
        ("/rows name='two words' n=1", {"name": "two words", "n": 1}),
        ("/rows\n a=1\n b=2", {"a": 1, "b": 2}),
        ('/rows {"a": {"b": 1}}', {"a": {"b": 1}}),
        ("/rows größe=3", {"größe": 3}),
    ],
)
def test_a_call_that_was_typed_is_read(text: str, args: dict[str, Any]):
    assert parse_slash(text) == Slash(name="rows", args=args)


@pytest.mark.parametrize("text", ["", "rows", "/", "/ rows", "//rows", "/a/b", "what is /rows"])
def test_another_text_is_no_call(text: str):
    assert parse_slash(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/rows orders", "'orders' of /rows should be name=value."),
        ("/rows a=1 b", "'b' of /rows should be name=value."),
        ("/rows a=1 a=2", "/rows has 'a' twice."),
        ("/rows a='open", '"\'open" of /rows has a quote that is not closed.'),
        ('/rows {"a": }', "The arguments of /rows are no JSON object: Expecting value"),
    ],
)
def test_an_argument_that_cannot_be_read_is_quoted(text: str, words: str):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared
        parse_slash(text)
    assert str(caught.value).startswith(words)
