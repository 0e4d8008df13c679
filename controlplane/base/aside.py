"""Long work that cannot be sliced, done in a thread beside the loop: there the interpreter slices it.

To decode, merge or check one object of a megabyte takes a loop some hundred milliseconds of plain Python, in functions
that call themselves for each part of a value: none of them can give way in the middle. In a thread the same work still
needs the interpreter, but hands it over whenever the loop wants it, wherever it is. What it does not interrupt is a
single call in C: to parse a megabyte of JSON stays one stretch, in whichever thread.

One thread for the requests of the whole process, so that the loop has one other to share with, whatever the number of
long objects; and one for what everybody waits for, which must not wait for a request. Small objects are not worth the
way there and back (0.1 ms): who knows the size says so by ``note_size``, and all that serves the same request can ask
``is_long``.

Source: how CPython hands its lock over (``Python/ceval_gil.c``: a thread that waits asks for it after the interval).
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, TypeVar

from controlplane.base.collecting import Pause

__all__ = ["LONG_BYTES", "aside", "free", "is_long", "note_size", "release"]

LONG_BYTES = 64 * 1024
"""JSON from this length on is worth a thread: each step of an object this long takes up to 5 ms on a machine 3.5 times
slower than that of the targets."""

SWITCH_SECONDS = 0.0002
"""How long the thread keeps the interpreter while the loop wants it. The loop gives it up several times in a request
(to the socket, to TLS), and waits so long each time to have it back."""

_PIECES = 256
"""Into about so many pieces a value is taken apart to be freed. To look at each of its parts would cost more than to
have made them."""

HELD_SECONDS = 2.0
"""How long collections wait for one task that is about something long. Only one that waits for others takes so long."""

T = TypeVar("T")


class _Long:
    """What has been made for the current task, which is about something long: no collection looks at it."""

    __slots__ = ("made", "pause", "timer")

    def __init__(self) -> None:
        self.made: list[object] = []
        self.pause = Pause()
        self.timer = asyncio.get_running_loop().call_later(HELD_SECONDS, self.pause.end)


_LONG: ContextVar[_Long | None] = ContextVar("long", default=None)


def note_size(size_bytes: int) -> None:
    """What the current task is about is this long, as JSON. The longest counts, until ``release``."""
    if size_bytes >= LONG_BYTES and _LONG.get() is None:
        _LONG.set(_Long())


def is_long() -> bool:
    """Whether the current task is about something that is worth a thread."""
    return _LONG.get() is not None


def release() -> None:
    """The current task is done with what was long, if anything was. To free it takes long, too: that is done aside."""
    long = _LONG.get()
    if long is not None:
        _LONG.set(None)
        long.timer.cancel()
        free(long.made, then=long.pause.end)


def free(values: list[Any], *, then: Callable[[], None] = lambda: None) -> None:
    """Take values out of a list that nobody will need any more, and let go of them aside, in a thread that does nothing
    else; ``then`` is called there."""
    left = deque(values)
    values.clear()

    def work() -> None:
        _SWITCHING.run(lambda: _free(left))
        then()

    _thread("aside-free").submit(work)


async def aside(work: Callable[[], T], *, urgent: bool = False) -> T:
    """Do work beside the loop, in the caller's context; work of several callers is done one after another.
    ``urgent``: everybody waits for it, so it does not wait for what is done for requests.

    For pure functions of values: they must not touch what belongs to the loop, nor anything that somebody else may
    change meanwhile.

    Raises what ``work`` raises. Cancellation: work that has begun is done to its end, for nobody.
    """
    loop, thread = asyncio.get_running_loop(), _thread("aside-urgent" if urgent else "aside")
    result = await loop.run_in_executor(thread, copy_context().run, _SWITCHING.run, work)
    long = _LONG.get()
    if long is not None:
        long.made.append(result)
    return result


def _free(left: deque[object]) -> None:
    """Let go of values part by part, the whole before its parts: to drop the last reference to a whole would free all
    that is in it at once. What others still refer to stays as it is."""
    while left:
        value = left.popleft()
        if len(left) >= _PIECES:
            continue
        parts: Iterable[object] = value.values() if isinstance(value, dict) else ()
        if isinstance(value, list | tuple):
            parts = value
        left.extend(part for part in parts if isinstance(part, dict | list | tuple))


@cache
def _thread(name: str) -> ThreadPoolExecutor:
    """One for each of what nobody is to wait for: other requests' work, what is urgent, and what is only let go of."""
    return ThreadPoolExecutor(1, thread_name_prefix=name)


class _Switching:
    """As long as somebody works the interpreter is handed over sooner than else, and nothing is collected."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._interval = 0.0

    def run(self, work: Callable[[], T]) -> T:
        with self._lock:
            if not self._working:
                self._interval = sys.getswitchinterval()
                sys.setswitchinterval(min(self._interval, SWITCH_SECONDS))
            self._working += 1
        pause = Pause()
        try:
            return work()
        finally:
            pause.end()
            with self._lock:
                self._working -= 1
                if not self._working:
                    sys.setswitchinterval(self._interval)


_SWITCHING = _Switching()
"""The interval is the interpreter's, so there is one for the process."""
