"""Migrations that start by themselves: three servers on one store, upgraded one after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS as STORAGE_VERSIONS_KIND
from controlplane.generic.builtin import built_in_controllers
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.storagemigration.settings import MigrationOptions
from controlplane.storagemigration.trigger import ENCODING, MIGRATED
from controlplane.testing.planes import Plane, running_plane
from controlplane.testing.shared_store import SharedStore, shared_store
from tests.aio import run
from tests.integration.controllers.objects import found, until
from tests.integration.storagemigration.widgets import Migrations, stored_versions

SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GADGETS = GVR("factory.example.org", "v1", "gadgets")
OLD, NEW = "factory.example.org/v1", "factory.example.org/v2"
SETTLE_SECONDS = 1.0
NAMES = ("a", "b", "c")


def stored_as(version: str) -> Callable[[Config], None]:
    """A server that knows both versions of gadgets, and stores this one."""
    several = [Version(name=name, schema=SCHEMA) for name in ("v1", "v2")]

    def configure(config: Config) -> None:
        config.declared.append(declare("Gadget", group=GADGETS.group, versions=several, storage_version=version))
        config.resources.append(STORAGE_VERSIONS_KIND)
        controllers = built_in_controllers(MigrationOptions(settle=SETTLE_SECONDS, writes_per_second=40))
        kept = {"system-namespaces", "storage-version-garbage-collection"}
        config.controllers = [c for c in controllers if c.name in kept or c.name.startswith("storage-version-")]

    return configure


class Servers:
    """Servers on one store, by name."""

    def __init__(self, store: SharedStore, directory: Path) -> None:
        self._store, self._directory = store, directory
        self._stacks: dict[str, AsyncExitStack] = {}
        self.planes: dict[str, Plane] = {}

    async def start(self, name: str, version: str) -> None:
        def configure(config: Config) -> None:
            stored_as(version)(config)
            config.open_store = self._store.open

        stack = self._stacks[name] = AsyncExitStack()
        self.planes[name] = await stack.enter_async_context(
            running_plane(self._directory / name, cert_dir=self._directory / "certs", configure=configure)
        )

    async def stop(self, name: str) -> None:
        del self.planes[name]
        await self._stacks.pop(name).aclose()

    @property
    def one(self) -> Migrations:
        return Migrations(next(iter(self.planes.values())))

    async def automatic(self) -> list[Obj]:
        """The migrations that nobody has asked for."""
        return [one for one in (await self.one.migrations.list()).items if ENCODING in meta.annotations(one)]

    async def noted(self) -> str:
        """The version of gadgets that was migrated to last."""
        versions = self.one.of(STORAGE_VERSIONS, namespaced=False)
        obj = await found(versions.get(Key("", f"{GADGETS.group}.{GADGETS.resource}")))
        return meta.annotations(obj).get(MIGRATED, "") if obj is not None else ""

    async def note(self, version: str) -> None:
        """Wait until this is noted."""

        async def is_noted() -> bool:
            return await self.noted() == version

        await until(is_noted, seconds=30)

    async def make_gadgets(self, count: int) -> None:
        gadgets = self.one.of(GADGETS)
        for number in range(count):
            metadata = {"name": f"g{number}", "namespace": "default"}
            await gadgets.create({"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": metadata})


@asynccontextmanager
async def three_servers(directory: Path, names: Sequence[str] = NAMES) -> AsyncIterator[Servers]:
    """All store gadgets as v1, and there are some."""
    for name in names:
        (directory / name).mkdir()
    async with shared_store() as store, AsyncExitStack() as stack:
        servers = Servers(store, directory)

        async def stop_all() -> None:
            for name in list(servers.planes):
                await servers.stop(name)

        stack.push_async_callback(stop_all)
        for name in names:
            await servers.start(name, "v1")
        await servers.make_gadgets(60)
        await servers.note(OLD)
        assert await servers.automatic() == []
        yield servers


def test_a_rolling_upgrade_starts_one_migration_after_the_last_server_and_a_rollback_midway_none(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with three_servers(tmp_path) as servers:
            kv = servers.planes["a"].control_plane.kv
            await servers.stop("a")
            await servers.start("a", "v2")
            await asyncio.sleep(SETTLE_SECONDS + 1)
            await servers.stop("a")
            await servers.start("a", "v1")
            await asyncio.sleep(SETTLE_SECONDS + 1)
            assert await servers.automatic() == []
            assert await servers.noted() == OLD
            for name in NAMES:
                assert await servers.automatic() == [], "not before the last"
                await servers.stop(name)
                await servers.start(name, "v2")
            kv = servers.planes["a"].control_plane.kv
            assert await stored_versions(kv, b"/registry/factory.example.org/gadgets/") == {OLD: 60}
            await servers.note(NEW)
            (migration,) = await servers.automatic()
            assert meta.annotations(migration)[ENCODING] == NEW
            await servers.one.ended(meta.name(migration))
            assert await stored_versions(kv, b"/registry/factory.example.org/gadgets/") == {NEW: 60}
            await asyncio.sleep(SETTLE_SECONDS + 1)
            assert len(await servers.automatic()) == 1

    run(main(), seconds=100)


def test_a_migration_is_cancelled_when_the_servers_differ_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_servers(tmp_path) as servers:
            for name in NAMES:
                await servers.stop(name)
                await servers.start(name, "v2")

            async def runs() -> bool:
                return any(one["status"].get("resourceVersion") for one in await servers.automatic())

            await until(runs, seconds=30)
            await servers.stop("c")
            await servers.start("c", "v1")

            async def is_cancelled() -> bool:
                return await servers.automatic() == []

            await until(is_cancelled, seconds=30)
            assert await servers.noted() == OLD

    run(main(), seconds=100)


def test_what_was_stored_while_servers_differed_is_migrated_after_a_rollback(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_servers(tmp_path, ("a", "b")) as servers:
            await servers.stop("a")
            await servers.start("a", "v2")
            gadgets = Migrations(servers.planes["a"]).of(GADGETS)
            await gadgets.create(
                {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": "new", "namespace": "default"}}
            )
            kv = servers.planes["b"].control_plane.kv
            assert await stored_versions(kv, b"/registry/factory.example.org/gadgets/") == {OLD: 60, NEW: 1}
            await servers.stop("a")
            await servers.start("a", "v1")

            async def migrated() -> bool:
                return await stored_versions(kv, b"/registry/factory.example.org/gadgets/") == {OLD: 61}

            await until(migrated, seconds=30)
            await servers.note(OLD)

    run(main(), seconds=100)
