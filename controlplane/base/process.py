"""How a process is set up whose purpose is to serve: threads, memory, garbage collection. For programs, not libraries:
all of it holds for the whole process.

Garbage collection. A request makes and drops some sixty objects that could be in a cycle and are not, and a store of
100,000 objects is half a million that never are. So collections begin later than by default, and what has outlived a
full collection that was noticeably long is not looked at again (``gc.freeze``): full collections stay short however
much is stored. It is still freed when nothing refers to it; only cycles among what was there at that moment are not
found, should they become garbage later.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread
from time import thread_time

from controlplane.base import metrics
from controlplane.base.memory import gather_in_large_pages, keep_freed_memory

__all__ = ["LONGEST_COLLECTION", "NOTICEABLE_SECONDS", "begin", "import_aside", "serving"]

SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter while another wants it. By default 5 ms, which the loop would wait for the
thread that commits, again and again: with 16 writers the p99 of a create was 64 ms, and is 14 ms so."""

THRESHOLDS = (2_500, 0, 0)
"""Objects made (less those dropped) between two collections. Of three in turn one looks at those alone, one also at
what outlived the first, one at all that is not frozen. So none looks at more than some 7,500 objects: a microsecond
each where they are not in the processor's cache. A write leaves one such object behind, so they are rare. With the
default ratios, and 3,500, the longest was 35 ms while 100,000 objects were written on a busy machine; so it was 10."""

NOTICEABLE_SECONDS = 0.002
"""A full collection this long is the last that looks at what it has left."""

LONGEST_COLLECTION = metrics.gauge(
    "controlplane_gc_longest_collection_seconds",
    "CPU time of the longest garbage collection since the process began to serve.",
)


def begin() -> None:
    """At the start of the program, before its imports: they make objects that stay, and collections over them are a
    tenth of the start. Plugins of pydantic are not looked for, unless the environment says otherwise: that reads what
    all installed packages say of themselves, for a fiftieth of the start."""
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.setswitchinterval(SWITCH_SECONDS)
    keep_freed_memory()
    _open_files()


def _open_files() -> None:
    """As many as the process may: each client is one, and the limit that shells give is for programs that use select.
    Go's runtime does the same."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # then the limit stays as it is
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def import_aside(module: str) -> None:
    """Import a module in a thread. Whoever imports it meanwhile waits for it; whoever does later has it. Where it
    cannot be imported, they are told."""

    def load() -> None:
        with suppress(ImportError):
            import_module(module)

    Thread(target=load, name=f"import-{module}", daemon=True).start()


def serving() -> None:
    """All is loaded: what is there now stays. Once a process."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.callbacks.append(_Freezer())
    gc.enable()
    Thread(target=gather_in_large_pages, name="large-pages", daemon=True).start()


class _Freezer:
    """Called by the collector around each collection."""

    def __init__(self) -> None:
        self._began = self._longest = 0.0
        LONGEST_COLLECTION.read_from(lambda: self._longest)

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = thread_time()
            return
        seconds = thread_time() - self._began
        self._longest = max(self._longest, seconds)
        if info["generation"] == 2 and seconds > NOTICEABLE_SECONDS:
            gc.freeze()
