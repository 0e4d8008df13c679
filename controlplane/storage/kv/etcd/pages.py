"""Ranges, read in pages of one snapshot.

etcd answers a range in one message, however large, and counts all keys that follow for every page (45 ms for 100,000).
So pages are as large as can be taken off the wire in a moment, each is decoded in pieces with the loop running in
between, and the next one is under way meanwhile.

Source: the paging of kube-apiserver's lists (limit, then the key after the last one, at the first page's revision).
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Compacted, Unavailable
from controlplane.storage.kv.api import KeyValue, RangeResult
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, UnaryCall
from controlplane.storage.kv.etcd.wire import WHOLE_BYTES, pieces

__all__ = ["read_range", "to_key_value"]

FIRST_PAGE_ITEMS: Final = 500
"""Before the size of a value is known; of the largest values these are 750 MB, of usual ones 0.5 MB."""

PAGE_ITEMS: Final = 10_000
PAGE_BYTES: Final = 4_194_304
"""What a page should be by the size of the one before: gRPC hands over a message in one go, 4 MiB in 2 ms."""

PIECES_A_TURN: Final = 5
"""Pieces that are cut, not decoded, before the loop runs: 2,000 fields or 1.2 MB, about 1 ms."""


class _Page(NamedTuple):
    """A response of ``size_bytes``, cut but not decoded; ``tail`` is it without what comes before its last values."""

    parts: list[bytes]
    tail: pb.RangeResponse
    size_bytes: int


def to_key_value(kv: pb.KeyValue) -> KeyValue:
    """One stored value off the wire."""
    return KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease)


async def read_range(
    cluster: Cluster, request: pb.RangeRequest, *, first_items: int = FIRST_PAGE_ITEMS, page_items: int = PAGE_ITEMS
) -> RangeResult:
    """Read what the request asks for, whatever its size; the loop runs between pages and between their pieces.

    Args:
        request: its ``limit`` is what the caller wants in all; it is changed to the first page's.
        first_items, page_items: most items of the first page, and of each that follows.

    Raises:
        Compacted, FutureRevision (``current`` 0): only if the request names a revision. Unavailable.
    """
    wanted = request.limit
    if request.range_end and not request.count_only:
        request.limit = min(wanted or first_items, first_items)
    encoded = await cluster.call(_range, request, repeatable=True)
    if len(encoded) <= WHOLE_BYTES:
        whole = pb.RangeResponse.FromString(encoded)
        if not whole.more or request.limit == wanted:
            items = [to_key_value(kv) for kv in whole.kvs]
            return RangeResult(items, whole.header.revision, whole.more, whole.count)
    try:
        return await _read_pages(cluster, request, encoded, wanted, page_items)
    except Compacted as error:
        if request.revision:
            raise
        raise Unavailable("etcd: the range was compacted while it was being read; read again") from error


async def _read_pages(
    cluster: Cluster, first: pb.RangeRequest, encoded: bytes, wanted: int, page_items: int
) -> RangeResult:
    """Read the pages that follow the first one, until there are no more or ``wanted`` (0: all) items."""
    items: list[KeyValue] = []
    head = pb.RangeResponse.FromString(next(pieces(encoded)))
    revision = head.header.revision
    asked = taken = first.limit
    async with TaskGroup("etcd.range") as group:
        page = await _cut(encoded)
        total = page.tail.count
        while page.tail.more and (not wanted or taken < wanted):
            asked = max(
                1, min(page_items, PAGE_BYTES * asked // page.size_bytes, wanted - taken if wanted else page_items)
            )
            taken += asked
            request = pb.RangeRequest(
                key=page.tail.kvs[-1].key + b"\0",
                range_end=first.range_end,
                limit=asked,
                revision=first.revision or revision,
            )
            following = group.start(cluster.call(_range, request, repeatable=True), name="page")
            await _decode(page, items)
            page = await _cut(await following)
        await _decode(page, items)
    return RangeResult(items, revision, page.tail.more, total)


async def _cut(encoded: bytes) -> _Page:
    parts: list[bytes] = []
    for part in pieces(encoded):
        parts.append(part)
        if len(parts) % PIECES_A_TURN == 0:
            await asyncio.sleep(0)
    tail = pb.RangeResponse.FromString(parts[-1])
    if not tail.kvs and len(parts) > 1:  # the cut fell between the values and what follows them
        tail = pb.RangeResponse.FromString(parts[-2] + parts[-1])
    return _Page(parts, tail, len(encoded))


async def _decode(page: _Page, items: list[KeyValue]) -> None:
    for part in page.parts:
        items.extend([to_key_value(kv) for kv in pb.RangeResponse.FromString(part).kvs])
        await asyncio.sleep(0)


def _range(member: Member) -> UnaryCall[pb.RangeRequest, bytes]:
    return member.range
