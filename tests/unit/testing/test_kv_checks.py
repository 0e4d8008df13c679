"""The KV conformance suite finds what it is there to find: stores with one defect each fail the check named for it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from controlplane.base.clock import SystemClock
from controlplane.storage.kv.api import ABSENT, KV, LATEST, RangeResult, TxnResult, Watch, WatchBatch
from controlplane.storage.kv.embedded.engine import EmbeddedKV
from controlplane.storage.kv.memory import MemoryLog
from controlplane.testing import check_kv
from controlplane.testing.kv import KV_CHECKS, CheckFailed
from tests.aio import run


class BlindPut(EmbeddedKV):
    """Writes whatever is stored."""

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        stored = (await super().range(key, b"")).items
        return await super().put(key, value, expect=stored[0].mod_revision if stored else ABSENT, lease=lease)


class SilentDelete(EmbeddedKV):
    """Does not say what it deleted."""

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        result = await super().delete(key, expect=expect)
        return result._replace(current=None) if result.succeeded else result


class NoPast(EmbeddedKV):
    """Reads the newest, whatever revision is asked for."""

    async def range(
        self, start: bytes, end: bytes, *, revision: int = LATEST, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        return await super().range(start, end, limit=limit, count_only=count_only)


class NoTotal(EmbeddedKV):
    """Counts what it returns."""

    async def range(self, *arguments: Any, **options: Any) -> RangeResult:
        result = await super().range(*arguments, **options)
        return result._replace(total=len(result.items))


class Unforgetting(EmbeddedKV):
    """Does not compact."""

    async def compact(self, revision: int) -> None:
        return None


class Immortal(EmbeddedKV):
    """Puts keys without the lease."""

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        return await super().put(key, value, expect=expect)


class Lossy(Watch):
    """Loses the last event of every batch with several."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> WatchBatch:
        batch = await anext(self._watch)
        return batch._replace(events=batch.events[:-1]) if len(batch.events) > 1 else batch

    async def request_progress(self) -> None:
        await self._watch.request_progress()


class LossyWatch(EmbeddedKV):
    """Its watches lose events."""

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> Any:
        return self._lossy(super().watch(prefix, start, prev=prev))

    @asynccontextmanager
    async def _lossy(self, opened: AbstractAsyncContextManager[Watch]) -> Any:
        async with opened as watch:
            yield Lossy(watch)


class LateRevision(EmbeddedKV):
    """Answers with a revision from before."""

    async def revision(self) -> int:
        return max(1, await super().revision() - 1)


@pytest.mark.parametrize(
    ("defective", "finds"),
    [
        (BlindPut, "put_refuses_another_revision"),
        (SilentDelete, "delete_returns_what_it_removed"),
        (NoPast, "range_reads_the_past"),
        (NoPast, "a_future_revision_is_refused"),
        (NoTotal, "range_limits_and_counts"),
        (Unforgetting, "compaction_forgets_the_past_and_keeps_what_lives"),
        (Immortal, "an_unknown_lease_is_refused"),
        (LossyWatch, "watch_starts_in_the_past_and_goes_on"),
        (LateRevision, "revision_covers_every_answered_write"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_defect_fails_its_check(defective: type[EmbeddedKV], finds: str) -> None:
    async def broken() -> KV:
        log = MemoryLog()
        return defective(log, await log.load(), SystemClock(), history_seconds=0)

    (check,) = (check for check in KV_CHECKS if check.name == finds)
    with pytest.raises((AssertionError, TimeoutError)):
        run(check.run(broken, patience_seconds=0.3))


def test_all_failures_are_reported_together() -> None:
    async def broken() -> KV:
        log = MemoryLog()
        return NoTotal(log, await log.load(), SystemClock(), history_seconds=0)

    with pytest.raises(CheckFailed) as caught:
        run(check_kv(broken))
    assert "range_limits_and_counts" in caught.value.failures
    assert "range_limits_and_counts" in str(caught.value)
    assert "put_creates_an_absent_key" not in caught.value.failures
