"""Blocking calls: from a script, from a worker thread, from a cell of a real kernel."""

import ast
import asyncio
import io
import sys
import textwrap
import threading

import pytest
import uvloop

import nbtools as nb
from nbtools.blocking import ask_person, run_blocking
from nbtools.errors import NbtoolsError
from nbtools.executors import MainQueue, engine, in_worker, on_main_thread
from nbtools.testing import call
from tests.lab.kernel import Kernel


def test_a_script_gets_the_result_of_the_engine():
    """L-01: the synchronous form works in a plain script."""
    assert run_blocking(engine().submit(asyncio.sleep(0, "done"))) == "done"


async def test_a_worker_thread_gets_the_result_of_the_engine():
    """L-01: the synchronous form works in a worker thread."""
    future = engine().submit(asyncio.sleep(0, "done"))
    assert await in_worker(lambda: run_blocking(future)) == "done"


async def test_blocking_on_top_of_a_running_loop_leaves_its_tasks_as_they_were():
    """L-01: the background task still runs afterwards."""
    ticked = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(asyncio.sleep(0, "tick"))
    task.add_done_callback(lambda done: ticked.set_result(done.result()))
    assert run_blocking(engine().submit(asyncio.sleep(0, "done"))) == "done"
    assert await ticked == "tick"


def test_an_error_of_the_engine_is_raised_where_the_call_blocks():
    async def fail():
        raise LookupError("no such table")

    with pytest.raises(LookupError, match="no such table"):
        run_blocking(engine().submit(fail()))


def test_a_wait_on_the_engine_for_itself_is_refused_with_the_way_to_do_it():
    """L-01: never a hang, and the message names the form to use."""

    async def ask():
        return run_blocking(engine().submit(asyncio.sleep(0)))

    with pytest.raises(NbtoolsError, match=r"Use `await chat\.send\(…\)`"):
        engine().submit(ask()).result(5)


def test_the_main_thread_serves_its_functions_while_it_blocks():
    jobs = MainQueue()
    future = engine().submit(jobs.run(on_main_thread))
    assert run_blocking(future, main_queue=jobs) is True


def test_a_tool_on_the_main_thread_is_ended_when_its_time_is_up():
    @nb.tool(thread="main", timeout=0.1)
    def spin() -> None:
        """Never return."""
        while True:
            pass

    chat = nb.Chat(nb.Scripted([call("spin", {})], "It hangs."), tools=[spin])
    turn = chat.ask("Spin")
    assert (turn.calls[0].outcome, turn.text) == ("timeout", "It hangs.")
    chat.close()


def test_a_chat_is_asked_on_any_kind_of_loop():
    """L-01, uvloop: awaited and blocking, with a tool on the main thread; its tasks go on."""

    @nb.tool(thread="main")
    def where() -> bool:
        """Say whether this is the main thread."""
        return on_main_thread()

    async def program() -> list[object]:
        task = asyncio.create_task(asyncio.sleep(0, "went on"))
        chat = nb.Chat(nb.Scripted(*[call("where", {}), "There."] * 2), tools=[where])
        turns = [await chat.send("Where?"), chat.ask("Where?")]
        chat.close()
        return [*[turn.calls[0].result for turn in turns], await task]

    assert uvloop.run(program()) == [True, True, "went on"]


def test_an_asynchronous_function_for_the_main_thread_runs_while_a_script_blocks():
    jobs = MainQueue()

    async def tool():
        await asyncio.sleep(0)
        return on_main_thread()

    assert run_blocking(engine().submit(jobs.run(tool)), main_queue=jobs) is True


def test_a_function_on_the_main_thread_may_block_in_its_turn():
    jobs = MainQueue()

    def nested():
        return run_blocking(engine().submit(jobs.run(on_main_thread)), main_queue=jobs)

    assert run_blocking(engine().submit(jobs.run(nested)), main_queue=jobs) is True


def test_an_interrupt_of_the_wait_cancels_what_it_waits_for_and_goes_on():
    """L-06: the cell's interrupt ends the turn."""
    jobs, cancelled = MainQueue(), threading.Event()

    async def turn():
        try:
            await jobs.run(_interrupt)
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(KeyboardInterrupt):
        run_blocking(engine().submit(turn()), main_queue=jobs)
    assert cancelled.wait(5)


