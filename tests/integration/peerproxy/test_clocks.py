"""Servers whose clocks say something else: they see each other, and answer for each other, all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.base.clock import SystemClock
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.peerproxy.fleet import AGGREGATED, eventually, fleet, heard, impatient, json_of
from tests.integration.peerproxy.kinds import GADGETS, serve_b

RECORDS = b"/registry/peerserverleases/"
PATH = f"/apis/{GADGETS.gv}/gadgets"


class Skewed(SystemClock):
    """``ahead``: seconds, of the machine's own clock."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def now(self) -> float:
        return super().now() + self._ahead


@pytest.mark.parametrize("ahead", [-240.0, 240.0], ids=["behind", "ahead"])
def test_a_peer_of_another_time_lives_as_long_as_its_record(tmp_path: Path, ahead: float) -> None:
    """By minutes less than certificates are made to be valid before they are made (5)."""

    def skewed(config: Config) -> None:
        config.clock = Skewed(ahead)

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes):
            a, b = planes["a"], await made.start("b", serve_b, skewed)
            for plane in (a, b):
                await heard(plane, 1)
            gadgets = ResourceClient(impatient(a), GADGETS, namespaced=True)
            one = {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}}
            await gadgets.create(one)
            assert [item["metadata"]["name"] for item in (await gadgets.list("default")).items] == ["g"]
            shown = [await json_of(plane.client(), "/apis", AGGREGATED) for plane in (a, b)]
            assert shown[0] == shown[1]
            await made.store.remove(RECORDS + b.control_plane.presence.server.id.encode())

            async def gone() -> bool:
                return (await impatient(a).request("GET", PATH)).status == 404

            await eventually(gone)

    run(main())
