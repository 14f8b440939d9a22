"""What draws a call: Python functions, anywidget modules, and which of them is chosen."""
# ruff: noqa: T201 - a renderer may print

import base64
import os

import anywidget
import ipywidgets
import matplotlib as mpl
import pandas as pd
import pytest
import wigglystuff  # type: ignore[import-untyped]

from nbtools.messages import ToolCall
from nbtools.renderers import Drawing, JavaScriptRenderer, Registry, draw
from nbtools.tools import Tool

mpl.use("Agg")

CALL = ToolCall(id="k-1", tool="table", state="result", args={"rows": 2}, value=5, outcome="ok")
MODULE = "export default { render({ model, el }) {} }"
WIDGET = "application/vnd.jupyter.widget-view+json"


# --- Python ---------------------------------------------------------------------------------------


def test_a_renderer_gets_the_call_and_its_value_is_shown():
    assert draw(lambda call: f"{call.state} {call.value}", CALL) == Drawing(
        bundle={"text/plain": "result 5"}, source="result 5"
    )


def test_a_mime_bundle_passes_as_it_is():
    shown = {"text/html": "<b>x</b>", "text/plain": "x"}
    assert draw(lambda call: shown, CALL).bundle == shown


def test_a_data_frame_is_drawn_as_a_table():
    assert "text/html" in (draw(lambda call: pd.DataFrame({"a": [1]}), CALL).bundle or {})


def test_a_figure_that_the_renderer_left_open_is_its_drawing():
    import matplotlib.pyplot as plt

    def render(call):
        plt.plot([1, 2])

    drawn = draw(render, CALL).bundle or {}
    assert base64.b64decode(drawn["image/png"]).startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_what_the_renderer_prints_is_shown_if_it_returns_nothing(capsys):
    assert draw(lambda call: print("hello"), CALL).bundle == {"text/plain": "hello\n"}
    assert capsys.readouterr() == ("", "")


def test_a_renderer_that_gives_nothing_leaves_the_built_in_card():
    assert draw(lambda call: None, CALL) == Drawing(bundle=None)


def test_the_same_widget_gives_the_same_drawing_and_is_kept():
    slider = ipywidgets.IntSlider()
    first, second = draw(lambda call: slider, CALL), draw(lambda call: slider, CALL)
    assert (first.bundle or {})[WIDGET]["model_id"] == slider.model_id
    assert first == second
    assert first.source is slider


def test_a_renderer_that_raises_is_an_error_with_its_name_and_text():
    def broken(call):
        raise KeyError("rows")

    text = f"The renderer {broken.__qualname__!r} raised KeyError: 'rows'"
    assert draw(broken, CALL) == Drawing(bundle={"nbt/error": text, "text/plain": text}, error=text)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), UnspeakableError()]
)
def test_a_renderer_that_tries_to_exit_is_an_error_too(error):
    def leave(call):
        raise error

    drawing = draw(leave, CALL)
    assert drawing.error.startswith(
        f"The renderer {leave.__qualname__!r} raised {type(error).__name__}"
    )
    assert (drawing.bundle or {})["nbt/error"] == drawing.error


# --- JavaScript -----------------------------------------------------------------------------------


def test_code_in_a_string_is_a_renderer():
    renderer = JavaScriptRenderer(MODULE, traits="args")
    assert (renderer.kind, renderer.code, renderer.traits) == ("javascript", MODULE, "args")
    assert renderer.asset == JavaScriptRenderer(MODULE).asset
    assert renderer.asset != JavaScriptRenderer(MODULE + "//").asset


@pytest.mark.parametrize("kind", [str, os.fspath, lambda path: path])
def test_a_file_is_read_again_when_it_has_changed(tmp_path, kind):
    file = tmp_path / "card.js"
    file.write_text(MODULE)
    renderer = JavaScriptRenderer(kind(file))
    before = renderer.asset
    assert renderer.code == MODULE
    file.write_text(MODULE + " // v2")
    assert renderer.code == MODULE + " // v2"
    assert renderer.asset != before


def test_a_file_that_is_gone_keeps_the_code_that_was_read(tmp_path):
    file = tmp_path / "card.js"
    file.write_text(MODULE)
    renderer = JavaScriptRenderer(file)
    file.unlink()
    assert renderer.code == MODULE


def test_published_widgets_give_their_module():
    esm = wigglystuff.CopyToClipboard._esm

    class Counter(anywidget.AnyWidget):
        _esm = MODULE

    assert JavaScriptRenderer(esm).code == str(esm)
    assert JavaScriptRenderer(Counter._esm).code == MODULE


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"There is no file '.*card\.js'; expected the JavaSc"
    ):
        JavaScriptRenderer(tmp_path / "card.js")


@pytest.mark.parametrize(
    ("esm", "text"),
    [
        ("https://example.org/x.js", "is an address. Save the module as a file"),
        ("alert(1)", r"is no anywidget module: .* It begins with 'alert\(1\)'"),
        ("", "is no anywidget module"),
    ],
)
def test_what_is_no_module_is_refused_with_what_is_expected(esm, text):
    with pytest.raises(ValueError, match=text):
        JavaScriptRenderer(esm)


def test_an_unknown_word_for_traits_is_refused():
    with pytest.raises(ValueError, match="traits is 'value'; expected"):
        JavaScriptRenderer(MODULE, traits="value")  # type: ignore[arg-type]


# --- which one ------------------------------------------------------------------------------------


def tool(name, render):
    return Tool(name, "", {"type": "object"}, render=render)


def test_the_chats_renderer_comes_first_then_the_tools_then_that_for_all():
    def chats(call): ...
    def tools(call): ...
    def every(call): ...

    registry = Registry(
        lambda: {"a": tool("a", tools), "b": tool("b", tools), "c": tool("c", None)}
    )
    registry.set("a", chats)
    registry.set("*", every)
    found = [registry.find(name) for name in "abc"]
    assert found == [chats, tools, every]
    registry.set("*", None)
    assert registry.find("c") is None
    assert registry.python("a") is chats


def test_a_javascript_renderer_is_not_drawn_in_python():
    registry = Registry(dict)
    registry.set("a", JavaScriptRenderer(MODULE))
    assert registry.python("a") is None
    assert registry.draws is False
    registry.set("b", lambda call: 1)
    assert registry.draws is True


def test_the_page_reads_kind_asset_and_traits_of_every_renderer():
    script = JavaScriptRenderer(MODULE, traits="args")
    registry = Registry(lambda: {"b": tool("b", lambda call: 1)})
    registry.set("a", script)
    registry.set("*", lambda call: 2)
    assert registry.describe() == {
        "a": {"kind": "javascript", "asset": script.asset, "traits": "args"},
        "b": {"kind": "python"},
        "*": {"kind": "python"},
    }
    assert registry.modules() == {script.asset: MODULE}


async def _asynchronous(call): ...


@pytest.mark.parametrize(
    ("renderer", "text"),
    [
        (5, "The renderer of 'a' is int 5; expected a function of the call, or JavaScriptRenderer"),
        (_asynchronous, "The renderer of 'a' is asynchronous; expected a plain function"),
    ],
)
def test_what_is_no_renderer_is_refused(renderer, text):
    registry = Registry(dict)
    with pytest.raises(TypeError, match=text):
        registry.set("a", renderer)
