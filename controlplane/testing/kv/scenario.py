"""What a check works with: one open store, a prefix nobody else uses, and the few steps that all checks share."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from controlplane.storage.kv.api import ABSENT, KV, LATEST, Event, KeyValue, RangeResult, Watch, prefix_end

__all__ = ["PATIENCE_SECONDS", "Factory", "Reopen", "Scenario", "refusal"]

E = TypeVar("E", bound=Exception)

Factory: TypeAlias = Callable[[], Awaitable[KV]]
"""Opens a store for one check; the check closes it. Checks keep to prefixes of their own, so that a backend may give
the same server to all of them (compaction moves for all, then: run them one after another)."""

Reopen: TypeAlias = Callable[[], Awaitable[KV]]
"""Opens the data of the store that ``Factory`` opened last, after that was closed."""

PATIENCE_SECONDS = 20.0
"""How long a check waits for what must come. Generous: etcd notices an expired lease after a second or two."""


async def refusal(kind: type[E], attempt: Awaitable[object], why: str) -> E:
    """The error that ``attempt`` must end with; ``why`` says what is wrong if it does not."""
    try:
        answer = await attempt
    except kind as error:
        return error
    raise AssertionError(f"{why}: {answer!r}")


class Scenario:
    """One check's store. ``kv`` may be replaced by ``reopened``. ``patience_seconds``: see ``PATIENCE_SECONDS``."""

    def __init__(self, kv: KV, reopen: Reopen | None, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.kv = kv
        self.patience_seconds = patience_seconds
        self.prefix = b"/check/%s/" % secrets.token_hex(6).encode()
        self._reopen = reopen

    @property
    def durable(self) -> bool:
        """The backend can be closed and opened again."""
        return self._reopen is not None

    async def reopened(self) -> KV:
        """Close the store and open it again."""
        if self._reopen is None:
            raise LookupError("this backend keeps nothing that could be opened again")
        await self.kv.close()
        self.kv = await self._reopen()
        return self.kv

    def key(self, name: str) -> bytes:
        """A key of this check's own."""
        return self.prefix + name.encode()

    async def create(self, name: str, value: bytes = b"value", *, lease: int = 0) -> int:
        """Create a key that must be absent; its revision."""
        result = await self.kv.put(self.key(name), value, expect=ABSENT, lease=lease)
        assert result.succeeded, f"{name} was expected to be absent; the store answered {result}"
        return result.revision

    async def update(self, name: str, value: bytes, *, expect: int, lease: int = 0) -> int:
        """Replace a key that must be at ``expect``; its new revision."""
        result = await self.kv.put(self.key(name), value, expect=expect, lease=lease)
        assert result.succeeded, f"{name} was expected at revision {expect}; the store answered {result}"
        return result.revision

    async def remove(self, name: str, *, expect: int) -> int:
        """Delete a key that must be at ``expect``; the deletion's revision."""
        result = await self.kv.delete(self.key(name), expect=expect)
        assert result.succeeded, f"{name} was expected at revision {expect}; the store answered {result}"
        return result.revision

    async def get(self, name: str, *, revision: int = LATEST) -> KeyValue | None:
        """One key, or None."""
        result = await self.kv.range(self.key(name), b"", revision=revision)
        assert len(result.items) == result.total <= 1, f"one key was asked for; the store answered {result}"
        return result.items[0] if result.items else None

    async def everything(self, *, revision: int = LATEST, limit: int = 0) -> RangeResult:
        """All keys of this check."""
        return await self.kv.range(self.prefix, prefix_end(self.prefix), revision=revision, limit=limit)

    async def collect(self, watch: Watch, count: int) -> list[Event]:
        """The next ``count`` events, verifying each batch: ascending, whole revisions, none twice."""
        events: list[Event] = []
        delivered = 0
        async with asyncio.timeout(self.patience_seconds):
            while len(events) < count:
                batch = await anext(watch)
                for event in batch.events:
                    assert delivered < event.mod_revision <= batch.revision, (
                        f"event at {event.mod_revision} in a batch of {batch.revision}, after one of {delivered}"
                    )
                positions = [(event.mod_revision, event.key) for event in batch.events]
                assert positions == sorted(set(positions)), f"a batch is out of order: {positions}"
                delivered = max(delivered, batch.revision)
                events += batch.events
        assert len(events) == count, f"{count} events were expected, not {events}"
        return events
