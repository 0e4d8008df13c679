"""Discovery and OpenAPI of 200 real definitions: the first answer, the next, and for who has it already.

    python -m tests.bench.bench_openapi

A plane in a process of its own (``serve DIRECTORY``) serves the definitions as resources; clients are here.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import uvloop

from controlplane.apis.builtin import BUILTIN
from tests.bench.harness import bare_server, run_load
from tests.bench.load import Connection, Load, percentile
from tests.bench.report import Row
from tests.crds import published_crds, resource_of
from tests.integration.plane import config_in, running_plane
from tests.processes import Target, resident_mb, target_of

__all__ = ["openapi"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
NAMESPACE = "/api/v1/namespaces/default"
GROUP = "/openapi/v3/apis/bigtable.cnrm.cloud.google.com/v1beta1"
LARGEST = "/openapi/v3/apis/compute.cnrm.cloud.google.com/v1beta1"
"""A group of usual size, and the largest: 16 kinds."""
SECONDS = 3.0
ROUNDS = 15


class Client:
    """One keep-alive connection as the admin."""

    def __init__(self, target: Target) -> None:
        context = Load(path="/", **target.options()).context()
        self._connection = http.client.HTTPSConnection(target.host, target.port, timeout=60, context=context)

    def get(
        self, path: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[float, http.client.HTTPResponse, bytes]:
        """Milliseconds, answer and body."""
        begun = time.perf_counter()
        self._connection.request("GET", path, headers={"Accept": "application/json", **headers})
        answer = self._connection.getresponse()
        body = answer.read()
        return (time.perf_counter() - begun) * 1e3, answer, body

    def median(self, path: str, headers: Mapping[str, str] = MappingProxyType({})) -> float:
        return sorted(self.get(path, headers)[0] for _ in range(ROUNDS))[ROUNDS // 2]


def openapi() -> Iterator[Row]:
    """Aggregated discovery, OpenAPI v3 and v2 of 200 definitions; GETs while v2 is built."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as (target, process):
        client = Client(target)
        client.get(NAMESPACE)
        idle_mb = resident_mb(process.pid)
        yield milliseconds("discovery, aggregated, 200 definitions", client.median("/apis", {"Accept": AGGREGATED}), 4)
        client.get("/openapi/v3")  # imports what builds
        yield milliseconds("OpenAPI v3 root", client.median("/openapi/v3"), 2)
        first_ms = client.get(GROUP)[0]
        yield milliseconds("OpenAPI v3, one group, first", first_ms, 20, largest_ms=round(client.get(LARGEST)[0], 1))
        took, answer, body = client.get("/openapi/v2")
        yield Row(
            name="OpenAPI v2 first",
            value=took / 1e3,
            target=1.3,
            unit="s",
            at_most=True,
            detail={"bytes": len(body)},
        )
        have = {"If-None-Match": answer.headers["Etag"]}
        assert client.get("/openapi/v2", have)[1].status == 304
        yield milliseconds("OpenAPI v2, 304", client.median("/openapi/v2", have), 2)
        yield asyncio.run(gets_beside_a_build(target))
        yield Row(
            name="memory for v2 in both encodings",
            value=resident_mb(process.pid) - idle_mb,
            target=60,
            unit="MB",
            at_most=True,
        )
        yield from again(target, Path(name), client)


async def gets_beside_a_build(target: Target) -> Row:
    """GETs one after another while v2 is built in protobuf, which is built anew from the resources."""
    loop = asyncio.get_running_loop()
    load = Load(path=NAMESPACE, **target.options())
    _, connection = await loop.create_connection(Connection, target.host, target.port, ssl=load.context())
    asking = asyncio.ensure_future(asyncio.to_thread(Client(target).get, "/openapi/v2", {"Accept": PROTOBUF}))
    waits: list[float] = []
    while not asking.done():
        begun = time.perf_counter()
        assert await connection.send(load.request()) == 200
        waits.append((time.perf_counter() - begun) * 1e3)
    connection.transport.close()
    took, answer, body = await asking
    assert answer.status == 200
    detail = {"gets": len(waits), "most": round(max(waits), 2), "v2_ms": round(took), "v2_bytes": len(body)}
    return milliseconds("GET p99 while v2 is built", percentile(sorted(waits), 0.99), 20, **detail)


def again(target: Target, directory: Path, client: Client) -> Iterator[Row]:
    """v2 again, of bare aiohttp writing the same bytes."""
    body = client.get("/openapi/v2")[2]
    options = {"op": "get", "path": "/openapi/v2", "connections": 1, "seconds": SECONDS}
    certs = directory / "certs"
    serving_cert = next(certs.glob("*serving*.crt"), None) or next(certs.glob("apiserver*.crt"))
    with bare_server(directory, body, str(serving_cert), str(serving_cert.with_suffix(".key"))) as (port, _):
        ratios = []
        for _ in range(3):
            bare = run_load({**options, "host": "127.0.0.1", "port": port})
            ours = run_load({**options, **target.options()})
            assert not ours["bad"], ours
            ratios.append((bare["rate"] / ours["rate"], ours["rate"], bare["rate"]))
    ratio, ours_rate, bare_rate = sorted(ratios)[1]
    yield Row(
        name="OpenAPI v2 again, time of bare aiohttp",
        value=ratio,
        target=1.1,
        unit="x",
        at_most=True,
        detail={"ours": ours_rate, "bare": bare_rate},
    )


def milliseconds(name: str, value: float, target: float, **detail: float) -> Row:
    return Row(name=name, value=value, target=target, unit="ms", at_most=True, scales=True, detail=detail)


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[tuple[Target, subprocess.Popen[str]]]:
    """The plane in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.bench_openapi", "serve", str(directory)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield target_of(Path(process.stdout.readline().strip())), process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def serve(directory: Path) -> None:
    """Serve until killed; the kubeconfig's path is printed when ready."""
    config = config_in(directory)
    config.resources = [*BUILTIN, *(resource_of(crd) for crd in published_crds("kcc"))]
    config.whole_process = True
    async with running_plane(directory, config) as plane:
        print(plane.running.kubeconfig, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(Path(sys.argv[2])))
    else:
        for row in openapi():
            print(row.show(), flush=True)


if __name__ == "__main__":
    main()
