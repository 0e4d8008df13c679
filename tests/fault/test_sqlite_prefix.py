"""A database whose log is torn anywhere past the last sync opens as an exact prefix of its history.

What a power failure may leave: the log up to some offset, then nothing, zeros or rubbish. Every write that was
acknowledged when the log was no longer than that offset must be there; and the state must be that of one revision.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path

import pytest

from controlplane.storage.kv.api import ABSENT, KV, KeyValue, prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.maintenance import check
from tests.aio import run

CUTS = 200 if os.environ.get("CONTROLPLANE_TEST_LONG") else 20
PREFIX = b"/k/"


class History:
    """Every answered write: revision -> (key, value or None), and how long the log was when it was answered."""

    def __init__(self, wal: Path) -> None:
        self._wal = wal
        self.writes: dict[int, tuple[bytes, bytes | None]] = {}
        self.answered_at: dict[int, int] = {}

    def answered(self, revision: int, key: bytes, value: bytes | None) -> None:
        self.writes[revision] = (key, value)
        self.answered_at[revision] = self._wal.stat().st_size

    def state(self, revision: int) -> dict[bytes, bytes]:
        state: dict[bytes, bytes] = {}
        for at in sorted(self.writes):
            if at <= revision:
                key, value = self.writes[at]
                if value is None:
                    del state[key]
                else:
                    state[key] = value
        return state


async def write(kv: KV, history: History, client: int, chance: random.Random) -> None:
    key, revision = PREFIX + b"%d" % client, ABSENT
    for _ in range(40):
        if revision and chance.random() < 0.2:
            result, value = await kv.delete(key, expect=revision), None
        else:
            value = chance.randbytes(chance.choice((10, 300, 3_000, 30_000)))
            result = await kv.put(key, value, expect=revision)
        assert result.succeeded
        history.answered(result.revision, key, value)
        revision = ABSENT if value is None else result.revision


async def recorded(home: Path, chance: random.Random) -> tuple[History, Path]:
    """A history, and a copy of database and log as they were before the store was closed."""
    kv = await open_kv(f"sqlite:{home}/store.db")
    history = History(home / "store.db-wal")
    await asyncio.gather(*(write(kv, history, client, chance) for client in range(8)))
    copy = home / "copy"
    copy.mkdir()
    for name in ("store.db", "store.db-wal"):
        shutil.copy(home / name, copy / name)
    await kv.close()
    return history, copy


async def opened(path: Path) -> tuple[int, list[KeyValue]]:
    kv = await open_kv(f"sqlite:{path}")
    try:
        result = await kv.range(PREFIX, prefix_end(PREFIX))
        return result.revision, result.items
    finally:
        await kv.close()


@pytest.mark.timeout(600)
def test_a_torn_log_opens_as_an_exact_prefix(tmp_path: Path) -> None:
    chance = random.Random(2026)
    history, copy = run(recorded(tmp_path, chance))
    whole = (copy / "store.db-wal").read_bytes()
    first = min(history.answered_at.values())
    revisions = set()
    for cut in range(CUTS):
        offset = chance.randint(first, len(whole))
        tail = len(whole) - offset
        rubbish = (b"", bytes(tail), chance.randbytes(tail))[cut % 3]
        torn = tmp_path / f"torn{cut}"
        torn.mkdir()
        shutil.copy(copy / "store.db", torn / "store.db")
        (torn / "store.db-wal").write_bytes(whole[:offset] + rubbish)
        revision, items = run(opened(torn / "store.db"))
        promised = max(at for at, size in history.answered_at.items() if size <= offset)
        assert revision >= promised, f"cut at {offset}: an acknowledged write is gone"
        assert {kv.key: kv.value for kv in items} == history.state(revision), f"cut at {offset}: not a prefix"
        assert check(torn / "store.db").problems == ()
        revisions.add(revision)
        shutil.rmtree(torn)
    assert len(revisions) > 3, "the cuts were all alike: nothing was tested"
