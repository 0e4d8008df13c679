"""An upgrade to a version that stores a kind otherwise: storage versions show when all servers agree again."""

from __future__ import annotations

from pathlib import Path

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS as KIND
from controlplane.client.resources import ResourceClient
from controlplane.controllers.builtin import BUILTIN
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.testing.fleet import Fleet, LoadedKind, fleet, under_load
from tests.aio import run
from tests.integration.controllers.objects import until
from tests.integration.fleet.versions import SCHEMA, WIDGETS

LOAD = LoadedKind(
    gvr=WIDGETS, sample={"apiVersion": "factory.example.org/v1", "kind": "Widget", "spec": {"color": "red"}}
)


def _storing(config: Config, version: str) -> None:
    several = [Version(name=name, schema=SCHEMA) for name in ("v1", "v2")]
    config.declared.append(declare("Widget", group=WIDGETS.group, versions=several, storage_version=version))
    config.resources.append(KIND)
    config.controllers = list(BUILTIN)


def old(config: Config) -> None:
    _storing(config, "v1")


def new(config: Config) -> None:
    _storing(config, "v2")


async def status(servers: Fleet) -> Obj:
    client = next(iter(servers.servers.values())).client()
    found = await ResourceClient(client, STORAGE_VERSIONS, namespaced=False).get(Key("", "factory.example.org.widgets"))
    shown: Obj = found["status"]
    return shown


def test_all_agree_before_and_after_and_not_between(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": old, "b": old}, directory=tmp_path) as servers:
            seen: list[str | None] = [(await status(servers)).get("commonEncodingVersion")]

            async def look(_name: str) -> None:
                seen.append((await status(servers)).get("commonEncodingVersion"))

            async with under_load(servers, [LOAD]) as load:
                await servers.roll(new, between=look)
            load.check()
            assert seen == ["factory.example.org/v1", None, "factory.example.org/v2"]

            async def two_servers() -> bool:
                return len((await status(servers))["storageVersions"]) == 2

            await until(two_servers)

    run(main())
