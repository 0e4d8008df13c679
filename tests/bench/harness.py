"""What benches share: the bare baseline as a process, load runs, filling a store."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvloop

from tests.bench.load import Connection, Load
from tests.processes import Target, cpu_seconds

__all__ = ["bare_server", "post_many", "run_load"]


@contextlib.contextmanager
def bare_server(directory: Path, body: bytes, cert: str, key: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The baseline serving ``body``; yields its port and process."""
    file = directory / "body.json"
    file.write_bytes(body)
    options = json.dumps({"port": 0, "cert": cert, "key": key, "body_file": str(file)})
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.bare", options], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["port"], process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def run_load(options: dict[str, Any], server_pid: int = 0) -> dict[str, Any]:
    """One load run in a process of its own; with ``server_pid`` adds the server's CPU microseconds an operation."""
    before = cpu_seconds(server_pid) if server_pid else 0.0
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", json.dumps(options)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    if server_pid:
        total = result["operations"] * (1 + options.get("warm_seconds", 1.0) / result["seconds"])
        result["cpu_us"] = round((cpu_seconds(server_pid) - before) / max(1, total) * 1e6, 1)
    return result


def post_many(target: Target, namespace: str, count: int, *, size: int = 1000, prefix: str = "fill") -> None:
    """Create ``count`` ConfigMaps over 16 connections."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    load = Load(path=path, op="create", size=size, prefix=prefix, **target.options())

    async def fill() -> None:
        loop = asyncio.get_running_loop()
        context = load.context()
        left = iter(range(count))

        async def one() -> None:
            _, connection = await loop.create_connection(Connection, target.host, target.port, ssl=context)
            for _ in left:
                status = await connection.send(load.request())
                assert status == 201, status
            connection.transport.close()

        await asyncio.gather(*(one() for _ in range(16)))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fill())
