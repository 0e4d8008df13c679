"""Informers, on virtual time against a server that fails on demand: what is reported is what happened, exactly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from controlplane.apimachinery import status
from controlplane.apimachinery.codec.json import dumps
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


class Following:
    """An informer that runs, and what it has reported: ``(name, state before, state after)``."""

    def __init__(self, server: SmallServer, clock: FakeClock, **options: Any) -> None:
        self.server, self.clock = server, clock
        client = LoopbackClient(server.handle, UserInfo(name="test"), clock=clock, retries=0)
        self.informer = Informer(
            ResourceClient(client, CONFIGMAPS, namespaced=True), clock=clock, random=Random(1), **options
        )
        self.reports: list[tuple[str, str | None, str | None]] = []
        self.informer.add_handler(self._report)

    def _report(self, old: Obj | None, new: Obj | None) -> None:
        obj = new or old
        assert obj is not None
        key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
        assert self.informer.store.get(key) is (new if new is not None else None), "the store is behind its reports"
        self.reports.append((obj["metadata"]["name"], _data(old), _data(new)))

    async def settle(self) -> list[tuple[str, str | None, str | None]]:
        """Let everything happen; what was reported meanwhile."""
        await self.clock.settle()
        reports, self.reports = self.reports, []
        return reports

    def requests(self) -> list[str]:
        """The verbs and resource versions that the server was asked for, and forget them."""
        asked = [
            f"{'watch' if request.query.flag('watch') else 'list'}"
            f"{'+initial' if request.query.flag('sendInitialEvents') else ''}"
            f"@{request.query.first('resourceVersion')}"
            for request in self.server.requests
        ]
        self.server.requests.clear()
        return asked


def _data(obj: Obj | None) -> str | None:
    return None if obj is None else obj.get("data", {}).get("v", "")


@asynccontextmanager
async def following(server: SmallServer, **options: Any) -> AsyncIterator[Following]:
    clock = FakeClock()
    follow = Following(server, clock, **options)
    async with TaskGroup("test") as group:
        group.start(follow.informer.run(), name="informer")
        await clock.settle()
        yield follow


def put(server: SmallServer, name: str, value: str) -> None:
    server.put("configmaps", name, "shop", data={"v": value})


def remove(server: SmallServer, name: str) -> None:
    server.remove("configmaps", name, "shop")


@pytest.mark.parametrize(
    ("watch_list", "asked"),
    [
        pytest.param("served", ["watch+initial@"], id="by a streaming list"),
        pytest.param("refused", ["watch+initial@", "list@", "watch@102"], id="by a list, where streaming is refused"),
    ],
)
def test_the_first_state_and_then_each_change_is_reported(watch_list: str, asked: list[str]) -> None:
    server = SmallServer(watch_list=watch_list)
    put(server, "a", "1")
    put(server, "b", "1")

    async def main() -> None:
        async with following(server) as follow:
            assert follow.informer.synced.is_set()
            assert await follow.settle() == [("a", None, "1"), ("b", None, "1")]
            assert follow.requests() == asked
            put(server, "c", "1")
            put(server, "a", "2")
            remove(server, "b")
            assert await follow.settle() == [("c", None, "1"), ("a", "1", "2"), ("b", "1", None)]
            assert sorted(obj["metadata"]["name"] for obj in follow.informer.store) == ["a", "c"]

    run(main())


def test_a_server_that_ignores_the_streaming_list_is_read_by_list_once_it_shows() -> None:
    server = SmallServer(watch_list="ignored")
    put(server, "a", "1")

    async def main() -> None:
        async with following(server) as follow:
            assert not follow.informer.synced.is_set()
            server.bookmark()  # an ordinary one, where only the one that ends the initial events may come
            assert await follow.settle() == [("a", None, "1")]
            assert follow.informer.synced.is_set()
            assert follow.requests() == ["watch+initial@", "list@", "watch@101"]

    run(main())


def test_changes_during_the_first_state_are_part_of_it() -> None:
    server = SmallServer(watch_list="ignored")
    put(server, "a", "1")
    put(server, "b", "1")

    async def main() -> None:
        async with following(server) as follow:
            remove(server, "a")
            put(server, "b", "2")
            await follow.clock.settle()
            server.watch_list = "served"
            watch = server.watches[0]
            server._send(watch.sink, "BOOKMARK", server._bookmark({"k8s.io/initial-events-end": "true"}))
            assert await follow.settle() == [("b", None, "2")]

    run(main())


def test_a_large_list_comes_in_pages() -> None:
    server = SmallServer(watch_list="refused")
    for number in range(1203):
        put(server, f"c{number:04}", "1")

    async def main() -> None:
        async with following(server) as follow:
            await follow.informer.synced.wait()
            assert len(await follow.settle()) == 1203
            assert follow.requests() == ["watch+initial@", "list@", "list@", "list@", "watch@1303"]

    run(main())


def test_pages_whose_snapshot_is_forgotten_are_read_in_one() -> None:
    server = SmallServer(watch_list="refused")
    for number in range(501):
        put(server, f"c{number:04}", "1")

    def compact_between_pages(request: Request, info: RequestInfo) -> Response | None:
        if info.verb == "list" and request.query.first("continue"):
            put(server, "late", "1")
            server.compact()
        return None

    server.interfere = compact_between_pages

    async def main() -> None:
        async with following(server) as follow:
            await follow.informer.synced.wait()
            assert len(await follow.settle()) == 502
            limits = [r.query.first("limit") for r in server.requests if not r.query.flag("watch")]
            assert limits == ["500", "500", ""]

    run(main())


def test_a_watch_that_its_server_ends_is_resumed_at_once_and_nothing_is_missed() -> None:
    server = SmallServer()
    put(server, "a", "1")

    async def main() -> None:
        async with following(server) as follow:
            await follow.settle()
            put(server, "a", "2")
            await follow.clock.advance(2)
            server.end_streams()
            put(server, "b", "1")
            remove(server, "a")
            before = follow.clock.elapsed
            follow.requests()
            assert await follow.settle() == [("a", "1", "2"), ("b", None, "1"), ("a", "2", None)]
            assert follow.clock.elapsed == before
            assert follow.requests() == ["watch@101"]

    run(main())


def test_a_broken_stream_is_resumed_after_a_pause_without_listing() -> None:
    server = SmallServer()
    put(server, "a", "1")

    async def main() -> None:
        async with following(server) as follow:
            await follow.settle()
            follow.requests()
            server.end_streams(ConnectionResetError("gone"))
            await follow.clock.settle()
            remove(server, "a")
            put(server, "b", "1")
            assert await follow.settle() == []
            await follow.clock.advance(0.79)
            assert follow.requests() == []
            await follow.clock.advance(0.81)
            assert await follow.settle() == [("a", "1", None), ("b", None, "1")]
            assert follow.requests() == ["watch@101"]

    run(main())


def test_a_revision_of_several_events_cut_in_the_middle_is_completed_after_the_resume() -> None:
    server = SmallServer()

    async def main() -> None:
        async with following(server) as follow:
            put(server, "a", "1")
            await follow.settle()
            server.revision -= 1  # two events at one revision, as a foreign transaction makes them
            watches, server.watches = server.watches, []
            put(server, "b", "1")  # which this watch does not get to see
            server.watches = watches
            server.end_streams()
            assert await follow.settle() == [("b", None, "1")]

    run(main())


def test_a_bookmark_moves_the_point_of_resumption() -> None:
    server = SmallServer()

    async def main() -> None:
        async with following(server) as follow:
            server.put("secrets", "s", "shop")
            server.bookmark()
            await follow.clock.advance(1)
            follow.requests()
            server.end_streams()
            await follow.settle()
            assert follow.requests() == ["watch@101"]

    run(main())


def test_a_forgotten_history_is_listed_anew_and_exactly_the_difference_is_reported() -> None:
    server = SmallServer()
    for name in ("same", "changed", "gone", "reborn"):
        put(server, name, "1")

    async def main() -> None:
        async with following(server) as follow:
            await follow.settle()
            server.end_streams()
            put(server, "changed", "2")
            put(server, "changed", "3")
            remove(server, "gone")
            put(server, "fleeting", "1")
            remove(server, "fleeting")
            put(server, "new", "1")
            remove(server, "reborn")
            put(server, "reborn", "2")
            server.compact()
            follow.requests()
            await follow.clock.advance(0.79)
            assert follow.requests() == ["watch@104"], "listed anew without a pause"
            await follow.clock.advance(0.81)
            assert sorted(await follow.settle(), key=lambda report: report[0]) == [
                ("changed", "1", "3"),
                ("gone", "1", None),
                ("new", None, "1"),
                ("reborn", "1", None),
                ("reborn", None, "2"),
            ]
            assert follow.requests() == ["watch+initial@"]

    run(main())


def test_a_revision_the_server_does_not_know_is_treated_as_forgotten() -> None:
    server = SmallServer()
    put(server, "a", "1")

    def restored(request: Request, _info: RequestInfo) -> Response | None:
        if request.query.first("resourceVersion") == "101":
            raise status.too_large_resource_version(101, 50)
        return None

    async def main() -> None:
        async with following(server) as follow:
            await follow.settle()
            server.interfere = restored
            follow.requests()
            server.end_streams()
            await follow.clock.advance(2)
            assert await follow.settle() == []
            assert follow.requests() == ["watch@101", "watch+initial@"]

    run(main())


def test_pauses_grow_while_the_server_fails_and_start_over_when_it_has_been_well() -> None:
    server = SmallServer()
    times: list[float] = []

    async def main() -> None:
        clock = FakeClock(auto_advance=True)

        def failing(_request: Request, _info: RequestInfo) -> Response | None:
            times.append(clock.elapsed)
            return None if len(times) > 9 else Response(500, b"oops", content_type="text/plain")

        server.interfere = failing
        follow = Following(server, clock)
        async with clock, TaskGroup("test") as group:
            group.start(follow.informer.run(), name="informer")
            await follow.informer.synced.wait()

    run(main())
    pauses = [after - before for before, after in pairwise(times)]
    expected = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]
    assert len(pauses) == len(expected)
    for pause, least in zip(pauses, expected, strict=True):
        assert least <= pause <= 2 * least


def test_metadata_only_asks_for_it_and_keeps_nothing_else() -> None:
    server = SmallServer()
    put(server, "a", "1")

    async def main() -> None:
        async with following(server, metadata_only=True) as follow:
            put(server, "b", "1")
            await follow.settle()
            assert "as=PartialObjectMetadata;g=meta.k8s.io;v=v1" in server.requests[0].headers["Accept"]
            for obj in follow.informer.store:
                assert set(obj) == {"apiVersion", "kind", "metadata"}

    run(main())


def test_metadata_only_falls_back_where_the_form_is_not_acceptable() -> None:
    server = SmallServer()
    put(server, "a", "1")

    def refuse(request: Request, _info: RequestInfo) -> Response | None:
        if "as=" in request.headers["Accept"]:
            return Response(406, dumps(status.not_acceptable("only json").status()))
        return None

    server.interfere = refuse

    async def main() -> None:
        async with following(server, metadata_only=True) as follow:
            assert follow.clock.elapsed == 0
            (obj,) = follow.informer.store
            assert set(obj) == {"apiVersion", "kind", "metadata"}

    run(main())


def test_indexes_follow_the_objects() -> None:
    server = SmallServer()
    put(server, "a", "red")
    put(server, "b", "red")

    async def main() -> None:
        indexers = {"colour": lambda obj: [obj["data"]["v"]]}
        async with following(server, indexers=indexers) as follow:
            store = follow.informer.store

            def named(colour: str) -> list[str]:
                return sorted(obj["metadata"]["name"] for obj in store.by_index("colour", colour))

            assert (named("red"), named("blue")) == (["a", "b"], [])
            put(server, "a", "blue")
            remove(server, "b")
            await follow.settle()
            assert (named("red"), named("blue")) == ([], ["a"])
            with pytest.raises(KeyError):
                store.by_index("size", "1")

    run(main())


def test_a_handler_that_fails_ends_the_informer() -> None:
    server = SmallServer()

    async def main() -> None:
        async with following(server) as follow:
            follow.reports = None  # type: ignore[assignment]  # what the handler trips over
            put(server, "a", "1")
            await asyncio.get_running_loop().create_future()

    with pytest.raises(AttributeError):
        run(main())


def test_a_handler_added_too_late_is_refused() -> None:
    async def main() -> None:
        async with following(SmallServer()) as follow:
            with pytest.raises(RuntimeError, match="before it runs"):
                follow.informer.add_handler(lambda _old, _new: None)

    run(main())
