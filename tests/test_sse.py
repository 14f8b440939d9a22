"""The reader of event streams: framing as the specification has it, cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.errors import StreamError
from nbtools.providers import sse
from nbtools.providers.sse import EventReader


def read(body: bytes, size: int | None = None) -> list[bytes]:
    reader = EventReader()
    size = size or max(len(body), 1)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return [data for piece in pieces for data in reader.feed(piece)] + reader.close()


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\r\ndata: b\n\r\n", [b"a\nb"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b": comment\n\ndata: a\n\n", [b"a"]),
        (b"event: ping\ndata:\n\ndata: a\n\n", [b"a"]),
        (b"data\n\ndata: a\n\n", [b"a"]),
        (b"id: 7\nretry: 1500\ndatabase: x\ndata: a\n\n", [b"a"]),
        (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b'error: {"code":500}\n\n', [b'{"error": {"code":500}}']),
        (b"data: a\n\ndata: b", [b"a", b"b"]),
        (b"", []),
    ],
)
def test_events_are_found_whatever_the_framing(body: bytes, events: list[bytes]):
    assert read(body) == events


@settings(deadline=None)
@given(st.lists(st.sampled_from([b"data: a", b"data:b", b":", b"\n", b"\r\n", b"\r", b"\n\n"])))
def test_a_stream_that_is_cut_anywhere_gives_the_same_events(parts: list[bytes]):
    body = b"".join(parts)
    assert read(body, 1) == read(body, 3) == read(body)


def test_an_event_without_an_end_is_refused_at_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "LIMIT", 100)
    reader = EventReader()
    reader.feed(b"data: " + b"x" * 60)
    with pytest.raises(StreamError, match="longer than 100 bytes"):
        reader.feed(b"x" * 60)
