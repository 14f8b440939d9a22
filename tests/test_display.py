"""What a value looks like to the person, the model and the page; what code shows as it runs."""
# ruff: noqa: T201 - printing is what many of these are about

import asyncio
import base64
import contextlib
import contextvars
import datetime as dt
import decimal
import io
import json
import subprocess
import sys
import textwrap
import threading
import uuid
import warnings

import ipywidgets
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from nbtools.display import (
    Collected,
    bundle,
    capture,
    current_cell,
    figures,
    preview,
    tell,
    together,
)
from nbtools.display.pages import page_of
from nbtools.display.tables import tell_frame
from nbtools.executors import engine, in_worker

mpl.use("Agg")
import matplotlib.pyplot as plt

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
WIDGET = "application/vnd.jupyter.widget-view+json"


def strict(value):
    """Write JSON as a strict parser takes it."""
    return json.dumps(value, allow_nan=False).encode()


def is_png(text):
    return base64.b64decode(text).startswith(b"\x89PNG\r\n\x1a\n")


# --- the face for the person ----------------------------------------------------------------------


def test_text_is_never_html():
    assert bundle("<b onclick=x>") == {"text/plain": "<b onclick=x>"}


@pytest.mark.parametrize(
    ("value", "text"), [(None, "None"), (3, "3"), (2.5, "2.5"), (True, "True")]
)
def test_a_plain_value_is_its_text(value, text):
    assert bundle(value) == {"text/plain": text}


def test_a_container_is_json_and_text():
    assert bundle({"a": [1, 2]}) == {
        "application/json": {"a": [1, 2]},
        "text/plain": '{\n  "a": [\n    1,\n    2\n  ]\n}',
    }


def test_a_list_of_flat_records_is_a_table_too():
    shown = bundle([{"day": "Mon", "low": 3}, {"day": "Tue", "high": None}])
    assert shown["application/vnd.nbtools.table+json"] == {
        "columns": ["day", "low", "high"],
        "rows": [["Mon", 3, None], ["Tue", None, None]],
        "shape": [2, 3],
        "note": "2 rows and 3 columns",
    }
    assert shown["application/json"] == [{"day": "Mon", "low": 3}, {"day": "Tue", "high": None}]
    assert "application/vnd.nbtools.table+json" not in bundle([{"deep": [1]}])


def test_a_data_frame_is_a_table_and_text():
    shown = bundle(pd.DataFrame({"a": [1, 2], "b": ["<i>", "y"]}))
    assert sorted(shown) == ["application/vnd.nbtools.table+json", "text/html", "text/plain"]
    assert shown["application/vnd.nbtools.table+json"] == {
        "shape": [2, 2],
        "columns": ["a", "b"],
        "rows": [[1, "<i>"], [2, "y"]],
        "note": "2 rows and 2 columns",
    }
    assert "&lt;i&gt;" in shown["text/html"]
    assert shown["text/html"].endswith("<p>2 rows and 2 columns</p>")
    assert shown["text/plain"].endswith("[2 rows and 2 columns]")


def dates() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-05-01", None, "2024-05-03"]),
            "at": pd.to_datetime(["2024-05-01 00:00", "2024-05-02 00:00", "2024-05-03 10:30"]),
            "zoned": pd.to_datetime(["2024-05-01"] * 3).tz_localize("Europe/Berlin"),
        },
        index=pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-03"], name="week"),
    )


def test_a_column_of_dates_shows_days_and_one_of_times_shows_times():
    page = page_of(dates())
    assert page is not None
    assert page["columns"] == ["week", "day", "at", "zoned"]
    assert page["rows"] == [
        ["2024-01-01", "2024-05-01", "2024-05-01T00:00:00", "2024-05-01T00:00:00+02:00"],
        ["2024-01-02", None, "2024-05-02T00:00:00", "2024-05-01T00:00:00+02:00"],
        ["2024-01-03", "2024-05-03", "2024-05-03T10:30:00", "2024-05-01T00:00:00+02:00"],
    ]


