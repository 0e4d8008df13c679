"""A peer that is killed: what it alone serves is 503 at once, gone when its record goes, and back when it is."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.etcd_fixture import etcd_server
from tests.integration.peerproxy.fleet import AGGREGATED
from tests.integration.peerproxy.kinds import GADGETS
from tests.integration.peerproxy.processes import server, soon
from tests.processes import Plane, free_port

pytestmark = pytest.mark.alone

RECORDS = b"/registry/peerserverleases/"
COLLECTION = f"/apis/{GADGETS.gv}/namespaces/default/gadgets"
GADGET = {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": "one"}, "spec": {"color": "red"}}


def groups(plane: Plane) -> set[str]:
    document = plane.request("GET", "/apis", headers={"Accept": AGGREGATED}).json()
    return {group["metadata"]["name"] for group in document["items"]}


def watch(plane: Plane) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
    """An open watch that has shown the gadget."""
    connection = plane.connect()
    connection.request("GET", f"{COLLECTION}?watch=true")
    answer = connection.getresponse()
    event = json.loads(answer.readline())
    assert (answer.status, event["type"], event["object"]["metadata"]["name"]) == (200, "ADDED", "one")
    return connection, answer


async def end_records(location: str) -> None:
    """What happens when the records' leases run out."""
    kv = await open_kv(f"etcd:{location}")
    found = await kv.range(RECORDS, prefix_end(RECORDS))
    for item in found.items:
        await kv.delete(item.key, expect=item.mod_revision)
    await kv.close()


@pytest.mark.etcd
def test_what_a_killed_peer_serves_is_unavailable_then_unknown_then_back(tmp_path: Path) -> None:
    with ExitStack() as stack:
        location = stack.enter_context(etcd_server("local"))
        store, port = f"etcd:{location}", free_port()
        a = stack.enter_context(server("a", tmp_path, store))
        with server("b", tmp_path, store, port=port) as b:
            soon(a, COLLECTION, 200)
            assert a.request("POST", COLLECTION, GADGET).status == 201
            connection, stream = watch(a)
            b.kill()
            killed = time.perf_counter()
            lost = a.request("GET", COLLECTION)
            assert time.perf_counter() - killed < 1.0
        assert (lost.status, lost.headers["Retry-After"]) == (503, "1")
        assert lost.json()["reason"] == "ServiceUnavailable"
        assert stream.read() == b"", "the watch ends as a whole answer does, after its last event"
        connection.close()
        assert a.request("GET", f"{COLLECTION}?watch=true").status == 503
        unsent = a.request("POST", COLLECTION, GADGET)
        assert (unsent.status, unsent.headers["Retry-After"]) == (503, "1")
        assert GADGETS.group in groups(a)
        run(end_records(location))
        assert soon(a, COLLECTION, 404) < 5
        assert GADGETS.group not in groups(a)
        with server("b", tmp_path, store, port=port):
            soon(a, f"{COLLECTION}/one", 200)
            assert GADGETS.group in groups(a)
