"""Ranges, read in pages of one snapshot.

etcd answers a range in one message, however large, and counts all keys that follow on every page; so pages are large,
but not larger than a moment's transfer, and the next one is under way while one is being decoded.

Source: the paging of kube-apiserver's lists (limit, then the key after the last one at the first page's revision).
"""

from __future__ import annotations

import asyncio
from typing import Final

from controlplane.storage.errors import Compacted, Unavailable
from controlplane.storage.kv.api import KeyValue, RangeResult
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, UnaryCall
from controlplane.storage.kv.etcd.wire import pieces

__all__ = ["read_range", "to_key_value"]

FIRST_PAGE_ITEMS: Final = 500
"""Before the size of a value is known; of the largest values these are 750 MB, of usual ones 0.5 MB."""

PAGE_ITEMS: Final = 10_000
PAGE_BYTES: Final = 4_194_304
"""What a page should be by the size of the one before: 10 ms of a 400 MB/s transfer."""


def to_key_value(kv: pb.KeyValue) -> KeyValue:
    """One stored value off the wire."""
    return KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease)


def _range(member: Member) -> UnaryCall[pb.RangeRequest, bytes]:
    return member.range


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
    named_revision = request.revision
    if request.range_end and not request.count_only:
        request.limit = min(wanted, first_items) if wanted else first_items
    encoded = await cluster.call(_range, request, repeatable=True)
    items: list[KeyValue] = []
    head = await _decode(encoded, items)
    revision, total = head.header.revision, head.count
    more, page, size = head.more, request, len(encoded)
    while more and (not wanted or len(items) < wanted):
        left = wanted - len(items) if wanted else page_items
        count = max(1, min(left, page_items, PAGE_BYTES * page.limit // size))
        page = pb.RangeRequest(
            key=items[-1].key + b"\0",
            range_end=request.range_end,
            limit=count,
            revision=named_revision or revision,
        )
        try:
            encoded = await cluster.call(_range, page, repeatable=True)
        except Compacted as error:
            if named_revision:
                raise
            raise Unavailable(f"etcd: revision {revision} was compacted while it was being read; read again") from error
        head = await _decode(encoded, items)
        more, size = head.more, len(encoded)
    return RangeResult(items, revision, more, total)


async def _decode(encoded: bytes, items: list[KeyValue]) -> pb.RangeResponse:
    """Append a page's values to ``items``; returns the page without them."""
    head = pb.RangeResponse()
    for at, piece in enumerate(pieces(encoded)):
        if at:
            await asyncio.sleep(0)
        part = pb.RangeResponse.FromString(piece)
        items.extend([to_key_value(kv) for kv in part.kvs])
        part.ClearField("kvs")
        head.MergeFrom(part)
    return head
