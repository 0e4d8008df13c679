"""A watch never skips in silence, whatever the server does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from grpc import StatusCode  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.base.grpc.call import STREAM_WINDOW_BYTES
from controlplane.storage.errors import Compacted, FutureRevision, StorageError, Unavailable
from controlplane.storage.kv.api import WatchBatch
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.kv import open_kv
from controlplane.storage.kv.etcd.watch import EtcdWatch
from tests.aio import run
from tests.unit.storage.kv.etcd.scripted import Scripted, event, header, scripted

OPTIONS = KVOptions(history_seconds=0, request_seconds=2)
ALL_WATCHES = -1


def watched(script: Scripted, *, start: int = 11, batches: int = 1, ask: bool = False) -> list[WatchBatch]:
    """What a watch from ``start`` on a scripted server delivers."""

    async def body() -> list[WatchBatch]:
        async with scripted(script):
            kv = await open_kv(f"{script.endpoint}", OPTIONS)
            try:
                async with kv.watch(b"/", start) as watch:
                    if ask:
                        await watch.request_progress()
                    return [await anext(watch) for _ in range(batches)]
            finally:
                await kv.close()

    return run(body())


def failure(script: Scripted, *, start: int = 11) -> StorageError:
    with pytest.raises(StorageError) as raised:
        watched(script, start=start)
    return raised.value


def test_a_compacted_watch_names_the_revision() -> None:
    error = failure(Scripted(sends=[pb.WatchResponse(header=header(90), canceled=True, compact_revision=77)]))
    assert isinstance(error, Compacted)
    assert (error.requested, error.compacted) == (11, 77)


def test_a_cancelled_watch_raises_with_the_reason() -> None:
    error = failure(Scripted(sends=[pb.WatchResponse(canceled=True, cancel_reason="etcdserver: permission denied")]))
    assert isinstance(error, Unavailable)
    assert "permission denied" in str(error)


def test_a_cancelled_watch_raises_without_a_reason_too() -> None:
    assert isinstance(failure(Scripted(sends=[pb.WatchResponse(canceled=True)])), Unavailable)


def test_a_watch_that_is_refused_at_creation_raises_on_entry() -> None:
    refused = pb.WatchResponse(created=True, canceled=True, watch_id=-1, cancel_reason="no")
    assert isinstance(failure(Scripted(created=refused)), Unavailable)


def test_a_lost_leader_raises() -> None:
    error = failure(Scripted(ending=(StatusCode.UNAVAILABLE, "etcdserver: no leader")))
    assert isinstance(error, Unavailable)
    assert "no leader" in str(error)


def test_the_stream_asks_for_a_leader_and_for_progress() -> None:
    script = Scripted(sends=[pb.WatchResponse(header=header(11), events=[event(b"/a", 11)])])
    watched(script)
    assert script.metadata["hasleader"] == "true"
    assert script.creates[0].progress_notify
    assert not script.creates[0].prev_kv


def test_revisions_that_go_back_raise() -> None:
    events = [pb.WatchResponse(header=header(r), events=[event(b"/a", r)]) for r in (12, 11)]

    async def body() -> None:
        async with scripted(Scripted(sends=events)) as script:
            kv = await open_kv(f"{script.endpoint}", OPTIONS)
            async with kv.watch(b"/", 11) as watch:
                assert (await anext(watch)).revision == 12
                for _ in range(2):
                    with pytest.raises(Unavailable, match="sent revision 11 after 12"):
                        await anext(watch)
            await kv.close()

    run(body())


def test_a_revision_is_in_key_order_and_whole_even_over_pieces() -> None:
    """Revision 12 alone is larger than several pieces of its response."""
    events = [event(b"/a", 11), *(event(b"/%04d" % n, 12) for n in reversed(range(2000))), event(b"/a", 13)]
    script = Scripted(sends=[pb.WatchResponse(header=header(13), events=events)])
    batches = watched(script, batches=3)
    assert [batch.revision for batch in batches] == [11, 12, 13]
    assert [each.key for each in batches[1].events] == [b"/%04d" % n for n in range(2000)]


def test_a_start_in_the_past_is_asked_one_earlier_and_delivered_exactly() -> None:
    """So that a start at the compaction itself is refused, not served without its deletion."""
    script = Scripted(sends=[pb.WatchResponse(header=header(9), events=[event(b"/a", 8), event(b"/a", 9)])])
    (batch,) = watched(script, start=9)
    assert script.creates[0].start_revision == 8
    assert [each.mod_revision for each in batch.events] == [9]


def test_a_start_at_the_end_is_asked_as_it_is() -> None:
    script = Scripted(sends=[pb.WatchResponse(header=header(11), events=[event(b"/a", 11)])])
    watched(script)
    assert script.creates[0].start_revision == 11


def test_a_start_beyond_the_log_is_refused() -> None:
    error = failure(Scripted(), start=13)
    assert isinstance(error, FutureRevision)
    assert (error.requested, error.current) == (13, 10)


def test_requested_progress_is_delivered_where_it_can_be_believed() -> None:
    progress = pb.WatchResponse(header=header(30), watch_id=ALL_WATCHES)
    assert watched(Scripted(version="3.5.13", progress=progress), ask=True) == [WatchBatch(30, ())]


def test_requested_progress_is_neither_asked_for_nor_believed_before_the_repair() -> None:
    """Only the watch's own notification, which keeps its place in the stream, is delivered."""
    sends = [
        pb.WatchResponse(header=header(30), watch_id=ALL_WATCHES),
        pb.WatchResponse(header=header(20)),
    ]
    script = Scripted(version="3.5.12", sends=sends, progress=pb.WatchResponse(header=header(40), watch_id=ALL_WATCHES))
    assert watched(script, ask=True) == [WatchBatch(20, ())]