def test_a_page_of_midnights_of_a_column_of_times_shows_times():
    times = pd.date_range("2024-05-01", periods=30, freq="D").append(
        pd.DatetimeIndex(["2024-07-01 09:00"])
    )
    page = page_of(pd.DataFrame({"at": times}, index=times))
    assert page is not None
    assert page["rows"][0] == ["2024-05-01T00:00:00", "2024-05-01T00:00:00"]
    told = tell(pd.DataFrame({"at": times}, index=times))
    assert told.splitlines()[4] == "2024-05-01 00:00:00,2024-05-01 00:00:00"


def test_dates_as_labels_show_days():
    days = pd.to_datetime(["2024-05-01", "2024-05-02"])
    pivot = pd.DataFrame([[1, 2]], columns=days)
    page = page_of(pivot)
    assert page is not None
    assert page["columns"] == ["2024-05-01", "2024-05-02"]
    assert tell(pivot).splitlines()[1] == "Columns: 2024-05-01 (int64), 2024-05-02 (int64)"
    grouped = pd.DataFrame({"n": [1, 2]}, index=pd.MultiIndex.from_arrays([days, ["a", "b"]]))
    page = page_of(grouped)
    assert page is not None
    assert [row[0] for row in page["rows"]] == [["2024-05-01", "a"], ["2024-05-02", "b"]]


def test_showing_dates_leaves_the_frame_as_it_is():
    frame, before = dates(), dates()
    bundle(frame)
    tell(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_million_rows_show_one_page_and_say_so():
    shown = bundle(pd.DataFrame(np.zeros((1_000_000, 30))))
    assert shown["text/html"].count("<tr") == 21
    assert shown["text/plain"].endswith(
        "[1,000,000 rows and 30 columns; shown: 20 rows and 20 columns]"
    )


def test_a_series_is_a_table():
    assert "text/html" in bundle(pd.Series([1, 2], name="n"))


def test_a_figure_is_a_picture():
    shown = bundle(mpl.figure.Figure())
    assert is_png(shown["image/png"])
    assert shown["text/plain"] == "<Figure size 640x480 with 0 Axes>"


@pytest.mark.parametrize(
    "take",
    [
        lambda figure: figure.add_subplot(),
        lambda figure: (figure, figure.add_subplot()),
        lambda figure: figure.subplots(2, 2),
        lambda figure: figure.subfigures(1, 2)[0].add_subplot(),
        lambda figure: figure.add_subplot().plot([1, 2]),
    ],
)
def test_an_axes_or_what_holds_one_shows_its_figure(take):
    assert is_png(bundle(take(mpl.figure.Figure()))["image/png"])


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89arest", "image/gif"),
        (b"RIFF0000WEBPrest", "image/webp"),
    ],
)
def test_bytes_of_a_picture_are_a_picture(content, mime):
    """R-02: known image bytes, as bytes, bytearray or memoryview."""
    for value in (content, bytearray(content), memoryview(content)):
        assert base64.b64decode(bundle(value)[mime]) == content


def test_other_bytes_are_a_note_with_their_size():
    """R-02: bytes that are no picture, the header of one alone included; 100 MB of them too."""
    assert bundle(b"\x89PNG\x00\xff") == {"text/plain": "<6 bytes>"}
    assert bundle(PNG + bytes(100_000_000)) == {"text/plain": "<100,000,028 bytes>"}


def test_a_widget_is_a_view_of_it():
    slider = ipywidgets.IntSlider(value=3)
    shown = bundle(slider)
    assert shown[WIDGET] == {"version_major": 2, "version_minor": 0, "model_id": slider.model_id}
    assert shown["text/plain"].startswith("IntSlider(value=3")
    assert bundle(slider) == shown


