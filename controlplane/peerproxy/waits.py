"""Who waits for which peer, so that nobody waits on for one that has gone."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controlplane.base.deadlines import Running

__all__ = ["Waits"]


class Waits:
    """The tasks that wait, by the peer's id. As ``base.deadlines.Deadlines``, but that all of a peer's end at once."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[Running]] = defaultdict(set)

    def gone(self, id_: str) -> None:
        """Cancel all that wait for a peer."""
        for running in self._waiting.pop(id_, ()):
            running.expired = True
            running.task.cancel()

    @asynccontextmanager
    async def waiting(self, id_: str) -> AsyncIterator[None]:
        """The current task waits for a peer.

        Raises:
            TimeoutError: the peer has gone.
        """
        task = asyncio.current_task()
        assert task is not None
        running = Running(task, math.inf)
        self._waiting[id_].add(running)
        try:
            yield
        except asyncio.CancelledError:
            if running.was_cause():
                raise TimeoutError from None
            raise
        finally:
            self._waiting[id_].discard(running)