@pytest.mark.parametrize("versions", [("3.5.13", "3.5.12"), ("3.5.12", "3.6.0")])
def test_progress_is_believed_only_if_all_members_can_be(versions: tuple[str, str]) -> None:
    async def body() -> tuple[bool, bool]:
        async with scripted(Scripted(version=versions[0])) as one, scripted(Scripted(version=versions[1])) as two:
            kv = await open_kv(f"{one.endpoint},{two.endpoint}", OPTIONS)
            both = kv.trustworthy_progress
            one.version = two.version = "3.6.1"
            await kv.status()
            after_upgrade = kv.trustworthy_progress
            await kv.close()
            return both, after_upgrade

    assert run(body()) == (False, True)


@pytest.mark.parametrize(
    "give_up",
    [pytest.param(lambda task: task.cancel(), id="cancelled"), pytest.param(lambda _: None, id="left waiting")],
)
def test_closing_the_store_ends_a_waiting_watch(give_up: Callable[[asyncio.Task[WatchBatch]], object]) -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            kv = await open_kv(f"{script.endpoint}", OPTIONS)
            async with kv.watch(b"/", 11) as watch:
                waiting = asyncio.ensure_future(anext(watch))
                await asyncio.sleep(0)
                give_up(waiting)
                await kv.close()
                with pytest.raises((Unavailable, asyncio.CancelledError)):
                    await waiting
                with pytest.raises(Unavailable):
                    await anext(watch)

    run(body())


def test_a_member_that_loses_a_watch_is_left() -> None:
    async def body() -> None:
        lost = Scripted(ending=(StatusCode.UNAVAILABLE, "etcdserver: no leader"))
        async with scripted(lost) as one, scripted(Scripted(revision=12)) as two:
            kv = await open_kv(f"{one.endpoint},{two.endpoint}", OPTIONS)
            async with kv.watch(b"/", 11) as watch:
                with pytest.raises(Unavailable):
                    await anext(watch)
            assert await kv.revision() == 12
            async with kv.watch(b"/", 11):
                assert len(two.creates) == 1
            await kv.close()

    run(body())


def test_asking_a_lost_watch_for_progress_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        ending = (StatusCode.UNAVAILABLE, "etcdserver: no leader")
        async with scripted(Scripted(ending=ending, ends_when_asked=True)) as script:
            kv = await open_kv(f"{script.endpoint}", OPTIONS)
            async with kv.watch(b"/", 11) as watch:
                for _ in range(3):
                    await watch.request_progress()
                    with pytest.raises(Unavailable, match="no leader"):
                        await anext(watch)
                    await asyncio.sleep(0.01)  # for the request to be tried
            await kv.close()

    run(body())
    assert caplog.records == []


def test_only_so_much_is_read_ahead_of_a_slow_consumer() -> None:
    """3 MB of responses, three times the window."""
    revisions = range(11, 2011)
    sends = [pb.WatchResponse(header=header(r), events=[event(b"/" + bytes(1500), r)]) for r in revisions]

    async def body() -> None:
        async with scripted(Scripted(sends=sends)) as script:
            kv = await open_kv(f"{script.endpoint}", OPTIONS)
            watch = EtcdWatch(kv._cluster, b"/", 11, prev=False)
            async with watch:
                seen = [each.mod_revision for each in (await anext(watch)).events]
                await asyncio.sleep(0.05)
                assert watch._stream is not None
                assert watch._stream.held_bytes <= STREAM_WINDOW_BYTES
                while len(seen) < len(revisions):
                    seen += [each.mod_revision for each in (await anext(watch)).events]
                assert seen == list(revisions)
            await kv.close()

    run(body())
