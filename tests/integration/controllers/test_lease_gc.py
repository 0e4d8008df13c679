"""Identity leases that ran out and are not renewed are removed; others, and those still good, are not."""

from __future__ import annotations

import time

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import rfc3339_micro
from controlplane.controllers.lease_gc import controller
from controlplane.controllers.lease_gc.controller import WATCH_SECONDS, LeaseGarbageCollection
from controlplane.reconcile.controller import Result
from controlplane.testing.clock import FakeClock
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, until

LEASES = GVR("coordination.k8s.io", "v1", "leases")


def lease(name: str, *, age: float, labels: dict[str, str], now: float | None = None, seconds: int = 3) -> Obj:
    """``age``: seconds since it was renewed. ``now``: by a clock of its server's own."""
    renewed = (time.time() if now is None else now) - age
    spec = {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": rfc3339_micro(renewed)}
    metadata = {"namespace": "kube-system", "name": name, "labels": labels}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def test_what_ran_out_goes_when_it_has_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "WATCH_SECONDS", 0.5)

    async def main() -> None:
        async with running_plane() as plane:
            leases = Objects(plane).of(LEASES)
            identity = {"apiserver.kubernetes.io/identity": "kube-apiserver"}

            async def names() -> set[str]:
                return {meta.name(item) for item in (await leases.list("kube-system")).items}

            await leases.create(lease("other", age=1000, labels={}))
            await leases.create(lease("alive", age=0, labels=identity))
            await leases.create(lease("stale", age=1000, labels=identity))

            async def stale_is_gone() -> bool:
                return "stale" not in await names()

            await until(stale_is_gone)
            assert {"other", "alive"} <= await names()

            async def both_are_gone() -> bool:
                return "alive" not in await names()

            await until(both_are_gone)
            assert "other" in await names()

    run(main())


UNSEEN = Key("kube-system", "skewed")
"""Without the label, so that the plane's own collection does not look."""


def test_a_server_whose_clock_is_hours_behind_keeps_its_lease_as_long_as_it_renews_it() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            leases, clock = Objects(plane).of(LEASES), FakeClock()
            collection = LeaseGarbageCollection(leases, clock)
            stored = await leases.create(lease("skewed", age=7200, labels={}, now=clock.now(), seconds=3600))
            for _ in range(3):
                assert await collection.reconcile(UNSEEN) == Result(WATCH_SECONDS)
                await clock.advance(WATCH_SECONDS)
                renewed = lease("skewed", age=7200, labels={}, now=clock.now(), seconds=3600)
                stored = await leases.update({**stored, "spec": renewed["spec"]})
            assert await collection.reconcile(UNSEEN) == Result(WATCH_SECONDS)
            await clock.advance(WATCH_SECONDS - 1)
            assert await collection.reconcile(UNSEEN) == Result(1)
            await clock.advance(1)
            assert await collection.reconcile(UNSEEN) is None
            with pytest.raises(APIError, match="not found"):
                await leases.get(UNSEEN)

    run(main())


def test_a_lease_that_has_not_run_out_is_looked_at_when_it_would() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            leases, clock = Objects(plane).of(LEASES), FakeClock()
            await leases.create(lease("skewed", age=600, labels={}, now=clock.now(), seconds=3600))
            assert await LeaseGarbageCollection(leases, clock).reconcile(UNSEEN) == Result(3000)

    run(main())
