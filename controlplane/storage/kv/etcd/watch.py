"""One watch: one gRPC stream to one member.

Two tasks carry the stream, since gRPC ends a stream when somebody who waits for it is cancelled: a consumer may give up
waiting for a batch and come back.

Guarantees, beyond those of ``kv.api.Watch``:
  confirmed  etcd has created the watch when the block is entered
  nothing    skipped in silence: a cancelled, compacted, reordered or ended watch raises
  bounded    ``BACKLOG`` responses wait here, the others at the server

Source: etcd's watch API; server/etcdserver/api/v3rpc/watch.go for what is sent when.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

import grpc.aio  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.base.tasks import Owner
from controlplane.storage.errors import Compacted, FutureRevision, StorageError, Unavailable
from controlplane.storage.kv.api import Event, WatchBatch, prefix_end
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, StreamCall
from controlplane.storage.kv.etcd.errors import translate
from controlplane.storage.kv.etcd.pages import to_key_value
from controlplane.storage.kv.etcd.version import progress_is_trustworthy
from controlplane.storage.kv.etcd.wire import WHOLE_BYTES, pieces

__all__ = ["EtcdWatch"]

BACKLOG: Final = 64
"""Responses read ahead of the consumer: a few ms of single events; beyond it gRPC's flow control holds the server,
which then serves the watch from its history."""

LEADER: Final = (("hasleader", "true"),)
"""Metadata that makes a member end the stream when it has lost its leader, instead of staying quiet."""

PUT: Final = pb.Event.PUT

ALL_WATCHES: Final = -1
"""Watch id of the answer to a progress request."""


class EtcdWatch:
    """The context manager and the iterator that ``EtcdKV.watch`` returns."""

    __slots__ = (
        "_arrived",
        "_backlog",
        "_call",
        "_cluster",
        "_delivered",
        "_error",
        "_held",
        "_member_name",
        "_owner",
        "_pieces",
        "_prefix",
        "_prev",
        "_progress_wanted",
        "_reader",
        "_room",
        "_start",
        "_trustworthy",
    )

    def __init__(self, cluster: Cluster, prefix: bytes, start: int, *, prev: bool) -> None:
        self._cluster, self._prefix, self._start, self._prev = cluster, prefix, max(start, 1), prev
        self._delivered = self._start - 1
        self._owner = Owner("etcd.watch")
        self._backlog: deque[bytes] = deque()
        self._arrived, self._room, self._progress_wanted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._pieces: Iterator[bytes] | None = None
        self._held: list[Event] = []
        self._error: StorageError | None = None
        self._trustworthy = False
        self._member_name = ""
        self._call: StreamCall | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        member, status = await self._cluster.status()
        self._member_name = member.name
        self._trustworthy = progress_is_trustworthy(status.version)
        # A start in the past is asked for from one before it: what is at the compaction itself counts as forgotten
        # here, but etcd serves a watch from there, until 3.4.34 and 3.5.16 without the deletion that was compacted.
        in_the_past = 1 < self._start <= status.header.revision
        create = pb.WatchCreateRequest(
            key=self._prefix or b"\0",
            range_end=prefix_end(self._prefix),
            start_revision=self._start - in_the_past,
            progress_notify=True,
            prev_kv=self._prev,
        )
        call = member.watch(metadata=LEADER)
        self._call = call
        try:
            async with asyncio.timeout(self._cluster.request_seconds):
                created = await self._create(call, create)
                await self._refuse_future(created.header.revision)
        except TimeoutError as error:
            call.cancel()
            self._cluster.leave(member)
            raise Unavailable(f"etcd {member.name}: the watch was not confirmed in time") from error
        except grpc.aio.AioRpcError as error:
            self._cluster.leave(member)
            raise self._lost(error) from error
        except BaseException:
            call.cancel()
            self._cluster.raise_if_closed_under_us()
            raise
        self._reader = self._owner.start(self._read(call, member), name="read")
        self._owner.start(self._ask_progress(call), name="progress")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._call is not None and self._reader is not None:
            self._call.cancel()
            self._room.set()
            await asyncio.wait({self._reader})  # by the end of its call, so that gRPC has nothing more to report
        await self._owner.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchBatch:
        while True:
            batch = await self._next_piece() if self._pieces is not None else self._next_response()
            if batch is not None:
                return batch
            if self._pieces is None and not self._backlog:
                if self._error is not None:
                    raise self._error
                self._arrived.clear()
                await self._arrived.wait()

    async def request_progress(self) -> None:
        """See ``kv.api.Watch``. Servers whose answer may overtake events are not asked: no batch would be true."""
        if self._trustworthy:
            self._progress_wanted.set()

    async def _create(self, call: StreamCall, create: pb.WatchCreateRequest) -> pb.WatchResponse:
        await call.write(pb.WatchRequest(create_request=create))
        encoded = await call.read()
        if not isinstance(encoded, bytes):
            raise Unavailable(f"etcd {self._member_name}: ended the watch before it was created")
        response = pb.WatchResponse.FromString(encoded)
        if response.canceled or not response.created:
            raise self._cancelled(response)
        return response

    async def _refuse_future(self, revision: int) -> None:
        """A watch from beyond the end of the log would stay quiet until the log has grown past it."""
        if self._start - 1 <= revision:
            return
        request = pb.RangeRequest(key=self._prefix or b"\0", count_only=True)  # the member may only be behind
        encoded = await self._cluster.call(lambda member: member.range, request, repeatable=True)
        current = pb.RangeResponse.FromString(encoded).header.revision
        if self._start - 1 > current:
            raise FutureRevision(self._start, current)

    async def _read(self, call: StreamCall, member: Member) -> None:
        try:
            while True:
                encoded = await call.read()
                if not isinstance(encoded, bytes):
                    self._error = Unavailable(f"etcd {self._member_name}: ended the watch")
                    return
                self._backlog.append(encoded)
                self._arrived.set()
                if len(self._backlog) >= BACKLOG:
                    self._room.clear()
                    await self._room.wait()
        except grpc.aio.AioRpcError as error:
            self._cluster.leave(member)
            self._error = self._lost(error)
        finally:
            if self._error is None:  # cancelled: by the end of the block or of the channel
                self._error = Unavailable(f"etcd {self._member_name}: the watch is closed")
            self._arrived.set()

    async def _ask_progress(self, call: StreamCall) -> None:
        request = pb.WatchRequest(progress_request=pb.WatchProgressRequest())
        while self._error is None:
            await self._progress_wanted.wait()
            self._progress_wanted.clear()
            try:
                await call.write(request)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                return  # the stream has ended, which the reader reports

    def _next_response(self) -> WatchBatch | None:
        """Decode the next response that waits here, or begin to if it is large."""
        if not self._backlog:
            return None
        encoded = self._backlog.popleft()
        self._room.set()
        if len(encoded) > WHOLE_BYTES:
            self._pieces = pieces(encoded)
            return None
        response = pb.WatchResponse.FromString(encoded)
        events = self._events(response)
        return self._deliver(events) if events else self._progress(response)

    async def _next_piece(self) -> WatchBatch | None:
        """Decode the next piece of a large response, and hold its last revision back: the next may have more of it."""
        assert self._pieces is not None
        await asyncio.sleep(0)
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
            ready, self._held = self._held, []
        else:
            events = self._held + self._events(pb.WatchResponse.FromString(piece))
            cut = len(events)
            while cut and events[cut - 1].mod_revision == events[-1].mod_revision:
                cut -= 1
            ready, self._held = events[:cut], events[cut:]
        return self._deliver(ready) if ready else None

    def _events(self, response: pb.WatchResponse) -> list[Event]:
        if response.canceled:
            raise self._fail(self._cancelled(response))
        events: list[Event] = []
        for event in response.events:
            kv = event.kv
            revision = kv.mod_revision
            if revision >= self._start:
                value = to_key_value(kv) if event.type == PUT else None
                prev = to_key_value(event.prev_kv) if self._prev and event.HasField("prev_kv") else None
                events.append(Event(kv.key, revision, value, prev))
        return events

    def _deliver(self, events: list[Event]) -> WatchBatch:
        """A batch of whole revisions, in key order within each (etcd's order is that of the transaction)."""
        if len(events) > 1:
            events.sort(key=_position)
        if events[0].mod_revision <= self._delivered:
            late, seen = events[0].mod_revision, self._delivered
            raise self._fail(Unavailable(f"etcd {self._member_name}: sent revision {late} after {seen}"))
        self._delivered = events[-1].mod_revision
        return WatchBatch(self._delivered, events)

    def _progress(self, response: pb.WatchResponse) -> WatchBatch | None:
        """A batch without events, if the response is a progress notification that can be believed."""
        requested = response.watch_id == ALL_WATCHES
        revision = response.header.revision
        if response.events or revision < self._delivered or (requested and not self._trustworthy):
            return None
        self._delivered = revision
        return WatchBatch(revision, ())

    def _fail(self, error: StorageError) -> StorageError:
        """End the watch: what is raised now is raised again by every later step."""
        self._error, self._pieces, self._held = error, None, []
        self._backlog.clear()
        return error

    def _cancelled(self, response: pb.WatchResponse) -> StorageError:
        if response.compact_revision:
            return Compacted(self._delivered + 1, response.compact_revision)
        return Unavailable(
            f"etcd {self._member_name}: cancelled the watch: {response.cancel_reason or 'no reason given'}"
        )

    def _lost(self, error: grpc.aio.AioRpcError) -> StorageError:
        lost = translate(error, None, self._member_name)
        return lost if isinstance(lost, StorageError) else Unavailable(str(lost))


def _position(event: Event) -> tuple[int, bytes]:
    return event.mod_revision, event.key
