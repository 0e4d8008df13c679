"""Two servers on one etcd: one of them runs the controllers, and the other goes on when it stops."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from controlplane.apimachinery.identity import GVR, Key
from controlplane.testing.etcd import EtcdProcess
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, until

LEASES = GVR("coordination.k8s.io", "v1", "leases")
LEADER = Key("kube-system", "kube-controller-manager")


async def collects(plane: Plane, name: str) -> None:
    """Wait until a dependent has gone with its owner."""
    o = Objects(plane)
    owner = await o.make(name)
    await o.make(f"{name}-child", owner)
    await o.delete(name)
    await o.gone(name, f"{name}-child")


async def holder(plane: Plane) -> str:
    lease = await Objects(plane).of(LEASES).get(LEADER)
    return str(lease["spec"].get("holderIdentity") or "")


def test_one_leads_and_the_other_follows_it(tmp_path: Path) -> None:
    async def main() -> None:
        etcd = EtcdProcess(tmp_path / "etcd")
        await etcd.start()
        certificates = tmp_path / "certs"
        try:
            store = f"etcd:{etcd.endpoint}"
            async with AsyncExitStack() as first_alone, AsyncExitStack() as second_alone:
                first = await first_alone.enter_async_context(running_plane(store=store, cert_dir=certificates))
                await collects(first, "one")
                leader = await holder(first)
                assert leader
                second = await second_alone.enter_async_context(running_plane(store=store, cert_dir=certificates))
                await collects(second, "two")
                assert await holder(second) == leader, "who leads keeps leading"
                await first_alone.aclose()

                async def another() -> bool:
                    return await holder(second) not in ("", leader)

                await until(another)
                await collects(second, "three")
        finally:
            await etcd.close()

    run(main())
