"""What tests of the mirror share: a resource, objects, a sink that remembers, and stores that lose their stream.

``MemorySink`` lies in one respect: it never applies back pressure by itself; a test sets ``backlog_bytes``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.selectors.fields import parse_field_selector
from controlplane.apimachinery.selectors.labels import parse_label_selector
from controlplane.apiserver.endpoints.representation import JSONLines
from controlplane.base.streams import Chunk
from controlplane.storage.api import Entry, Keep, Predicate, Storage, WatchOptions
from controlplane.storage.cache import Mirror
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.objects.predicate import EVERYTHING, make_predicate

__all__ = [
    "CONFIGMAPS",
    "EVERYTHING",
    "JSON",
    "WIDGETS",
    "MemorySink",
    "Watched",
    "configmap",
    "opened",
    "remove",
    "selecting",
    "set_data",
    "watching",
]

CONFIGMAPS = Resource(
    group="",
    plural="configmaps",
    singular="configmap",
    kind="ConfigMap",
    namespaced=True,
    versions=(ResourceVersion(name="v1", schema={}),),
    storage_version="v1",
    key_prefix="configmaps",
)
WIDGETS = Resource(
    group="example.org",
    plural="widgets",
    singular="widget",
    kind="Widget",
    namespaced=False,
    versions=(ResourceVersion(name="v1", schema={}), ResourceVersion(name="v2", schema={})),
    storage_version="v2",
    key_prefix="example.org/widgets",
    native=False,
)


class _Json(JSONLines):
    """Plain JSON of version v1."""

    signature = "json"
    version = "v1"
    plain = True

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        raise AssertionError(f"plain bytes are not encoded ({first=}): {kept!r}")


JSON = _Json()


def configmap(name: str, namespace: str = "default", *, labels: dict[str, str] | None = None, **data: str) -> Obj:
    metadata: Obj = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def selecting(labels: str = "", fields: str = "") -> Predicate:
    return make_predicate(parse_label_selector(labels), parse_field_selector(fields), CONFIGMAPS.attributes)


async def set_data(storage: Storage, key: Key, *, labels: dict[str, str] | None = None, **data: str) -> Entry:
    """Update a configmap's data, and its labels if given."""

    async def mutate(obj: Obj, _: Entry) -> Obj | Keep:
        obj["data"] = data
        if labels is not None:
            obj["metadata"]["labels"] = labels
        return obj

    return await storage.update(key, mutate, version="v1")


async def remove(storage: Storage, key: Key) -> Entry:
    async def accept(_obj: Obj, _entry: Entry) -> None:
        return None

    return await storage.delete(key, accept, version="v1")


class MemorySink:
    """Keeps what is written. ``backlog_bytes`` is what it says is unsent; ``drain`` clears it and calls back."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.backlog_bytes = 0
        self._closed = asyncio.Event()
        self._written = asyncio.Event()
        self._on_drain: list[Callable[[], None]] = []

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def write(self, chunk: Chunk) -> None:
        if not self.closed:
            self.chunks.append(chunk)
            self._written.set()

    def buffered_bytes(self) -> int:
        return self.backlog_bytes

    def on_drain(self, callback: Callable[[], None]) -> None:
        self._on_drain.append(callback)

    async def until_closed(self) -> None:
        await self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        self.drain()

    def drain(self) -> None:
        self.backlog_bytes = 0
        callbacks, self._on_drain = self._on_drain, []
        for callback in callbacks:
            callback()

    def events(self) -> list[Any]:
        """All events so far, decoded; every chunk must be whole lines."""
        assert all(chunk.payload.endswith(b"\n") for chunk in self.chunks)
        return [loads(line) for chunk in self.chunks for line in chunk.payload.splitlines()]

    def brief(self) -> list[tuple[str, str, int]]:
        """Events as (type, name, resource version)."""
        return [
            (e["type"], e["object"]["metadata"].get("name", ""), int(e["object"]["metadata"].get("resourceVersion", 0)))
            for e in self.events()
        ]

    async def until(self, enough: Callable[[MemorySink], bool], *, seconds: float = 5.0) -> None:
        """Wait until what is written satisfies ``enough``."""
        async with asyncio.timeout(seconds):
            while not enough(self):
                self._written.clear()
                await self._written.wait()

    async def until_count(self, count: int) -> None:
        await self.until(lambda sink: len(sink.events()) >= count)


class Watched:
    """A watch under way: its sink and its task."""

    def __init__(self, sink: MemorySink, task: asyncio.Task[None]) -> None:
        self.sink, self.task = sink, task

    async def ended(self, *, seconds: float = 5.0) -> list[Any]:
        """Wait for the stream's end; all events."""
        async with asyncio.timeout(seconds):
            await asyncio.shield(self.task)
        return self.sink.events()


@asynccontextmanager
async def watching(
    storage: Storage,
    *,
    namespace: str | None = None,
    predicate: Predicate = EVERYTHING,
    representation: Any = JSON,
    sink: MemorySink | None = None,
    **options: Any,
) -> AsyncIterator[Watched]:
    """Open a watch and run it; closed at the end."""
    sink = sink or MemorySink()
    run = await storage.watch(namespace, predicate, representation, WatchOptions(**options))
    task = asyncio.ensure_future(_run(run, sink))
    try:
        yield Watched(sink, task)
    finally:
        sink.close()
        await asyncio.wait([task], timeout=5)
        assert task.done()
        task.result()


async def _run(run: Callable[[Any], Any], sink: MemorySink) -> None:
    await run(sink)


@asynccontextmanager
async def opened(
    url: str = "memory:", *, kv: KV | None = None, **options: Any
) -> AsyncIterator[tuple[Mirror, Storage]]:
    """A started mirror with the storage of configmaps, over a fresh store (or ``kv``, which stays open)."""
    own = kv is None
    store = kv if kv is not None else await open_kv(url, KVOptions(history_seconds=300))
    mirror = Mirror(store, **options)
    storage = mirror.storage(CONFIGMAPS)
    await mirror.start()
    try:
        yield mirror, storage
    finally:
        await mirror.close()
        if own:
            await store.close()
