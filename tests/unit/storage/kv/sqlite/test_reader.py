"""Whose objects a read is made of."""

from __future__ import annotations

import asyncio
from pathlib import Path

from controlplane.storage.kv.api import ABSENT
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.sqlite.opening import open_log
from controlplane.storage.kv.sqlite.reader import LoadedKeys
from tests.aio import run


def test_the_keys_of_an_index_are_handed_out_once_each() -> None:
    keys = [b"/registry/%02d" % n for n in range(6)]
    equal = [bytes(bytearray(key)) for key in keys]
    loaded = LoadedKeys(list(keys))
    assert loaded.shared(equal[0]) is keys[0]
    assert loaded.shared(equal[2]) is keys[2], "others may be left out"
    assert loaded.shared(equal[1]) is equal[1], "what lies behind is not looked for"
    absent = b"/registry/03/x"
    assert loaded.shared(absent) is absent
    assert [loaded.shared(key) is mine for key, mine in zip(equal[3:], keys[3:], strict=True)] == [True] * 3
    assert loaded.shared(equal[5]) is equal[5], "nothing is kept when the last one has been handed out"


def test_what_is_loaded_shares_keys_and_revisions_with_the_live_index(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "store.db"
        kv = await open_kv(f"sqlite:{path}")
        lease = await kv.grant(600)
        await asyncio.gather(*(kv.put(b"/registry/%04d" % n, b"{}", expect=ABSENT, lease=lease) for n in range(1_000)))
        await kv.close()
        log = await open_log(str(path))
        index = (await log.load()).index
        first = await log.snapshot(b"/registry/", b"/registry0", 1_001, 600)
        rest = await log.snapshot(first[-1].key + b"\x00", b"/registry0", 1_001, 0)
        mine = {key: key for _, key in index.leased()}
        assert len(mine) == 1_000
        for item in first + rest:
            entry = index.get(item.key)
            assert entry is not None
            assert item.key is mine[item.key]
            assert item.mod_revision is entry[0]
        await log.close()

    run(scenario())
