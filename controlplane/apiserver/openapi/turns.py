"""One build at a time, shared by all who wait for it.

No task of its own: the first in turn builds inside its own request. If that is cancelled, the next goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Turns"]

T = TypeVar("T")


class Turns(Generic[T]):
    """One build at a time; who asked before it began shares what it gives."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._begun = 0
        self._latest: tuple[int, T] | None = None

    async def take(self, build: Callable[[], Awaitable[T]]) -> T:
        """The result of a build that began after this call; a failed one is tried again by the next in turn."""
        asked = self._begun
        async with self._lock:
            if self._latest is not None and self._latest[0] > asked:
                return self._latest[1]
            self._begun += 1
            number = self._begun
            result = await build()
            self._latest = (number, result)
            return result
