"""What the mirror costs: ``python -m tests.bench.bench_mirror``. About twenty seconds; prints one line a figure.

Over the memory store, in one process, without HTTP: apply per event, gather and join of a list, fan-out to many sinks,
memory an object (the store's own live index included, its values not), and the longest stretch on the loop meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tracemalloc
from contextlib import AsyncExitStack
from time import perf_counter

import uvloop

from controlplane.apimachinery.codec.objects import encode_stored
from controlplane.apimachinery.identity import Key
from controlplane.storage.api import CONSISTENT
from controlplane.storage.cache import Mirror
from controlplane.storage.cache.image import Budgets, Image
from controlplane.storage.cache.intake import Intake
from controlplane.storage.kv.api import Event, KeyValue
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.objects.predicate import EVERYTHING
from controlplane.storage.transform import IDENTITY
from tests.mirrors import CONFIGMAPS, configmap, opened, watching

PREFIX = b"/registry/"


class Stretch:
    """The longest time between two turns of the loop."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._last = 0.0
        self._stop = False

    def start(self) -> None:
        self._last = perf_counter()
        asyncio.get_running_loop().call_soon(self._turn)

    def stop(self) -> float:
        self._stop = True
        return self.worst * 1000

    def _turn(self) -> None:
        now = perf_counter()
        self.worst = max(self.worst, now - self._last)
        self._last = now
        if not self._stop:
            asyncio.get_running_loop().call_soon(self._turn)


def stored(number: int) -> tuple[bytes, bytes]:
    """A store key and about 1 KB of value."""
    name = f"object-{number:06d}"
    obj = configmap(name, f"ns-{number % 10}", labels={"app": f"app-{number % 7}"}, text="x" * 850)
    return f"/registry/configmaps/ns-{number % 10}/{name}".encode(), encode_stored(obj, CONFIGMAPS.gvk("v1"))


def image_of(count: int) -> Image:
    image = Image(Intake(IDENTITY), PREFIX, Budgets())
    image.collect("", "configmaps", b"/registry/configmaps/", volatile=False)
    for number in range(count):
        key, value = stored(number)
        image.apply(Event(key, number + 2, KeyValue(key, value, number + 2, number + 2)))
    return image


def bench_apply() -> None:
    image = image_of(7_000)
    gc.collect()
    times = []
    for again in range(1, 6):
        values = [(*stored(number), number + again * 7_000 + 2) for number in range(7_000)]
        events = [Event(key, revision, KeyValue(key, value, 2, revision)) for key, value, revision in values]
        started = perf_counter()
        for event in events:
            image.apply(event)
        times.append((perf_counter() - started) / len(events) * 1e6)
    print(f"apply a foreign update: {min(times):.1f} us an event ({statistics.median(times):.1f} median of 5)")


def bench_list() -> None:
    image = image_of(7_000)
    times = []
    for _ in range(20):
        started = perf_counter()
        entries = image.index.scan(b"/registry/configmaps/", b"/registry/configmaps0")
        b",".join([entry.data for entry in entries])
        times.append(perf_counter() - started)
    print(f"list 7,000 x 1 KB, gather and join: {statistics.median(times) * 1e3:.2f} ms")


async def bench_list_storage() -> None:
    async with opened() as (mirror, storage):
        await fill(mirror, 7_000)
        times = []
        key = Key("ns-0", "object-000000")
        for _ in range(20):
            started = perf_counter()
            found = await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            b",".join(await storage.served(found.entries, "v1"))
            times.append(perf_counter() - started)
        print(f"list 7,000 by the storage: {statistics.median(times) * 1e3:.2f} ms")
        started = perf_counter()
        for _ in range(20_000):
            storage.served_nowait(await storage.get(key, CONSISTENT), "v1")
        print(f"consistent get by the storage: {(perf_counter() - started) / 20_000 * 1e6:.2f} us")


async def fill(mirror: Mirror, count: int) -> None:
    for start in range(0, count, 500):
        await asyncio.gather(*(mirror.kv.put(*stored(n), expect=0) for n in range(start, min(count, start + 500))))
    assert await mirror.fresh(None)


async def bench_fanout(watchers: int, writes: int) -> None:
    async with opened() as (mirror, storage), AsyncExitStack() as stack:
        watches = [
            await stack.enter_async_context(watching(storage, revision=mirror.revision)) for _ in range(watchers)
        ]
        await asyncio.sleep(0.05)
        stretch = Stretch()
        stretch.start()
        started = perf_counter()
        for number in range(writes):
            await mirror.kv.put(*stored(number), expect=0)
        for watch in watches:
            await watch.sink.until(lambda sink: sum(chunk.payload.count(b"\n") for chunk in sink.chunks) >= writes)
        seconds = perf_counter() - started
        chunks = sum(len(watch.sink.chunks) for watch in watches)
        print(
            f"fan-out to {watchers} sinks: {watchers * writes / seconds:,.0f} events/s, "
            f"{chunks / watchers / writes:.2f} writes an event, longest stretch {stretch.stop():.1f} ms"
        )


async def bench_memory(count: int) -> None:
    store = await open_kv("memory:")
    for number in range(count):
        await store.put(*stored(number), expect=0)
    values = sum(len(stored(number)[1]) for number in range(0, count, 100)) * 100
    gc.collect()
    tracemalloc.start()
    mirror = Mirror(store)
    mirror.storage(CONFIGMAPS)
    await mirror.start()
    gc.collect()
    mirrored = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"memory of {count:,} entries: {(mirrored - values) / count:.0f} bytes an entry beyond its JSON")
    await mirror.close()
    gc.collect()
    mirror = Mirror(store, freeze=True)
    mirror.storage(CONFIGMAPS)
    stretch = Stretch()
    stretch.start()
    started = perf_counter()
    await mirror.start()
    print(f"load of {count:,}: {perf_counter() - started:.2f} s, longest stretch {stretch.stop():.1f} ms")
    await mirror.close()
    await store.close()


async def main() -> None:
    await bench_list_storage()
    await bench_fanout(300, 200)
    await bench_fanout(1_000, 100)
    await bench_memory(100_000)


if __name__ == "__main__":
    bench_apply()
    bench_list()
    sys.stdout.flush()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
