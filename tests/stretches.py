"""The longest stretch of the loop: the processor time of the longest single callback, garbage collections apart.

For asyncio's own loop, whose callbacks are Python's: every reader, timer, task step and future callback goes through
``Handle._run``, which is measured while a ``Stretches`` is open. uvloop calls the same functions of ours in the same
portions (one readable socket, one task step), around less code of its own, so what is seen here is the upper bound.

Processor time of the thread, not time on the wall: a machine that runs somebody else meanwhile lengthens nothing.
"""

from __future__ import annotations

import asyncio
import gc
from time import thread_time
from types import TracebackType
from typing import Any, Self

__all__ = ["Stretches"]

_HANDLE: Any = asyncio.Handle
"""Its ``_run`` is asyncio's own business, and the one place that all callbacks pass."""


class Stretches:
    """Open around what is measured: ``with Stretches() as stretches: …; stretches.longest_seconds``.

    ``longest``: of which callback the longest stretch was; ``collection_seconds``: the longest garbage collection.
    ``reset`` begins anew.
    """

    def __init__(self) -> None:
        self.longest_seconds = self.collection_seconds = 0.0
        self.longest = ""
        self.callbacks = 0
        self._collecting = self._collected = 0.0
        self._run: Any = None

    def reset(self) -> None:
        """Forget what was seen."""
        self.longest_seconds = self.collection_seconds = 0.0
        self.longest, self.callbacks = "", 0

    def __enter__(self) -> Self:
        run = self._run = _HANDLE._run

        def measured(handle: Any) -> None:
            callback, collected, begin = handle._callback, self._collected, thread_time()
            run(handle)
            self._note(callback, thread_time() - begin - (self._collected - collected))

        _HANDLE._run = measured
        gc.callbacks.append(self._collection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _HANDLE._run = self._run
        gc.callbacks.remove(self._collection)

    def _note(self, callback: Any, seconds: float) -> None:
        self.callbacks += 1
        if seconds > self.longest_seconds:
            self.longest_seconds, self.longest = seconds, _name(callback)

    def _collection(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = thread_time()
            return
        seconds = thread_time() - self._collecting
        self._collected += seconds
        self.collection_seconds = max(self.collection_seconds, seconds)


def _name(callback: Any) -> str:
    """What a callback does: the coroutine of a task's step, else the function."""
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()}: {task.get_coro()!r}"
    return str(getattr(callback, "__qualname__", callback))
