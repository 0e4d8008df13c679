"""What the endpoints cost: ``python -m tests.bench.bench_endpoints``. About ten seconds; prints one line a figure.

Requests go to ``APIEndpoints.handle`` in process: no sockets, no TLS, no filters, over the mirror on the memory store.
CPU microseconds of this process for each operation, all layers below included.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter, process_time

import uvloop
from multidict import CIMultiDict

from controlplane.base.memory import keep_freed_memory
from controlplane.client.negotiation import PROTOBUF
from controlplane.client.request import Request
from controlplane.client.request_info import parse_request_info
from tests.unit.apiserver.plane import USER, Plane, running_plane

OBJECTS = 7_000
CLIENTS = 32
PATH = "/api/v1/namespaces/ns/configmaps"
HEADERS = {"Accept": "application/json", "User-Agent": "bench/1.0", "Content-Type": "application/json"}


def request(method: str, path: str, query: str = "", body: bytes = b"") -> Request:
    """A request as it comes out of the filters."""
    made = Request(method, path, query_string=query, headers=HEADERS, body=body)
    made.info, made.user = parse_request_info(method, path, query), USER
    return made


def config_map(name: str) -> bytes:
    """About 1 KB."""
    metadata = {"name": name, "labels": {"app": "bench"}}
    return json.dumps(
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"text": "x" * 850}}
    ).encode()


async def measure(name: str, count: int, one: Callable[[int], Awaitable[object]], clients: int = CLIENTS) -> None:
    """Run ``one`` for each number below ``count``, as many at a time as there are clients."""
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await one(number)

    cpu, wall = process_time(), perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    cpu, wall = process_time() - cpu, perf_counter() - wall
    print(f"{name:<44} {cpu / count * 1e6:10.1f} us CPU {wall / count * 1e6:10.1f} us wall", flush=True)


async def bench(plane: Plane) -> None:
    handle = plane.endpoints.handle
    await plane.namespace("ns")
    creates = [request("POST", PATH, body=config_map(f"object-{n:06d}")) for n in range(OBJECTS)]
    await measure("create 1 KB", OBJECTS, lambda n: handle(creates[n]))
    rehearsals = [request("POST", PATH, "dryRun=All", config_map(f"other-{n:06d}")) for n in range(OBJECTS)]
    await measure("create 1 KB, dry run (no store)", OBJECTS, lambda n: handle(rehearsals[n]))
    gets = [request("GET", f"{PATH}/object-{n:06d}") for n in range(OBJECTS)]
    for query in ("", "resourceVersion=0"):
        for get in gets:
            get.query_string = query
        await measure(f"get 1 KB {query or 'consistent'}", 3 * OBJECTS, lambda n: handle(gets[n % OBJECTS]))
    await measure(f"list {OBJECTS} x 1 KB", 40, lambda _: handle(request("GET", PATH)), clients=1)
    await measure("list 500 of them", 400, lambda _: handle(request("GET", PATH, "limit=500")), clients=1)
    for get in gets:
        get.headers = CIMultiDict(HEADERS | {"Accept": PROTOBUF})
    await measure("get 1 KB in protobuf, the first time", OBJECTS, lambda n: handle(gets[n]))
    await measure("get 1 KB in protobuf", 3 * OBJECTS, lambda n: handle(gets[n % OBJECTS]))
    lists = [request("GET", PATH) for _ in range(40)]
    for whole in lists:
        whole.headers = gets[0].headers
    await measure(f"list {OBJECTS} x 1 KB in protobuf", 40, lambda n: handle(lists[n]), clients=1)
    headers = HEADERS | {"Content-Type": "application/merge-patch+json"}
    patches = [Request("PATCH", get.path, headers=headers, body=b'{"data":{"k":"v"}}') for get in gets]
    for patch in patches:
        patch.info, patch.user = parse_request_info("PATCH", patch.path), USER
    await measure("merge patch", OBJECTS, lambda n: handle(patches[n]))
    deletes = [request("DELETE", get.path) for get in gets]
    await measure("delete", OBJECTS, lambda n: handle(deletes[n]))


async def main() -> None:
    keep_freed_memory()
    async with running_plane() as plane:
        await bench(plane)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    sys.exit(0)
