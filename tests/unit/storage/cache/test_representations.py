"""Watches in other forms than plain JSON: encoded once a channel and event, a watcher's first event its own way."""

from __future__ import annotations

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Key
from controlplane.apiserver.endpoints.representation import JSONLines
from tests.aio import run
from tests.mirrors import configmap, opened, set_data, watching

A, B = Key("default", "a"), Key("default", "b")


class _Names(JSONLines):
    """Only the name, and whether it is a first event; counts its calls."""

    signature, version, headed = "names", "v1", True

    def __init__(self) -> None:
        self.calls = 0

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        self.calls += 1
        return dumps({"name": loads(kept)["metadata"].get("name"), "first": first})


class _Broken(_Names):
    signature = "broken"

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        raise ZeroDivisionError(f"a defect, {first=}, {kept!r}")


def test_the_first_event_of_each_watcher_is_marked_and_the_rest_is_shared() -> None:
    async def main() -> None:
        names = _Names()
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, revision=start, representation=names) as one,
                watching(storage, revision=start, representation=names) as two,
            ):
                await storage.create(A, configmap("a"))
                await one.sink.until_count(1)
                await two.sink.until_count(1)
                async with watching(storage, initial_events=True, representation=names) as late:
                    await late.sink.until_count(1)
                    calls = names.calls
                    await storage.create(B, configmap("b"))
                    for watch in (one, two, late):
                        await watch.sink.until_count(2)
                    assert names.calls == calls + 1
                    expected = [{"name": "a", "first": True}, {"name": "b", "first": False}]
                    for watch in (one, two, late):
                        assert [event["object"] for event in watch.sink.events()] == expected
                    assert one.sink.chunks[1] is two.sink.chunks[1] is late.sink.chunks[1]

    run(main())


def test_a_representation_that_fails_ends_its_own_watches_only() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, revision=start, representation=_Broken()) as broken,
                watching(storage, revision=start) as healthy,
            ):
                await storage.create(A, configmap("a"))
                await set_data(storage, A, k="v")
                await healthy.sink.until_count(2)
                (event,) = await broken.ended()
                assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
            assert mirror.ready

    run(main())


def test_an_object_that_cannot_be_read_ends_the_watches_it_concerns() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, namespace="default", revision=start) as concerned,
                watching(storage, namespace="other", revision=start) as other,
            ):
                await mirror.kv.put(storage.store_key(A), b"garbage", expect=0)
                (event,) = await concerned.ended()
                assert event["object"]["reason"] == "StorageReadError"
                await storage.create(Key("other", "x"), configmap("x", "other"))
                await other.sink.until_count(1)

    run(main())
