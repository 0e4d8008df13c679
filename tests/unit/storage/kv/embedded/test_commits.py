"""Group commit: decisions on writes under way, answers after commits, failures."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import ABSENT, KeyValue, TxnResult
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.storage.kv.embedded.held_log import HeldLog, turns


def test_writes_of_one_loop_turn_share_a_commit_and_later_ones_the_next() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        first = [asyncio.ensure_future(kv.put(b"a%d" % n, b"", expect=ABSENT)) for n in range(5)]
        await turns()
        second = [asyncio.ensure_future(kv.put(b"b%d" % n, b"", expect=ABSENT)) for n in range(3)]
        await turns()
        assert [record.key for record in log.let_through().records] == [b"a0", b"a1", b"a2", b"a3", b"a4"]
        assert [result.revision for result in await asyncio.gather(*first)] == [2, 3, 4, 5, 6]
        assert [record.key for record in log.let_through().records] == [b"b0", b"b1", b"b2"]
        await asyncio.gather(*second)
        await kv.close()

    run(scenario())


def test_a_write_builds_on_one_that_is_under_way() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        create = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
        await turns()
        update = asyncio.ensure_future(kv.put(b"a", b"2", expect=2))
        delete = asyncio.ensure_future(kv.delete(b"a", expect=3))
        again = asyncio.ensure_future(kv.put(b"a", b"3", expect=ABSENT))
        await turns()
        log.let_through()
        assert await create == TxnResult(True, 2, None)
        assert not update.done()
        log.let_through()
        assert await update == TxnResult(True, 3, None)
        assert await delete == TxnResult(True, 4, KeyValue(b"a", b"2", 2, 3, 2))
        assert await again == TxnResult(True, 5, None)
        assert (await kv.range(b"a", b"")).items == [KeyValue(b"a", b"3", 5, 5, 1)]
        await kv.close()

    run(scenario())


@pytest.mark.parametrize("group", ["same", "under way"])
def test_a_refusal_waits_for_what_it_was_judged_against(group: str) -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        create = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
        if group == "under way":
            await turns()
        refused = asyncio.ensure_future(kv.put(b"a", b"2", expect=ABSENT))
        refused_delete = asyncio.ensure_future(kv.delete(b"a", expect=77))
        await turns()
        assert not refused.done()
        assert not refused_delete.done()
        log.let_through()
        assert (await create).succeeded
        stored = KeyValue(b"a", b"1", 2, 2, 1)
        assert await refused == await refused_delete == TxnResult(False, 2, stored)
        await kv.close()

    run(scenario())


def test_readers_and_watches_see_nothing_before_its_commit() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        async with kv.watch(b"", 2) as watch:
            step = asyncio.ensure_future(anext(watch))
            create = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
            await turns()
            assert (await kv.range(b"", b"\x00")).items == []
            assert kv.revision_nowait() == await kv.revision() == 1
            assert not step.done()
            log.let_through()
            await create
            assert (await step).revision == 2
        assert len((await kv.range(b"", b"\x00")).items) == 1
        await kv.close()

    run(scenario())


def test_a_failed_commit_fails_its_group_and_what_is_queued_on_it() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        create = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
        refused = asyncio.ensure_future(kv.put(b"a", b"2", expect=ABSENT))
        await turns()
        queued = asyncio.ensure_future(kv.put(b"a", b"2", expect=2))
        await turns()
        log.fail(outcome_known=True)
        await turns()
        for attempt in (create, refused, queued):
            error = attempt.exception()
            assert isinstance(error, Unavailable)
            assert error.outcome_known
        assert (await kv.range(b"", b"\x00")).items == []
        retry = asyncio.ensure_future(kv.put(b"a", b"3", expect=ABSENT))
        await turns()
        log.let_through()
        assert await retry == TxnResult(True, 2, None), "revisions go on where the store is"
        await kv.close()

    run(scenario())


@pytest.mark.parametrize("stored", [False, True], ids=["absent", "stored"])
def test_after_a_failure_of_unknown_outcome_the_store_is_unready_until_read_again(stored: bool) -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        async with kv.watch(b"", 2) as watch:
            step = asyncio.ensure_future(anext(watch))
            create = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
            await turns()
            log.fail(outcome_known=False, stored=stored)
            await turns()
            error = create.exception()
            assert isinstance(error, Unavailable)
            assert not error.outcome_known
            for attempt in (kv.range(b"a", b""), kv.put(b"b", b"", expect=ABSENT), kv.revision(), kv.status()):
                with pytest.raises(Unavailable, match="read again"):
                    await attempt
            assert not step.done()
            log.loads.release()
            await turns()
            assert await kv.revision() == (2 if stored else 1)
            assert len((await kv.range(b"a", b"")).items) == stored
            if stored:
                with pytest.raises(Unavailable):
                    await step
                async with kv.watch(b"", 2) as resumed:
                    assert [event.key for event in (await anext(resumed)).events] == [b"a"]
            else:
                step.cancel()
        await kv.close()

    run(scenario())


def test_rereading_goes_on_until_the_medium_answers() -> None:
    class Broken(HeldLog):
        broken = 0

        async def load(self):  # type: ignore[no-untyped-def]  # as HeldLog's
            if self.broken:
                self.broken -= 1
                raise Unavailable("still broken")
            return await super().load()

    async def scenario() -> None:
        clock = FakeClock()
        log = Broken()
        kv = await log.kv(clock)
        write = asyncio.ensure_future(kv.put(b"a", b"", expect=ABSENT))
        await turns()
        log.broken = 3
        log.fail(outcome_known=False)
        log.loads.release()
        await turns()
        with pytest.raises(Unavailable):
            await write
        with pytest.raises(Unavailable, match="still broken"):
            await kv.revision()
        await clock.advance(3)
        assert await kv.revision() == 1
        await kv.close()

    run(scenario())


def test_an_expiry_whose_commit_fails_is_tried_again() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        log = HeldLog()
        kv = await log.kv(clock)
        granting = asyncio.ensure_future(kv.grant(5))
        await turns()
        log.let_through()
        creating = asyncio.ensure_future(kv.put(b"a", b"", expect=ABSENT, lease=await granting))
        await turns()
        log.let_through()
        await creating
        await clock.advance(5)
        log.fail(outcome_known=True)
        await turns()
        assert len((await kv.range(b"a", b"")).items) == 1
        await clock.advance(1)
        batch = log.let_through()
        assert [(record.key, record.value) for record in batch.records] == [(b"a", None)]
        assert batch.ended == [await granting]
        assert (await kv.range(b"a", b"")).items == []
        await kv.close()

    run(scenario())


def test_close_finishes_what_is_under_way() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        first = asyncio.ensure_future(kv.put(b"a", b"1", expect=ABSENT))
        await turns()
        second = asyncio.ensure_future(kv.put(b"b", b"1", expect=ABSENT))
        await turns()
        closing = asyncio.ensure_future(kv.close())
        await turns()
        with pytest.raises(Unavailable, match="closed"):
            await kv.put(b"c", b"1", expect=ABSENT)
        log.let_through()
        await turns()
        log.let_through()
        assert (await first).succeeded
        assert (await second).succeeded
        await closing

    run(scenario())


def test_a_cancelled_writer_does_not_disturb_its_group() -> None:
    async def scenario() -> None:
        log = HeldLog()
        kv = await log.kv()
        writes = [asyncio.ensure_future(kv.put(b"a%d" % n, b"", expect=ABSENT)) for n in range(3)]
        await turns()
        writes[1].cancel()
        await turns()
        log.let_through()
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [isinstance(result, TxnResult) for result in results] == [True, False, True]
        assert len((await kv.range(b"", b"\x00")).items) == 3
        await kv.close()

    run(scenario())


def test_arguments_that_mean_nothing_are_refused() -> None:
    async def scenario() -> None:
        kv = await HeldLog().kv()
        with pytest.raises(ValueError, match="expects a revision"):
            await kv.delete(b"a", expect=ABSENT)
        with pytest.raises(ValueError, match="at least a second"):
            await kv.grant(0)
        with pytest.raises(ValueError, match="unknown lease"):
            await kv.put(b"a", b"", expect=ABSENT, lease=5)
        await kv.close()

    run(scenario())
