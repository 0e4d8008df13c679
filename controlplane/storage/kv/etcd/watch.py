"""One watch: one gRPC stream to one member.

It has no task: the consumer reads the stream itself, and may give up waiting for a batch and come back.

Guarantees, beyond those of ``kv.api.Watch``:
  confirmed  etcd has created the watch when the block is entered
  nothing    skipped in silence: a cancelled, compacted, reordered or ended watch raises
  bounded    ``STREAM_WINDOW_BYTES`` of responses wait here, the others at the server, which then serves the watch from
             its history

Source: etcd's watch API; server/etcdserver/api/v3rpc/watch.go for what is sent when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from google.protobuf.message import DecodeError

from controlplane.base.grpc import RpcError, Stream
from controlplane.storage.errors import Compacted, FutureRevision, StorageError, Unavailable
from controlplane.storage.kv.api import Event, KeyValue, WatchBatch, prefix_end
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member
from controlplane.storage.kv.etcd.errors import translate
from controlplane.storage.kv.etcd.pages import to_key_value
from controlplane.storage.kv.etcd.version import progress_is_trustworthy
from controlplane.storage.kv.etcd.wire import WHOLE_BYTES, pieces

__all__ = ["EtcdWatch"]

GATHERED: Final = 100
"""Events of responses that wait here together become one batch, of about this many at most."""

PUT: Final = pb.Event.PUT

_new = tuple.__new__
"""A third of the cost of calling a named tuple's class; two are made for each event."""

ALL_WATCHES: Final = -1
"""Watch id of the answer to a progress request."""

ASK_PROGRESS: Final = pb.WatchRequest(progress_request=pb.WatchProgressRequest()).SerializeToString()


class EtcdWatch:
    """The context manager and the iterator that ``EtcdKV.watch`` returns."""

    __slots__ = (
        "_cluster",
        "_delivered",
        "_error",
        "_held",
        "_member",
        "_pieces",
        "_prefix",
        "_prev",
        "_start",
        "_stream",
        "_trustworthy",
    )

    def __init__(self, cluster: Cluster, prefix: bytes, start: int, *, prev: bool) -> None:
        self._cluster, self._prefix, self._start, self._prev = cluster, prefix, max(start, 1), prev
        self._delivered = self._start - 1
        self._member: Member = cluster.current
        self._stream: Stream | None = None
        self._pieces: Iterator[bytes] | None = None
        self._held: list[Event] = []
        self._error: StorageError | None = None
        self._trustworthy = False

    async def __aenter__(self) -> Self:
        member, status = await self._cluster.status()
        self._member = member
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
        try:
            async with asyncio.timeout(self._cluster.request_seconds):
                created = await self._create(member, create)
                await self._refuse_future(created.header.revision)
        except TimeoutError as error:
            self._close()
            self._cluster.leave(member)
            raise Unavailable(f"etcd {member.name}: the watch was not confirmed in time") from error
        except RpcError as error:
            self._close()
            self._cluster.leave(member)
            raise self._lost(error) from error
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchBatch:
        while True:
            if self._error is not None:
                raise self._error
            batch = await self._next_piece() if self._pieces is not None else self._decode(await self._read())
            if batch is not None:
                return batch

    async def request_progress(self) -> None:
        """See ``kv.api.Watch``. Servers whose answer may overtake events are not asked: no batch would be true."""
        if self._trustworthy and self._stream is not None and not self._stream.ended:
            self._stream.send(ASK_PROGRESS)

    async def _create(self, member: Member, create: pb.WatchCreateRequest) -> pb.WatchResponse:
        stream = self._stream = await member.watch(timeout=self._cluster.request_seconds)
        stream.send(pb.WatchRequest(create_request=create).SerializeToString())
        encoded = await stream.read()
        if encoded is None:
            raise Unavailable(f"etcd {member.name}: ended the watch before it was created")
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

    async def _read(self) -> bytes:
        """The next response.

        Raises:
            Unavailable, Compacted: there is no more; and the watch has failed.
        """
        assert self._stream is not None
        try:
            encoded = await self._stream.read()
        except RpcError as error:
            self._cluster.leave(self._member)
            raise self._fail(self._lost(error)) from error
        if encoded is None:
            raise self._fail(Unavailable(f"etcd {self._member.name}: ended the watch"))
        return encoded

    def _decode(self, encoded: bytes) -> WatchBatch | None:
        """Decode a response, and what waits behind it, or begin to if it is large."""
        if len(encoded) > WHOLE_BYTES:
            self._pieces = pieces(encoded)
            return None
        response = self._parse(encoded)
        events = self._events(response)
        if not events:
            return self._progress(response)
        self._gather(events)
        return self._deliver(events)

    def _gather(self, events: list[Event]) -> None:
        """Add the events of small responses that have arrived too; any other response is left for its own step."""
        assert self._stream is not None
        while len(events) < GATHERED:
            encoded = self._stream.peek()
            if encoded is None or len(encoded) > WHOLE_BYTES:
                return
            response = self._parse(encoded)
            first = response.events[0].kv.mod_revision if response.events else 0
            if response.canceled or first <= events[-1].mod_revision:
                return
            self._stream.read_nowait()
            events += self._events(response)

    def _parse(self, encoded: bytes) -> pb.WatchResponse:
        try:
            return pb.WatchResponse.FromString(encoded)
        except DecodeError as error:
            raise self._fail(Unavailable(f"etcd {self._member.name}: unreadable watch response: {error}")) from error

    async def _next_piece(self) -> WatchBatch | None:
        """Decode the next piece of a large response, and hold its last revision back: the next may have more of it."""
        assert self._pieces is not None
        await asyncio.sleep(0)
        try:
            piece = next(self._pieces, None)
        except ValueError as error:
            raise self._fail(Unavailable(f"etcd {self._member.name}: unreadable watch response: {error}")) from error
        if piece is None:
            self._pieces = None
            ready, self._held = self._held, []
        else:
            events = self._held + self._events(self._parse(piece))
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
                key = kv.key
                value: KeyValue | None = None
                if event.type == PUT:
                    value = _new(KeyValue, (key, kv.value, kv.create_revision, revision, kv.version, kv.lease))
                prev = to_key_value(event.prev_kv) if self._prev and event.HasField("prev_kv") else None
                events.append(_new(Event, (key, revision, value, prev)))
        return events

    def _deliver(self, events: list[Event]) -> WatchBatch:
        """A batch of whole revisions, in key order within each (etcd's order is that of the transaction)."""
        if len(events) > 1:
            events.sort(key=_position)
        if events[0].mod_revision <= self._delivered:
            late, seen = events[0].mod_revision, self._delivered
            raise self._fail(Unavailable(f"etcd {self._member.name}: sent revision {late} after {seen}"))
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
        return error

    def _cancelled(self, response: pb.WatchResponse) -> StorageError:
        if response.compact_revision:
            return Compacted(self._delivered + 1, response.compact_revision)
        return Unavailable(
            f"etcd {self._member.name}: cancelled the watch: {response.cancel_reason or 'no reason given'}"
        )

    def _lost(self, error: RpcError) -> StorageError:
        lost = translate(error, None, self._member.name)
        return lost if isinstance(lost, StorageError) else Unavailable(str(lost))


def _position(event: Event) -> tuple[int, bytes]:
    return event.mod_revision, event.key
