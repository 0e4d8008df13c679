"""Conversions that somebody else does: batches, how many at once, failures, and readers that give up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.base.tasks import Owner
from controlplane.storage.cache.entry import Entry, origin_of
from controlplane.storage.cache.remote import AT_ONCE, BATCH_BYTES, BATCH_OBJECTS, Flights, RemoteConversion
from controlplane.storage.errors import ConversionFailed
from tests.aio import run

V1 = origin_of("example.com/v1", "Foo", "", False)


class Upper(RemoteConversion):
    """Converts by capital letters, when it is let; ``failure``: what it says instead."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.batches: list[int] = []
        self.failure = ""
        self.at_once = self.most = 0

    def needs(self, stored: str, wanted: str) -> bool:
        return stored != wanted

    async def convert_batch(self, batch: Sequence[tuple[bytes, str]], wanted: str) -> Sequence[bytes]:
        self.batches.append(len(batch))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.open.wait()
        self.at_once -= 1
        if self.failure:
            raise ConversionFailed(self.failure)
        return [data.upper() for data, _ in batch]

    async def to_storage_remote(self, obj: Obj) -> Obj:
        return obj

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        return data

    def to_storage(self, obj: Obj) -> Obj:
        return obj


class Scene:
    def __init__(self) -> None:
        self.owner = Owner("test")
        self.flights = Flights(lambda flight: self.owner.start(flight, name="convert"))
        self.conversion = Upper()
        self.kept: dict[Entry, bytes] = {}

    async def convert(self, entries: Sequence[Entry]) -> None:
        def keep(entry: Entry, _wanted: str, data: bytes) -> None:
            self.kept[entry] = data

        await self.flights.convert(self.conversion, entries, "example.com/v2", keep)


def entries(count: int, data: bytes = b"a") -> list[Entry]:
    return [Entry(b"/k/%d" % i, data, i + 1, i + 1, V1) for i in range(count)]


def test_many_go_in_batches_and_few_of_them_at_once() -> None:
    async def main() -> None:
        scene = Scene()
        scene.conversion.open.set()
        many = entries(BATCH_OBJECTS * 6 + 1)
        await scene.convert([*many, *many])  # each once, however often it is named
        assert scene.conversion.batches == [BATCH_OBJECTS] * 6 + [1]
        assert scene.conversion.most <= AT_ONCE
        assert set(scene.kept.values()) == {b"A"}
        scene.conversion.batches.clear()
        await scene.convert(entries(3, b"a" * (BATCH_BYTES // 2)))
        assert scene.conversion.batches == [2, 1]
        await scene.owner.close()

    run(main())


def test_who_asks_for_the_same_waits_for_the_same_and_may_give_up() -> None:
    async def main() -> None:
        scene = Scene()
        some = entries(3)
        first, second, third = [asyncio.ensure_future(scene.convert(some)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        scene.conversion.open.set()
        await asyncio.gather(second, third)
        assert first.cancelled()
        assert scene.conversion.batches == [3]
        assert scene.flights._underway == {}
        await scene.owner.close()

    run(main())


def test_a_failure_is_told_to_all_who_wait_and_tried_again_by_the_next() -> None:
    async def main() -> None:
        scene = Scene()
        scene.conversion.failure = "the webhook is away"
        some = entries(2)
        waiting = [asyncio.ensure_future(scene.convert(some)) for _ in range(3)]
        await asyncio.sleep(0)
        scene.conversion.open.set()
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert [str(error) for error in errors] == ["the webhook is away"] * 3
        assert len({id(error) for error in errors}) == 3
        assert scene.kept == {}
        scene.conversion.failure = ""
        await scene.convert(some)
        assert len(scene.kept) == 2
        await scene.owner.close()

    run(main())


def test_those_who_wait_are_told_when_the_server_ends() -> None:
    async def main() -> None:
        scene = Scene()
        waiting = asyncio.ensure_future(scene.convert(entries(1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await scene.owner.close()
        with pytest.raises(ConversionFailed, match="shutting down"):
            await waiting

    run(main())
