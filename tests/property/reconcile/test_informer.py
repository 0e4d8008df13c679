"""An informer is faithful: what it reports, replayed, is the server's state, whatever happens to its streams."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Request, Response
from controlplane.client.request_info import RequestInfo
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.informer import Informer
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.small_server import SmallServer

CONFIGMAPS = GVR("", "v1", "configmaps")
NAMES = ("a", "b", "c", "d")
STEPS = 40
DEEDS = ("put", "put", "put", "remove", "remove", "end", "break", "compact", "bookmark", "fail", "heal")


class Replayed:
    """The reports of an informer, each checked against those before it, and what was ever true of each object."""

    def __init__(self, server: SmallServer) -> None:
        self.server = server
        self.state: dict[str, Obj] = {}

    def report(self, old: Obj | None, new: Obj | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        name = obj["metadata"]["name"]
        known = self.state.get(name)
        if new is None:
            assert known is not None, "gone, but was never there"
            assert old is not None
            assert old["metadata"]["uid"] == known["metadata"]["uid"]
            del self.state[name]
            return
        assert old is known, "the state before is not the one reported last"
        if known is not None:
            assert known["metadata"]["uid"] == new["metadata"]["uid"], "made again, reported as a change"
            assert int(known["metadata"]["resourceVersion"]) < int(new["metadata"]["resourceVersion"])
        self.state[name] = new


def disturb(server: SmallServer, random: Random) -> None:
    """Write something, or break something."""
    name = random.choice(NAMES)
    match random.choice(
        ("put", "put", "put", "remove", "remove", "end", "break", "compact", "bookmark", "fail", "heal")
    ):
        case "put":
            server.put("configmaps", name, "shop", data={"v": str(server.revision)})
        case "remove":
            if ("configmaps", "shop", name) in server.objects:
                server.remove("configmaps", name, "shop")
        case "end":
            server.end_streams()
        case "break":
            server.end_streams(ConnectionResetError("gone"))
        case "compact":
            server.compact()
        case "bookmark":
            server.bookmark()
        case "fail":
            server.interfere = lambda _request, _info: Response(500, b"{}")
        case "heal":
            server.interfere = _serve


def _serve(_request: Request, _info: RequestInfo) -> Response | None:
    return None


@pytest.mark.parametrize("watch_list", ["served", "refused", "ignored"])
@given(seed=st.integers(0, 2**32))
def test_reports_replayed_are_the_servers_state(watch_list: str, seed: int) -> None:
    async def main() -> None:
        random, server, clock = Random(seed), SmallServer(watch_list=watch_list), FakeClock()
        client = LoopbackClient(server.handle, UserInfo(name="test"), clock=clock, retries=0)
        resource = ResourceClient(client, CONFIGMAPS, namespaced=True)
        informer, replayed = Informer(resource, clock=clock, random=random), Replayed(server)
        informer.add_handler(replayed.report)
        async with TaskGroup("test") as group, clock:
            group.start(informer.run(), name="informer")
            for _ in range(STEPS):
                disturb(server, random)
                if random.random() < 0.5:
                    await clock.advance(random.choice((0.0, 0.5, 3.0, 40.0)))
            server.interfere = _serve
            await clock.advance(200)
            server.bookmark()  # where streamed lists are ignored, this shows it
            await clock.advance(1)
            stored = {name: obj for (_, _, name), obj in server.objects.items()}
            assert {name: _version(obj) for name, obj in replayed.state.items()} == {
                name: _version(obj) for name, obj in stored.items()
            }
            for name in NAMES:
                assert informer.store.get(Key("shop", name)) is replayed.state.get(name)

    run(main())


def _version(obj: Obj) -> str:
    version: str = obj["metadata"]["resourceVersion"]
    return version
