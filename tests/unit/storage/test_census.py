"""What is stored is counted by version and key, from a mirror and from the raw store alike."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from time import thread_time

import pytest

from controlplane.apimachinery.codec.protobuf.envelope import head, item
from controlplane.apimachinery.identity import GroupResource
from controlplane.base.clock import SystemClock
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.census import Census, Form, count_mirror, count_store
from controlplane.storage.encryption.encryption import Encryption
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.transform import IDENTITY, Plain, TransformedStore, Transformer
from tests.aio import run
from tests.encrypted import keys, new_secret, rule, write_config
from tests.mirrors import CONFIGMAPS, WIDGETS

ROOT = b"/registry/"
CONFIGMAP = GroupResource("", "configmaps")
WIDGET = GroupResource("example.org", "widgets")


def value(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"a"}}}}'.encode()


STORED = {
    b"configmaps/ns/a": b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}',
    b"configmaps/ns/laid-out-otherwise": b'{"metadata":{"name":"b"},"kind":"ConfigMap","apiVersion":"v1"}',
    b"configmaps/ns/broken": b"{",
    b"configmaps/ns/protobuf": head("v1", "ConfigMap") + item(b""),
    b"configmaps/ns/encrypted": b"k8s:enc:aescbc:v1:key1:0123456789",
    b"configmaps/ns/encrypted-elsewhere": b"k8s:enc:kms:v2:vault:0123456789",
    b"configmaps/ns/encrypted-by-whom": b"k8s:enc:password1:password2:password3",
    b"configmaps/ns/encrypted-without-a-name": b"k8s:enc:aescbc:v1:" + b"password" * 100 + b":",
    b"example.org/widgets/a": value("example.org/v1", "Widget"),
    b"example.org/widgets/b": value("example.org/v1", "Widget"),
    b"example.org/widgets/c": value("example.org/v2", "Widget"),
    b"example.com/forgotten/ns/a": value("example.com/v1beta1", "Forgotten"),
    b"leases/ns/a": value("coordination.k8s.io/v1", "Lease"),
    b"controlplane/keys": b"fingerprint",
}
COUNTED = {
    CONFIGMAP: {
        Form("v1", "", stale=False): 1,
        Form("v1", "", stale=True): 2,
        Form("", "", stale=True): 1,
        Form("", "?", stale=True): 2,
        Form("", "aescbc:key1", stale=True): 1,
        Form("", "kms:vault", stale=True): 1,
    },
    WIDGET: {Form("example.org/v1", "", stale=False): 2, Form("example.org/v2", "", stale=False): 1},
    GroupResource("example.com", "forgotten"): {Form("example.com/v1beta1", "", stale=False): 1},
    GroupResource("coordination.k8s.io", "leases"): {Form("coordination.k8s.io/v1", "", stale=False): 1},
}
REVISION = len(STORED) + 1


async def filled() -> KV:
    kv = await open_kv("memory:")
    for key, stored in STORED.items():
        await kv.put(ROOT + key, stored, expect=0)
    return kv


async def mirrored(kv: KV, *, read: bool) -> tuple[Census, Census]:
    """Of everything, and of widgets. ``read``: all has been served before."""
    mirror = Mirror(kv)
    await mirror.start()
    for resource in (CONFIGMAPS, WIDGETS):
        mirror.storage(resource)
    if read:
        for resource in (CONFIGMAPS, WIDGETS):
            for entry in mirror.entries(resource):
                mirror.intake.read_in_place(entry)
    counted = await count_mirror(mirror), await count_mirror(mirror, WIDGET)
    await mirror.close()
    return counted


@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
def test_a_mirror(read: bool) -> None:
    async def main() -> None:
        kv = await filled()
        everything, widgets = await mirrored(kv, read=read)
        assert everything == Census(REVISION, COUNTED)
        assert widgets == Census(REVISION, {WIDGET: COUNTED[WIDGET]})
        await kv.close()

    run(main())


def test_a_raw_store() -> None:
    async def main() -> None:
        kv = await filled()
        census = await count_store(kv, ROOT, IDENTITY, lambda _key: ("", ""))
        assert census == Census(REVISION, COUNTED)
        await kv.close()

    run(main())


def test_a_raw_store_with_names_for_what_cannot_be_read() -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        await kv.put(ROOT + b"leases/ns/a", b"k8s:enc:aesgcm:v1:one:xxx", expect=0)
        leases = ("coordination.k8s.io", "leases")
        census = await count_store(kv, ROOT, IDENTITY, lambda _key: leases)
        assert census.forms == {leases: {Form("", "aesgcm:one", stale=True): 1}}
        await kv.close()

    run(main())


def test_what_is_under_another_key_than_is_written_is_stale(tmp_path: Path) -> None:
    async def main() -> None:
        old, new = new_secret(), new_secret()
        file = write_config(tmp_path / "config.yaml", rule(keys("aescbc", old=old)))
        encryption = Encryption(
            str(file), reload=True, server_id="", clock=SystemClock(), in_force=lambda _digest: None
        )
        await encryption.start()
        kv = await open_kv("memory:")
        mirror = Mirror(kv, transformer=encryption)
        mirror.storage(CONFIGMAPS)
        await mirror.start()
        key = ROOT + b"configmaps/ns/a"
        await kv.put(key, encryption.to_storage(key, STORED[b"configmaps/ns/a"]), expect=0)
        await mirror.fresh(None)
        assert (await count_mirror(mirror)).forms == {CONFIGMAP: {Form("v1", "aescbc:old", stale=False): 1}}
        write_config(file, rule(keys("secretbox", new=new), keys("aescbc", old=old)))
        await encryption.reload()
        assert (await count_mirror(mirror)).forms == {CONFIGMAP: {Form("v1", "aescbc:old", stale=True): 1}}
        await mirror.close()
        await encryption.close()
        await kv.close()

    run(main())


class Slow(Transformer):
    """Plain bytes, a millisecond of work for every value that is read. ``stretches``: how many of them were read
    without a rest."""

    remote = False

    def __init__(self) -> None:
        self.stretches = [0]

    def attach(self, store: TransformedStore) -> None: ...

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        return plain

    def from_storage(self, key: bytes, stored: bytes) -> Plain:
        until = thread_time() + 0.001
        while thread_time() < until:
            pass
        self.stretches[-1] += 1
        return Plain(stored)

    def write_key_id(self, key: bytes) -> str:
        return ""

    def fetch(self, stored: Iterable[bytes]) -> None: ...


def test_values_that_take_long_to_read_do_not_hold_the_loop() -> None:
    async def main() -> None:
        kv, slow = await open_kv("memory:"), Slow()
        for number in range(30):
            await kv.put(ROOT + b"configmaps/ns/%d" % number, STORED[b"configmaps/ns/a"], expect=0)
        mirror = Mirror(kv, transformer=slow)
        await mirror.start()
        mirror.storage(CONFIGMAPS)
        assert slow.stretches == [0], "what was loaded before anybody serves it is unread"
        counting = asyncio.ensure_future(count_mirror(mirror))
        while not counting.done():
            await asyncio.sleep(0)
            slow.stretches.append(0)
        assert sum(slow.stretches) == 30
        assert max(slow.stretches) <= 3
        await mirror.close()
        await kv.close()

    run(main())