class Rich:
    """Has every rich form; each answers what the test gave."""

    def __init__(self, **forms):
        self.forms = forms

    def __repr__(self):
        return "Rich()"

    def _repr_html_(self):
        return self._form("html")

    def _repr_png_(self):
        return self._form("png")

    def _form(self, name):
        form = self.forms.get(name)
        if isinstance(form, Exception):
            raise form
        return form


class Chart:
    def __init__(self, shown):
        self.shown = shown

    def __repr__(self):
        return "Chart()"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.shown


class Displays:
    """Like a plotly figure, it displays itself."""

    def __repr__(self):
        return "Displays()"

    def _ipython_display_(self):
        InteractiveShell.instance().display_pub.publish({"text/html": "<b>me</b>"})


def test_the_rich_forms_of_an_object_are_used():
    assert bundle(Rich(html="<b>x</b>", png=(PNG, {"width": 3}))) == {
        "text/html": "<b>x</b>",
        "image/png": base64.b64encode(PNG).decode(),
        "text/plain": "Rich()",
    }


def test_a_rich_form_that_raises_becomes_a_note_and_the_others_stay():
    assert bundle(Rich(html=ValueError("no html"), png=PNG)) == {
        "image/png": base64.b64encode(PNG).decode(),
        "text/plain": "Rich()\n(its text/html form raised ValueError: no html)",
    }


@pytest.mark.parametrize("metadata", [False, True])
def test_a_mime_bundle_of_an_object_is_taken_as_it_is(metadata):
    shown = {"application/vnd.plotly.v1+json": {"data": [1.5]}, "text/plain": "a chart"}
    assert bundle(Chart((shown, {}) if metadata else shown)) == shown


@pytest.mark.parametrize(
    "name", ["application/vnd.vegalite.v6+json", "application/vnd.vegalite.v6.json"]
)
def test_vega_lite_6_goes_under_the_name_that_front_ends_know(name):
    assert bundle(Chart({name: {"mark": "bar"}})) == {
        "application/vnd.vegalite.v5+json": {"mark": "bar"},
        "text/plain": "Chart()",
    }


def test_a_chart_of_not_finite_numbers_is_strict_json():
    """R-01: NaN in a chart."""
    shown = bundle(Chart({"application/vnd.plotly.v1+json": {"y": np.array([1.0, np.nan])}}))
    assert shown["application/vnd.plotly.v1+json"] == {"y": [1.0, "NaN"]}


def test_what_is_too_large_is_left_out_and_named():
    shown = bundle(Chart({"text/html": "x" * 2_000_000, "text/plain": "a map"}))
    assert shown == {"text/plain": "a map\n(text/html is too large to be shown.)"}


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("data:image/png;base64,AAAA", "no base64 text, which a picture has to be"),
        ("A" * 5, "no base64 text, which a picture has to be"),
        ({"a": 1}, "dict, which is no picture"),
        ("A" * 12_000_000, "too large to be shown"),
    ],
)
def test_what_is_no_picture_is_left_out_and_named(content, note):
    shown = bundle(Chart({"image/png": content, "text/plain": "a map"}))
    assert shown == {"text/plain": f"a map\n(image/png is {note}.)"}


def test_bytes_are_base64_or_the_text_that_their_type_says():
    drawing = {
        "image/svg+xml": b"<svg/>",
        "text/html": "<b>\u00fc</b>".encode(),
        "image/png": memoryview(PNG),
        "image/jpeg": None,
        "text/plain": "a map",
    }
    assert bundle(Chart(drawing)) == {
        "image/svg+xml": "<svg/>",
        "text/html": "<b>\u00fc</b>",
        "image/png": base64.b64encode(PNG).decode(),
        "text/plain": "a map",
    }


def test_a_picture_as_text_may_have_lines():
    lines = base64.encodebytes(PNG * 10).decode()
    assert bundle(Chart({"image/png": lines, "text/plain": "a map"}))["image/png"] == lines


def test_long_text_is_cut_in_its_middle():
    shown = bundle("a" * 500 + "b" * 500, limit=256)["text/plain"]
    assert len(shown) <= 256
    assert shown.startswith("aaa")
    assert "of 1,000 characters left out" in shown
    assert shown.endswith("bbb")


