"""What draws a call: rich values, live widgets, renderers in Python and in JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.lab.chat import expect_state, kept_notebook, python, show_chat

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

TOOLS = '''
import anywidget
import ipywidgets
import pandas as pd
import traitlets

frame = pd.DataFrame({"city": ["Oslo", "Rome"], "degrees": [4, 21]})

@nb.tool
def table() -> pd.DataFrame:
    """Show a table."""
    return frame

@nb.tool
def plot(kind: str) -> object:
    """Plot the frame."""
    return frame.plot(kind=kind, title=kind)

@nb.tool
def bundle() -> object:
    """Show a bundle."""
    class Sound:
        def _repr_mimebundle_(self, **kwargs):
            return {"text/latex": "$a^2$", "text/html": "<b id='rich'>bold</b>", "text/plain": "ab"}
    return Sound()

@nb.tool
def slider() -> object:
    """Show a slider with its label."""
    global shown
    number = ipywidgets.IntSlider(value=3, description="n")
    text = ipywidgets.Label()
    ipywidgets.dlink((number, "value"), (text, "value"), str)
    shown = number
    return ipywidgets.HBox([number, text])

COUNTER = """
export default { render({ model, el }) {
  const button = document.createElement("button");
  const draw = () => { button.textContent = `count is ${model.get("value")}`; };
  button.onclick = () => { model.set("value", model.get("value") + 1); model.save_changes(); };
  model.on("change:value", draw);
  draw();
  el.append(button);
} };
"""

class Counter(anywidget.AnyWidget):
    _esm = COUNTER
    value = traitlets.Int(0).tag(sync=True)

@nb.tool
def counter() -> object:
    """Show an anywidget."""
    global shown
    shown = Counter(value=5)
    return shown

@nb.tool(approval=True)
def paint(value: int, note: str = "") -> int:
    """Something to draw."""
    runs.append(value)
    return value * 2

CARD = """
let evaluated = 0;
evaluated += 1;
export default {
  initialize({ model }) { model.started = evaluated; },
  render({ model, el }) {
    const draw = () => {
      el.textContent = `own ${model.get("state")} ${JSON.stringify(model.get("args"))}`;
    };
    model.on("change:state change:args", draw);
    draw();
  },
};
"""
BROKEN = "export default { render({ model }) { throw new Error(`no ${model.get('state')}`); } };"
'''
PAINT = "[call('paint', {'value': 4})]"


@pytest.fixture(scope="module")
def notebook(lab, lab_tab):
    for kept in kept_notebook(lab, lab_tab):
        kept.run(TOOLS)
        yield kept


def test_a_table_and_two_plots_at_once_need_no_renderer(notebook):
    calls = "[call('table'), call('plot', {'kind': 'bar'}), call('plot', {'kind': 'line'})]"
    chat = show_chat(notebook, calls, "'There.'", tools="table, plot")
    chat.say("show")
    expect(chat.answers.last).to_contain_text("There.")
    expect(chat.card("table").get_by_role("cell")).to_contain_text(["Oslo", "4", "Rome", "21"])
    pictures = [chat.card("plot", number).get_by_role("img").last for number in (0, 1)]
    for picture in pictures:
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.naturalWidth") > 300
    sources = {picture.get_attribute("src") for picture in pictures}
    assert len(sources) == 2


def test_a_bundle_is_drawn_by_the_notebook_without_trust(notebook):
    chat = show_chat(notebook, "[call('bundle')]", "'There.'", tools="bundle")
    chat.say("show")
    expect_state(chat.card("bundle"), "done")
    expect(chat.area.locator("b, .MathJax, mjx-container").first).to_be_attached()


def test_a_widget_of_a_tool_is_live_in_both_directions(notebook):
    chat = show_chat(notebook, "[call('slider')]", "'There.'", tools="slider")
    chat.say("show")
    handle = chat.area.locator(".widget-hslider .noUi-handle")
    expect(handle).to_be_visible()
    label = chat.area.locator(".widget-hbox > .widget-label")
    expect(label).to_have_text("3")
    handle.focus()
    handle.press("ArrowRight")
    expect(label).to_have_text("4")
    assert python(notebook, "shown.value") == 4
    notebook.run("shown.value = 9")
    expect(label).to_have_text("9")


def test_an_anywidget_of_a_tool_is_live_in_both_directions(notebook):
    chat = show_chat(notebook, "[call('counter')]", "'There.'", tools="counter")
    chat.say("show")
    button = chat.area.get_by_role("button", name="count is")
    expect(button).to_have_text("count is 5")
    button.click()
    expect(button).to_have_text("count is 6")
    assert python(notebook, "shown.value") == 6
    notebook.run("shown.value = 20")
    expect(button).to_have_text("count is 20")


def test_a_python_renderer_draws_anew_as_the_call_changes(notebook):
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run("chat.renderer('paint', lambda call: f'drawn {call.state} {call.args}')")
    chat.say("paint")
    card = chat.card("paint")
    expect(card).to_contain_text("drawn pending {'value': 4, 'note': ''}")
    expect(card.locator("dd")).to_have_text(["4", "“”"])
    chat.button("Approve paint").click()
    expect(card).to_contain_text("drawn result {'value': 4, 'note': ''}")


def test_a_python_renderer_that_raises_leaves_the_built_in_card_and_is_tried_again(notebook):
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run(
        "def draw(call):\n"
        "    if call.state == 'pending': raise KeyError('colour')\n"
        "    return f'drawn {call.state}'\n"
        "chat.renderer('paint', draw)"
    )
    chat.say("paint")
    card = chat.card("paint")
    expect(card.locator(".refused")).to_contain_text("KeyError: 'colour'")
    chat.button("Approve paint").click()
    expect(card).to_contain_text("drawn result")
    expect(card.locator(".refused")).to_have_count(0)


def test_a_widget_of_a_python_renderer_is_kept(notebook):
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run("held = Counter(value=1)\nchat.renderer('paint', lambda call: held)")
    chat.say("paint")
    button = chat.area.get_by_role("button", name="count is")
    button.click()
    expect(button).to_have_text("count is 2")
    button.evaluate("button => { button.mark = 1; }")
    chat.button("Approve paint").click()
    expect_state(chat.card("paint"), "done")
    expect(button).to_have_text("count is 2")
    assert button.evaluate("button => button.mark") == 1


@pytest.mark.parametrize("source", ["CARD", "pathlib.Path('card.js')"])
def test_a_javascript_renderer_sees_the_call_as_its_model(notebook, source):
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run(
        "import pathlib\npathlib.Path('card.js').write_text(CARD, encoding='utf-8')\n"
        f"chat.renderer('paint', esm={source})"
    )
    chat.say("paint")
    expect(chat.area.get_by_text('own pending {"value":4,"note":""}')).to_be_visible()
    chat.button("Approve paint").click()
    expect(chat.area.get_by_text('own result {"value":4,"note":""}')).to_be_visible()
    expect_state(chat.card("paint"), "done")


def test_a_javascript_renderer_that_throws_leaves_the_built_in_card(notebook):
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run("chat.renderer('paint', esm=BROKEN)")
    chat.say("paint")
    card = chat.card("paint")
    expect(card.locator(".refused")).to_contain_text("no pending")
    chat.button("Approve paint").click()
    expect(card.locator(".refused")).to_contain_text("no result")
    expect(card.locator(".result")).to_have_text("8")


def test_the_counter_of_anywidget_proposes_an_edit_that_the_person_approves(notebook):
    """The published module runs unchanged over the arguments; the frame shows what it changed."""
    chat = show_chat(notebook, PAINT, "'There.'", tools="paint")
    notebook.run("chat.renderer('paint', esm=COUNTER, traits='args')")
    chat.say("paint")
    button = chat.area.get_by_role("button", name="count is")
    button.click()
    expect(button).to_have_text("count is 5")
    card = chat.card("paint")
    expect(card.locator("dd").first).to_have_text("5")
    expect(card.get_by_role("list", name="Changed arguments")).to_contain_text("4 → 5")
    expect_state(card, "needs approval")
    assert python(notebook, "runs") == []
    chat.button("Approve paint").click()
    expect_state(card, "done")
    assert python(notebook, "runs") == [5]


def test_two_published_modules_run_unchanged(notebook):
    """wigglystuff's slider in the plane and its matrix, over the arguments of two calls."""
    notebook.run(
        "import wigglystuff\n"
        "def defaults(widget):\n"
        "    made = widget()\n"
        "    names = [n for n in made.traits(sync=True) if not n.startswith('_')]\n"
        "    hidden = {'layout', 'tabbable', 'tooltip', 'comm'}\n"
        "    return {n: getattr(made, n) for n in names if n not in hidden}\n"
        "plane, matrix = defaults(wigglystuff.Slider2D), defaults(wigglystuff.Matrix)\n"
        "def accepting(name):\n"
        "    schema = {'type': 'object', 'properties': {}, 'additionalProperties': True}\n"
        "    return nb.Tool(name, 'Choose.', schema, lambda **args: args, approval=True)\n"
    )
    chat = show_chat(
        notebook,
        "[call('choose', plane), call('fill', matrix)]",
        "'There.'",
        tools="accepting('choose'), accepting('fill')",
    )
    notebook.run(
        "chat.renderer('choose', esm=wigglystuff.Slider2D._esm, traits='args')\n"
        "chat.renderer('fill', esm=wigglystuff.Matrix._esm, traits='args')"
    )
    chat.say("choose")
    expect_state(chat.card("fill"), "needs approval")
    expect(chat.area.locator(".matrix-element")).to_have_count(9)
    plane = chat.area.locator("#sliderCanvas")
    expect(chat.area.locator("#sliderValues")).to_have_text("X: 0.00, Y: 0.00")
    plane.click(position={"x": 300, "y": 100})
    changed = chat.card("choose").get_by_role("list", name="Changed arguments")
    expect(changed).to_contain_text("you changed x: 0")
    expect(chat.area.locator(".refused")).to_have_count(0)
    assert notebook.tab.errors == []
