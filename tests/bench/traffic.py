"""Traffic that ``load`` has not, as a process of its own; one JSON line says what was done.

    python -m tests.bench.traffic fan '{"host": …, "port": …, "path": "/…", "connections": 500, "seconds": 3}'
    python -m tests.bench.traffic definitions '{"host": …, "port": …}' COUNT

``fan``: that many watchers of a collection, while eight clients create in it as fast as they can. ``definitions``:
creates published CustomResourceDefinitions one after another.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import islice
from typing import Any

import uvloop

from tests.bench.load import JSON, Connection, Load
from tests.crds import published_crds

__all__ = ["create_definitions", "fan_out"]

WRITERS = 8
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_EVENT = b'{"type":"'


class _Watcher(asyncio.Protocol):
    """Counts events; ``begun`` is done when the answer has begun."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.events = 0

    def data_received(self, data: bytes) -> None:
        self.events += data.count(_EVENT)
        if not self.begun.done():
            self.begun.set_result(None)


async def fan_out(load: Load) -> dict[str, Any]:
    """Events that all watchers together received, and creates."""
    loop, context = asyncio.get_running_loop(), load.context()
    watchers = []
    head = f"Host: {load.host}:{load.port}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n"
    for _ in range(load.connections):
        transport, watcher = await loop.create_connection(_Watcher, load.host, load.port, ssl=context)
        transport.write(f"GET {load.path}?watch=1&resourceVersion=0 HTTP/1.1\r\n{head}\r\n".encode())
        await watcher.begun
        watchers.append((transport, watcher))
    before = sum(watcher.events for _, watcher in watchers)
    creating = Load(**{**vars_of(load), "op": "create"})
    end, created = time.perf_counter() + load.seconds, 0

    async def create() -> None:
        nonlocal created
        transport, connection = await loop.create_connection(Connection, load.host, load.port, ssl=context)
        while time.perf_counter() < end:
            assert await connection.send(creating.request()) == 201
            created += 1
        transport.close()

    await asyncio.gather(*(create() for _ in range(WRITERS)))
    await asyncio.sleep(0.5)  # what is under way arrives
    events = sum(watcher.events for _, watcher in watchers) - before
    for transport, _ in watchers:
        transport.close()
    return {"operations": created, "events": events, "rate": round(events / load.seconds, 1)}


def vars_of(load: Load) -> dict[str, Any]:
    return {name: getattr(load, name) for name in ("host", "port", "path", "size", "ca", "cert", "key", "prefix")}


async def create_definitions(load: Load, count: int) -> dict[str, Any]:
    _, connection = await asyncio.get_running_loop().create_connection(
        Connection, load.host, load.port, ssl=load.context()
    )
    done = 0
    for definition in islice(published_crds("kcc"), count):
        status = await connection.send(load.sending(f"POST {DEFINITIONS}", JSON, definition))
        assert status == 201, status
        done += 1
    connection.transport.close()
    return {"operations": done}


def main() -> None:
    load = Load(**json.loads(sys.argv[2]))
    work = fan_out(load) if sys.argv[1] == "fan" else create_definitions(load, int(sys.argv[3]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(work)), flush=True)


if __name__ == "__main__":
    main()