def test_a_mapping_of_mime_types_is_a_bundle():
    assert bundle({"text/markdown": "*x*", "image/png": PNG}) == {
        "text/markdown": "*x*",
        "image/png": base64.b64encode(PNG).decode(),
        "text/plain": "{'text/markdown': '*x*', 'image/png': b'\\x89PNG\\r\\n\\x1a\\n"
        + "\\x00" * 20
        + "'}",
    }


def test_several_bundles_make_one_and_one_stays_as_it_is():
    first, second = bundle("a"), bundle("b")
    assert together([]) is None
    assert together([first]) is first
    assert together([first, second]) == {
        "application/vnd.nbtools.several+json": [first, second],
        "text/plain": "a\nb",
    }


@pytest.mark.parametrize("face", [bundle, tell, preview])
def test_a_value_whose_own_code_raises_is_shown_all_the_same(face):
    class Broken:
        def __repr__(self):
            raise RuntimeError("no repr")

        def _repr_mimebundle_(self, include=None, exclude=None):
            raise RuntimeError("no bundle")

    assert "Broken" in str(face(Broken()))


def test_a_class_is_not_asked_for_the_rich_forms_of_its_objects():
    assert list(bundle(Rich)) == ["text/plain"]


NASTY = st.recursive(
    st.none() | st.floats() | st.integers() | st.binary() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(NASTY)
@settings(max_examples=60, deadline=None)
def test_every_face_of_any_value_is_strict_and_never_empty(value):
    """R-01: nothing raises, and all of it parses strictly."""
    assert strict(bundle(value))
    assert strict(preview(value))
    assert tell(value).encode()


def stats():
    return {
        "mean": float("nan"),
        "hi": float("inf"),
        "n": np.int64(3),
        "row": np.arange(3),
        "at": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        ("a", 1): {1, 2},
        "who": uuid.UUID(int=1),
        "cost": decimal.Decimal("1.20"),
        "none": [pd.NA, pd.NaT],
    }


def test_odd_numbers_and_keys_are_strict_json_in_every_face():
    """R-01: what goes to the model and over the comm parses with a strict parser, by one rule."""
    value = stats()
    told = json.loads(tell(value), parse_constant=pytest.fail)
    assert told == {
        "mean": "NaN",
        "hi": "Infinity",
        "n": 3,
        "row": [0, 1, 2],
        "at": "2024-05-01T00:00:00+00:00",
        '["a", 1]': [1, 2],
        "who": "00000000-0000-0000-0000-000000000001",
        "cost": "1.20",
        "none": [None, None],
    }
    assert preview(value) == told
    assert bundle(value)["application/json"] == told


# --- the face for the model -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("<b>as it is</b>", "<b>as it is</b>"),
        ("", "(empty text)"),
        (" \n", "(empty text)"),
        (None, "null"),
        (True, "true"),
        (float("nan"), '"NaN"'),
        ({"a": (1, 2)}, '{"a":[1,2]}'),
        (b"\xff\x00", "2 bytes of binary data."),
        (PNG, "A picture (image/png, 28 bytes) was shown to the user."),
        ("\ud800", "\ufffd"),
        ({"text/html": "<b>x</b>"}, "Shown to the user as text/html."),
        ({"text/html": "<b>x</b>", "text/plain": "x"}, "x"),
        (Chart({}), "Shown to the user: Chart()"),
    ],
)
def test_the_model_is_told_a_value_in_few_words(value, told):
    """R-02: never bytes as noise, never empty, always valid UTF-8."""
    assert tell(value) == told


def test_the_model_is_told_that_a_figure_was_shown():
    told = "A figure (600 × 400 pixels) was shown to the user."  # noqa: RUF001
    figure = mpl.figure.Figure(figsize=(6, 4))
    assert tell(figure) == told
    assert tell(figure.add_subplot()) == told
    assert preview(figure) == told


