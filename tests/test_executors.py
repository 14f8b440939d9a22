"""The engine's loop, worker threads and the main thread."""

import asyncio
import contextvars
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

from nbtools.executors import (
    WAITS,
    Ended,
    Engine,
    MainQueue,
    abandoned,
    engine,
    in_worker,
    on_main_thread,
)

WHO = contextvars.ContextVar("WHO", default="nobody")


# --- the engine -----------------------------------------------------------------------------------


def test_there_is_one_engine_a_process():
    assert engine() is engine()


def test_the_engine_runs_coroutines_on_its_own_daemon_thread():
    async def where():
        return threading.current_thread().name, threading.current_thread().daemon, engine().here

    assert engine().submit(where()).result(5) == ("nbtools", True, True)
    assert engine().here is False


async def test_an_engine_on_a_given_loop_runs_there():
    own = Engine(asyncio.get_running_loop())

    async def where():
        return own.here, threading.current_thread() is threading.main_thread()

    assert await asyncio.wrap_future(own.submit(where())) == (True, True)


def test_post_from_another_thread_runs_on_the_engine():
    seen, done = [], threading.Event()
    engine().post(lambda: (seen.append(engine().here), done.set()))
    assert done.wait(5)
    assert seen == [True]


def test_a_submitted_coroutine_survives_garbage_collection():
    """L-04: the task is held by a strong reference."""
    done, gate = threading.Event(), []

    async def wait():
        gate.append(asyncio.get_running_loop().create_future())
        await gate[-1]
        done.set()

    engine().submit(wait())

    async def release():
        gc.collect()
        gate.pop().set_result(None)

    engine().submit(release()).result(5)
    assert done.wait(5)


