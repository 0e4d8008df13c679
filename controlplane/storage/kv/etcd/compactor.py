"""Forgets history that is older than one interval, once an interval, whatever the number of servers.

Who compacts is decided by a compare-and-swap on the version of one key, which also says through what revision. The
first round of a process only learns; so history is kept for one to two intervals. The key and its meaning are
kube-apiserver's, so that servers of both kinds on one etcd take turns.

Source: apiserver pkg/storage/etcd3/compact.go.
"""

from __future__ import annotations

from typing import Final

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.storage.errors import Compacted, StorageError
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, UnaryCall

__all__ = ["COMPACT_KEY", "Compactor"]

COMPACT_KEY: Final = b"compact_rev_key"

log = logs.get(__name__)


class Compactor:
    """``round`` is one interval's turn; ``run`` takes one after each interval for ever."""

    def __init__(self, cluster: Cluster, clock: Clock, interval_seconds: float) -> None:
        self._cluster, self._clock, self._interval_seconds = cluster, clock, interval_seconds
        self._turns = 0
        self._revision = 0

    async def run(self) -> None:
        """Compact until cancelled; a round that fails is logged, and the next one tries again."""
        while True:
            await self._clock.sleep(self._interval_seconds)
            try:
                await self.round()
            except StorageError as error:
                log.warning("compaction failed", error=error)

    async def round(self) -> int:
        """Take the turn if nobody else has in the meantime, and compact through the revision of our last round.

        Returns:
            The revision compacted through, 0 if it was not our turn, or the first.
        """
        through, turns = self._revision, self._turns
        request = pb.TxnRequest()
        compare = request.compare.add()
        compare.target, compare.key, compare.version = pb.Compare.VERSION, COMPACT_KEY, turns
        put = request.success.add().request_put
        put.key, put.value = COMPACT_KEY, b"%d" % through
        request.failure.add().request_range.key = COMPACT_KEY
        response = await self._cluster.call(_txn, request, repeatable=False)
        self._revision = response.header.revision
        if not response.succeeded:
            found = response.responses[0].response_range.kvs
            self._turns = found[0].version if found else 0
            return 0
        self._turns = turns + 1
        if not through:
            return 0
        try:
            await self._cluster.call(_compact, pb.CompactionRequest(revision=through), repeatable=True)
        except Compacted:
            return 0  # an operator has gone further already
        log.debug("compacted", revision=through)
        return through


def _txn(member: Member) -> UnaryCall[pb.TxnRequest, pb.TxnResponse]:
    return member.txn


def _compact(member: Member) -> UnaryCall[pb.CompactionRequest, pb.CompactionResponse]:
    return member.compact
