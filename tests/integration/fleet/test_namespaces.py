"""Namespaces that are deleted while their content is served by several servers, one of which comes and goes: none is
finalized while something of it is left in the store.

With CONTROLPLANE_TEST_LONG 200 of them, else a few.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.base.tasks import TaskGroup
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.storage.kv.api import KV, LATEST, prefix_end
from controlplane.testing.fleet import Fleet, fleet
from controlplane.testing.planes import Plane
from controlplane.testing.shared_store import SharedStore
from tests.aio import run
from tests.conftest import LONG
from tests.integration.controllers.objects import until

COUNT = 200 if LONG else 12
ROOT, NAMESPACES = b"/registry/", b"/registry/namespaces/"
SCHEMA: Obj = {"type": "object"}
CONFIGMAPS = GVR("", "v1", "configmaps")
HAMMERS, GADGETS = GVR("a.example.org", "v1", "hammers"), GVR("b.example.org", "v1", "gadgets")
WIDGETS = GVR("factory.example.org", "v1", "widgets")
KINDS = {CONFIGMAPS: "ConfigMap", HAMMERS: "Hammer", GADGETS: "Gadget", WIDGETS: "Widget"}


def widgets(config: Config, *versions: str) -> None:
    several = [Version(name=name, schema=SCHEMA) for name in versions]
    config.declared.append(declare("Widget", group=WIDGETS.group, versions=several, storage_version="v1"))


def a(config: Config) -> None:
    widgets(config, "v1", "v1beta1")
    config.declared.append(declare("Hammer", group=HAMMERS.group, versions=Version(name="v1", schema=SCHEMA)))


def b(config: Config) -> None:
    widgets(config, "v1")
    config.declared.append(declare("Gadget", group=GADGETS.group, versions=Version(name="v1", schema=SCHEMA)))


class Watcher:
    """Looks into the store at the very revision at which a namespace has gone. ``gone``: which have; ``left``: what was
    still there then."""

    def __init__(self, store: SharedStore) -> None:
        self._kv = store.kv
        self.gone: set[str] = set()
        self.left: list[str] = []

    async def run(self, started: asyncio.Event) -> None:
        async with self._kv.watch(NAMESPACES, await self._kv.revision() + 1) as batches:
            started.set()
            async for batch in batches:
                for event in batch.events:
                    if event.kv is None:
                        name = event.key.removeprefix(NAMESPACES).decode()
                        self.left += await content(self._kv, name, revision=event.mod_revision)
                        self.gone.add(name)


async def content(kv: KV, namespace: str, *, revision: int = LATEST) -> list[str]:
    """The keys of what is in a namespace."""
    found = await kv.range(ROOT, prefix_end(ROOT), revision=revision)
    return [item.key.decode() for item in found.items if namespace.encode() in item.key.split(b"/")[2:-1]]


async def fill(plane: Plane, name: str) -> None:
    """A namespace with one object of each kind, all made through one server."""
    client = plane.client()
    namespaces = ResourceClient(client, GVR("", "v1", "namespaces"), namespaced=False)
    await namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for gvr, kind in KINDS.items():
        obj = {"apiVersion": str(gvr.gv), "kind": kind, "metadata": {"name": "one", "namespace": name}}
        await ResourceClient(client, gvr, namespaced=True).create(obj)


async def delete(plane: Plane, name: str) -> None:
    await ResourceClient(plane.client(), GVR("", "v1", "namespaces"), namespaced=False).delete(Key("", name))


@asynccontextmanager
async def two_servers(directory: Path) -> AsyncIterator[tuple[Fleet, Watcher]]:
    async with fleet({"a": a, "b": b}, directory=directory) as servers, TaskGroup("test") as group:
        watcher, started = Watcher(servers.store), asyncio.Event()
        group.start(watcher.run(started), name="watcher")
        await started.wait()
        yield servers, watcher


def test_none_goes_while_the_owner_of_its_content_is_away(tmp_path: Path) -> None:
    """Also when nobody knows any more that there is such a resource: the store knows."""

    async def main() -> None:
        async with two_servers(tmp_path) as (servers, watcher):
            for name in ("away", "forgotten"):
                await fill(servers.servers["a"], name)
            await servers.crash("b")
            await delete(servers.servers["a"], "away")
            await only_gadgets_left(servers, "away")
            await servers.start("b", b)
            await until(lambda: all_gone(watcher, {"away"}))
            await servers.crash("b", record_runs_out=True)
            await delete(servers.servers["a"], "forgotten")
            await only_gadgets_left(servers, "forgotten")
            await asyncio.sleep(1)
            assert watcher.gone == {"away"}
            await servers.start("b", b)
            await until(lambda: all_gone(watcher, {"away", "forgotten"}))
            assert watcher.left == []

    run(main())


async def only_gadgets_left(servers: Fleet, name: str) -> None:
    async def emptied() -> bool:
        return await content(servers.store.kv, name) == [f"/registry/b.example.org/gadgets/{name}/one"]

    await until(emptied)


async def all_gone(watcher: Watcher, names: set[str]) -> bool:
    return names <= watcher.gone


@pytest.mark.timeout(400 if LONG else 120)
def test_many_are_deleted_through_both_while_one_comes_and_goes(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_servers(tmp_path) as (servers, watcher):
            names = [f"shop-{number}" for number in range(COUNT)]
            first, second = servers.servers["a"], servers.servers["b"]
            for name in names:
                await fill(first if name.endswith("1") else second, name)
            half = COUNT // 2
            for number, name in enumerate(names[:half]):
                await delete((first, second)[number % 2], name)
            await servers.crash("b", record_runs_out=True)
            for name in names[half:]:
                await delete(first, name)
            await asyncio.sleep(1)
            second = await servers.start("b", b)
            await until(lambda: all_gone(watcher, set(names)), seconds=90)
            assert watcher.left == []
            for name in names:
                assert await content(servers.store.kv, name) == []

    run(main(), seconds=300 if LONG else 110)
