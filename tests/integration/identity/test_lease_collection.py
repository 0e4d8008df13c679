"""The leases of servers that have gone are removed, by what is seen of them: servers' clocks may differ."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import rfc3339_micro
from controlplane.controllers.lease_gc.controller import WATCH_SECONDS, LeaseGarbageCollection
from controlplane.reconcile.controller import Result
from controlplane.testing.clock import FakeClock
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects
from tests.integration.identity.servers import LEASES

KEY = Key("default", "apiserver-other")  # not where the plane's own collection looks


def lease(renewed: float) -> Obj:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {"holderIdentity": "x", "leaseDurationSeconds": 3600, "renewTime": rfc3339_micro(renewed)},
    }


def test_a_server_whose_clock_is_hours_behind_keeps_its_lease_as_long_as_it_renews_it() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            leases, clock = Objects(plane).of(LEASES), FakeClock()
            behind = clock.now() - 7200
            collection = LeaseGarbageCollection(leases, clock)
            stored = await leases.create(lease(behind))
            for renewal in range(3):
                assert await collection.reconcile(KEY) == Result(WATCH_SECONDS)
                await clock.advance(WATCH_SECONDS)
                stored = await leases.update({**stored, "spec": lease(behind + 60 * renewal + 10)["spec"]})
            assert await collection.reconcile(KEY) == Result(WATCH_SECONDS)
            await clock.advance(WATCH_SECONDS - 1)
            assert await collection.reconcile(KEY) == Result(1)
            await clock.advance(1)
            assert await collection.reconcile(KEY) is None
            with pytest.raises(APIError, match="not found"):
                await leases.get(KEY)

    run(main())


def test_a_lease_that_has_not_run_out_is_looked_at_when_it_would() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            leases, clock = Objects(plane).of(LEASES), FakeClock()
            await leases.create(lease(clock.now() - 600))
            assert await LeaseGarbageCollection(leases, clock).reconcile(KEY) == Result(3000)

    run(main())
