"""What it costs that a peer answers: a GET through a server that does not serve the resource, of the same GET sent to
the one that does. One client waits for one answer at a time, so it is time that is compared, not cores."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.bench.harness import run_load
from tests.bench.report import Row
from tests.etcd_fixture import etcd_server
from tests.integration.peerproxy.kinds import GADGETS
from tests.integration.peerproxy.processes import server, soon

__all__ = ["peers"]

SECONDS = 1.0
ROUNDS = 9
"""Short turns, and many: what else happens on the machine then meets both, and the median leaves it out."""
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
        runs = []
        for _ in range(ROUNDS):
            proxied, direct = (
                run_load(
                    {
                        **plane.target.options(),
                        "op": "get",
                        "path": f"{COLLECTION}/one?resourceVersion=0",
                        "connections": 1,
                        "seconds": SECONDS,
                    },
                    plane.process.pid,
                )
                for plane in (a, b)
            )
            assert not proxied["bad"], proxied
            runs.append((direct["rate"] / proxied["rate"], proxied["rate"], direct["rate"]))
    ratio, proxied_rate, direct_rate = sorted(runs)[ROUNDS // 2]
    yield Row(
        name="GET 1 KB through a peer, time of a direct one",
        value=ratio,
        target=2.2,
        unit="x",
        at_most=True,
        detail={
            "proxied_per_second": proxied_rate,
            "direct_per_second": direct_rate,
            "rounds": [round(ratio, 2) for ratio, _, _ in runs],
        },
    )
