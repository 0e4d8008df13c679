"""Where the programs and the threads of this project run their coroutines."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["runner"]


@contextmanager
def runner() -> Iterator[asyncio.Runner]:
    """An ``asyncio.Runner`` on the loop that production uses.

    A loop of uvloop's warns of each connection that is still open while it closes itself. Where warnings are errors
    (``-W error``, pytest's ``filterwarnings``) it then waits for that connection without end. So the warnings come
    after it is closed: as such, or as notes of the error that ended the program.
    """
    used = asyncio.Runner(loop_factory=_loop_factory())
    try:
        yield used
    except BaseException as error:
        for each in _closed(used):
            error.add_note(str(each.message))
        raise
    for each in _closed(used):
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno, source=each.source)


def _closed(used: asyncio.Runner) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always", ResourceWarning)
        used.close()
    return left


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where there is one (not on Windows), else None: asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
