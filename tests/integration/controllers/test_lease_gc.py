"""Identity leases that ran out are removed; others, and those still good, are not."""

from __future__ import annotations

import time

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Obj
from controlplane.base.clock import rfc3339_micro
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, until

LEASES = GVR("coordination.k8s.io", "v1", "leases")


def lease(name: str, *, age: float, labels: dict[str, str]) -> Obj:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 3, "renewTime": rfc3339_micro(time.time() - age)}
    metadata = {"namespace": "kube-system", "name": name, "labels": labels}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def test_what_ran_out_goes_when_it_has_run_out() -> None:
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
