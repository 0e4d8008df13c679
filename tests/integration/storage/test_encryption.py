"""Encryption at rest of a whole server, on every backend: flags, wildcards, custom resources, reload, health."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.server_identity import ENCRYPTION_HASH_ANNOTATION
from controlplane.generic.config import Config
from controlplane.generic.identity import identity_of
from controlplane.generic.server import StartError
from controlplane.storage.encryption import encryption as at_rest
from controlplane.storage.encryption.kms import provider
from controlplane.testing.planes import Plane as Kit
from controlplane.testing.planes import plane_of
from tests.aio import run
from tests.encrypted import IDENTITY, decrypted, keys, new_secret, rule, write_config
from tests.etcd_fixture import etcd_server
from tests.integration.plane import config_in
from tests.kms_plugin import KMSPlugin, unsealed

SECRET = {"metadata": {"name": "s"}, "data": {"password": base64.b64encode(b"hunter2").decode()}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
WIDGET = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"secret": "hunter2"}}


@pytest.fixture(params=["memory", "sqlite", "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "etcd":
            yield f"etcd:{stack.enter_context(etcd_server('local'))}"
        else:
            yield "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'store.db'}"


def config_for(directory: Path, file: Path, store: str = "memory:", *, reload: bool = False) -> Config:
    config = config_in(directory)
    config.store, config.encryption_config_file, config.encryption_reload = store, str(file), reload
    return config


async def call(plane: Kit, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and answer of one request as the admin."""
    sent = json.dumps(body).encode() if body is not None else b""
    response = await plane.client().request(method, path, body=sent)
    received = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return response.status, json.loads(received) if received[:1] == b"{" else received.decode()


async def created(plane: Kit, path: str, body: Any) -> None:
    status, answer = await call(plane, "POST", path, body)
    assert status == 201, answer


async def raw(plane: Kit, key: str) -> bytes:
    (kv,) = (await plane.control_plane.kv.range(f"/registry/{key}".encode(), b"")).items
    return kv.value