def test_work_that_fails_keeps_nothing_of_the_callers():
    class Big:
        pass

    def caller() -> weakref.ref[Big]:
        big = Big()

        def work() -> None:
            raise ValueError(str(big))

        with pytest.raises(ValueError, match="Big"):
            engine().do(work)
        return weakref.ref(big)

    gc.collect()
    gc.disable()
    try:
        assert caller()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("exit_with", [SystemExit, KeyboardInterrupt])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_task_that_wants_to_exit_does_not_end_the_engine(exit_with):
    own, thread = Engine(), []

    async def leave():
        thread.append(threading.current_thread())
        raise exit_with

    with pytest.raises(exit_with):
        own.submit(leave()).result(5)
    assert own.submit(asyncio.sleep(0, "alive")).result(5) == "alive"
    own.post(own.loop.stop)
    thread[0].join(5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_an_engine_of_its_own():
    code = """
        import asyncio, os, warnings
        from nbtools.executors import engine
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        engine().submit(asyncio.sleep(0)).result(5)
        child = os.fork()
        if child == 0:
            os._exit(engine().submit(asyncio.sleep(0, 7)).result(5))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run_script(code) == "7"


# --- worker threads -------------------------------------------------------------------------------


async def test_a_worker_runs_in_a_daemon_thread_with_the_callers_context():
    WHO.set("me")

    def look():
        thread = threading.current_thread()
        return thread.name, thread.daemon, WHO.get()

    assert await in_worker(look, name="plot") == ("nbtools plot", True, "me")


async def test_workers_run_at_the_same_time():
    both = threading.Barrier(2, timeout=5)
    assert sorted(await asyncio.gather(in_worker(both.wait), in_worker(both.wait))) == [0, 1]


async def test_what_has_ended_waits_for_nothing_that_was_begun_after_it():
    """Functions that are handed over together may share a thread; each is told of by itself."""
    gate = threading.Event()
    tasks = [asyncio.create_task(in_worker(work)) for work in (int, lambda: gate.wait(5), str)]
    assert await asyncio.wait_for(tasks[0], 5) == 0
    assert await asyncio.wait_for(tasks[2], 5) == ""
    assert not tasks[1].done()
    gate.set()
    assert await tasks[1] is True


async def test_many_that_wait_for_each_other_all_run():
    every = threading.Barrier(12, timeout=10)
    places = await asyncio.gather(*(in_worker(every.wait) for _ in range(12)))
    assert sorted(places) == list(range(12))


def test_a_loop_that_is_gone_is_not_kept_for_its_workers():
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(in_worker(lambda: 5)) == 5
    loop.close()
    gone = threading.Event()
    weakref.finalize(loop, gone.set)
    del loop
    # The thread lets go of the function in its own time.
    assert any((gc.collect(), gone.wait(0.01))[1] for _ in range(1_000))


async def test_what_a_worker_raises_is_raised_where_it_is_awaited():
    with pytest.raises(ZeroDivisionError):
        await in_worker(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (SystemExit(3), "The function was ended by SystemExit: 3"),
        (KeyboardInterrupt(), "The function was ended by KeyboardInterrupt"),
        (asyncio.CancelledError(), "The function was ended by CancelledError"),
    ],
)
async def test_what_would_end_a_loop_arrives_as_an_ordinary_exception(raised, text):
    def leave():
        raise raised

    with pytest.raises(Ended) as caught:
        await in_worker(leave)
    assert str(caught.value) == text
    assert caught.value.cause is raised


async def test_stop_iteration_of_a_worker_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="The function raised StopIteration: 5"):
        await in_worker(lambda: next(iter(()), None) or _stop(5))


def _stop(value):
    raise StopIteration(value)


async def test_a_cancelled_worker_is_abandoned_counted_and_its_late_value_goes_to_late():
    """L-06: the late return of a blocking function changes nothing and is handed to `late`."""
    started, release = threading.Event(), threading.Event()
    late = asyncio.get_running_loop().create_future()
    before = abandoned()

    def block():
        started.set()
        release.wait(5)
        return "late"

    task = asyncio.create_task(in_worker(block, late=lambda *how: late.set_result(how)))
    await in_worker(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert abandoned() == before + 1
    release.set()
    assert await late == ("late", None)
    assert abandoned() == before


def test_an_abandoned_thread_does_not_delay_the_end_of_the_process():
    """L-06: a tool that never returns is given up."""
    code = """
        import asyncio, threading
        from nbtools.executors import in_worker
        async def main():
            started = threading.Event()
            def block():
                started.set()
                threading.Event().wait()
            task = asyncio.create_task(in_worker(block))
            await in_worker(started.wait)
            task.cancel()
        asyncio.run(main())
        print("over")
    """
    assert run_script(code) == "over"


# --- the main thread ------------------------------------------------------------------------------


async def test_a_function_runs_on_the_main_threads_loop_in_the_callers_context():
    queue = MainQueue()
    queue.remember()

    async def ask():
        WHO.set("engine")
        return await queue.run(lambda: (on_main_thread(), WHO.get()))

    assert await asyncio.wrap_future(engine().submit(ask())) == (True, "engine")


async def test_an_awaitable_of_the_function_is_awaited_on_the_main_thread():
    queue = MainQueue()
    queue.remember()

    async def tool():
        await asyncio.sleep(0)
        return on_main_thread(), WHO.get()

    async def ask():
        WHO.set("engine")
        return await queue.run(tool)

    assert await asyncio.wrap_future(engine().submit(ask())) == (True, "engine")


async def test_the_caller_hears_that_it_waits_and_that_it_runs():
    queue, heard, asked = MainQueue(), [], threading.Event()

    async def ask():
        asked.set()
        return await queue.run(lambda: heard.append("ran"), on_wait=heard.append)

    future = engine().submit(ask())
    assert await in_worker(lambda: asked.wait(5))
    assert heard == [WAITS]
    queue.remember()
    await asyncio.wrap_future(future)
    assert heard[0] == WAITS
    assert sorted(heard[1:]) == ["", "ran"]


async def test_a_wake_that_nobody_needed_delays_nothing():
    queue = MainQueue()
    queue.remember()
    queue.wake()
    job = engine().submit(queue.run(lambda: 1))
    assert await asyncio.wait_for(asyncio.wrap_future(job), 5) == 1


async def test_sigint_is_set_up_while_a_function_runs_and_put_back_after():
    queue = MainQueue()
    queue.remember()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        inside = await queue.run(lambda: signal.getsignal(signal.SIGINT))
        assert inside is signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", ["loop", "sleep"])
async def test_cancelling_ends_a_function_that_never_returns(kind):
    queue, entered, ended = MainQueue(), threading.Event(), []
    queue.remember()

    def spin():
        entered.set()
        try:
            if kind == "sleep":
                time.sleep(60)
            while True:
                pass
        except KeyboardInterrupt:
            ended.append(kind)
            raise

    def cancel_when_entered():
        entered.wait(5)
        future.cancel()

    future = engine().submit(queue.run(spin))
    await in_worker(cancel_when_entered)
    assert ended == [kind]


async def test_a_function_cancelled_while_it_waits_never_runs():
    queue, ran = MainQueue(), []
    task = asyncio.create_task(queue.run(lambda: ran.append(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    queue.remember()
    assert await queue.run(lambda: "next") == "next"
    assert ran == []


async def test_cancelling_ends_an_asynchronous_function_on_the_main_thread():
    queue, entered = MainQueue(), asyncio.Event()
    queue.remember()
    ended = asyncio.get_running_loop().create_future()

    async def wait():
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set_result("cancelled")
            raise

    future = engine().submit(queue.run(wait))
    await entered.wait()
    future.cancel()
    assert await ended == "cancelled"


async def test_the_kernels_interrupt_ends_the_function_and_not_the_loop():
    queue = MainQueue()
    queue.remember()

    def interrupted():
        signal.raise_signal(signal.SIGINT)
        time.sleep(60)

    with pytest.raises(Ended) as caught:
        await asyncio.wrap_future(engine().submit(queue.run(interrupted)))
    assert caught.value.interrupted is True


def run_script(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


NO_THREADS = """
import asyncio, threading
import nbtools.executors.engines as engines, nbtools.executors.workers as workers
engines.THREADS = workers.THREADS = False
import nbtools as nb
from nbtools.testing import Scripted, call

def refuse(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse

@nb.tool
def double(n: int) -> int:
    "Double."
    return 2 * n

@nb.tool
async def later() -> str:
    "Wait."
    await asyncio.sleep(0)
    return "later"

@nb.tool(approval=True)
def wipe() -> str:
    "Wipe."
    return "wiped"

async def main():
    calls = [call("double", {"n": 2}), call("later"), call("wipe")]
    chat = nb.Chat(Scripted(calls, "Done."), tools=[double, later, wipe])
    await chat.send("Go")
    assert chat.status == "waiting"
    await chat.calls[-1].approve()
    return [known.told for known in chat.calls], chat.status, chat.messages[-1].parts[0].text

print(asyncio.run(asyncio.wait_for(main(), 30)))
"""


def test_a_chat_works_where_there_are_no_threads():
    """The engine is then the loop that runs, as in Pyodide."""
    assert run_script(NO_THREADS) == "(['4', 'later', 'wiped'], 'ready', 'Done.')"
