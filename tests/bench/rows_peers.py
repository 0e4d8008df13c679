"""What it costs that a peer answers: a GET through a server that does not serve the resource, of the same GET sent to
the one that does. One client waits for one answer at a time, so it is time that is compared, not cores."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import uvloop

from tests.bench.awake import awake
from tests.bench.load import Connection, Load
from tests.bench.report import Row
from tests.etcd_fixture import etcd_server
from tests.integration.peerproxy.kinds import GADGETS
from tests.integration.peerproxy.processes import server, soon

__all__ = ["peers"]

TURN_REQUESTS = 100
TURNS = 240
"""Each is some 50 ms through a peer, then as many requests sent directly, of which the median times are compared: what
else happens on the machine meets both, or a few requests or turns, which the medians leave out. Half a minute in all:
a virtual machine has spells of ten seconds in which waking a process is slow."""
COLLECTION = f"/apis/{GADGETS.gv}/namespaces/default/gadgets"


def peers() -> Iterator[Row]:
    """A proxied GET of 1 KB against a direct one."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = f"etcd:{stack.enter_context(etcd_server('local'))}"
        a, b = (stack.enter_context(server(name, directory, store)) for name in ("a", "b"))
        gadget = {
            "apiVersion": str(GADGETS.gv),
            "kind": "Gadget",
            "metadata": {"name": "one"},
            "spec": {"color": "x" * 800},
        }
        soon(a, COLLECTION, 200)
        assert a.request("POST", COLLECTION, gadget).status == 201
        proxied, direct = (
            Load(**plane.target.options(), path=f"{COLLECTION}/one?resourceVersion=0") for plane in (a, b)
        )
        with awake(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            turns = runner.run(_in_turns(proxied, direct))
    ratios = sorted(through_peer / alone for through_peer, alone in turns)
    proxied_us, direct_us = (round(median(times) * 1e6) for times in zip(*turns, strict=True))
    yield Row(
        name="GET 1 KB through a peer, time of a direct one",
        value=median(ratios),
        target=2.2,
        unit="x",
        at_most=True,
        detail={
            "proxied_us": proxied_us,
            "direct_us": direct_us,
            "quartiles": [round(ratios[TURNS // 4], 2), round(ratios[3 * TURNS // 4], 2)],
            "turns": TURNS,
        },
    )


async def _in_turns(*loads: Load) -> list[tuple[float, ...]]:
    """How long a request of each load took, turn by turn, in seconds."""
    loop = asyncio.get_running_loop()
    conversations = [
        ((await loop.create_connection(Connection, load.host, load.port, ssl=load.context()))[1], load.request())
        for load in loads
    ]
    turns = [
        tuple([await _time(connection, request) for connection, request in conversations]) for _ in range(TURNS + 1)
    ]
    for connection, _ in conversations:
        connection.transport.close()
    return turns[1:]  # the first is for warming up


async def _time(connection: Connection, request: bytes) -> float:
    """The median of a turn's requests."""
    times = []
    for _ in range(TURN_REQUESTS):
        began = time.perf_counter()
        status = await connection.send(request)
        times.append(time.perf_counter() - began)
        assert status == 200, status
    return median(times)