def test_what_wildcards_name_is_encrypted_on_every_backend_and_read_after_a_restart(store: str, tmp_path: Path) -> None:
    secrets, group, rest = new_secret(), new_secret(), new_secret()
    file = write_config(
        tmp_path / "encryption.yaml",
        rule(IDENTITY, resources=("configmaps", "events")),
        rule(keys("secretbox", box=secrets), resources=("secrets",)),
        rule(keys("aesgcm", wide=group), resources=("*.example.org",)),
        rule(keys("aescbc", rest=rest), resources=("*.*",)),
    )
    config = config_for(tmp_path, file, store)

    async def main() -> None:
        async with plane_of(config) as plane:
            await created(plane, "/api/v1/namespaces/default/secrets", SECRET)
            await created(plane, "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
            await created(plane, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
            await created(plane, "/apis/example.org/v1/widgets", WIDGET)
            key = "secrets/default/s"
            plain = json.loads(decrypted("secretbox", "box", secrets, b"", await raw(plane, key)))
            assert plain["data"] == SECRET["data"]
            key = "example.org/widgets/w"
            sealed = await raw(plane, key)
            assert json.loads(decrypted("aesgcm", "wide", group, f"/registry/{key}".encode(), sealed))["spec"]
            assert (await raw(plane, "configmaps/default/c")).startswith(b"{")
            sealed = await raw(plane, "apiextensions.k8s.io/customresourcedefinitions/widgets.example.org")
            assert json.loads(decrypted("aescbc", "rest", rest, b"", sealed))["kind"] == "CustomResourceDefinition"
            sealed = await raw(plane, "namespaces/default")
            assert json.loads(decrypted("aescbc", "rest", rest, b"", sealed))["metadata"]["name"] == "default"
            own = (
                await plane.control_plane.kv.range(b"/registry/peerserverleases/", b"/registry/peerserverleases0")
            ).items
            assert all(record.value.startswith(b"{") for record in own), "servers read each other's records whatever"
            health, _ = await call(plane, "GET", "/healthz/kms-providers")
            assert health == 404, "there is no KMS, and there will be none without reload"
        if store != "memory:":
            async with plane_of(config) as plane:
                _, secret = await call(plane, "GET", "/api/v1/namespaces/default/secrets/s")
                assert secret["data"] == SECRET["data"]
                _, widgets = await call(plane, "GET", "/apis/example.org/v1/widgets")
                assert [widget["spec"] for widget in widgets["items"]] == [WIDGET["spec"]]

    run(main())


def test_a_value_under_a_lost_key_is_an_error_of_its_own(tmp_path: Path) -> None:
    lost, new = new_secret(), new_secret()
    file = write_config(tmp_path / "encryption.yaml", rule(keys("aesgcm", lost=lost), resources=("secrets",)))
    config = config_for(tmp_path, file, f"sqlite:{tmp_path / 'store.db'}")
    config.run_controllers = False  # some want all secrets, and the server is ready once they have them

    async def main() -> None:
        async with plane_of(config) as plane:
            await created(plane, "/api/v1/namespaces/default/secrets", SECRET)
        write_config(file, rule(keys("aesgcm", new=new), resources=("secrets",)))
        async with plane_of(config) as plane:
            path = "/api/v1/namespaces/default/secrets"
            await created(plane, path, {**SECRET, "metadata": {"name": "t"}})
            status, answer = await call(plane, "GET", f"{path}/s")
            assert status == 500
            assert answer["reason"] == "StorageReadError"
            assert "no matching key was found for the provided AES transformer" in answer["message"]
            status, answer = await call(plane, "GET", f"{path}/t")
            assert (status, answer["data"]) == (200, SECRET["data"])
            status, answer = await call(plane, "GET", path)
            assert (status, answer["reason"]) == (500, "StorageReadError")

    run(main())


def test_a_changed_file_is_taken_up_and_one_that_cannot_be_used_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_rest, "LOOK_SECONDS", 0.02)
    old, new = new_secret(), new_secret()
    file = write_config(tmp_path / "encryption.yaml", rule(keys("aescbc", old=old), resources=("secrets",)))
    path = "/api/v1/namespaces/default/secrets"

    async def until(plane: Kit, line: str) -> None:
        """Until ``/metrics`` has a line that begins so."""
        async with asyncio.timeout(10):
            while True:
                _, exposed = await call(plane, "GET", "/metrics")
                if any(found.startswith(line) for found in exposed.splitlines()):
                    return
                await asyncio.sleep(0.01)  # what a monitoring system does

    async def main() -> None:
        async with plane_of(config_for(tmp_path, file, reload=True)) as plane:
            before = 'apiserver_encryption_config_controller_automatic_reloads_total{status="failure",apiserver_id_hash'
            await created(plane, path, SECRET)
            file.write_text("kind: Nonsense")
            await until(plane, before)
            await created(plane, path, {**SECRET, "metadata": {"name": "t"}})
            assert (await raw(plane, "secrets/default/t")).startswith(b"k8s:enc:aescbc:v1:old:")
            write_config(file, rule(keys("aesgcm", new=new), keys("aescbc", old=old), resources=("secrets",)))
            digest = f"sha256:{sha256(file.read_bytes()).hexdigest()}"
            server = (
                f"sha256:{sha256(identity_of(plane.control_plane.config, plane.running.port).id.encode()).hexdigest()}"
            )
            info = "apiserver_encryption_config_controller_last_config_info"
            await until(plane, f'{info}{{apiserver_id_hash="{server}",hash="{digest}"}} 1')
            async with asyncio.timeout(10):
                while True:
                    _, leases = await call(plane, "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")
                    if any(
                        lease["metadata"].get("annotations", {}).get(ENCRYPTION_HASH_ANNOTATION) == digest
                        for lease in leases["items"]
                    ):
                        break
                    await asyncio.sleep(0.01)  # the lease is written in the background
            for name in ("s", "t"):
                _, secret = await call(plane, "GET", f"{path}/{name}")
                status, written = await call(plane, "PUT", f"{path}/{name}", secret)
                assert (status, written["data"]) == (200, SECRET["data"])
                assert (await raw(plane, f"secrets/default/{name}")).startswith(b"k8s:enc:aesgcm:v1:new:")
            assert (await call(plane, "GET", "/healthz/kms-providers"))[0] == 200
            assert (await call(plane, "GET", "/readyz/kms-providers"))[0] == 200
            assert (await call(plane, "GET", "/livez/kms-providers"))[0] == 404

    run(main())


def test_a_file_that_cannot_be_used_is_said_at_the_start(tmp_path: Path) -> None:
    async def main() -> None:
        file = write_config(tmp_path / "encryption.yaml", rule(keys("aescbc", a=bytes(5)), resources=("secrets",)))
        with pytest.raises(StartError, match=r"--encryption-provider-config: error while parsing file: .*got 5, exp"):
            async with plane_of(config_for(tmp_path, file)):
                raise AssertionError("it started")

    run(main())


def test_a_kms_is_a_health_check_and_what_it_does_not_give_is_an_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "HEALTHY_SECONDS", 0.02)
    monkeypatch.setattr(provider, "UNHEALTHY_SECONDS", 0.02)
    monkeypatch.setattr(provider, "WRITE_SECONDS", 0.5)

    async def until(plane: Kit, status: int) -> str:
        """Until the check has this status; its text."""
        async with asyncio.timeout(10):
            while True:
                found, text = await call(plane, "GET", "/healthz/kms-providers")
                if found == status:
                    return str(text)
                await asyncio.sleep(0.01)  # the plugin is polled

    async def main(plugin: KMSPlugin) -> None:
        kms = {"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint}}
        file = write_config(tmp_path / "encryption.yaml", rule(kms, IDENTITY, resources=("secrets",)))
        async with plane_of(config_for(tmp_path, file)) as plane:
            path = "/api/v1/namespaces/default/secrets"
            await created(plane, path, SECRET)
            key = "secrets/default/s"
            key_id, plain = unsealed(await raw(plane, key), "vault", f"/registry/{key}".encode(), plugin)
            assert (key_id, json.loads(plain)["data"]) == ("key-1", SECRET["data"])
            assert (await call(plane, "GET", "/readyz/kms-providers"))[0] == 200
            assert (await call(plane, "GET", "/livez/kms-providers"))[0] == 404
            plugin.stop()
            text = await until(plane, 500)
            assert (
                "kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault" in text
            )
            await asyncio.sleep(0.5)
            status, answer = await call(plane, "POST", path, {**SECRET, "metadata": {"name": "t"}})
            assert (status, answer["reason"]) == (500, "InternalError")
            assert answer["message"].startswith('Internal error occurred: encryptedDEKSource with keyID hash "sha256:')
            status, answer = await call(plane, "GET", f"{path}/s")
            assert (status, answer["data"]) == (200, SECRET["data"])
            await created(plane, "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
            plugin.start()
            await until(plane, 200)
            await created(plane, path, {**SECRET, "metadata": {"name": "t"}})

    with tempfile.TemporaryDirectory(prefix="kms") as folder:  # a socket's path must be short
        plugin = KMSPlugin(Path(folder, "kms.sock"))
        plugin.start()
        try:
            run(main(plugin))
        finally:
            plugin.stop()
