"""KMS v2 through a real mirror and a real plugin: what is stored, a key that changes, a plugin that is down or slow."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.base.clock import SystemClock
from controlplane.storage.api import CONSISTENT
from controlplane.storage.encryption.encryption import Encryption, NotYet
from controlplane.storage.encryption.kms import datakeys, provider
from controlplane.storage.errors import EncryptionFailed, Unreadable
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.encrypted import IDENTITY, Told, encrypted, rule, stored, write_config
from tests.kms_plugin import KMSPlugin, message, unsealed
from tests.mirrors import configmap, opened, set_data, watching

pytestmark = pytest.mark.alone

A, B = Key("default", "a"), Key("default", "b")
PLAIN = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}}'


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[KMSPlugin]:
    """A running plugin, asked for its status more often than in earnest."""
    monkeypatch.setattr(provider, "HEALTHY_SECONDS", 0.02)
    monkeypatch.setattr(provider, "UNHEALTHY_SECONDS", 0.02)
    monkeypatch.setattr(datakeys, "FIRST_PAUSE_SECONDS", 0.05)
    with tempfile.TemporaryDirectory(prefix="kms") as folder:  # a socket's path must be short
        plugin = KMSPlugin(Path(folder, "kms.sock"))
        plugin.start()
        yield plugin
        plugin.stop()


@pytest.fixture
def file(plugin: KMSPlugin, tmp_path: Path) -> Path:
    return write_config(tmp_path / "config.yaml", rule(kms(plugin), IDENTITY))


def kms(plugin: KMSPlugin, name: str = "vault", timeout: str = "2s") -> dict[str, object]:
    return {"kms": {"apiVersion": "v2", "name": name, "endpoint": plugin.endpoint, "timeout": timeout}}


async def until(true: Callable[[], bool]) -> None:
    """Wait for what a status poll brings."""
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110  # the plugin is polled, and tells nobody
            await asyncio.sleep(0.005)


def test_what_is_stored_is_the_published_format_and_the_plugin_is_asked_once(plugin: KMSPlugin, file: Path) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, encryption):
            for key in (A, B):
                await storage.create(key, configmap(key.name, k="v"))
            value = await stored(mirror, storage, A)
            assert unsealed(value, "vault", storage.store_key(A), plugin) == ("key-1", PLAIN)
            await storage.get(B, CONSISTENT)
            assert mirror.intake.is_stale(mirror.scan(storage.store_key(B))[0]) is False
            assert encryption.health() is not None
            assert encryption.health()() is None  # type: ignore[misc]  # just seen
            assert (plugin.calls["Encrypt"], plugin.calls["Decrypt"]) == (1, 0)
        async with encrypted(file, kv) as (mirror, storage, _):
            entries = await storage.get(A, CONSISTENT), await storage.get(B, CONSISTENT)
            assert [(await storage.decode(entry, "v1"))["data"] for entry in entries] == [{"k": "v"}] * 2
            assert plugin.calls["Decrypt"] == 1
            assert not mirror.intake.is_stale(mirror.scan(storage.store_key(A))[0]), (
                "another data key, the same KMS key"
            )
        await kv.close()

    run(main())


def test_a_changed_key_makes_stale_and_what_is_written_next_is_under_it(plugin: KMSPlugin, file: Path) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            before = await storage.create(A, configmap("a", k="v"))
            await storage.get(A, CONSISTENT)
            (entry,) = mirror.scan(storage.store_key(A))
            assert not mirror.intake.is_stale(entry)
            plugin.key_id = "key-2"
            await until(lambda: mirror.intake.is_stale(entry))
            assert (await set_data(storage, A, k="v")).mod_revision > before.mod_revision
            assert unsealed(await stored(mirror, storage, A), "vault", storage.store_key(A), plugin)[0] == "key-2"
        await kv.close()

    run(main())


def test_servers_read_what_others_write_under_data_keys_of_their_own(plugin: KMSPlugin, file: Path) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (_, one, _), encrypted(file, kv) as (_, other, _):
            async with watching(other, revision=await kv.revision()) as watched:
                await one.create(A, configmap("a", k="1"))
                await set_data(other, A, k="2")
                await set_data(one, A, k="3")
                await watched.sink.until_count(3)
                events = watched.sink.events()
            assert [(e["type"], e["object"]["data"]["k"]) for e in events] == [
                ("ADDED", "1"),
                ("MODIFIED", "2"),
                ("MODIFIED", "3"),
            ]
        await kv.close()

    run(main())


def test_while_the_plugin_is_down_its_values_are_errors_and_they_come_back_with_it(
    plugin: KMSPlugin, file: Path
) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with opened(kv=kv) as (_, storage):
            await storage.create(B, configmap("b"))
        async with encrypted(file, kv) as (_, storage, _):
            await storage.create(A, configmap("a", k="v"))
        plugin.stop()
        begun = perf_counter()
        async with encrypted(file, kv) as (mirror, storage, encryption):
            assert perf_counter() - begun < 1.0, "who is not there is not waited for"
            probe = encryption.health()
            assert probe is not None
            assert (
                "failed to perform status section of the healthz check for KMS Provider vault, error: rpc error: "
                in (probe() or "")
            )
            await storage.get(B, CONSISTENT)
            with pytest.raises(Unreadable, match=r"failed to decrypt DEK, error: rpc error: code = Unavailable desc ="):
                await storage.get(A, CONSISTENT)
            with pytest.raises(EncryptionFailed):
                await storage.create(Key("default", "c"), configmap("c"))
            told = Told(mirror)
            plugin.start()
            await asyncio.wait_for(told.again.wait(), 10)
            assert (await storage.decode(await storage.get(A, CONSISTENT), "v1"))["data"] == {"k": "v"}
            await until(lambda: probe() is None)
            await storage.create(Key("default", "c"), configmap("c"))
        await kv.close()

    run(main())


def test_a_slow_plugin_holds_up_nobody_for_longer_than_a_moment(
    plugin: KMSPlugin, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datakeys, "WAIT_SECONDS", 0.05)

    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            told = Told(mirror)
            async with encrypted(file, kv) as (_, other, _):
                plugin.seconds = 0.5
                begun = perf_counter()
                await other.create(A, configmap("a", k="v"))
                with pytest.raises(Unreadable, match="failed to decrypt DEK, error: the KMS has not answered yet"):
                    await storage.get(A, CONSISTENT)
                assert perf_counter() - begun < 0.4
                await storage.create(B, configmap("b"))
                await storage.get(B, CONSISTENT)
                assert perf_counter() - begun < 0.4
                await asyncio.wait_for(told.again.wait(), 10)
                await storage.get(A, CONSISTENT)
        await kv.close()

    run(main())


def test_writes_end_some_time_after_the_plugin_has(
    plugin: KMSPlugin, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "WRITE_SECONDS", 0.3)

    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (_, storage, encryption):
            probe = encryption.health()
            assert probe is not None
            await storage.create(A, configmap("a"))
            plugin.healthz = "locked"
            await until(lambda: probe() is not None)
            assert (
                probe()
                == "kms-provider-0: kmsv2 Provider vault is not healthy, error: got unexpected healthz status: locked"
            )
            await set_data(storage, A, k="still under the key that the plugin confirms")
            plugin.stop()
            await asyncio.sleep(0.35)
            with pytest.raises(EncryptionFailed, match=r'encryptedDEKSource with keyID hash "sha256:.*" expired at 20'):
                await set_data(storage, A, k="no more")
            await storage.get(A, CONSISTENT)
        await kv.close()

    run(main())


@pytest.mark.parametrize(
    ("attribute", "value", "why"),
    [
        ("version", "v1", "expected KMSv2 API version v2, got v1"),
        ("key_id", "", 'got invalid KMSv2 KeyID hash "": keyID is empty'),
        ("key_id", "k" * 1025, "keyID is 1025 bytes, which exceeds the max size of 1024"),
        ("annotations", {"short": b""}, "failed to validate annotations: annotations: Invalid value: "),
        ("annotations", {"a.example.org": bytes(33_000)}, "which exceeds the max size of 32768"),
    ],
)
def test_what_a_plugin_may_not_say(plugin: KMSPlugin, file: Path, attribute: str, value: object, why: str) -> None:
    setattr(plugin, attribute, value)

    async def main() -> None:
        encryption = Encryption(str(file), reload=False, server_id="", clock=SystemClock(), in_force=lambda _: None)
        await encryption.start()
        probe = encryption.health()
        assert probe is not None
        assert why in (probe() or "")
        await encryption.close()

    run(main())


def test_a_value_under_a_whole_key_instead_of_a_seed_is_read_and_stale(plugin: KMSPlugin, file: Path) -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            where = storage.store_key(A)
            data_key, nonce = bytes(range(32)), bytes(12)
            annotations = [(4, message([(1, name.encode()), (2, v)])) for name, v in plugin.annotations.items()]
            sealed = nonce + AESGCM(data_key).encrypt(nonce, PLAIN, where)
            source = plugin.encrypted("key-1", data_key)
            value = message([(1, sealed), (2, b"key-1"), (3, source), *annotations])
            await kv.put(where, b"k8s:enc:kms:v2:vault:" + value, expect=0)
            assert (await storage.decode(await storage.get(A, CONSISTENT), "v1"))["data"] == {"k": "v"}
            assert mirror.intake.is_stale(mirror.scan(where)[0])
            await set_data(storage, A, k="v")
            assert unsealed(await stored(mirror, storage, A), "vault", where, plugin) == ("key-1", PLAIN)
            for broken, why in (
                (message([(1, sealed), (3, source)]), "failed to validate key id: keyID is empty"),
                (message([(1, sealed), (2, b"key-1")]), "encrypted DEK source is empty"),
                (message([(1, sealed), (2, b"key-1"), (3, source), (5, 7)]), "unknown encryptedDEKSourceType: 7"),
                (b"\xff", "proto: "),
            ):
                (current,) = (await kv.range(where, b"")).items
                await kv.put(where, b"k8s:enc:kms:v2:vault:" + broken, expect=current.mod_revision)
                with pytest.raises(Unreadable, match=why):
                    await storage.get(A, CONSISTENT)
        await kv.close()

    run(main())


def test_a_key_that_the_plugin_refuses_concerns_its_values_alone(plugin: KMSPlugin, file: Path) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (_, storage, _):
            await storage.create(A, configmap("a"))
        plugin.key_id = "key-2"
        async with encrypted(file, kv) as (_, storage, _):
            await storage.create(B, configmap("b"))
        plugin.refuses.add("key-1")
        async with encrypted(file, kv) as (_, storage, _):
            await storage.get(B, CONSISTENT)
            with pytest.raises(Unreadable, match="code = PermissionDenied desc = key key-1 is disabled"):
                await storage.get(A, CONSISTENT)
        await kv.close()

    run(main())


def test_a_configuration_whose_new_plugin_does_not_answer_is_not_put_in_force(plugin: KMSPlugin, file: Path) -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, encryption):
            await storage.create(A, configmap("a", k="v"))
            elsewhere = KMSPlugin(plugin.socket.with_name("other.sock"))
            write_config(file, rule(kms(elsewhere, "other"), kms(plugin), IDENTITY))
            before = encryption.digest
            with pytest.raises(NotYet, match="health check for new transformers failed"):
                await encryption.reload()
            assert encryption.digest == before
            elsewhere.start()
            calls = plugin.calls["Encrypt"]
            assert await encryption.reload()
            assert plugin.calls["Encrypt"] == calls, "a plugin that stays keeps its data key"
            await set_data(storage, A, k="v")
            assert unsealed(await stored(mirror, storage, A), "other", storage.store_key(A), elsewhere)[1] == PLAIN
            elsewhere.stop()
        await kv.close()

    run(main())


def test_a_plugin_may_listen_in_the_abstract_namespace(tmp_path: Path) -> None:
    plugin = KMSPlugin(Path(f"@controlplane-kms-{os.getpid()}"))
    file = write_config(tmp_path / "config.yaml", rule(kms(plugin)))

    async def main() -> None:
        kv = await open_kv("memory:")
        async with encrypted(file, kv) as (mirror, storage, _):
            await storage.create(A, configmap("a", k="v"))
            assert unsealed(await stored(mirror, storage, A), "vault", storage.store_key(A), plugin) == ("key-1", PLAIN)
        await kv.close()

    plugin.start()
    try:
        run(main())
    finally:
        plugin.stop()
