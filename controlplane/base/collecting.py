"""No garbage collection while large values are in hand.

The collector looks at what has been made lately, on the assumption that it is little. The value of one megabyte of JSON
is some 50,000 objects, none of which is ever garbage in a cycle: each collection meanwhile walks all of them, in one
stretch of 15 to 30 ms, for nothing. They are soon gone again, so collections wait until they are.
"""

from __future__ import annotations

import gc
import threading
from time import monotonic

__all__ = ["LONGEST_SECONDS", "Pause", "Pauses"]

LONGEST_SECONDS = 5.0
"""Where pauses overlap without end, garbage in cycles must be found all the same: after so long collections go on until
all pauses are over."""


class Pauses:
    """The pauses that are open."""

    def __init__(self, *, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._longest = longest_seconds
        self._lock = threading.RLock()  # a pause that nobody ended may be dropped anywhere, here too
        self._open = 0
        self._since = 0.0
        self._paused = False

    def begin(self) -> None:
        """One more."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._since, self._paused = monotonic(), gc.isenabled()
                gc.disable()
            elif self._paused and monotonic() - self._since > self._longest:
                self._go_on()

    def end(self) -> None:
        """One less."""
        with self._lock:
            self._open -= 1
            if not self._open:
                self._go_on()

    def _go_on(self) -> None:
        """Let the collector do as before. Where it was off already, that is somebody else's business."""
        if self._paused:
            self._paused = False
            gc.enable()


_PROCESS = Pauses()
"""The collector is the interpreter's, so there is one set of pauses for the process."""


class Pause:
    """Collections wait from when it is made until ``end``, which may be called again, or until nobody has it."""

    __slots__ = ("_lasts", "_pauses")

    def __init__(self, pauses: Pauses = _PROCESS) -> None:
        self._pauses, self._lasts = pauses, True
        pauses.begin()

    def end(self) -> None:
        if self._lasts:
            self._lasts = False
            self._pauses.end()

    __del__ = end
