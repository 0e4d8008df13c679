"""Readiness and memory: how soon it serves, what it holds idle, with watches, and with 100,000 objects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from tests.bench.harness import post_many
from tests.bench.load import Load
from tests.bench.report import Row
from tests.bench.rows_stretch import measured
from tests.bench.stretch import CREATES
from tests.processes import Plane, resident_mb, sample_plane

__all__ = ["hundred_thousand", "idle_memory", "readiness", "watch_memory"]


def readiness() -> Iterator[Row]:
    """A process on an embedded store of 1,000 objects; a plane in this process."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with sample_plane(directory) as plane:
            post_many(plane.target, "default", 1000)
        times = []
        for _ in range(5):
            with sample_plane(directory) as plane:
                times.append(plane.ready_seconds)
        yield Row(
            name="ready: process, embedded store of 1,000 objects",
            value=sorted(times)[2],
            target=0.55,
            unit="s",
            at_most=True,
            scales=True,
            detail={"all": [round(t, 3) for t in times]},
        )
    done = subprocess.run([sys.executable, "-m", "tests.bench.in_process"], check=True, capture_output=True, text=True)
    seconds = json.loads(done.stdout)
    yield Row(
        name="ready: in process",
        value=sorted(seconds)[len(seconds) // 2],
        target=0.3,
        unit="s",
        at_most=True,
        scales=True,
        detail={"all": seconds},
    )


def idle_memory() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name, sample_plane(Path(name)) as plane:
        time.sleep(1.0)  # what start-up leaves behind is given back by then
        yield Row(name="idle memory: server", value=resident_mb(plane.process.pid), target=90, unit="MB", at_most=True)


def open_watches(plane: Plane, count: int) -> float:
    """Open idle watches on one namespace; KB a watch that the server grew by."""
    load = Load(path="", **plane.target.options())

    class Watch(asyncio.Protocol):
        def __init__(self) -> None:
            self.started = asyncio.get_running_loop().create_future()

        def data_received(self, data: bytes) -> None:
            if not self.started.done():
                self.started.set_result(data)

    async def measure() -> float:
        loop = asyncio.get_running_loop()
        context = load.context()
        request = (
            f"GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1 HTTP/1.1\r\n"
            f"Host: {load.host}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n\r\n"
        ).encode()

        async def one() -> asyncio.BaseTransport:
            transport, protocol = await loop.create_connection(Watch, load.host, load.port, ssl=context)
            transport.write(request)
            await protocol.started
            return transport

        held = [await one() for _ in range(50)]
        before = resident_mb(plane.process.pid)
        for _ in range(count // 50):
            held += await asyncio.gather(*(one() for _ in range(50)))
        after = resident_mb(plane.process.pid)
        for transport in held:
            transport.close()
        return (after - before) * 1000 / count

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure())


def watch_memory() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name, sample_plane(Path(name)) as plane:
        yield Row(
            name="idle memory of a watch over TLS", value=open_watches(plane, 500), target=60, unit="KB", at_most=True
        )


def hundred_thousand() -> Iterator[Row]:
    """100,000 objects of 1 KB: resident memory after a restart, and the longest stretch on the loop meanwhile."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        with sample_plane(directory) as plane:
            begin = time.perf_counter()
            post_many(plane.target, "default", 100_000)
            rate = 100_000 / (time.perf_counter() - begin)
            grown = resident_mb(plane.process.pid)
            late = metric_ms(plane, "controlplane_loop_longest_stretch_seconds")
            collection = metric_ms(plane, "controlplane_gc_longest_collection_seconds")
        yield Row(
            name="100,000 x 1 KB: resident after writing them",
            value=grown,
            target=260,
            unit="MB",
            at_most=True,
            detail={"creates_per_second": round(rate)},
        )
        yield longest_callback(late)
        yield Row(
            name="100,000 x 1 KB: CPU of the longest garbage collection, writing",
            value=collection,
            target=20,
            unit="ms",
            at_most=True,
        )
        with sample_plane(directory) as plane:
            loaded = resident_mb(plane.process.pid)
            yield Row(
                name="100,000 x 1 KB: resident after a restart",
                value=loaded,
                target=260,
                unit="MB",
                at_most=True,
                detail={"ready_seconds": round(plane.ready_seconds, 2)},
            )


def longest_callback(late_ms: float) -> Row:
    """Of 100,000 creates, by processor time; ``late_ms``: how late the loop of the process was, others' work on the
    machine included."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        seen = measured(name, objects=100_000, seconds=10.0, only_creates=True)[CREATES]
    return Row(
        name="100,000 x 1 KB: longest callback on the loop, writing",
        value=seen["ms"],
        target=5,
        unit="ms",
        at_most=True,
        detail={"callback": seen["longest"], "collection_ms": seen["collection_ms"], "late_ms": round(late_ms, 1)},
    )


def metric_ms(plane: Plane, name: str) -> float:
    """A number of seconds from /metrics, in ms."""
    from tests.bench.rows_http import fetch

    for line in fetch(plane, "/metrics").decode().splitlines():
        if line.startswith(name):
            return float(line.split()[-1]) * 1000
    raise LookupError(name)
