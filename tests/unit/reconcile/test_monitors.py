"""Sets of monitors, on virtual time: how often discovery is read."""

from __future__ import annotations

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.user import UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Request, Response
from controlplane.reconcile.monitors import MonitorSet
from controlplane.testing.clock import FakeClock
from tests.aio import run

LISTED = {"name": "foos", "kind": "Foo", "namespaced": True, "verbs": ["get"]}
DOCUMENTS = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [LISTED]},
    "/apis": {"kind": "APIGroupList", "groups": []},
}


class Discovery:
    """Answers discovery after ``seconds``; ``read_at``: when each reading began."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.seconds = clock, 0.0
        self.read_at: list[float] = []

    async def handle(self, request: Request) -> Response:
        if request.path == "/api":
            self.read_at.append(self.clock.elapsed)
            await self.clock.sleep(self.seconds)
        return Response(200, dumps(DOCUMENTS[request.path]))


def readings(seconds: float, *, until: float) -> list[float]:
    """When discovery is read that takes so long, if something changes all the time."""

    async def main() -> list[float]:
        clock = FakeClock(auto_advance=True)
        discovery = Discovery(clock)
        discovery.seconds = seconds
        client = LoopbackClient(discovery.handle, UserInfo(name="test"), clock=clock)

        def none(_: object) -> bool:
            return False

        def made(_: object) -> object:
            raise AssertionError("nothing is wanted")

        monitors = MonitorSet("test", client, wanted=none, monitor=made, clock=clock)  # type: ignore[arg-type]  # unmade
        async with clock, TaskGroup("test") as group:
            group.start(monitors.run(), name="monitors")
            while clock.elapsed < until:
                monitors.look()
                await clock.sleep(0.01)
        return [round(at, 2) for at in discovery.read_at]

    return run(main())


def test_one_reading_serves_a_crowd_of_changes() -> None:
    assert readings(0.0, until=0.18) == [0.0, 0.05, 0.1, 0.15]


def test_readings_that_take_long_are_a_tenth_of_the_time_at_most() -> None:
    assert readings(0.1, until=2.5) == [0.0, 1.1, 2.2]


def test_no_reading_puts_off_the_next_for_long() -> None:
    assert readings(1.0, until=7.0) == [0.0, 3.0, 6.0]
