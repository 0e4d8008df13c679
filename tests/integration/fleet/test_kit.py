"""The rehearsal kit's servers come in any order."""

from __future__ import annotations

import asyncio
from pathlib import Path

from controlplane.testing.fleet import fleet
from tests.aio import run
from tests.integration.fleet.versions import new, old


def test_servers_may_start_at_the_same_time_and_while_the_record_of_one_is_left(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": old}, directory=tmp_path) as servers, asyncio.timeout(15):
            await asyncio.gather(servers.start("b", new), servers.start("c", old))
            ids = {plane.control_plane.presence.server.id for plane in servers.servers.values()}
            for plane in servers.servers.values():
                own = plane.control_plane.presence.server.id
                assert plane.control_plane.presence.records.peers.keys() == ids - {own}
            await servers.crash("b")
            await servers.start("d", old)
            await servers.crash("c", record_runs_out=True)
            assert all(len(plane.control_plane.presence.records.peers) == 2 for plane in servers.servers.values()), (
                "the other one, and what is left of b"
            )

    run(main())
