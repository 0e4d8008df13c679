"""Long changes are worked on before they are applied, in a thread, and everybody sees what they would see else."""

from __future__ import annotations

import threading

from controlplane.apimachinery.identity import Key
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.base.aside import LONG_BYTES
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.ring import Change
from controlplane.storage.kv.backends import KVOptions, open_kv
from tests.aio import run
from tests.mirrors import configmap, opened, remove, selecting, set_data, watching

A, B = Key("default", "a"), Key("default", "b")
LONG = "x" * LONG_BYTES


class Observer:
    """Notes which state it hears of how, and in which thread."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bool, object]] = []
        self._loop = threading.get_ident()

    def foresee(self, change: Change) -> None:
        self._note("foreseen", change)

    def changed(self, change: Change) -> None:
        self._note("changed", change)

    def step(self) -> None:
        """Nothing is noted of it."""

    def replaced(self) -> None:
        """Nothing is noted of it."""

    def _note(self, how: str, change: Change) -> None:
        self.heard.append((how, threading.get_ident() == self._loop, change.entry))


def test_an_observer_foresees_the_very_states_that_come_and_only_long_ones() -> None:
    async def main() -> None:
        kv = await open_kv("memory:", KVOptions())
        mirror, observer = Mirror(kv), Observer()
        await mirror.start()
        mirror.observe(CONFIGMAPS, observer, foresees=observer.foresee)
        storage = mirror.storage(CONFIGMAPS)
        await storage.create(A, configmap("a", k="short"))
        await set_data(storage, A, k=LONG)
        await set_data(storage, A, k="short again")
        await remove(storage, A)
        assert await mirror.fresh(None)
        assert [(how, on_loop) for how, on_loop, _ in observer.heard] == [
            ("changed", True),
            ("foreseen", False),
            ("changed", True),
            ("changed", True),
            ("changed", True),
        ]
        assert observer.heard[1][2] is observer.heard[2][2]
        assert not mirror.image.foreseen
        await mirror.close()
        await kv.close()

    run(main())


def test_watches_of_long_objects_tell_the_same_as_of_short_ones() -> None:
    async def told(text: str) -> list[list[tuple[str, str, str]]]:
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, revision=start) as everything,
                watching(storage, predicate=selecting("x=1"), revision=start) as selected,
            ):
                await storage.create(A, configmap("a", labels={"x": "1"}, k=text))
                await storage.create(B, configmap("b", labels={"x": "2"}, k=text))
                await set_data(storage, A, n="1", k=text)
                await set_data(storage, A, labels={"x": "2"}, n="2", k=text)
                await set_data(storage, B, labels={"x": "1"}, n="3", k=text)
                await remove(storage, B)
                await remove(storage, A)
                await everything.sink.until_count(7)
                await selected.sink.until_count(5)
            assert not mirror.image.foreseen
            return [
                [
                    (event["type"], event["object"]["metadata"]["name"], event["object"]["data"].get("n", ""))
                    for event in watch.sink.events()
                ]
                for watch in (everything, selected)
            ]

    assert run(told(LONG)) == run(told("short"))


def test_changes_of_one_object_in_one_batch() -> None:
    """The second is foreseen against a state that is not the one it replaces when it comes."""

    async def main() -> None:
        kv = await open_kv("memory:", KVOptions())
        mirror = Mirror(kv)
        storage = mirror.storage(CONFIGMAPS)
        await mirror.start()
        async with watching(storage, predicate=selecting("x=1"), revision=mirror.revision) as watch:
            entry = await storage.create(A, configmap("a", labels={"x": "1"}, k=LONG))
            revision = entry.mod_revision
            for labels in ('"x":"2"', '"x":"1"'):
                value = (
                    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{%b},"name":"a","namespace":"default"}'
                )
                value = value % labels.encode() + b',"data":{"k":"%b"}}' % LONG.encode()
                revision = (await kv.put(entry.key, value, expect=revision)).revision
            assert await mirror.fresh(revision)
            await watch.sink.until_count(3)
        assert [kind for kind, _, _ in watch.sink.brief()] == ["ADDED", "DELETED", "ADDED"]
        assert not mirror.image.foreseen
        await mirror.close()
        await kv.close()

    run(main())