def test_an_interrupt_calls_what_the_caller_gave_for_it():
    jobs, called = MainQueue(), []
    with pytest.raises(KeyboardInterrupt):
        run_blocking(
            engine().submit(jobs.run(_interrupt)),
            main_queue=jobs,
            on_interrupt=lambda: called.append("stop"),
        )
    assert called == ["stop"]


def _interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y\n", True), (" YES \n", True), ("n\n", False), ("\n", False), ("yep\n", False), ("", None)],
)
def test_only_y_or_yes_approves_and_a_closed_input_is_nobody(monkeypatch, typed, answer):
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert ask_person("Run drop_rows? [y/N] ") is answer


# --- a real kernel --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session():
    with Kernel(answer=lambda prompt: "y" if prompt == "Run? " else "n") as started:
        yield started


@pytest.fixture
def kernel(session):
    """Run a cell; give its text: what it printed, its last expression, or its error."""
    return lambda code: session.run(textwrap.dedent(code), seconds=20).text


SET_UP = """
    import asyncio, threading
    from nbtools.blocking import run_blocking, ask_person
    from nbtools.executors import MAIN, engine, in_main, in_worker, on_main_thread, remember_main
    remember_main()
    ticks = []
    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)
    background = asyncio.create_task(tick())
"""


STILL_TICKS = """
    seen = len(ticks)
    while len(ticks) < seen + 3:
        await asyncio.sleep(0.01)
    background.done()
"""


@pytest.mark.kernel
def test_a_cell_blocks_and_the_kernel_and_its_tasks_live_on(kernel):
    """L-01: a cell, a cell that also awaits, a worker thread; then 1+1 and the background task."""
    kernel(SET_UP)
    kernel("ask = lambda said: run_blocking(engine().submit(asyncio.sleep(0, said)))")
    assert kernel("ask('a')") == "'a'"
    assert kernel("await asyncio.sleep(0); ask('b')") == "'b'"
    assert kernel("await in_worker(lambda: ask('c'))") == "'c'"
    assert kernel("1+1") == "2"
    assert kernel(STILL_TICKS) == "False"
    assert kernel("hasattr(asyncio, '_nest_patched')") == "False"


@pytest.mark.kernel
def test_a_blocked_cell_serves_functions_for_the_main_thread(kernel):
    kernel(SET_UP)
    assert kernel("run_blocking(engine().submit(in_main(on_main_thread)))") == "True"


@pytest.mark.kernel
def test_a_function_for_the_main_thread_runs_between_cells(kernel):
    kernel(SET_UP)
    kernel("job = engine().submit(in_main(on_main_thread))")
    assert kernel("await asyncio.wrap_future(job)") == "True"


@pytest.mark.kernel
def test_a_person_is_asked_while_the_cell_blocks(kernel):
    kernel(SET_UP)
    assert kernel("run_blocking(engine().submit(in_main(lambda: ask_person('Run? '))))") == "True"
    assert kernel("ask_person('Delete? ')") == "False"


@pytest.mark.kernel
def test_nobody_can_be_asked_where_the_front_end_takes_no_input():
    with Kernel() as alone:
        asked = alone.run("from nbtools.blocking import ask_person\nprint(ask_person('Run? '))")
    assert asked.text == "None\n"


@pytest.mark.kernel
def test_a_cancelled_function_leaves_the_main_thread_to_the_next_cell(kernel):
    """L-06: `while True: pass` on the main thread, between cells."""
    kernel(SET_UP)
    kernel("""
        entered = threading.Event()
        def spin():
            entered.set()
            while True:
                pass
        job = engine().submit(in_main(spin))
        threading.Thread(target=lambda: (entered.wait(), job.cancel())).start()
    """)
    assert kernel("1+1") == "2"
    assert kernel("entered.is_set(), job.cancelled()") == "(True, True)"


@pytest.mark.kernel
def test_the_interrupt_button_ends_a_function_between_cells(session, kernel):
    kernel(SET_UP)
    kernel("""
        def spin():
            print("spins", flush=True)
            while True:
                pass
    """)
    cell = session.start("job = engine().submit(in_main(spin))")
    session.pump(lambda: "spins" in session.text(cell), 20)
    session.interrupt()
    assert kernel("job.exception(5).interrupted") == "True"