def test_the_model_is_told_the_shape_types_and_first_rows_of_a_table():
    assert tell(pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=["r", "s"])) == (
        "A table of 2 rows and 2 columns.\nColumns: a (int64), b (str)\n,a,b\nr,1,x\ns,2,\n"
    )


@pytest.mark.parametrize("policies", [None, {"zoned": "mask"}])
def test_the_model_is_told_days_of_a_column_of_dates(policies: dict[str, str] | None):
    zoned = "•••" if policies else "2024-05-01 00:00:00+02:00"
    assert tell_frame(dates(), 2, 9, policies).splitlines()[2:] == [
        "The first 2 rows:",
        "week,day,at,zoned",
        f"2024-01-01,2024-05-01,2024-05-01 00:00:00,{zoned}",
        f"2024-01-02,,2024-05-02 00:00:00,{zoned}",
    ]


def test_the_model_is_told_ten_rows_of_a_long_table():
    told = tell(pd.DataFrame({"n": range(1_000_000)}))
    assert told == (
        "A table of 1,000,000 rows and 1 column.\nColumns: n (int64)\n"
        "The first 10 rows:\nn\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    )


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ([1.0, np.nan, 3.0], " Least 1.0, mean 2.0, greatest 3.0. 1 not a number."),
        ([np.nan, np.nan], " 2 not a number."),
        ([], ""),
    ],
)
def test_the_summary_of_an_array_leaves_out_what_is_no_number(values: list[float], summary: str):
    first = tell(np.array(values)).partition("\n")[0]
    assert first == f"An array of shape ({len(values)},) (float64).{summary}"


def test_the_model_is_told_the_shape_and_range_of_an_array():
    assert tell(np.array([[1.0, 2.0], [3.0, np.inf]])) == (
        "An array of shape (2, 2) (float64). Least 1.0, mean Infinity, greatest Infinity.\n"
        '[[1.0,2.0],[3.0,"Infinity"]]'
    )


def test_what_the_model_is_told_is_cut_in_the_middle_with_counts():
    told = tell("a" * 9_000 + "z")
    assert len(told) <= 8_000
    assert "of 9,001 characters left out" in told
    assert told.endswith("z")


# --- the face for the page ------------------------------------------------------------------------


def test_a_table_reaches_the_page_as_shape_columns_and_first_rows():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]})
    assert preview(frame) == {
        "shape": [2, 2],
        "columns": ["a", "b"],
        "rows": [[1, 0.5], [2, "NaN"]],
    }


def test_an_index_that_says_something_is_a_column():
    frame = pd.DataFrame({"a": [1]}, index=pd.Index(["x"], name="key"))
    assert preview(frame) == {"shape": [1, 1], "columns": ["key", "a"], "rows": [["x", 1]]}


def test_the_page_never_gets_more_than_a_bounded_value():
    assert len(strict(preview(["x" * 100] * 10_000))) < 20_000


# --- output ---------------------------------------------------------------------------------------


def test_output_goes_to_the_sink_and_nowhere_else(capsys):
    sink = Collected()
    print("before")
    with capture(sink):
        print("inside", 1)
        print("error", file=sys.stderr)
    print("after")
    assert sink.text == "inside 1\nerror\n"
    assert capsys.readouterr() == ("before\nafter\n", "")


def test_other_code_prints_where_it_always_did(capsys):
    """L-04: a thread that does not belong to the call prints into its own place."""
    sink = Collected()
    with capture(sink):
        empty = contextvars.Context()
        thread = threading.Thread(target=empty.run, args=(print, "someone else"))
        thread.start()
        thread.join()
    assert sink.text == ""
    assert capsys.readouterr().out == "someone else\n"


