"""The rehearsal kit's servers come in any order, and it says what is wrong with a rehearsal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controlplane.testing.fleet import LoadedKind, fleet, under_load
from tests.aio import run
from tests.integration.fleet.versions import GADGETS, LOADED, WIDGETS, new, old


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


def test_what_cannot_be_rehearsed_is_told_at_once(tmp_path: Path) -> None:
    unknown = LoadedKind(gvr=GADGETS, sample={"apiVersion": str(GADGETS.gv), "kind": "Gadget"})
    wrong = LoadedKind(
        gvr=WIDGETS, sample={"apiVersion": str(WIDGETS.gv), "kind": "Widget", "spec": {"color": 5}}, writers=1
    )

    async def main() -> None:
        async with fleet({"a": old}, directory=tmp_path / "not" / "there") as servers, asyncio.timeout(15):
            with pytest.raises(ValueError, match=r"tools\.example\.org/v1 gadgets: cannot be listed: 404 NotFound"):
                async with under_load(servers, [*LOADED, unknown]):
                    pass
            with pytest.raises(ValueError, match="kinds: there must be one"):
                async with under_load(servers, []):
                    pass
            for asked in (servers.stop("b"), servers.crash("b"), servers.roll(new, names=["a", "b"])):
                with pytest.raises(ValueError, match="no server 'b' runs; running: a"):
                    await asked
            assert list(servers.servers) == ["a"]
            async with under_load(servers, [wrong]) as load:
                while not load.ledgers[0].faults:  # noqa: ASYNC110 - what the load has seen
                    await asyncio.sleep(0)
            with pytest.raises(AssertionError, match=r"spec\.color in body must be of type string") as raised:
                load.check()
            assert "patch" not in str(raised.value), "of what was not made nothing is changed"

    run(main())
