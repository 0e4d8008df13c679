"""Long work on the loop, in slices: do some, look at the clock, give way."""

from __future__ import annotations

import asyncio
from time import perf_counter

__all__ = ["MANY_ENTRIES", "SLICE_SECONDS", "Slices"]

SLICE_SECONDS = 0.002
"""How long a stretch may hold the loop. Nothing may hold it over 5 ms; what a slice ends with must still fit."""

MANY_ENTRIES = 20_000
"""To gather so many in one step takes some milliseconds: what follows is a stretch of its own."""


class Slices:
    """``if slices.due(): await slices.rest()`` after each piece of work that cannot be split."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + SLICE_SECONDS

    def due(self) -> bool:
        return perf_counter() > self._until

    async def rest(self) -> None:
        """Let everybody else run once."""
        await asyncio.sleep(0)
        self._until = perf_counter() + SLICE_SECONDS
