"""Long work in steps, so that it can be done on the loop in slices that nobody notices.

A piece of work is a generator that yields between pieces of well under a millisecond and returns its result.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from controlplane.storage.cache.slices import Slices

__all__ = ["Steps", "at_once", "in_slices"]

T = TypeVar("T")

Steps = Generator[None, None, T]


async def in_slices(work: Steps[T]) -> T:
    """Do the work, and let everybody else run whenever a slice of time is used up."""
    slices = Slices()
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if slices.due():
            await slices.rest()


def at_once(work: Steps[T]) -> T:
    """Do the work without a break."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
