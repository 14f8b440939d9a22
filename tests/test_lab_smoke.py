"""The harness itself: a plain anywidget, before nbtools is trusted with anything."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.browser import shoot
from tests.lab.kernels import ALL_KERNELS
from tests.lab.notebook import Notebook
from tests.lab.proof import DEAF_KERNELS, prove

pytestmark = [pytest.mark.browser, pytest.mark.kernel]

COUNTER = """
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    function render({ model, el }) {
      const button = document.createElement("button");
      const draw = () => { button.textContent = "count " + model.get("value"); };
      button.onclick = () => { model.set("value", model.get("value") + 1); model.save_changes(); };
      model.on("change:value", draw);
      draw();
      el.append(button);
    }
    export default { render };
    '''
    value = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
"""


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_click_in_jupyterlab_reaches_the_kernel(open_notebook, kernel):
    notebook = open_notebook(kernel=kernel)
    button = notebook.run(COUNTER).area.get_by_role("button", name="count")
    button.click()
    expect(button).to_have_text("count 1")
    assert notebook.run("print(counter.value)").text == "1\n"
    notebook.run("counter.value = 7")
    expect(button).to_have_text("count 7")
    assert notebook.tab.errors == []


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_click_in_the_page_reaches_the_kernel(open_page, kernel):
    page = open_page(kernel)
    button = page.run(COUNTER).area.get_by_role("button")
    button.click()
    expect(button).to_have_text("count 1")
    assert page.run("print(counter.value)").text == "1\n"
    page.run("counter.value = 7")
    expect(button).to_have_text("count 7")
    assert page.tab.errors == []


@pytest.mark.parametrize(
    ("kernel", "version"), [("python3", "7.4"), ("kernel-7.3", "7.3"), ("kernel-6.29", "6.29")]
)
def test_each_kernel_is_the_version_it_is_named_after(open_page, kernel, version):
    cell = open_page(kernel).run("import ipykernel; print(ipykernel.__version__)")
    assert cell.text.startswith(f"{version}.")


def test_a_click_in_notebook_7_reaches_the_kernel(open_notebook):
    notebook = open_notebook(application="notebook")
    button = notebook.run(COUNTER).area.get_by_role("button", name="count")
    button.click()
    expect(button).to_have_text("count 1")
    assert notebook.run("print(counter.value)").text == "1\n"


def test_a_reload_of_jupyterlab_keeps_the_kernel_and_its_widgets(notebook):
    notebook.run(COUNTER)
    notebook.run("counter.value = 3")
    notebook.save()
    notebook.load()
    expect(notebook.cell(0).area.get_by_role("button", name="count")).to_have_text("count 3")
    assert notebook.run("print(counter.value)").text == "3\n"


def test_a_reload_of_the_page_keeps_the_kernel_and_its_widgets(widget_page):
    (view,) = widget_page.run(COUNTER).views
    widget_page.run("counter.value = 3")
    widget_page.load()
    expect(widget_page.show(view).area.get_by_role("button")).to_have_text("count 3")


def test_a_second_view_and_a_second_tab_show_the_same_widget(notebook, browser: Browser):
    cell = notebook.run(COUNTER)
    second = notebook.view_output(cell).get_by_role("button", name="count")
    notebook.save()
    other = notebook.in_another_tab(browser)
    third = other.cell(0).area.get_by_role("button", name="count")
    third.click()
    expect(second).to_have_text("count 1")
    other.page.context.close()


def test_a_saved_notebook_shows_its_widgets_on_a_fresh_kernel(open_notebook, notebook):
    notebook.toggle_saved_widgets()
    notebook.run(COUNTER)
    notebook.run("counter.value = 3")
    notebook.save()
    notebook.toggle_saved_widgets()
    notebook.close()
    saved = open_notebook(path=notebook.path)
    expect(saved.cell(0).area.get_by_role("button", name="count")).to_have_text("count 3")


def test_a_saved_notebook_can_be_opened_without_any_kernel(open_notebook, notebook):
    notebook.run("print('kept')")
    notebook.save()
    notebook.close()
    saved = open_notebook(kernel=None, path=notebook.path)
    assert saved.cell(0).text == "kept\n"
    assert saved.status == "none"


def test_an_interrupt_ends_a_busy_cell(notebook):
    cell = notebook.start("import time; print('begun'); time.sleep(60)")
    expect(cell.area.get_by_text("begun", exact=True)).to_be_visible()
    notebook.interrupt()
    assert cell.wait(20).text == "begun\nKeyboardInterrupt: "


NEVER = "import asyncio; print('begun', flush=True); await asyncio.sleep(3600)"
DEAF = """
import asyncio, os, pathlib
async def never(*args, **options):
    await asyncio.sleep(3600)
if os.environ.get("JPY_SESSION_NAME", "").endswith({path!r}):
    get_ipython().kernel.do_execute = never
    if {once}:
        pathlib.Path(__file__).unlink()
"""
"""The kernel of one notebook tells about itself and executes nothing, at its first start or always."""


@pytest.fixture
def deaf(lab, lab_tab):
    """Open a notebook whose kernel executes nothing; other kernels may start meanwhile."""
    others = DEAF_KERNELS[:]  # those that were deaf by themselves, which the summary tells of
    DEAF_KERNELS.clear()
    startup = lab.folder / "ipython" / "profile_default" / "startup" / "deaf.py"
    startup.parent.mkdir(parents=True, exist_ok=True)

    def opened(*, once: bool) -> Notebook:
        notebook = Notebook(lab, lab_tab, lab.write_notebook())
        startup.write_text(DEAF.format(path=notebook.path, once=once))
        notebook.page.goto(f"{lab.url}/lab")
        notebook.call("open", True, False)
        return notebook

    yield opened
    startup.unlink(missing_ok=True)
    DEAF_KERNELS[:] = others


def test_a_cell_that_does_not_end_says_what_is_known_of_it(notebook):
    cell = notebook.start(NEVER)
    expect(cell.area.get_by_text("begun", exact=True)).to_be_visible()
    with pytest.raises(RuntimeError) as raised:
        cell.wait(0.5)
    said = str(raised.value).splitlines()
    assert said[0].endswith("cell 0: not within 0.5 s")
    # The last status that the page heard may be that of another request, in a subshell.
    assert said[2] in ("kernel: busy", "kernel: idle")
    assert [said[1], said[3]] == ["outputs: 'begun\\n'", "end of the server's log:"]
    assert notebook.server.log.read_text().splitlines()[-1] in said


def test_code_on_the_page_that_does_not_end_says_what_is_known_of_it(widget_page):
    cell = widget_page.start(NEVER)
    with pytest.raises(
        RuntimeError, match=r"cell 0: not within 0.5 s\noutputs: .*\nkernel: (busy|idle)\n"
    ):
        cell.wait(0.5)


def test_a_kernel_that_does_not_answer_is_restarted_once_and_that_is_told(deaf):
    notebook = deaf(once=True)
    prove(notebook, first=0.5)
    assert notebook.run("print('alive')").text == "alive\n"
    (told,) = DEAF_KERNELS
    assert "a silent execute_request: not within 0.5 s\nThis was its first request" in told
    notebook.close()


def test_a_kernel_that_does_not_answer_after_a_restart_either_is_an_error(deaf):
    notebook = deaf(once=False)
    said = r"execute_request: not within 0.5 s\nThis .* after a restart.\nkernel: \w+\nend of the"
    with pytest.raises(RuntimeError, match=said):
        prove(notebook, first=0.5, second=0.5)
    notebook.close()


def test_the_traffic_of_a_cell_is_counted(notebook):
    """With whatever else the server tells the page meanwhile."""
    notebook.run("1")
    traffic = notebook.tab.traffic
    traffic.reset()
    frames: list[str | bytes] = []
    traffic.frames = frames
    notebook.run("print('x' * 10_000)")
    traffic.frames = None
    assert [10_000 < len(frame) < 11_000 for frame in frames].count(True) == 1
    counted = (traffic.received_messages, traffic.received_bytes)
    assert counted == (len(frames), sum(len(frame) for frame in frames))
    assert traffic.sent_messages >= 1


def test_both_themes_and_a_narrow_window_can_be_looked_at(notebook):
    cell = notebook.run(COUNTER)
    notebook.set_theme("dark")
    notebook.set_viewport(320)
    assert shoot(notebook.page, "harness-dark-320").stat().st_size > 1000
    notebook.set_theme("light")
    notebook.set_viewport(1200)
    assert shoot(cell.area, "harness-light").stat().st_size > 500