async def test_a_worker_and_the_tasks_of_a_call_print_into_its_sink(capsys):
    """L-04: a tool's prints go to its card, for threads and for tasks that run side by side."""

    async def call(name, sink):
        with capture(sink):
            await in_worker(lambda: print(name, "worker"))
            await asyncio.gather(say(name), asyncio.to_thread(print, name, "thread"))

    async def say(name):
        await asyncio.sleep(0)
        print(name, "task")

    sinks = {"a": Collected(), "b": Collected()}
    await asyncio.gather(*(call(name, sink) for name, sink in sinks.items()))
    for name, sink in sinks.items():
        assert sorted(sink.text.splitlines()) == [
            f"{name} {by}" for by in ("task", "thread", "worker")
        ]
    assert capsys.readouterr() == ("", "")


def test_late_output_of_an_abandoned_worker_still_goes_to_its_sink(capsys):
    """L-06: what comes late lands in no cell."""
    sink, release, ended = Collected(), threading.Event(), threading.Event()

    async def call():
        started = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()

        def work():
            loop.call_soon_threadsafe(started.set_result, None)
            release.wait(5)
            print("late")
            ended.set()

        with capture(sink):
            task = asyncio.create_task(in_worker(work))
        await started
        task.cancel()

    engine().submit(call()).result(5)
    release.set()
    assert ended.wait(5)
    assert sink.text == "late\n"
    assert capsys.readouterr() == ("", "")


def test_a_nested_capture_takes_what_is_its_own():
    outer, inner = Collected(), Collected()
    with capture(outer):
        with capture(inner):
            print("inner")
        print("outer")
    assert (outer.text, inner.text) == ("outer\n", "inner\n")


def test_code_that_redirects_its_own_output_keeps_it():
    sink, own = Collected(), io.StringIO()
    with capture(sink), contextlib.redirect_stdout(own):
        print("mine")
    assert (own.getvalue(), sink.text) == ("mine\n", "")


def test_the_streams_keep_their_other_abilities():
    with capture(Collected()):
        assert sys.stdout.encoding.lower().replace("-", "") == "utf8"
        sys.stdout.flush()
        sys.stdout.writelines(["a", "b"])


def test_warnings_go_to_the_sink():
    assert (
        script("""
        import warnings
        from nbtools.display import Collected, capture
        sink = Collected()
        with capture(sink):
            warnings.warn("careful")
        print("UserWarning: careful" in sink.text)
    """)
        == "True"
    )


@pytest.fixture
def shell():
    """A shell of IPython outside of a kernel."""
    known = InteractiveShell.initialized()
    yield InteractiveShell.instance()
    if not known:
        InteractiveShell.clear_instance()


def test_display_goes_to_the_sink_as_a_bundle(shell):
    from IPython.display import HTML, clear_output, display

    sink = Collected()
    with capture(sink):
        display(HTML("<b>x</b>"))
        clear_output()
    assert [one["text/html"] for one in sink.shown] == ["<b>x</b>"]


def test_a_displayed_figure_is_drawn_though_no_cell_chose_a_backend():
    assert (
        script("""
        from IPython.core.interactiveshell import InteractiveShell
        from IPython.display import display
        from nbtools.display import Collected, capture, figures
        InteractiveShell.instance()
        sink = Collected()
        with capture(sink), figures():
            import matplotlib.pyplot as plt
            display(plt.figure())
        print([sorted(one) for one in sink.shown])
    """)
        == "[['image/png', 'text/plain']]"
    )


def test_a_value_that_displays_itself_is_shown_by_what_it_displays(shell, capsys):
    assert bundle(Displays()) == {"text/html": "<b>me</b>", "text/plain": "Displays()"}
    assert capsys.readouterr() == ("", "")


def test_a_printer_that_the_user_registered_is_used(shell):
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(Rich, lambda value: "<i>registered</i>")
    assert bundle(Rich(html="own"))["text/html"] == "<i>registered</i>"


def test_outside_of_a_kernel_no_cell_is_known(shell):
    assert current_cell() == ("", "")


# --- figures --------------------------------------------------------------------------------------


