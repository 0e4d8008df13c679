"""Custom resources: how soon 200 definitions, and 613, are there, what they cost, and what checking an object costs."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import uvloop

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema
from tests.bench.load import Connection, Load
from tests.bench.report import Row
from tests.bench.rows_http import fetch
from tests.crds import published_crds
from tests.custom_resources import DEFINITIONS_PATH
from tests.processes import Plane, resident_mb, sample_plane
from tests.schema_objects import Maker, Unmakeable

__all__ = ["checking", "definitions", "many_definitions"]

COUNT = 200
MANY = 613
AT_ONCE = 8
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def definitions() -> Iterator[Row]:
    """200 definitions, 8 at a time, until all are established; then discovery of them."""
    bodies = list(islice(published_crds("kcc"), COUNT))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name, sample_plane(Path(name)) as plane:
        before = resident_mb(plane.process.pid)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            seconds = runner.run(_post_all(plane, bodies))
        listed = json.loads(fetch(plane, DEFINITIONS_PATH))["items"]
        conditions = [c for crd in listed for c in crd["status"]["conditions"] if c["type"] == "Established"]
        assert [c["status"] for c in conditions] == ["True"] * len(bodies)
        yield Row(
            name=f"{len(bodies)} KCC definitions, {AT_ONCE} at a time, all established",
            value=seconds,
            target=3.4,
            unit="s",
            at_most=True,
            scales=True,
        )
        grown = resident_mb(plane.process.pid) - before
        yield Row(name=f"{len(bodies)} KCC definitions: memory", value=grown, target=53, unit="MB", at_most=True)
        for what, path, accept, target in (
            ("aggregated discovery", "/apis", AGGREGATED, 4.0),
            ("OpenAPI v3 root", "/openapi/v3", "application/json", 2.0),
        ):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                median_ms = runner.run(_median_ms(plane, path, accept))
            name = f"{what}, {len(bodies)} definitions"
            yield Row(name=name, value=median_ms, target=target, unit="ms", at_most=True, scales=True)


def many_definitions() -> Iterator[Row]:
    """613 definitions, those that are published and copies of them in other groups; then merged v2 of them all."""
    bodies = list(islice(_with_copies(list(published_crds("kcc"))), MANY))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name, sample_plane(Path(name)) as plane:
        before = resident_mb(plane.process.pid)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            seconds = runner.run(_post_all(plane, bodies))
        what = f"{len(bodies)} KCC definitions"
        yield Row(name=f"{what}, all established", value=seconds, target=7, unit="s", at_most=True, scales=True)
        grown = resident_mb(plane.process.pid) - before
        yield Row(name=f"{what}: memory", value=grown, target=150, unit="MB", at_most=True)
        begin = time.perf_counter()
        detail = {"bytes": len(fetch(plane, "/openapi/v2")), "seconds": round(time.perf_counter() - begin, 1)}
        whole = resident_mb(plane.process.pid)
        yield Row(
            name=f"{what}: memory after merged v2", value=whole, target=400, unit="MB", at_most=True, detail=detail
        )


def _with_copies(crds: list[Obj]) -> Iterator[Obj]:
    """The definitions, then the same again and again, in other groups each time."""
    yield from crds
    for i in count(1):
        for crd in crds:
            spec = {**crd["spec"], "group": f"copy{i}.{crd['spec']['group']}"}
            name = f"{spec['names']['plural']}.{spec['group']}"
            yield {**crd, "metadata": {**crd["metadata"], "name": name}, "spec": spec}


async def _post_all(plane: Plane, bodies: list[Obj]) -> float:
    load = Load(path="", **plane.target.options())
    waiting = list(bodies)

    async def poster() -> None:
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, load.host, load.port, ssl=load.context()
        )
        while waiting:
            body = waiting.pop()
            status = await connection.send(load.sending(f"POST {DEFINITIONS_PATH}", "application/json", body))
            assert status == 201, status
        connection.transport.close()

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(poster())
    return time.perf_counter() - begin


async def _median_ms(plane: Plane, path: str, accept: str) -> float:
    """Of 21 requests on one connection."""
    load = Load(path="", **plane.target.options())
    _, connection = await asyncio.get_running_loop().create_connection(
        Connection, load.host, load.port, ssl=load.context()
    )
    request = f"GET {path} HTTP/1.1\r\nHost: {load.host}\r\nAccept: {accept}\r\n\r\n".encode()
    times = []
    for _ in range(21):
        begin = time.perf_counter()
        assert await connection.send(request) == 200
        times.append(time.perf_counter() - begin)
    connection.transport.close()
    return statistics.median(times) * 1000


def checking() -> Iterator[Row]:
    """A 5 KB object of the largest published schema that one is made for: checked, against a bare walk over it."""
    schemas = [
        version["schema"]["openAPIV3Schema"]
        for crd in published_crds("prometheus-operator")
        for version in crd["spec"]["versions"]
    ]
    schema = max(schemas, key=lambda one: len(dumps(one)))
    custom, obj = CustomSchema(schema), _object_of(schema)
    assert custom.fits(obj)
    check_us, walk_us = _best_us(lambda: custom.fits(obj)), _best_us(lambda: _walk(obj))
    detail = {"object_bytes": len(dumps(obj)), "schema_bytes": len(dumps(schema)), "walk_us": round(walk_us, 1)}
    yield Row(
        name="check of a 5 KB object", value=check_us, target=100, unit="us", at_most=True, scales=True, detail=detail
    )
    yield Row(name="check of a 5 KB object, bare walks", value=check_us / walk_us, target=4, unit="x", at_most=True)


def _object_of(schema: Obj) -> Obj:
    custom = CustomSchema(schema)
    for seed in range(600):
        try:
            made = Maker(seed, fields=(0.3, 0.5, 0.7)[seed % 3]).value(schema)
        except Unmakeable:
            continue
        obj: Obj = {**made, "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a"}}
        custom.decode(obj)
        custom.default(obj)
        if 4600 < len(dumps(obj)) < 5600 and custom.fits(obj):
            return obj
    raise AssertionError("no object of this size was made")


def _walk(value: Any) -> None:
    if type(value) is dict:
        for item in value.values():
            _walk(item)
    elif type(value) is list:
        for item in value:
            _walk(item)


def _best_us(work: Callable[[], object], count: int = 200) -> float:
    best = float("inf")
    for _ in range(7):
        begin = time.process_time()
        for _ in range(count):
            work()
        best = min(best, time.process_time() - begin)
    return best / count * 1e6
