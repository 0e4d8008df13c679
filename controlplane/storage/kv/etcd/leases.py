"""Leases that many keys share, since granting one costs a consensus round.

A lease is granted a little longer than asked, and serves all who ask for the same time to live while that much is left
of it: keys live at least their TTL, at most ``REUSE_PART`` (and ``REUSE_SECONDS``) longer.

Source: kube-apiserver's lease manager (apiserver pkg/storage/etcd3/lease_manager.go).
"""

from __future__ import annotations

import asyncio
from typing import Final

from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, UnaryCall
from controlplane.storage.kv.etcd.metrics import LEASE_OBJECTS

__all__ = ["Leases"]

REUSE_PART: Final = 0.05
REUSE_SECONDS: Final = 60
OBJECTS: Final = 1_000
"""Most keys on one lease: its expiry deletes them all in one revision."""


@dataclass(slots=True)
class _Lease:
    lease_id: int
    expires: float
    objects: int = 0


class Leases:
    """The current lease of each time to live."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock
        self._current: dict[int, _Lease] = {}
        self._granting: dict[int, asyncio.Event] = {}

    async def get(self, ttl_seconds: int) -> int:
        """The id of a lease for one more key, which lives ``ttl_seconds`` from now at least.

        Raises:
            ValueError: not above 0. Unavailable.
        """
        if ttl_seconds <= 0:
            raise ValueError(f"time to live is {ttl_seconds} s; it must be above 0")
        while True:
            lease = self._current.get(ttl_seconds)
            if lease is not None and lease.objects < OBJECTS and lease.expires > self._clock.monotonic() + ttl_seconds:
                lease.objects += 1
                return lease.lease_id
            other = self._granting.get(ttl_seconds)
            if other is None:
                await self._renew(ttl_seconds)
            else:
                await other.wait()

    async def _renew(self, ttl_seconds: int) -> None:
        """Grant the lease that all who ask meanwhile wait for; if it fails, one of them tries in turn."""
        done = self._granting[ttl_seconds] = asyncio.Event()
        try:
            now = self._clock.monotonic()
            granted_seconds = ttl_seconds + max(1, min(int(ttl_seconds * REUSE_PART), REUSE_SECONDS))
            request = pb.LeaseGrantRequest(TTL=granted_seconds)
            response = await self._cluster.call(_grant, request, repeatable=True)
            if response.error:
                raise Unavailable(f"etcd: lease not granted: {response.error}", outcome_known=True)
            replaced = self._current.get(ttl_seconds)
            if replaced is not None:
                LEASE_OBJECTS.labels_cached(()).observe(replaced.objects)
            self._current = {ttl: lease for ttl, lease in self._current.items() if lease.expires > now}
            self._current[ttl_seconds] = _Lease(response.ID, now + granted_seconds)
        finally:
            del self._granting[ttl_seconds]
            done.set()


def _grant(member: Member) -> UnaryCall[pb.LeaseGrantRequest, pb.LeaseGrantResponse]:
    return member.grant
