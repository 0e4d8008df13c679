"""Writes per second of the embedded store against bare SQLite committing groups of the same size.

    python -m tests.bench.bench_kv [--directory DIR …] [--clients N …] [--seconds S]

Unit of work: create a key that is absent, 1,000-byte value, answer after commit. One JSON line a measurement:
``ratio`` is the store's rate over bare SQLite's (``executemany`` of the same rows into the same tables, one transaction
a group, ``synchronous=FULL``, in the main thread, nothing else running). ``loop_us``: CPU of the loop's thread a put.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import uvloop

from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.sqlite import schema

VALUE = b"x" * 1_000
TMPFS, DISK = Path("/dev/shm"), Path(tempfile.gettempdir())


def key_of(client: int, n: int) -> bytes:
    return b"/registry/configmaps/default/client-%04d-%08d" % (client, n)


def bare(directory: Path, group: int, seconds: float) -> float:
    """Writes per second of bare group commits."""
    with tempfile.TemporaryDirectory(dir=directory) as home, closing(sqlite3.connect(f"{home}/bare.db")) as db:
        db.isolation_level = None
        db.execute(f"PRAGMA page_size = {schema.PAGE_BYTES}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        for statement in schema.CREATE:
            db.execute(statement)
        revision, commits, started = 1, 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            first = revision + 1
            rows = [(first + n, key_of(n, commits), VALUE, first + n, 0, 1, 0) for n in range(group)]
            revision += group
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            db.execute("COMMIT")
            commits += 1
        return (revision - 1) / elapsed


async def store(kv: KV, clients: int, seconds: float) -> tuple[float, float]:
    """Writes per second of the store, and the loop thread's CPU seconds a write."""
    done = 0
    ends = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal done
        n = 0
        while time.perf_counter() < ends:
            result = await kv.put(key_of(number, n), VALUE, expect=ABSENT)
            if not result.succeeded:
                raise RuntimeError(f"refused: {result}")
            n += 1
            done += 1

    cpu, started = time.thread_time(), time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return done / (time.perf_counter() - started), (time.thread_time() - cpu) / done


async def measure(scheme: str, directory: Path, clients: int, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=directory) as home:
        kv = await open_kv("memory:" if scheme == "memory" else f"{scheme}:{home}/store.db")
        try:
            rate, cpu_seconds = await store(kv, clients, seconds)
        finally:
            await kv.close()
    return {"per_second": round(rate), "loop_us": round(cpu_seconds * 1e6, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, nargs="+", default=[d for d in (TMPFS, DISK) if d.is_dir()])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32, 64, 256])
    parser.add_argument("--seconds", type=float, default=1.5)
    chosen = parser.parse_args()
    for clients in chosen.clients:
        figures = uvloop.run(measure("memory", chosen.directory[0], clients, chosen.seconds))
        print(json.dumps({"bench": "kv_put", "store": "memory", "clients": clients, **figures}))
        for directory in chosen.directory:
            figures = uvloop.run(measure("sqlite", directory, clients, chosen.seconds))
            reference = bare(directory, clients, chosen.seconds)
            figures |= {"bare_per_second": round(reference), "ratio": round(figures["per_second"] / reference, 2)}
            where = {"store": "sqlite", "directory": str(directory), "clients": clients}
            print(json.dumps({"bench": "kv_put", **where, **figures}), flush=True)


if __name__ == "__main__":
    main()
