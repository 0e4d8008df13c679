"""Writes pending frames in slices, so that a write to many watchers never holds the loop long.

All channels that took something in one loop step are flushed in the next turn; a channel that is not done within the
slice goes to the back of the queue, so one with a thousand watchers does not hold up one with two.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter

from controlplane.storage.cache.channel import Channel
from controlplane.storage.cache.slices import SLICE_SECONDS

__all__ = ["Flusher"]


class Flusher:
    """One to a mirror; used on its loop."""

    __slots__ = ("_queue", "_scheduled")

    def __init__(self) -> None:
        self._queue: deque[Channel] = deque()
        self._scheduled = False

    def add(self, channel: Channel) -> None:
        """Flush a channel soon."""
        self._queue.append(channel)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        until = perf_counter() + SLICE_SECONDS
        while self._queue:
            channel = self._queue.popleft()
            if channel.flush(until):
                channel.pending = False
            else:
                self._queue.append(channel)
            if perf_counter() > until:
                break
        if self._queue:
            self._schedule()
