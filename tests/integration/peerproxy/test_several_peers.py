"""Several peers serve what is asked for, and one of them takes no connection, or never answers, while its record is
there yet: another one answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from controlplane.peerproxy.metrics import REROUTED
from controlplane.testing.fleet import fleet as kit
from tests.aio import run
from tests.integration.peerproxy.fleet import fleet, heard, impatient
from tests.integration.peerproxy.kinds import GADGETS, serve_a, serve_b
from tests.integration.peerproxy.test_hung_peer import HUNG, RECORDS, Hanging

ASKED = 40
"""Requests of which each picks one of two peers: that none picks one of them does not happen."""
COLLECTION = f"/apis/{GADGETS.gv}/namespaces/default/gadgets"


def test_what_a_killed_peer_does_not_take_another_one_answers(tmp_path: Path) -> None:
    async def main() -> None:
        async with kit({"a": serve_a, "b": serve_b, "c": serve_b}, directory=tmp_path) as servers:
            a = servers.servers["a"]
            unavailable = REROUTED.labels_cached(("503", *GADGETS))
            counted, client = unavailable.value, impatient(a)
            await servers.crash("c")
            assert len(a.control_plane.presence.records.peers) == 2, "its record is there yet"
            for number in range(ASKED):
                obj = {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": f"g{number}"}}
                created = await client.request("POST", COLLECTION, body=json.dumps(obj).encode())
                assert created.status == 201, created.content()
                assert (await client.request("GET", f"{COLLECTION}/g{number}")).status == 200
            assert unavailable.value == counted, "what was tried elsewhere is no answer"
            await servers.crash("b")
            lost = await client.request("GET", COLLECTION)
            assert (lost.status, ("Retry-After", "1") in lost.headers) == (503, True)
            assert unavailable.value == counted + 1

    run(main())


def test_what_a_peer_never_answers_another_one_does_if_it_was_a_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "a", "b") as (made, planes):
            a, hanging = planes["a"], Hanging(HUNG)
            c = await made.start("c", serve_b, hanging)
            await heard(a, 2)
            reads = [impatient(a).request("GET", HUNG) for _ in range(ASKED)]
            async with asyncio.timeout(10):
                asked = asyncio.gather(*reads)
                await hanging.taken.wait()
                await made.store.remove(RECORDS + c.control_plane.presence.server.id.encode())
                assert {answer.status for answer in await asked} == {200}

    run(main())
