"""Controllers and their manager: who works when, what failures do, and in which order all of it starts and stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import GVR, GroupResource, Key
from controlplane.apimachinery.user import UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.loopback import LoopbackClient
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.controller import Controller, Result, Resync, Terminal, Watch, own_key
from controlplane.reconcile.informer import Informer
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.leader import LeaderElector
from controlplane.reconcile.manager import Condition, Manager
from controlplane.reconcile.metrics import DEPTH, RECONCILES
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer

CONFIGMAPS = GVR("", "v1", "configmaps")
LEASES = GVR("coordination.k8s.io", "v1", "leases")
A, B = Key("shop", "a"), Key("shop", "b")


class Plant:
    """A server, a clock, an informer of its configmaps, and a log of what was reconciled when."""

    def __init__(self) -> None:
        self.server, self.clock = SmallServer(), FakeClock()
        self.client = LoopbackClient(self.server.handle, UserInfo(name="test"), clock=self.clock, retries=0)
        self.informer = InformerSet(self.client, clock=self.clock).get(CONFIGMAPS, namespaced=True)
        self.log: list[tuple[float, Key]] = []
        self.behaviour: Callable[[Key], Result | None] = lambda _key: None

    def controller(self, name: str = "test", *, workers: int = 1, resync: Resync[Key] | None = None) -> Controller[Key]:
        return Controller(
            name,
            watches=[Watch(self.informer, own_key)],
            reconcile=self.reconcile,
            workers=workers,
            resync=resync,
            clock=self.clock,
        )

    async def reconcile(self, key: Key) -> Result | None:
        self.log.append((round(self.clock.elapsed, 6), key))
        return self.behaviour(key)

    def elector(self, who: str) -> LeaderElector:
        leases = ResourceClient(self.client, LEASES, namespaced=True)
        return LeaderElector(leases, Key("kube-system", "m"), who, clock=self.clock, random=Random(who))

    def put(self, name: str) -> None:
        self.server.put("configmaps", name, "shop", data={"at": str(self.server.revision)})


@asynccontextmanager
async def running(plant: Plant, manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    async with TaskGroup("test") as group:
        task = group.start(manager.run(), name="manager")
        await plant.clock.settle()
        yield task


def result_count(name: str, result: str) -> float:
    return RECONCILES.labels_cached((name, result)).value


def test_what_is_there_and_what_changes_is_reconciled() -> None:
    async def main() -> None:
        plant = Plant()
        plant.put("a")
        manager = Manager()
        manager.add(plant.controller())
        async with running(plant, manager):
            assert plant.log == [(0, A)]
            plant.put("b")
            await plant.clock.settle()
            plant.server.remove("configmaps", "a", "shop")
            await plant.clock.settle()
            assert plant.log == [(0, A), (0, B), (0, A)]

    run(main())


@pytest.mark.parametrize(
    ("outcome", "times", "result"),
    [
        pytest.param(RuntimeError("x"), [0, 0.005, 0.015, 0.035], "error", id="any error: again after growing pauses"),
        pytest.param(
            status.conflict(GroupResource("", "configmaps"), "a", "x"), [0, 0.005, 0.015, 0.035], "error", id="conflict"
        ),
        pytest.param(Terminal("x"), [0], "terminal", id="terminal: not again"),
        pytest.param(Result(requeue_after=0.01), [0, 0.01, 0.02, 0.03], "requeue_after", id="asks for a time"),
        pytest.param(Result(), [0], "success", id="success"),
        pytest.param(None, [0], "success", id="nothing to say is success"),
    ],
)
def test_how_a_reconcile_ends_decides_when_it_is_called_again(
    outcome: Exception | Result | None, times: list[float], result: str, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id

    def behave(_key: Key) -> Result | None:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def main() -> None:
        plant = Plant()
        plant.put("a")
        plant.behaviour = behave
        manager = Manager()
        manager.add(plant.controller(name))
        async with running(plant, manager):
            await plant.clock.advance(0.036)
            assert [at for at, _ in plant.log] == times
            assert result_count(name, result) == len(times)

    run(main())


def test_success_ends_the_growth_of_pauses() -> None:
    outcomes = iter([False, False, True, False, True])

    def behave(_key: Key) -> None:
        if not next(outcomes):
            raise RuntimeError("x")

    async def main() -> None:
        plant = Plant()
        plant.put("a")
        plant.behaviour = behave
        manager = Manager()
        manager.add(plant.controller())
        async with running(plant, manager):
            await plant.clock.advance(1)
            plant.put("a")
            await plant.clock.advance(1)
            assert [at for at, _ in plant.log] == [0, 0.005, 0.015, 1, 1.005]

    run(main())


def test_one_key_is_worked_on_by_one_worker_and_others_meanwhile() -> None:
    busy: set[Key] = set()
    most = 0

    async def main() -> None:
        plant = Plant()

        async def slow(key: Key) -> None:
            nonlocal most
            assert key not in busy
            busy.add(key)
            most = max(most, len(busy))
            await plant.clock.sleep(1)
            busy.discard(key)
            plant.log.append((plant.clock.elapsed, key))

        manager = Manager()
        manager.add(Controller("busy", watches=[Watch(plant.informer, own_key)], reconcile=slow, workers=2))
        async with running(plant, manager):
            for name in ("a", "b", "c"):
                plant.put(name)
            await plant.clock.settle()
            plant.put("a")
            await plant.clock.advance(2)
            assert [at for at, _ in plant.log] == [1, 1, 2, 2]
            assert most == 2

    run(main())


def test_a_resync_wants_its_keys_at_the_start_and_then_each_period() -> None:
    async def main() -> None:
        plant = Plant()
        manager = Manager()
        manager.add(plant.controller(resync=Resync(60, lambda: [A, B])))
        async with running(plant, manager):
            await plant.clock.advance(125)
            assert plant.log == [(0, A), (0, B), (60, A), (60, B), (120, A), (120, B)]

    run(main())


def test_conditions_say_what_is_waited_for() -> None:
    async def main() -> None:
        plant = Plant()
        plant.server.watch_list = "ignored"
        manager = Manager()
        manager.add(plant.controller("c"))
        async with running(plant, manager):
            assert manager.conditions() == [
                Condition("informer/configmaps", False, "waits for its first state"),
                Condition("controller/c", False, "waits for its informers"),
            ]
            plant.server.bookmark()
            await plant.clock.settle()
            assert all(condition.ready for condition in manager.conditions())
            assert manager.ready

    run(main())


def test_all_starts_in_order_and_stops_in_reverse() -> None:
    order: list[str] = []

    class Noted(Controller[Key]):
        async def run(self) -> None:
            order.append(f"+{self.name}")
            try:
                await super().run()
            finally:
                order.append(f"-{self.name}")

    class NotedInformer(Informer):
        async def run(self) -> None:
            order.append("+informer")
            try:
                await super().run()
            finally:
                order.append("-informer")

    async def main() -> None:
        plant = Plant()
        informer = NotedInformer(ResourceClient(plant.client, CONFIGMAPS, namespaced=True), clock=plant.clock)
        manager = Manager(elector=plant.elector("one"))
        for name, elected in (("elected", True), ("plain", False)):
            controller = Noted(name, watches=[Watch(informer, own_key)], reconcile=plant.reconcile, clock=plant.clock)
            manager.add(controller, leader_elected=elected)
        async with running(plant, manager) as task:
            task.cancel()
            await asyncio.wait([task])
        assert order == ["+informer", "+plain", "+elected", "-elected", "-plain", "-informer"]
        assert plant.server.objects["leases", "kube-system", "m"]["spec"]["holderIdentity"] == ""

    run(main())


def test_something_that_ends_by_itself_ends_the_manager_and_is_named() -> None:
    class Ends(Controller[Key]):
        async def run(self) -> None:
            await asyncio.sleep(0)

    async def main() -> None:
        plant = Plant()
        manager = Manager()
        manager.add(Ends("brief", watches=[Watch(plant.informer, own_key)], reconcile=plant.reconcile))
        with pytest.raises(RuntimeError, match="controller brief ended by itself"):
            await manager.run()

    run(main())


def test_leader_elected_controllers_work_for_the_leader_alone_and_again_when_it_leads_again() -> None:
    async def main() -> None:
        plant = Plant()
        plant.put("a")
        manager = Manager(elector=plant.elector("one"))
        manager.add(plant.controller("elected-only"), leader_elected=True)
        async with running(plant, manager):
            assert plant.log == [(0, A)]
            lease = plant.server.objects["leases", "kube-system", "m"]
            plant.server.put("leases", "m", "kube-system", spec={**lease["spec"], "holderIdentity": "two"})
            await plant.clock.advance(2)
            plant.put("b")
            await plant.clock.advance(1)
            assert plant.log == [(0, A)]
            assert manager.ready, "a candidate that waits is ready"
            assert DEPTH.labels_cached(("elected-only",)).value == 0
            plant.server.put("leases", "m", "kube-system", spec={**lease["spec"], "holderIdentity": ""})
            await plant.clock.advance(5)
            assert sorted(key for _, key in plant.log[1:]) == [A, B]

    run(main())


def test_what_cannot_be_run_is_refused() -> None:
    async def main() -> None:
        plant = Plant()
        manager = Manager()
        manager.add(plant.controller("c"))
        with pytest.raises(ValueError, match="added twice"):
            manager.add(plant.controller("c"))
        with pytest.raises(ValueError, match="no elector"):
            manager.add(plant.controller("d"), leader_elected=True)
        async with running(plant, manager):
            with pytest.raises(RuntimeError, match="runs already"):
                manager.add_informer(plant.informer)

    run(main())


def test_an_informer_is_shared_by_those_who_ask_for_the_same() -> None:
    async def main() -> None:
        informers = InformerSet(Plant().client)
        one = informers.get(CONFIGMAPS, namespaced=True)
        assert informers.get(CONFIGMAPS, namespaced=True) is one
        assert informers.get(CONFIGMAPS, namespaced=True, metadata_only=True) is not one
        assert len(informers.all()) == 2

    run(main())