def test_figures_left_open_are_drawn_once_and_closed():
    with figures() as opened:
        plt.plot([1, 2])
        plt.figure()
        shown = opened.collect()
        assert plt.get_fignums() == []
    assert [is_png(one["image/png"]) for one in shown] == [True, True]
    assert plt.get_fignums() == []


def test_a_figure_that_is_the_value_is_not_shown_twice():
    with figures() as opened:
        value = pd.DataFrame({"a": [1, 2]}).plot()
        assert opened.collect(shown=value) == []
        assert is_png(bundle(value)["image/png"])


def test_the_users_open_figures_stay_as_they_are():
    mine = plt.figure(num=7)
    try:
        with figures():
            assert plt.get_fignums() == []
            assert plt.gcf() is not mine
            plt.close("all")
        assert plt.get_fignums() == [7]
        assert plt.gcf() is mine
    finally:
        plt.close("all")


async def test_two_plotting_tools_in_parallel_each_get_their_own_figure():
    """Neither draws into the other's figure, and they take turns."""
    inside, most = [], []

    def plot(name, opened):
        plt.figure()
        inside.append(name)
        most.append(len(inside))
        plt.title(name)
        pd.DataFrame({"a": [1, 2]}).plot(ax=plt.gca())
        inside.remove(name)
        return [manager.canvas.figure.axes[0].get_title() for manager in opened.registry().values()]

    async def call(name):
        with figures() as opened:
            return await in_worker(lambda: plot(name, opened))

    names = ["a", "b", "c", "d"]
    assert list(await asyncio.gather(*map(call, names))) == [[name] for name in names]
    assert set(most) == {1}


async def test_a_plotting_tool_that_was_given_up_does_not_hold_up_the_next():
    """L-06: an abandoned thread keeps nothing from the others."""
    started, release = threading.Event(), threading.Event()

    def hang():
        plt.figure()
        started.set()
        release.wait(5)

    async def call():
        with figures():
            await in_worker(hang)

    task = asyncio.create_task(call())
    await in_worker(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with figures():
        number = await in_worker(lambda: plt.figure().number)
    release.set()
    assert number == 1


async def test_asynchronous_tools_that_plot_side_by_side_do_not_block_the_loop():
    async def call(name):
        with figures() as opened:
            plt.title(name)
            await asyncio.sleep(0)
            plt.xlabel(name)
            return [m.canvas.figure.axes[0].get_xlabel() for m in opened.registry().values()]

    assert list(await asyncio.gather(call("a"), call("b"))) == [["a"], ["b"]]


def test_plt_show_shows_the_figure_in_the_card():
    sink = Collected()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with capture(sink), figures() as opened:
            plt.plot([1])
            plt.show()
            assert opened.collect() == []
    assert is_png(sink.shown[0]["image/png"])


def test_pyplot_that_is_imported_by_the_tool_itself_is_kept_apart_too():
    """Two first uses at once, and the user's own backend is left for the user to choose."""
    assert (
        script("""
        import asyncio, sys
        from nbtools.display import figures
        from nbtools.executors import in_worker
        def plot(name, opened):
            import matplotlib.pyplot as plt
            plt.title(name)
            return [m.canvas.figure.axes[0].get_title() for m in opened.registry().values()]
        async def call(name):
            with figures() as opened:
                return await in_worker(lambda: plot(name, opened))
        async def main():
            return await asyncio.gather(call("a"), call("b"))
        assert "matplotlib" not in sys.modules
        print(asyncio.run(main()))
        import matplotlib.pyplot as plt
        print(plt.get_fignums(), plt._backend_mod)
    """)
        == "[['a'], ['b']]\n[] None"
    )


def test_showing_values_imports_nothing_heavy():
    assert (
        script("""
        import sys
        from nbtools.display import Collected, bundle, capture, figures, preview, tell
        with capture(Collected()), figures():
            bundle({"a": 1}), tell([1]), preview("x")
        print([name for name in ("pandas", "numpy", "matplotlib") if name in sys.modules])
    """)
        == "[]"
    )


def script(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()
