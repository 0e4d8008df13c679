"""A server among those on its store: what it says of itself, and whom it sees.

Hooks have upstream's names, since they are seen in ``/readyz?verbose`` and named by probes. The record is not written
before the server is ready, so that whoever finds it by that finds it working; nor is the lease, unless readiness waits
for something that stands on it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.identity.config import IdentityConfig, ServerIdentity
from controlplane.apiserver.identity.lease import IdentityLease
from controlplane.apiserver.identity.record import PEER_RECORDS, PeerRecordKeeper
from controlplane.apiserver.identity.records import PeerRecords
from controlplane.apiserver.server.hooks import HookContext, Hooks
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.storage.cache.mirror import Mirror

__all__ = ["Presence"]

LEASE_START = "start-kube-apiserver-identity-lease-controller"
LEASE_STOP = "stop-kube-apiserver-identity-lease-controller"
RECORD = "peer-endpoint-reconciler-controller"


class Presence:
    """``server``: who this server is. ``records``: the servers that live, as far as they share this store. ``lease``,
    ``record``: what is kept, None where it is not.

    Args:
        records: followed until ``close``.
        config: what to write. ``keep_lease``: whether there is to be a lease. ``shared``: other servers may be on the
            store; where none can be, there is no record.
        ready: waits until the server is ready. ``lease_at_once``: do not wait for that with the lease.
    """

    def __init__(
        self,
        server: ServerIdentity,
        config: IdentityConfig,
        *,
        records: PeerRecords,
        mirror: Mirror,
        client_as: Callable[[UserInfo], APIClient],
        user: UserInfo,
        keep_lease: bool,
        shared: bool,
        clock: Clock,
        ready: Callable[[], Awaitable[None]],
        lease_at_once: bool = False,
    ) -> None:
        self.server, self._ready, self._lease_at_once = server, ready, lease_at_once
        self.records = records
        self.lease = self.record = None
        if keep_lease:
            self.lease = IdentityLease(
                client_as(user),
                server,
                annotations=config.lease_annotations,
                show_address=config.peer_record,
                clock=clock,
            )
        if config.peer_record and shared:
            storage = mirror.storage(PEER_RECORDS)
            self.record = PeerRecordKeeper(storage, server, annotations=config.record_annotations, clock=clock)

    def install(self, hooks: Hooks) -> None:
        """Add the hooks that begin and end what is kept."""
        if self.lease is not None:
            hooks.add_post_start(LEASE_START, self._keep_lease, by=__name__)
            hooks.add_pre_shutdown(LEASE_STOP, self.lease.stop, by=__name__)
        if self.record is not None:
            hooks.add_post_start(RECORD, self._keep_record, by=__name__)
            hooks.add_pre_shutdown(RECORD, self.record.stop, by=__name__)

    def close(self) -> None:
        """Follow the records no more."""
        self.records.close()

    async def _keep_lease(self, context: HookContext) -> None:
        assert self.lease is not None
        run = self.lease.run() if self._lease_at_once else self._when_ready(self.lease.run)
        context.start(run, name="identity-lease")

    async def _keep_record(self, context: HookContext) -> None:
        assert self.record is not None
        context.start(self._when_ready(self.record.run), name="peer-record")

    async def _when_ready(self, run: Callable[[], Awaitable[None]]) -> None:
        await self._ready()
        await run()
