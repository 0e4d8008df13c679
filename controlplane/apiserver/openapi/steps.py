"""Long work in steps, so that it can be done on the loop in slices that nobody notices.

A piece of work is a generator that yields between pieces of well under a millisecond and returns its result. What it
yields, if it is not None, is a piece that takes longer: that is done beside the loop, and its result is given back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any, TypeVar

from controlplane.base.aside import aside

__all__ = ["Steps", "at_once", "in_slices"]

T = TypeVar("T")

Steps = Generator[Callable[[], Any] | None, Any, T]

SLICE_SECONDS = 0.002
"""How long the loop is held at a time."""
TURNS_BETWEEN = 10
"""Turns of the loop between slices. A request takes several, from its first byte to its answer: it is to meet one slice
or two on its way, not one at each turn. A turn with nothing to do takes microseconds."""


async def in_slices(work: Steps[T]) -> T:
    """Do the work, and let everybody else run whenever a slice of time is used up."""
    until = perf_counter() + SLICE_SECONDS
    made: Any = None
    while True:
        try:
            long = work.send(made)
        except StopIteration as ended:
            result: T = ended.value
            return result
        made = None if long is None else await aside(long)
        if long is not None:
            until = perf_counter() + SLICE_SECONDS
        elif perf_counter() > until:
            for _ in range(TURNS_BETWEEN):
                await asyncio.sleep(0)
            until = perf_counter() + SLICE_SECONDS


def at_once(work: Steps[T]) -> T:
    """Do the work without a break."""
    made: Any = None
    while True:
        try:
            long = work.send(made)
        except StopIteration as ended:
            result: T = ended.value
            return result
        made = None if long is None else long()
