"""Long work that cannot be sliced, done in a thread beside the loop: there the interpreter slices it.

To decode, merge or check one object of a megabyte takes a loop some hundred milliseconds of plain Python, in functions
that call themselves for each part of a value: none of them can give way in the middle. In a thread the same work still
needs the interpreter, but hands it over whenever the loop wants it, wherever it is. What it does not interrupt is a
single call in C: to parse a megabyte of JSON stays one stretch, in whichever thread.

One thread for the whole process, so that the loop has one other to share with, whatever the number of long objects.
Small ones are not worth the way there and back (0.1 ms): who knows the size says so by ``note_size``, and all that
serves the same request can ask ``is_long``.

Source: how CPython hands its lock over (``Python/ceval_gil.c``: a thread that waits asks for it after the interval).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from typing import TypeVar

__all__ = ["LONG_BYTES", "aside", "is_long", "note_size"]

LONG_BYTES = 64 * 1024
"""JSON from this length on is worth a thread: each step of an object this long takes up to 5 ms on a machine 3.5 times
slower than that of the targets."""

SWITCH_SECONDS = 0.0002
"""How long the thread keeps the interpreter while the loop wants it. The loop gives it up several times in a request
(to the socket, to TLS), and waits so long each time to have it back."""

T = TypeVar("T")
_LONG: ContextVar[bool] = ContextVar("long", default=False)


def note_size(size_bytes: int) -> None:
    """What the current task is about is this long, as JSON. The longest counts."""
    if size_bytes >= LONG_BYTES:
        _LONG.set(True)


def is_long() -> bool:
    """Whether the current task is about something that is worth a thread."""
    return _LONG.get()


async def aside(work: Callable[[], T]) -> T:
    """Do work beside the loop, in the caller's context; work of several callers is done one after another.

    For pure functions of values: they must not touch what belongs to the loop, nor anything that somebody else may
    change meanwhile.

    Raises what ``work`` raises. Cancellation: work that has begun is done to its end, for nobody.
    """
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, _switching_fast, work)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="aside")


def _switching_fast(work: Callable[[], T]) -> T:
    """In the thread: hand the interpreter over sooner than else as long as there is work."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, SWITCH_SECONDS))
    try:
        return work()
    finally:
        sys.setswitchinterval(interval)
