"""Where code runs: the engine's loop, worker threads, the kernel's main thread, other processes.

The only package that knows about threads and processes. Every session lives on the engine's loop; a synchronous
tool runs in a worker thread; what has to be on the main thread waits in a `MainQueue` until that
thread is free, or until a blocked cell serves it.
"""

from nbtools.executors.elsewhere import in_executor, in_process
from nbtools.executors.engines import Engine, engine, is_cancelled, running_loop
from nbtools.executors.jobs import Ended
from nbtools.executors.mainthread import (
    MAIN,
    WAITS,
    MainQueue,
    in_main,
    on_main_thread,
    remember_main,
)
from nbtools.executors.remote import Errand, Made, Remote
from nbtools.executors.slots import Slots
from nbtools.executors.stopwatch import Stopwatch
from nbtools.executors.workers import abandoned, in_worker

__all__ = [
    "MAIN",
    "WAITS",
    "Ended",
    "Engine",
    "Errand",
    "Made",
    "MainQueue",
    "Remote",
    "Slots",
    "Stopwatch",
    "abandoned",
    "engine",
    "in_executor",
    "in_main",
    "in_process",
    "in_worker",
    "is_cancelled",
    "on_main_thread",
    "remember_main",
    "running_loop",
]
