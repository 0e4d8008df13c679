"""Watches that fall behind: bounded, nothing skipped, overtaken by compaction alone."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.storage.errors import Compacted, Unavailable
from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.embedded import hub
from tests.aio import run

VALUE = bytes(1024 * 1024)


async def fill(kv: KV, first: int, writes: int) -> list[int]:
    """Write so many values of 1 MiB; their revisions."""
    return [(await kv.put(b"/k%d" % n, VALUE, expect=ABSENT)).revision for n in range(first, first + writes)]


def test_a_watch_that_is_not_read_goes_back_to_the_log_and_skips_nothing() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        writes = hub.QUEUE_BYTES // len(VALUE) + 10
        async with kv.watch(b"", 2) as slow, kv.watch(b"", 2) as quick:
            seen_quickly: list[int] = []
            revisions = []
            for n in range(writes):
                revisions += await fill(kv, n, 1)
                seen_quickly += [event.mod_revision for event in (await anext(quick)).events]
            seen: list[int] = []
            while len(seen) < writes:
                batch = await anext(slow)
                seen += [event.mod_revision for event in batch.events]
            assert seen == seen_quickly == revisions
            revisions = await fill(kv, writes, 1)
            assert [event.mod_revision for event in (await anext(slow)).events] == revisions, "it has joined again"
        await kv.close()

    run(scenario())


def test_a_watch_that_compaction_has_overtaken_says_so() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        async with kv.watch(b"", 2) as slow:
            revisions = await fill(kv, 0, hub.QUEUE_BYTES // len(VALUE) + 10)
            await kv.compact(revisions[-2])
            with pytest.raises(Compacted):
                await anext(slow)
            with pytest.raises(Compacted):
                await anext(slow)
        await kv.close()

    run(scenario())


def test_batches_that_wait_are_delivered_as_one() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        async with kv.watch(b"/k", 2) as watch:
            for n in range(5):
                await kv.put(b"/k%d" % n, b"", expect=ABSENT)
            await kv.put(b"/other", b"", expect=ABSENT)
            batch = await anext(watch)
            assert [event.mod_revision for event in batch.events] == [2, 3, 4, 5, 6]
            assert batch.revision == 7, "what does not concern the watch has been passed, too"
        await kv.close()

    run(scenario())


def test_a_watch_begins_no_earlier_than_asked() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        async with kv.watch(b"", 4) as watch:
            for n in range(4):
                await kv.put(b"/k%d" % n, b"", expect=ABSENT)
            assert [event.mod_revision for event in (await anext(watch)).events] == [4, 5]
        await kv.close()

    run(scenario())


def test_a_watch_opened_on_a_closed_store_says_so() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        await kv.close()
        with pytest.raises(Unavailable):
            async with kv.watch(b"", 2):
                pass

    run(scenario())


def test_a_watch_that_was_left_costs_nothing() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        for prev in (False, True):
            async with kv.watch(b"", 2, prev=prev) as watch:
                step = asyncio.ensure_future(anext(watch))
                await asyncio.sleep(0)
                step.cancel()
        assert len(kv._hub) == 0  # type: ignore[attr-defined]  # the embedded engine's
        await kv.put(b"a", b"", expect=ABSENT)
        await kv.close()

    run(scenario())
