"""Keeps an image true: loads it, follows the store's one stream, survives the loss of it.

After a break it goes on at the image's revision + 1. If the store has compacted that, is another store (its cluster
id), or has gone back in time, the image is loaded anew and swapped at once, and all watches end: it never invents a
difference.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.storage.cache.foresight import foresee
from controlplane.storage.cache.image import Draft, Image
from controlplane.storage.cache.metrics import INITIALIZATIONS, STREAMS_LOST
from controlplane.storage.cache.slices import SLICE_SECONDS, Slices
from controlplane.storage.errors import Compacted, FutureRevision, Unavailable
from controlplane.storage.kv.api import KV, Watch, WatchBatch, prefix_end

__all__ = ["Follower"]

log = logs.get(__name__)

LOAD_PAGE = 1_000
BACKOFF_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Pauses before opening the stream again; the last one repeats. The first is short: a leader election is quick."""


class Follower:
    """``on_advance`` is called at the end of every step with the revision reached; ``on_replace`` after a swap.

    ``lost``: why there is no stream now, ``""`` if there is one. ``loaded``: whether there is an image at all.
    """

    def __init__(
        self,
        kv: KV,
        image: Image,
        root: bytes,
        clock: Clock,
        *,
        on_advance: Callable[[int], None],
        on_replace: Callable[[], None],
        freeze: bool,
    ) -> None:
        self._kv, self._image, self._root, self._clock = kv, image, root, clock
        self._on_advance, self._on_replace, self._freeze = on_advance, on_replace, freeze
        self._cluster_id = ""
        self._watch: Watch | None = None
        self.lost, self.loaded = "not loaded yet", False

    async def run(self) -> None:
        """Load, then follow, for as long as the mirror lives."""
        failures = 0
        reload = True
        while True:
            try:
                if reload or await self._is_another_store():
                    await self._load()
                    reload = False
                async with self._kv.watch(self._root, self._image.revision + 1) as watch:
                    self._watch, self.lost = watch, ""
                    async for batch in watch:
                        failures = 0
                        await self._apply(batch)
            except Compacted as error:
                log.warning("the mirror is behind the compacted history and loads anew", error=error)
                reload = True
            except (Unavailable, FutureRevision) as error:
                if not self.lost:
                    STREAMS_LOST.labels_cached(()).inc()
                    log.warning("the mirror has lost its stream", revision=self._image.revision, error=error)
                self.lost = f"the stream from the store is lost: {error}"
            finally:
                self._watch = None
            await self._clock.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
            failures += 1

    async def request_progress(self) -> None:
        """Let the stream say how far it is, if there is one."""
        if self._watch is not None:
            await self._watch.request_progress()

    async def _is_another_store(self) -> bool:
        """Whether the data behind the KV are no longer those of the image."""
        status, revision = await self._kv.status(), await self._kv.revision()
        if status.cluster_id == self._cluster_id and revision >= self._image.revision:
            return False
        log.warning(
            "the store is another one and is loaded anew",
            cluster_id=status.cluster_id,
            was=self._cluster_id,
            revision=revision,
            mirrored=self._image.revision,
        )
        return True

    async def _load(self) -> None:
        """Read one whole snapshot and swap it in.

        Raises:
            Unavailable; Compacted: the snapshot was compacted meanwhile.
        """
        started = perf_counter()
        cluster_id = (await self._kv.status()).cluster_id
        with _no_collections(self._freeze):
            draft, revision = await self._read_all()
            replaced = self._image.replace(draft, revision)
        self._cluster_id = cluster_id
        INITIALIZATIONS.labels_cached(()).inc()
        seconds = round(perf_counter() - started, 3)
        log.info("mirror loaded", keys=len(draft.index), revision=revision, seconds=seconds)
        again, self.loaded = self.loaded, True
        if again:
            self._on_replace()
        self._on_advance(revision)
        slices = Slices()
        while replaced.shed():
            if slices.due():
                await slices.rest()

    async def _read_all(self) -> tuple[Draft, int]:
        """One snapshot of the store, and its revision."""
        draft = Draft(self._image)
        start, end, revision = self._root, prefix_end(self._root), 0
        slices = Slices()
        while True:
            page = await self._kv.range(start, end, revision=revision, limit=LOAD_PAGE)
            revision = revision or page.revision
            if fetching := self._image.intake.fetch(page.items):
                await fetching
            for kv in page.items:
                draft.add(kv)
                if slices.due():
                    await slices.rest()
            if not page.more:
                return draft, revision
            start = page.items[-1].key + b"\x00"

    async def _apply(self, batch: WatchBatch) -> None:
        """Apply a batch, giving way between revisions if it takes long."""
        image = self._image
        if fetching := image.intake.fetch(event.kv for event in batch.events):
            await fetching
        await foresee(image, batch.events)
        until = perf_counter() + SLICE_SECONDS
        last = 0
        for event in batch.events:
            revision = event.mod_revision
            if last != revision:
                if last and perf_counter() > until:
                    self._step(last)
                    await Slices().rest()
                    until = perf_counter() + SLICE_SECONDS
                last = revision
            image.apply(event)
        self._step(batch.revision)

    def _step(self, revision: int) -> None:
        image = self._image
        image.revision = max(image.revision, revision)
        if image.over:
            image.trim(self._clock.monotonic())
        self._on_advance(image.revision)


@contextmanager
def _no_collections(freeze: bool) -> Iterator[None]:  # noqa: FBT001  # private
    """With ``freeze``, let the garbage collector not walk what is being loaded, neither meanwhile nor ever after.

    What is loaded is freed by its reference counts; walking 100,000 objects costs 20 ms each time.
    """
    if not freeze:
        yield
        return
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
