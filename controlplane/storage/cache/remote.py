"""Conversions that somebody else does, over the network: on demand, in batches, each entry once at a time.

Nothing here runs in the mirror's apply step. Who reads entries asks for them to be ready first; those that are being
converted for somebody else are waited for, the rest goes out in batches, and the outcome is kept on the entries.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.storage.cache.entry import Entry
from controlplane.storage.errors import ConversionFailed, StorageError

__all__ = ["BATCH_BYTES", "BATCH_OBJECTS", "Flights", "RemoteConversion"]

BATCH_OBJECTS = 500
"""Objects converted by one request at most."""
BATCH_BYTES = 256 << 10
"""JSON in one request: its answer, which may be somewhat larger, must be decoded in one go, about 1 ms for this."""
AT_ONCE = 4
"""Requests of one conversion under way at a time, so that a long list does not flood who converts."""

Start = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine as an owned task."""


class RemoteConversion(ABC):
    """A ``Conversion`` of which a part is done elsewhere. What ``needs`` does not name is converted by ``convert``, and
    what ``to_storage`` is asked for is in the storage version already."""

    as_stored = keeps_metadata = False

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)

    @abstractmethod
    def needs(self, stored: str, wanted: str) -> bool:
        """Whether somebody else brings an object from one apiVersion into another."""

    @abstractmethod
    async def convert_batch(self, batch: Sequence[tuple[bytes, str]], wanted: str) -> Sequence[bytes]:
        """Convert entries' data, each given with its apiVersion. As many come back, in order.

        Raises:
            ConversionFailed, Unreadable.
        """

    @abstractmethod
    async def to_storage_remote(self, obj: Obj) -> Obj:
        """An object of any served version as it is stored; ``obj`` is not changed.

        Raises:
            ConversionFailed.
        """

    @abstractmethod
    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        """See ``view.Conversion``."""

    @abstractmethod
    def to_storage(self, obj: Obj) -> Obj:
        """See ``view.Conversion``."""


Outcome = StorageError | None


class Flights:
    """Who is converting what. ``start``: see ``Start``; the tasks outlive the request that has caused them, because
    others may wait for the same."""

    __slots__ = ("_start", "_underway")

    def __init__(self, start: Start) -> None:
        self._start = start
        self._underway: dict[tuple[RemoteConversion, Entry, str], asyncio.Future[Outcome]] = {}

    async def convert(
        self,
        conversion: RemoteConversion,
        entries: Sequence[Entry],
        wanted: str,
        keep: Callable[[Entry, str, bytes], None],
    ) -> None:
        """Convert entries, and give each outcome to ``keep``.

        Raises:
            ConversionFailed, Unreadable: the first failure.
        """
        waiting: dict[asyncio.Future[Outcome], None] = {}
        new: dict[Entry, None] = {}  # an entry may be there twice: as a state, and as the one before the next
        for entry in entries:
            underway = self._underway.get((conversion, entry, wanted))
            if underway is None:
                new[entry] = None
            else:
                waiting[underway] = None
        for batch in _batches(new):
            promise: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
            self._underway.update(((conversion, entry, wanted), promise) for entry in batch)
            self._start(self._fly(conversion, batch, wanted, keep, promise))
            waiting[promise] = None
        for promise in waiting:
            error = await asyncio.shield(promise)
            if error is not None:
                raise _again(error)

    async def _fly(
        self,
        conversion: RemoteConversion,
        batch: Sequence[Entry],
        wanted: str,
        keep: Callable[[Entry, str, bytes], None],
        promise: asyncio.Future[Outcome],
    ) -> None:
        error: Outcome = ConversionFailed("the server is shutting down")
        try:
            async with conversion.slots:
                found = await conversion.convert_batch(
                    [(entry.data, entry.origin.api_version) for entry in batch], wanted
                )
            for entry, data in zip(batch, found, strict=True):
                keep(entry, wanted, data)
            error = None
        except StorageError as failure:
            error = failure
        finally:
            for entry in batch:
                del self._underway[conversion, entry, wanted]
            promise.set_result(error)


def _again(error: StorageError) -> StorageError:
    """A failure for one of those who wait for it: each has a traceback of its own."""
    copy = error.__class__.__new__(error.__class__, *error.args)
    copy.__dict__.update(error.__dict__)
    copy.args = error.args
    return copy


def _batches(entries: Iterable[Entry]) -> Iterator[Sequence[Entry]]:
    batch: list[Entry] = []
    size_bytes = 0
    for entry in entries:
        if batch and (len(batch) == BATCH_OBJECTS or size_bytes + len(entry.data) > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(entry)
        size_bytes += len(entry.data)
    if batch:
        yield batch
