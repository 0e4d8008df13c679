"""The memory log: what is forgotten, and what goes on meanwhile."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.memory import SLICE_ITEMS
from tests.aio import run

WRITES = 6 * SLICE_ITEMS


async def churn(kv: KV, key: bytes, writes: int, revision: int = ABSENT) -> int:
    for number in range(writes):
        revision = (await kv.put(key, b"%d" % number, expect=revision)).revision
    return revision


def test_much_is_forgotten_in_turns_and_nothing_written_meanwhile_is_lost() -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        last = await churn(kv, b"/a", WRITES)
        gone = await churn(kv, b"/gone", 5)
        await kv.delete(b"/gone", expect=gone)
        floor = await kv.revision()
        compacting = asyncio.gather(kv.compact(floor - 1), kv.compact(floor))
        turns, sizes = 0, [(await kv.status()).db_size_bytes]
        while not compacting.done():
            await kv.put(b"/new/%05d" % turns, b"", expect=ABSENT)
            sizes.append((await kv.status()).db_size_bytes)
            turns += 1
        await compacting
        assert max(before - after for before, after in pairwise(sizes)) < sizes[0] * 2 / 3, "it is dropped in slices"
        everything = await kv.range(b"/", b"0")
        assert [item.key for item in everything.items] == [b"/a", *(b"/new/%05d" % n for n in range(turns))]
        assert everything.items[0].mod_revision == last
        async with kv.watch(b"/", floor + 1) as watch:
            batch = await anext(aiter(watch))
        assert [event.mod_revision for event in batch.events] == list(range(floor + 1, floor + 1 + turns))
        assert (await kv.status()).db_size_bytes == sum(len(item.key + item.value) for item in everything.items)
        await kv.close()

    run(scenario())
