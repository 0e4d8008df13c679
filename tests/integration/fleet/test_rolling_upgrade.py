"""A rolling upgrade and a rollback of three servers under load, by the kit."""

from __future__ import annotations

from pathlib import Path

from controlplane.testing.fleet import fleet, under_load
from tests.aio import run
from tests.integration.fleet.versions import LOADED, new, old


def test_clients_see_retriable_errors_only_and_informers_lose_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": old, "b": old, "c": old}, directory=tmp_path) as servers:
            async with under_load(servers, LOADED) as load:
                await servers.roll(new)
                await servers.roll(old)
            load.check()

    run(main(), seconds=110)
