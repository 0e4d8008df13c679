"""Consistent reads from memory: the mirror proves that it is as new as the store.

All who wait share one question to the store, "what is your revision?": who comes after it was sent waits for the next
one, since the answer may be older than his call. Where the process owns the store the question costs nothing. If the
mirror is behind the answer, it is helped: by the store's own progress where that can be trusted, else by a marker key
written for all waiters together, whose event the mirror waits for.

Source: KEP 2340 (consistent reads from cache); etcd's fix of requested progress that overtakes events
(etcd-io/etcd issue 15220: 3.4.31, 3.5.13).
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.storage.cache.metrics import MARKERS
from controlplane.storage.cache.waiters import Promise, Waiters
from controlplane.storage.errors import StorageError, Unavailable
from controlplane.storage.kv.api import ABSENT, KV

__all__ = ["Consistency", "Progress"]

log = logs.get(__name__)

GRACE_SECONDS = 0.02
"""How long events may still be on their way before the store is asked for progress or a marker is written."""
NUDGE_SECONDS = 0.1
"""Between two helps while somebody waits; upstream asks for progress ten times a second too."""


class Progress(Protocol):
    """What is needed of the mirror."""

    @property
    def revision(self) -> int: ...

    async def request_progress(self) -> None: ...

    def marker_revision(self) -> int: ...


class Consistency:
    """Run ``ask`` and ``help_along`` as owned tasks."""

    def __init__(self, kv: KV, mirror: Progress, waiters: Waiters, clock: Clock, *, marker_key: bytes) -> None:
        self._kv, self._mirror, self._waiters, self._clock = kv, mirror, waiters, clock
        self._marker_key = marker_key
        self._asking: list[Promise] = []
        self._target = 0
        self._asked, self._behind = asyncio.Event(), asyncio.Event()

    def reached_nowait(self) -> bool:
        """Whether the mirror is proved current without asking anybody."""
        revision = self._kv.revision_nowait()
        return revision is not None and self._mirror.revision >= revision

    async def reached(self) -> bool:
        """Wait until the mirror has everything that was in the store when this was called.

        Returns:
            False if it could not be proved in time.
        """
        revision = self._kv.revision_nowait()
        promise = self._waiters.promise(self._clock.monotonic())
        if revision is None:
            self._asking.append(promise)
            self._asked.set()
        else:
            self._keep(revision, [promise])
        return await promise

    async def at_least(self, revision: int) -> bool:
        """Wait until the mirror has ``revision``, which may be one that the store will never have; False if it did not
        come in time."""
        if self._mirror.revision >= revision:
            return True
        promise = self._waiters.promise(self._clock.monotonic())
        self._waiters.until(revision, promise)
        self._asked.set()  # the mirror is helped as far as the store is, no further
        return await promise

    async def ask(self) -> None:
        """Answer those who wait, batch by batch, for as long as the mirror lives."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            batch, self._asking = self._asking, []
            try:
                revision = await self._kv.revision()
            except Unavailable as error:
                log.debug("the store did not tell its revision", error=error)
                self._asking = [promise for promise in batch if not promise.done()] + self._asking
                if self._asking:
                    self._asked.set()
                await self._clock.sleep(NUDGE_SECONDS)
                continue
            self._keep(revision, batch)

    async def help_along(self) -> None:
        """Bring the mirror on while somebody waits for a revision that no event announces."""
        while True:
            await self._behind.wait()
            self._behind.clear()
            pause = GRACE_SECONDS
            while self._needed():
                await self._clock.sleep(pause)
                pause = NUDGE_SECONDS
                if self._needed():
                    await self._help()

    def _keep(self, revision: int, batch: list[Promise]) -> None:
        """The store was at ``revision`` after these asked."""
        self._target = max(self._target, revision)
        if self._mirror.revision >= revision:
            for promise in batch:
                if not promise.done():
                    promise.set_result(True)
            return
        for promise in batch:
            self._waiters.until(revision, promise)
        self._behind.set()

    def _needed(self) -> bool:
        return self._mirror.revision < self._target and self._waiters.furthest() > self._mirror.revision

    async def _help(self) -> None:
        try:
            if self._kv.trustworthy_progress:
                await self._mirror.request_progress()
            else:
                await self.mark()
        except StorageError as error:
            log.debug("the mirror could not be helped along", error=error)

    async def mark(self) -> int:
        """Write the marker key; its revision is above every revision that was there before the call.

        Raises:
            Unavailable.
        """
        MARKERS.labels_cached(()).inc()
        expect = self._mirror.marker_revision()
        while True:
            result = await self._kv.put(self._marker_key, b"", expect=expect)
            if result.succeeded:
                return result.revision
            expect = result.current.mod_revision if result.current is not None else ABSENT
