"""Bytes in another encoding than JSON: made once for each revision of an object, and kept beside its JSON."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Key
from controlplane.apiserver.endpoints.representation import JSONLines
from controlplane.storage.api import CONSISTENT, Encoding
from controlplane.storage.errors import Unreadable
from tests.aio import run
from tests.mirrors import configmap, opened, set_data, watching

A, B = Key("default", "a"), Key("default", "b")


class Counting:
    """Names and data as text; counts its calls."""

    name = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def encode(self, served: bytes) -> bytes:
        self.calls += 1
        obj = loads(served)
        if "broken" in obj.get("data", {}):
            raise ValueError("no such form")
        return f'"{obj["metadata"].get("name")}:{obj.get("data", {}).get("k")}"'.encode()


class Counted(JSONLines):
    """A representation that starts from those."""

    signature, version = "counted", "v1"

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        assert not first
        return b'{"kept":%b}' % kept


def test_an_encoding_is_made_once_a_revision() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            counting = Counting()
            entry = await storage.create(A, configmap("a", k="v"))
            for _ in range(2):
                assert storage.served_nowait(entry, "v1", counting) == b'"a:v"'
                assert await storage.served((entry,), "v1", counting) == [b'"a:v"']
            assert counting.calls == 1
            assert loads(storage.served_nowait(entry, "v1") or b"")["data"] == {"k": "v"}
            await set_data(storage, A, k="w")
            entry = await storage.get(A, CONSISTENT)
            assert storage.served_nowait(entry, "v1", counting) == b'"a:w"'
            other = await storage.create(B, configmap("b", k="x"))
            assert await storage.served((entry, other), "v1", counting) == [b'"a:w"', b'"b:x"']
            assert counting.calls == 3

    run(main())


def test_watches_share_it_with_reads() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            counting = Counting()
            representation = Counted(counting)
            start = mirror.revision
            async with (
                watching(storage, revision=start, representation=representation) as one,
                watching(storage, revision=start, representation=representation) as two,
            ):
                entry = await storage.create(A, configmap("a", k="v"))
                await one.sink.until_count(1)
                await two.sink.until_count(1)
                assert one.sink.events() == [{"type": "ADDED", "object": {"kept": "a:v"}}]
                assert one.sink.chunks[0] is two.sink.chunks[0]
                assert storage.served_nowait(entry, "v1", counting) == b'"a:v"'
                assert counting.calls == 1

    run(main())


def test_an_object_that_has_no_such_form_is_unreadable() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            counting = Counting()
            entry = await storage.create(A, configmap("a", broken="x"))
            with pytest.raises(Unreadable, match="no such form"):
                storage.served_nowait(entry, "v1", counting)
            async with watching(storage, initial_events=True, representation=Counted(counting)) as watch:
                (event,) = await watch.ended()
                assert (event["type"], event["object"]["reason"]) == ("ERROR", "StorageReadError")
            assert mirror.ready

    run(main())
