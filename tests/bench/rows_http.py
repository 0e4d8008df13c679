"""GET, LIST and create over TLS, each against bare aiohttp doing the same bytes in the same run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.harness import bare_server, post_many, run_load
from tests.bench.report import Row
from tests.processes import Plane, sample_plane

__all__ = ["create_embedded", "create_etcd", "get", "list_7000"]

SECONDS = 4.0


def fetch(plane: Plane, path: str) -> bytes:
    answer = plane.request("GET", path)
    assert answer.status == 200, answer.body[:300]
    return answer.body


def pair(
    plane: Plane, path: str, *, connections: int, op: str = "get", body: bytes = b"", rounds: int = 3
) -> tuple[dict[str, object], dict[str, object], float]:
    """Ours and bare in turns; the medians of the rates' ratio decide."""
    certs = plane.directory / "certs"
    body = body or fetch(plane, path)
    serving = next(certs.glob("*serving*.crt"), None) or next(certs.glob("apiserver*.crt"))
    with bare_server(plane.directory, body, str(serving), str(serving.with_suffix(".key"))) as (port, process):
        runs = []
        for index in range(rounds):
            options = {"op": op, "path": path, "connections": connections, "seconds": SECONDS, "prefix": f"r{index}"}
            bare = run_load(
                {**options, "host": "127.0.0.1", "port": port, "cert": plane.target.cert, "key": plane.target.key},
                process.pid,
            )
            ours = run_load({**options, **plane.target.options()}, plane.process.pid)
            assert not ours["bad"], ours
            runs.append((ours["rate"] / bare["rate"], ours, bare))
    ratio, ours, bare = sorted(runs, key=lambda r: r[0])[len(runs) // 2]
    return ours, bare, ratio


def short(result: dict[str, object]) -> dict[str, object]:
    return {k: result[k] for k in ("rate", "cpu_us", "p50_ms", "p99_ms", "mb_per_second") if k in result}


def get() -> Iterator[Row]:
    """GET of 1 KB, 32 clients, consistent."""
    with tempfile.TemporaryDirectory() as directory, sample_plane(Path(directory)) as plane:
        post_many(plane.target, "default", 1)
        path = "/api/v1/namespaces/default/configmaps/fill-1"
        ours, bare, ratio = pair(plane, path, connections=32)
        yield Row(
            name="GET 1 KB, 32 clients, of bare aiohttp",
            value=ratio,
            target=0.6,
            unit="x",
            detail={"ours": short(ours), "bare": short(bare)},
        )


def list_7000() -> Iterator[Row]:
    """LIST of 7,000 x 1 KB, plain and gzip."""
    with tempfile.TemporaryDirectory() as directory, sample_plane(Path(directory)) as plane:
        post_many(plane.target, "default", 7000)
        path = "/api/v1/namespaces/default/configmaps"
        ours, bare, ratio = pair(plane, path, connections=2)
        gzip = run_load(
            {
                **plane.target.options(),
                "path": path,
                "connections": 2,
                "seconds": SECONDS,
                "encoding": "gzip",
            },
            plane.process.pid,
        )
        yield Row(
            name="LIST 7,000 x 1 KB, of bare aiohttp",
            value=ratio,
            target=0.7,
            unit="x",
            detail={"ours": short(ours), "bare": short(bare), "gzip": short(gzip)},
        )


def create_embedded() -> Iterator[Row]:
    """Creates of 1 KB, 32 clients, on the embedded store: on tmpfs against bare aiohttp accepting the bodies."""
    sample = json.dumps({"kind": "ConfigMap", "data": {"payload": "x" * 900}}).encode()
    for where, base in (("tmpfs", "/dev/shm"), ("disk", None)):
        with tempfile.TemporaryDirectory(dir=base) as directory, sample_plane(Path(directory)) as plane:
            ours, bare, ratio = pair(
                plane, "/api/v1/namespaces/default/configmaps", connections=32, op="create", body=sample
            )
            yield Row(
                name=f"create 1 KB, 32 clients, embedded on {where}, of bare aiohttp",
                value=ratio,
                target=0.22,
                unit="x",
                detail={"ours": short(ours), "bare": short(bare)},
            )


def create_etcd() -> Iterator[Row]:
    """Creates of 1 KB, 32 clients, on etcd: in turns with bare conditional puts to the same etcd, by the server's own
    client (as the targets say) and by grpcio's (the one by which the target was set)."""
    import asyncio

    from controlplane.testing.etcd import EtcdProcess
    from tests.bench.bench_etcd import Rate, bare_conditional_puts

    runs: list[tuple[dict[str, Any], dict[str, Rate]]] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        etcd = EtcdProcess(Path(directory) / "etcd")
        asyncio.run(etcd.start())
        try:
            with sample_plane(Path(directory), store=f"etcd:{etcd.endpoint}") as plane:
                for index in range(3):
                    bare = bare_conditional_puts(etcd.endpoint, concurrency=32, seconds=SECONDS / 2)
                    options = {
                        **plane.target.options(),
                        "op": "create",
                        "path": "/api/v1/namespaces/default/configmaps",
                        "seconds": SECONDS,
                        "prefix": f"r{index}",
                    }
                    ours = run_load(options, plane.process.pid)
                    assert not ours["bad"], ours
                    runs.append((ours, bare))
        finally:
            asyncio.run(etcd.close())
    for client, by in (("ours", "the server's client"), ("grpcio", "grpcio")):
        ratios = sorted(
            ((ours["rate"] / bare[client].per_second, ours, bare[client]) for ours, bare in runs),
            key=lambda run: run[0],
        )
        ratio, ours, puts = ratios[len(ratios) // 2]
        yield Row(
            name=f"create 1 KB, 32 clients, etcd, of bare puts by {by}",
            value=ratio,
            target=0.5,
            unit="x",
            detail={
                "ours": short(ours),
                "puts": {"rate": round(puts.per_second, 1), "cpu_us": round(puts.cpu_us, 1)},
            },
        )
