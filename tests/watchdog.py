"""A test that hangs ends its process, and tells where it hung; pytest-xdist goes on with a new one.

pytest-timeout's own ways do less: an error raised by its signal is logged by uvloop's loop and lost, and what hangs
after that (a loop that never closes, a lock of the C library) is not seen again. Here a thread waits; what it tells
includes the tasks of the loops. Should even that thread be kept from running, `faulthandler` ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import io
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

__all__ = ["Watchdog"]

LAST_SECONDS = 30.0
"""How long the thread has to tell and to end the process."""
HUNG = 70
"""Exit status of a process whose test hung."""


class Watchdog:
    """``watch`` before a test, ``rest`` after it. ``stderr``: a descriptor that no test captures."""

    def __init__(self, stderr: int) -> None:
        self._stderr = stderr
        self._timer: threading.Timer | None = None

    def watch(self, name: str, seconds: float) -> None:
        """End the process unless ``rest`` is called within so many seconds."""
        self.rest()
        self._timer = threading.Timer(seconds, self._end, (name, seconds))
        self._timer.daemon = True
        self._timer.name = "watchdog"
        self._timer.start()
        faulthandler.dump_traceback_later(seconds + LAST_SECONDS, exit=True, file=self._stderr)

    def rest(self) -> None:
        """The test has ended. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            faulthandler.cancel_dump_traceback_later()

    def _end(self, name: str, seconds: float) -> None:
        try:
            told = f"\n{name}: not done within {seconds:g} s\n{_threads()}{_tasks()}\n".encode(errors="replace")
            while told:
                told = told[os.write(self._stderr, told) :]
            _kill_children()
        finally:
            os._exit(HUNG)


def _threads() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "".join(
        f"--- thread {names.get(ident, ident)}\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
        if ident != threading.get_ident()
    )


def _tasks() -> str:
    """Where the tasks of all loops stand."""
    told = io.StringIO()
    for task in [each for each in gc.get_objects() if isinstance(each, asyncio.Task)]:
        if not task.done():
            told.write(f"--- task {task.get_name()}\n")
            task.print_stack(file=told)
    return told.getvalue()


def _kill_children() -> None:
    """Servers that the test has started hold this run's output open, and work for nobody."""
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
