"""Long work in steps, so that it can be done on the loop in slices that nobody notices.

A piece of work is a generator that yields between pieces of well under a millisecond and returns its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from time import perf_counter
from typing import TypeVar

__all__ = ["Steps", "at_once", "in_slices"]

T = TypeVar("T")

Steps = Generator[None, None, T]

SLICE_SECONDS = 0.002
"""How long the loop is held at a time."""
TURNS_BETWEEN = 10
"""Turns of the loop between slices. A request takes several, from its first byte to its answer: it is to meet one slice
or two on its way, not one at each turn. A turn with nothing to do takes microseconds."""


async def in_slices(work: Steps[T]) -> T:
    """Do the work, and let everybody else run whenever a slice of time is used up."""
    until = perf_counter() + SLICE_SECONDS
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if perf_counter() > until:
            for _ in range(TURNS_BETWEEN):
                await asyncio.sleep(0)
            until = perf_counter() + SLICE_SECONDS


def at_once(work: Steps[T]) -> T:
    """Do the work without a break."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