@pytest.mark.kernel
def test_the_interrupt_button_ends_a_blocked_cell_and_what_it_waits_for(session, kernel):
    """L-06: the cell's interrupt has the effect of Stop."""
    kernel(SET_UP)
    kernel("""
        ended = threading.Event()
        async def turn():
            try:
                await in_main(lambda: print("blocks", flush=True))
                await asyncio.Event().wait()
            finally:
                ended.set()
    """)
    cell = session.start("future = engine().submit(turn())\nrun_blocking(future)")
    session.pump(lambda: "blocks" in session.text(cell), 20)
    session.interrupt()
    assert session.finish(cell, 20).text.endswith("KeyboardInterrupt: ")
    assert kernel("ended.wait(5)") == "True"


@pytest.mark.kernel
def test_a_figure_of_a_tool_is_not_shown_by_a_cell_that_ends_meanwhile(session, kernel):
    """The cell shows its own figure, the call its own, whatever was open when the cell ended."""
    kernel(SET_UP)
    kernel("""
        import matplotlib.pyplot as plt
        from nbtools.display import figures
        drawn, shown = threading.Event(), threading.Event()
        def plot():
            plt.plot([1, 2])
            drawn.set()
            shown.wait()
        async def call():
            with figures() as opened:
                await in_worker(plot)
                return [sorted(one) for one in opened.collect()]
        job = engine().submit(call())
    """)
    cell = session.run("drawn.wait()\nplt.plot([2, 1]);")
    assert [sorted(one) for one in cell.displays] == [["image/png", "text/plain"]]
    assert session.run("shown.set()").displays == []
    assert kernel("job.result(5)") == "[['image/png', 'text/plain']]"


@pytest.mark.kernel
def test_an_asynchronous_function_for_the_main_thread_runs_while_a_cell_blocks(kernel):
    """L-01: the one use of a patched loop; the kernel answers and its tasks run afterwards."""
    kernel(SET_UP)
    answer = kernel("""
        async def tool():
            await asyncio.sleep(0.05)
            return on_main_thread()
        run_blocking(engine().submit(in_main(tool)))
    """)
    assert answer == "True"
    assert kernel("1+1") == "2"
    assert kernel(STILL_TICKS) == "False"


@pytest.mark.kernel
def test_a_loop_that_cannot_be_entered_again_is_an_error_that_names_the_way(kernel):
    """L-01, another library already patched the loop: an error and no hang."""
    kernel(SET_UP)
    refused = kernel("""
        if hasattr(asyncio, "_nest_asyncio2"):
            del asyncio._nest_asyncio2
        asyncio._nest_patched = True
        async def tool(): ...
        run_blocking(engine().submit(in_main(tool)))
    """)
    assert refused.startswith("NbtoolsError: An asynchronous tool cannot run on the main thread")
    assert refused.endswith("Use `await chat.send(…)` in place of `chat.ask(…)`.")
    assert kernel("1+1") == "2"


@pytest.mark.kernel
def test_a_static_output_is_renewed_by_its_name_even_from_within_a_call(kernel):
    renewed = kernel("""
        from nbtools.display import Collected, capture, current_cell, show_static, update_static
        published, sink, pub = [], Collected(), get_ipython().display_pub
        pub.register_hook(lambda message: published.append(message))
        show_static({"text/plain": "v1"}, "c1")
        with capture(sink):
            update_static({"text/plain": "v2"}, "c1")
        pub._hooks.clear()
        [(m["msg_type"], m["content"]["data"], m["content"]["transient"]) for m in published]
    """)
    same = {"display_id": "c1"}
    assert ast.literal_eval(renewed) == [
        ("display_data", {"text/plain": "v1"}, same),
        ("update_display_data", {"text/plain": "v2"}, same),
    ]


@pytest.mark.kernel
def test_a_run_of_a_cell_has_an_id_of_its_own(kernel):
    kernel("from nbtools.display import current_cell")
    first, second = kernel("current_cell()[1]"), kernel("current_cell()[1]")
    assert len(first) > 2
    assert first != second
