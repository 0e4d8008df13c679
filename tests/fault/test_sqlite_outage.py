"""The SQLite store on a disk that fills up, and on a file that another program blocks: clear errors, then recovery."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import ABSENT, KV, prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.maintenance import check
from tests.aio import run
from tests.integration.plane import config_in, running_plane

DISK_BYTES = 8 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB, in memory."""
    if os.geteuid() != 0:
        pytest.skip("not root: no small file system to fill")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mount is not allowed here: {mounted.stderr.decode().strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


async def created_when_ready(kv: KV, key: bytes) -> int:
    """Create a key as soon as the store takes it; its revision."""
    async with asyncio.timeout(20):
        while True:
            try:
                result = await kv.put(key, bytes(20_000), expect=ABSENT)
            except Unavailable:
                await asyncio.sleep(0.1)
            else:
                assert result.succeeded
                return result.revision


def test_a_full_disk_refuses_writes_and_the_store_recovers_when_space_is_back(small_disk: Path) -> None:
    async def scenario() -> None:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(DISK_BYTES // 2))
        kv = await open_kv(f"sqlite:{small_disk}/store.db")
        stored: dict[bytes, int] = {}
        refusals = 0
        n = 0
        while not refusals:
            keys = [b"/%05d" % number for number in range(n, n + 10)]
            n += 10
            writes = (kv.put(key, bytes(20_000), expect=ABSENT) for key in keys)
            for key, outcome in zip(keys, await asyncio.gather(*writes, return_exceptions=True), strict=True):
                if isinstance(outcome, BaseException):
                    assert isinstance(outcome, Unavailable), outcome
                    assert "store.db" in str(outcome)
                    refusals += 1
                else:
                    stored[key] = outcome.revision
        assert stored
        ballast.unlink()
        stored[b"/again"] = await created_when_ready(kv, b"/again")
        items = (await kv.range(b"/", prefix_end(b"/"))).items
        present = {item.key: item.mod_revision for item in items}
        assert {key: present.get(key) for key in stored} == stored, "an acknowledged write is gone"
        await kv.close()
        kv = await open_kv(f"sqlite:{small_disk}/store.db")
        reopened = (await kv.range(b"/", prefix_end(b"/"))).items
        assert reopened == items
        await kv.close()
        assert check(small_disk / "store.db").problems == ()

    run(scenario())


def test_a_commit_that_another_program_blocks_fails_and_the_store_recovers(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "store.db"
        kv = await open_kv(f"sqlite:{path}")
        await kv.put(b"/a", b"1", expect=ABSENT)
        with closing(sqlite3.connect(path, isolation_level=None)) as intruder:
            intruder.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="another program holds it"):
                await kv.put(b"/b", b"1", expect=ABSENT)
            with pytest.raises(Unavailable, match="read again"):
                await kv.range(b"/a", b"")
            intruder.execute("ROLLBACK")
        await created_when_ready(kv, b"/b")
        assert [item.key for item in (await kv.range(b"/", prefix_end(b"/"))).items] == [b"/a", b"/b"]
        await kv.close()
        assert check(path).problems == ()

    run(scenario())


def take_away(store: Path, aside: Path, names: tuple[str, ...]) -> None:
    aside.mkdir()
    for name in names:
        (store / name).rename(aside / name)


@pytest.mark.parametrize(
    "names",
    [("store.db", "store.db-wal", "store.db-shm"), ("store.db",), ("store.db-wal",)],
    ids=["all", "file", "log"],
)
def test_a_file_that_is_taken_away_takes_no_writes_with_it(tmp_path: Path, names: tuple[str, ...]) -> None:
    """What goes into a file without a name would be gone with the server."""

    async def scenario() -> None:
        store, aside = tmp_path / "store", tmp_path / "aside"
        kv = await open_kv(f"sqlite:{store}/store.db")
        before = [(await kv.put(b"/%d" % n, b"v", expect=ABSENT)).revision for n in range(3)]
        take_away(store, aside, names)
        with pytest.raises(Unavailable, match="has been taken away under the server; put it back"):
            await kv.put(b"/lost", b"v", expect=ABSENT)
        if "store.db" in names:
            with pytest.raises(Unavailable, match="the store is being read again"):
                await kv.put(b"/also", b"v", expect=ABSENT)
            for name in names:
                (aside / name).rename(store / name)
        await created_when_ready(kv, b"/after")
        await kv.close()
        assert check(store / "store.db").clean
        kv = await open_kv(f"sqlite:{store}/store.db")
        found = {item.key: item.mod_revision for item in (await kv.range(b"/", prefix_end(b"/"))).items}
        assert {b"/0", b"/1", b"/2", b"/after"} <= found.keys()
        assert [found[b"/%d" % n] for n in range(3)] == before
        await kv.close()

    run(scenario())


def test_another_file_in_the_place_of_the_store_is_not_mixed_with_it(tmp_path: Path) -> None:
    """SQLite would bring the one's write-ahead log into the other."""

    async def scenario() -> None:
        one, aside = tmp_path / "one.db", tmp_path / "aside.db"
        for name in ("one", "two"):
            kv = await open_kv(f"sqlite:{tmp_path}/{name}.db")
            await kv.put(b"/" + name.encode(), b"v", expect=ABSENT)
            await kv.close()
        kv = await open_kv(f"sqlite:{one}")
        os.link(one, aside)
        (tmp_path / "two.db").replace(one)
        with pytest.raises(Unavailable, match=r"one\.db has been replaced under the server; put it back"):
            await kv.put(b"/lost", b"v", expect=ABSENT)
        await asyncio.sleep(1.2)  # it is read again every second
        with pytest.raises(Unavailable, match="has been replaced"):
            await kv.put(b"/also", b"v", expect=ABSENT)
        await kv.close()
        assert check(one).clean
        assert check(aside).live_keys >= 1
        kv = await open_kv(f"sqlite:{one}")
        assert [item.key for item in (await kv.range(b"/", prefix_end(b"/"))).items] == [b"/two"]
        await kv.close()

    run(scenario())


def test_a_server_whose_store_is_taken_away_is_not_ready_until_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = "/api/v1/namespaces/default/configmaps"
        async with running_plane(tmp_path, config_in(tmp_path, store=f"sqlite:{tmp_path}/store.db")) as plane:
            (tmp_path / "store.db").rename(tmp_path / "aside.db")
            refused, _ = await plane.call("POST", path, {"metadata": {"name": "lost"}})
            assert refused == 500
            status, text = await plane.call("GET", "/readyz")
            assert (status, "[-]etcd failed" in text) == (500, True)
            (tmp_path / "aside.db").rename(tmp_path / "store.db")
            async with asyncio.timeout(20):
                while (await plane.call("GET", "/readyz"))[0] != 200:  # noqa: ASYNC110  # asked as a load balancer does
                    await asyncio.sleep(0.05)
            assert (await plane.call("POST", path, {"metadata": {"name": "kept"}}))[0] == 201

    run(scenario())
