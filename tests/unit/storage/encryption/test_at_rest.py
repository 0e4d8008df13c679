"""Stored bytes, their reading, and what another configuration makes of them, through a real mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.storage.api import CONSISTENT, Storage
from controlplane.storage.cache import Mirror
from controlplane.storage.cache.entry import Entry
from controlplane.storage.encryption.encryption import NotYet
from controlplane.storage.errors import Unreadable, UnreadableList
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.encrypted import IDENTITY, Told, decrypted, encrypted, keys, new_secret, rule, stored, write_config
from tests.mirrors import EVERYTHING, configmap, opened, remove, set_data

A, B = Key("default", "a"), Key("default", "b")
PLAIN = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}}'
KINDS = ["aescbc", "aesgcm", "secretbox"]


def kept(mirror: Mirror, storage: Storage) -> Entry:
    """What the mirror has of ``A``."""
    (entry,) = mirror.scan(storage.store_key(A))
    return entry


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_the_published_format(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        secret = new_secret()
        file = write_config(tmp_path / "config.yaml", rule(keys(kind, one=secret)))
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            entry = await storage.create(A, configmap("a", k="v"))
            assert entry.mod_revision == (await storage.get(A, CONSISTENT)).mod_revision
            assert kept(mirror, storage).origin.key_id == f"{kind}:one"
            value = await stored(mirror, storage, A)
            assert decrypted(kind, "one", secret, storage.store_key(A), value) == PLAIN
        async with encrypted(file, kv) as (_, storage, _):  # read by another start
            assert (await storage.decode(await storage.get(A, CONSISTENT), "v1"))["data"] == {"k": "v"}
        await kv.close()

    run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_key_poisons_its_objects_and_the_rest_is_served(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "config.yaml"
        kv = await open_kv("memory:")
        write_config(file, rule(keys(kind, one=new_secret())))
        async with encrypted(file, kv) as (_, storage, _):
            await storage.create(A, configmap("a", k="v"))
        other = new_secret()
        write_config(file, rule(keys(kind, one=other)))
        async with encrypted(file, kv) as (mirror, storage, _):
            await storage.create(B, configmap("b", k="v"))
            await storage.get(B, CONSISTENT)
            with pytest.raises(Unreadable, match="data from the storage is not transformable revision="):
                await storage.get(A, CONSISTENT)
            with pytest.raises(UnreadableList):
                await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            with pytest.raises(Unreadable):
                await set_data(storage, A, k="w")
            assert mirror.statistics().decode_errors > 0
        write_config(file, rule(keys(kind, two=other)))
        async with encrypted(file, kv) as (_, storage, _):
            with pytest.raises(Unreadable, match=r"no matching key was found for the provided (AES|Secretbox)"):
                await storage.get(A, CONSISTENT)
        write_config(file, rule(IDENTITY))
        async with encrypted(file, kv) as (_, storage, _):
            with pytest.raises(Unreadable, match="no matching prefix found"):
                await storage.get(A, CONSISTENT)
        await kv.close()

    run(main())


@pytest.mark.parametrize("kind", ["aesgcm"])
def test_a_value_that_is_moved_to_another_key_is_not_read_there(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        file = write_config(tmp_path / "config.yaml", rule(keys(kind, one=new_secret())))
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            await storage.create(A, configmap("a", k="v"))
            await kv.put(storage.store_key(B), await stored(mirror, storage, A), expect=0)
            with pytest.raises(Unreadable, match="cipher: message authentication failed"):
                await storage.get(B, CONSISTENT)
        await kv.close()

    run(main())


def test_another_write_key_makes_stale_and_the_next_update_rewrites_what_it_does_not_change(tmp_path: Path) -> None:
    async def main() -> None:
        file, old, new = tmp_path / "config.yaml", new_secret(), new_secret()
        write_config(file, rule(keys("aescbc", old=old)))
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, encryption):
            before = await storage.create(A, configmap("a", k="v"))
            assert (await set_data(storage, A, k="v")).mod_revision == before.mod_revision
            write_config(file, rule(keys("secretbox", new=new), keys("aescbc", old=old)))
            assert await encryption.reload()
            assert (await storage.get(A, CONSISTENT)).mod_revision == before.mod_revision
            assert mirror.intake.is_stale(kept(mirror, storage))
            after = await set_data(storage, A, k="v")
            assert after.mod_revision > before.mod_revision
            await storage.get(A, CONSISTENT)
            assert not mirror.intake.is_stale(kept(mirror, storage))
            assert decrypted("secretbox", "new", new, storage.store_key(A), await stored(mirror, storage, A)) == PLAIN
            assert (await set_data(storage, A, k="v")).mod_revision == after.mod_revision
            assert not await encryption.reload(), "the same file is no other configuration"
        await kv.close()

    run(main())


def test_encryption_begins_and_ends_with_identity_beside_it(tmp_path: Path) -> None:
    async def main() -> None:
        file, secret = tmp_path / "config.yaml", new_secret()
        kv = await open_kv("memory:")
        async with opened(kv=kv) as (_, storage):
            await storage.create(A, configmap("a", k="v"))
        write_config(file, rule(keys("aesgcm", one=secret), IDENTITY))
        async with encrypted(file, kv) as (mirror, storage, encryption):
            assert mirror.intake.is_stale(kept(mirror, storage))
            await set_data(storage, A, k="v")
            assert (await stored(mirror, storage, A)).startswith(b"k8s:enc:aesgcm:v1:one:")
            write_config(file, rule(IDENTITY, keys("aesgcm", one=secret)))
            await encryption.reload()
            await set_data(storage, A, k="v")
            assert await stored(mirror, storage, A) == PLAIN
        await kv.close()

    run(main())


def test_a_key_that_comes_by_a_reload_makes_readable_what_was_not(tmp_path: Path) -> None:
    async def main() -> None:
        file, secret = tmp_path / "config.yaml", new_secret()
        kv = await open_kv("memory:")
        write_config(file, rule(keys("aesgcm", one=secret)))
        async with encrypted(file, kv) as (_, storage, _):
            await storage.create(A, configmap("a", k="v"))
        write_config(file, rule(keys("aesgcm", two=new_secret())))
        async with encrypted(file, kv) as (mirror, storage, encryption):
            with pytest.raises(Unreadable):
                await storage.get(A, CONSISTENT)
            write_config(file, rule(keys("aesgcm", two=new_secret(), one=secret)))
            told = Told(mirror)
            await encryption.reload()
            await told.again.wait()
            assert mirror.image.collections.all()[0].poisoned == 0
            (entry,) = (await storage.list(None, EVERYTHING, CONSISTENT, version="v1")).entries
            assert (await storage.decode(entry, "v1"))["data"] == {"k": "v"}
        await kv.close()

    run(main())


@pytest.mark.parametrize(
    "without", [rule(keys("aesgcm", new=bytes(32))), rule(IDENTITY), rule(IDENTITY, resources=("x",))]
)
def test_a_reload_that_would_lose_objects_is_refused(without: dict[str, Any], tmp_path: Path) -> None:
    async def main() -> None:
        file, secret = tmp_path / "config.yaml", new_secret()
        write_config(file, rule(keys("aesgcm", old=secret)))
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (_, storage, encryption):
            await storage.create(A, configmap("a", k="v"))
            await storage.get(A, CONSISTENT)
            before = encryption.digest
            write_config(file, without)
            with pytest.raises(NotYet, match="of configmaps, 1 are stored under aesgcm:old, which it does not read"):
                await encryption.reload()
            assert encryption.digest == before
            await remove(storage, A)
            await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            assert await encryption.reload()
        await kv.close()

    run(main())


def test_a_reload_that_encrypts_what_is_plain_must_still_read_it(tmp_path: Path) -> None:
    async def main() -> None:
        file, secret = tmp_path / "config.yaml", new_secret()
        write_config(file, rule(IDENTITY, resources=("other",)))
        kv = await open_kv("memory:")
        async with opened(kv=kv) as (_, storage):
            await storage.create(A, configmap("a", k="v"))
        async with encrypted(file, kv) as (_, storage, encryption):
            write_config(file, rule(keys("aesgcm", one=secret)))
            with pytest.raises(NotYet, match="of configmaps, 1 are stored under no key, which it does not read"):
                await encryption.reload()
            write_config(file, rule(keys("aesgcm", one=secret), IDENTITY))
            assert await encryption.reload()
            await set_data(storage, A, k="v")
            await storage.get(A, CONSISTENT)
            write_config(file, rule(keys("aesgcm", one=secret)))
            assert await encryption.reload()
        await kv.close()

    run(main())


def test_a_secret_replaced_under_its_name_is_another_key(tmp_path: Path) -> None:
    async def main() -> None:
        file, old, new = tmp_path / "config.yaml", new_secret(), new_secret()
        write_config(file, rule(keys("aesgcm", key=old)))
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, encryption):
            await storage.create(A, configmap("a", k="v"))
            await storage.get(A, CONSISTENT)
            write_config(file, rule(keys("aesgcm", key=new), keys("aesgcm", key=old)))
            await encryption.reload()
            assert mirror.intake.is_stale(kept(mirror, storage))
            await set_data(storage, A, k="v")
            assert decrypted("aesgcm", "key", new, storage.store_key(A), await stored(mirror, storage, A)) == PLAIN
            await storage.get(A, CONSISTENT)
            assert not mirror.intake.is_stale(kept(mirror, storage))
        async with encrypted(file, kv) as (mirror, storage, _):
            assert kept(mirror, storage).origin.key_id == "aesgcm:key"
        await kv.close()

    run(main())
