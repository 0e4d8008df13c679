"""The etcd backend against bare gRPC calls of the same client: ``python -m tests.bench.bench_etcd``.

The unit of work is one conditional put of 1 KB that creates a key. ``bare`` serialises one prepared transaction shape
and awaits the call of our own gRPC client; the difference is what the backend costs. ``grpc_aio`` does the same by
grpcio's client, which is what docs/decisions/0007 compares with.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import grpc.aio  # type: ignore[import-untyped]  # grpcio ships no types
import uvloop

from controlplane.base.tasks import TaskGroup
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster
from controlplane.storage.kv.etcd.kv import EtcdKV, open_kv
from controlplane.storage.kv.etcd.location import parse_location
from controlplane.testing.etcd import EtcdProcess

__all__ = ["Rate", "bare", "bare_conditional_puts", "conditional_puts", "grpc_aio"]

VALUE = b"x" * 1024
RANGE_OBJECTS = 100_000

Put = Callable[[bytes], Awaitable[bool]]


@dataclass(frozen=True)
class Rate:
    """``per_second`` operations, at ``cpu_us`` microseconds of this process's processor time each."""

    per_second: float
    cpu_us: float

    def __str__(self) -> str:
        return f"{self.per_second:8.0f}/s {self.cpu_us:6.1f} µs"


async def _drive(put: Put, *, concurrency: int, seconds: float) -> Rate:
    prefix = b"/bench/%s/" % secrets.token_hex(4).encode()
    done = 0
    begin, cpu = time.perf_counter(), time.process_time()
    until = begin + seconds

    async def client(number: int) -> None:
        nonlocal done
        at = 0
        while time.perf_counter() < until:
            at += 1
            assert await put(prefix + b"%02d/%08d" % (number, at))
            done += 1

    async with TaskGroup("bench") as group:
        for task in [group.start(client(n), name=f"client-{n}") for n in range(concurrency)]:
            await task
    return Rate(done / (time.perf_counter() - begin), (time.process_time() - cpu) / done * 1e6)


async def bare(location: str, *, concurrency: int, seconds: float) -> Rate:
    """Bare gRPC calls."""
    cluster = Cluster(parse_location(location), None, 10)
    call = cluster.members[0].txn

    async def put(key: bytes) -> bool:
        return (await call(_create(key), timeout=10)).succeeded

    rate = await _drive(put, concurrency=concurrency, seconds=seconds)
    await cluster.close()
    return rate


async def grpc_aio(location: str, *, concurrency: int, seconds: float) -> Rate:
    """The same calls by grpcio."""
    async with grpc.aio.insecure_channel(location) as channel:
        call = channel.unary_unary("/etcdserverpb.KV/Txn", pb.TxnRequest.SerializeToString, pb.TxnResponse.FromString)

        async def put(key: bytes) -> bool:
            response: pb.TxnResponse = await call(_create(key), timeout=10)
            return response.succeeded

        return await _drive(put, concurrency=concurrency, seconds=seconds)


def _create(key: bytes) -> pb.TxnRequest:
    request = pb.TxnRequest()
    compare = request.compare.add()
    compare.target, compare.key, compare.mod_revision = pb.Compare.MOD, key, 0
    put = request.success.add().request_put
    put.key, put.value = key, VALUE
    request.failure.add().request_range.key = key
    return request


async def conditional_puts(kv: EtcdKV, *, concurrency: int, seconds: float) -> Rate:
    """The same by the backend."""

    async def put(key: bytes) -> bool:
        return (await kv.put(key, VALUE, expect=0)).succeeded

    return await _drive(put, concurrency=concurrency, seconds=seconds)


def bare_conditional_puts(location: str, *, concurrency: int, seconds: float) -> dict[str, Rate]:
    """Bare conditional puts on the loop that the server uses: by its own client (``ours``) and by grpcio's."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return {
            name: runner.run(client(location, concurrency=concurrency, seconds=seconds))
            for name, client in (("ours", bare), ("grpcio", grpc_aio))
        }


async def _longest_turn(stop: asyncio.Event) -> float:
    """Seconds of the loop's own processor time (others' use of the machine left out) that one turn took at most."""
    longest = 0.0
    while not stop.is_set():
        begin = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - begin)
    return longest


async def _range_and_watch(kv: EtcdKV) -> None:
    prefix = b"/load/"
    numbers = iter(range(RANGE_OBJECTS))
    start = await kv.revision() + 1

    async def fill() -> None:
        for number in numbers:
            await kv.put(prefix + b"%06d" % number, VALUE, expect=0)

    async with TaskGroup("fill") as group:
        for task in [group.start(fill(), name=str(n)) for n in range(64)]:
            await task
    for _ in range(3):
        stop = asyncio.Event()
        async with TaskGroup("measure") as group:
            meter = group.start(_longest_turn(stop), name="meter")
            begin, cpu = time.perf_counter(), time.process_time()
            result = await kv.range(prefix, prefix_end(prefix))
            seconds, used = time.perf_counter() - begin, time.process_time() - cpu
            stop.set()
            longest = 1e3 * await meter
        print(f"range of {len(result.items)} x 1 KB: {seconds:.2f} s, cpu {used:.2f} s, longest turn {longest:.1f} ms")
        del result  # freeing 100,000 values is not the next reading's to account for
    begin, cpu = time.perf_counter(), time.process_time()
    seen = 0
    async with kv.watch(prefix, start) as watch:
        while seen < RANGE_OBJECTS:
            seen += len((await anext(watch)).events)
    used = time.process_time() - cpu
    print(f"watch replay of {seen} x 1 KB: {time.perf_counter() - begin:.2f} s, cpu {used / seen * 1e6:.1f} µs each")


async def _main(seconds: float = 2) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        async with EtcdProcess(Path(directory) / "etcd") as etcd:
            kv = await open_kv(etcd.endpoint, KVOptions(history_seconds=0))
            for concurrency in (1, 32):
                for _ in range(2):
                    ours = await conditional_puts(kv, concurrency=concurrency, seconds=seconds)
                    base = await bare(etcd.endpoint, concurrency=concurrency, seconds=seconds)
                    ratio = ours.per_second / base.per_second
                    other = await grpc_aio(etcd.endpoint, concurrency=concurrency, seconds=seconds)
                    print(
                        f"{concurrency:3d} clients: backend {ours}   bare {base}   ratio {ratio:.2f}   grpcio {other}"
                    )
            await _range_and_watch(kv)
            await kv.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_main())
