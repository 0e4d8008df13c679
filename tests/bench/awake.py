"""Keep the machine's processors from falling asleep while times of single requests are compared.

A virtual machine's processor that has nothing to do is taken away by its host, in some spells at once, and to get it
back takes as long as a whole GET. What waits for three processes in turn pays that twice as often as what waits for
two, so a ratio of the two would tell of the host. What keeps them awake runs only where nothing else wants to.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["awake"]

_SPIN = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """While in it, every processor has something to do. Nothing, on systems without a class of idle processes."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1 if hasattr(os, "SCHED_IDLE") else 0):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _SPIN]))
            stack.callback(process.kill)
        yield
