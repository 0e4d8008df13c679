"""The system namespaces are there soon after the start, and again soon after they went."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controlplane.apimachinery import status
from controlplane.apimachinery.user import UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Request, Response
from controlplane.client.request_info import RequestInfo
from controlplane.controllers.builtin import BUILTIN
from controlplane.controllers.descriptor import ControllerContext
from controlplane.controllers.system_namespaces import DESCRIPTOR
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.manager import Manager
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer

ALL = ["default", "kube-public", "kube-system"]


@asynccontextmanager
async def running(server: SmallServer) -> AsyncIterator[FakeClock]:
    clock = FakeClock()
    client = LoopbackClient(server.handle, UserInfo(name="test"), clock=clock, retries=0)
    context = ControllerContext(
        served=frozenset(), client_for=lambda _name: client, informers=InformerSet(client, clock=clock), clock=clock
    )
    manager = Manager()
    manager.add(DESCRIPTOR.build(context))
    async with TaskGroup("test") as group:
        group.start(manager.run(), name="manager")
        await clock.settle()
        yield clock


def names(server: SmallServer) -> list[str]:
    return sorted(name for _, _, name in server.objects)


def creations(server: SmallServer) -> int:
    return sum(request.method == "POST" for request in server.requests)


def test_missing_ones_are_made_and_no_others() -> None:
    server = SmallServer()
    server.put("namespaces", "default")

    async def main() -> None:
        async with running(server):
            assert names(server) == ALL
            assert creations(server) == 2

    run(main())


def test_one_that_is_deleted_is_made_again_at_once() -> None:
    server = SmallServer()

    async def main() -> None:
        async with running(server) as clock:
            server.put("namespaces", "shop")
            server.remove("namespaces", "shop")
            server.remove("namespaces", "kube-public")
            await clock.settle()
            assert names(server) == ALL
            assert clock.elapsed == 0

    run(main())


def test_a_server_that_refuses_is_asked_again_until_it_does_not() -> None:
    server = SmallServer()

    def refuse(_request: Request, info: RequestInfo) -> Response | None:
        if info.verb == "create":
            raise status.internal_error("not yet")
        return None

    server.interfere = refuse

    async def main() -> None:
        async with running(server) as clock:
            await clock.advance(1)
            assert names(server) == []
            server.interfere = lambda _request, _info: None
            await clock.advance(2)
            assert names(server) == ALL

    run(main())


def test_one_made_by_somebody_else_meanwhile_is_success() -> None:
    server = SmallServer()

    def race(_request: Request, info: RequestInfo) -> Response | None:
        if info.verb == "create" and not server.objects:
            for name in ALL:
                server.put("namespaces", name)
        return None

    server.interfere = race

    async def main() -> None:
        async with running(server) as clock:
            await clock.advance(59)
            assert names(server) == ALL
            assert creations(server) == len(ALL)

    run(main())


def test_it_belongs_to_the_server() -> None:
    assert DESCRIPTOR in BUILTIN
    assert DESCRIPTOR.in_server
    assert [str(gr) for gr in DESCRIPTOR.needs] == ["namespaces"]
    assert len({descriptor.name for descriptor in BUILTIN}) == len(BUILTIN)
