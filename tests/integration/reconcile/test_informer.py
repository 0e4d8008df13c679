"""An informer outlives its server: restarted on its store, or on another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.base.tasks import TaskGroup
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.generic.controllers import SERVER_USER
from controlplane.reconcile.informer import Informer
from tests.aio import run
from tests.integration.plane import config_in, running_plane

CONFIGMAPS = GVR("", "v1", "configmaps")
Report = tuple[str | None, str | None]


def configmap(name: str, value: str) -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {"v": value}}


class Followed:
    """What an informer over HTTPS reported: ``name=value`` before and after."""

    def __init__(self, informer: Informer) -> None:
        self.informer = informer
        self.reports: list[Report] = []
        self._more = asyncio.Event()
        informer.add_handler(self._report)

    def _report(self, old: Obj | None, new: Obj | None) -> None:
        self.reports.append((_text(old), _text(new)))
        self._more.set()

    async def until(self, reached: Callable[[list[Report]], bool]) -> list[Report]:
        """Wait for the reports to be as said; give them and forget them."""
        async with asyncio.timeout(20):
            while not reached(self.reports):
                self._more.clear()
                await self._more.wait()
        reports, self.reports = self.reports, []
        return reports


def _text(obj: Obj | None) -> str | None:
    return None if obj is None else f"{meta.name(obj)}={obj['data']['v']}"


def config_on(directory: Path, port: int, store: str) -> Config:
    config = config_in(directory, store=store)
    config.port = port
    return config


@asynccontextmanager
async def followed(directory: Path) -> AsyncIterator[Followed]:
    async with HTTPClient(load_kubeconfig(directory / "admin.conf")) as client:
        follow = Followed(Informer(ResourceClient(client, CONFIGMAPS, namespaced=True), namespace="default"))
        async with TaskGroup("test") as group:
            group.start(follow.informer.run(), name="informer")
            await follow.informer.synced.wait()
            yield follow


def test_a_server_that_is_restarted_is_followed_on_and_one_with_another_store_is_compared(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'one.db'}"

    async def main() -> None:
        async with AsyncExitStack() as outliving:
            async with running_plane(tmp_path, config_on(tmp_path, 0, store)) as plane:
                port = plane.running.port
                maps = ResourceClient(plane.running.loopback(SERVER_USER), CONFIGMAPS, namespaced=True)
                for name in ("a", "b", "c"):
                    await maps.create(configmap(name, "1"))
                follow = await outliving.enter_async_context(followed(tmp_path))
                assert await follow.until(lambda reports: len(reports) >= 3) == [
                    (None, "a=1"),
                    (None, "b=1"),
                    (None, "c=1"),
                ]
            async with running_plane(tmp_path, config_on(tmp_path, port, store)) as plane:
                maps = ResourceClient(plane.running.loopback(SERVER_USER), CONFIGMAPS, namespaced=True)
                await maps.patch(Key("default", "a"), {"data": {"v": "2"}})
                await maps.delete(Key("default", "b"))
                assert await follow.until(lambda reports: len(reports) >= 2) == [("a=1", "a=2"), ("b=1", None)]
            async with running_plane(tmp_path, config_on(tmp_path, port, "memory:")) as plane:
                maps = ResourceClient(plane.running.loopback(SERVER_USER), CONFIGMAPS, namespaced=True)
                await maps.create(configmap("c", "other"))
                difference = {("a=2", None), ("c=1", None), (None, "c=other")}
                reports = await follow.until(lambda reports: difference <= set(reports))
                assert len(reports) == len(difference)
                assert [meta.name(obj) for obj in follow.informer.store] == ["c"]

    run(main())
