"""Key rotation over a server in the test's process: on SQLite from begin to end, and what it refuses."""

from __future__ import annotations

import fcntl
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.codec import yaml
from controlplane.apimachinery.server_identity import ENCRYPTION_HASH_ANNOTATION
from controlplane.base.clock import SystemClock, rfc3339_micro
from controlplane.generic.config import Config
from controlplane.generic.rotate_command import rotate_command
from controlplane.generic.rotation import rotation as at_rotation
from controlplane.generic.rotation import servers
from controlplane.generic.rotation.rotation import Rotation, RotationFailed, Store
from controlplane.storage.encryption import encryption as at_rest
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.maintenance import stored_heads
from controlplane.testing.planes import Plane, plane_config, plane_of
from tests.aio import run
from tests.encrypted import IDENTITY, keys, new_secret, rule, write_config

ORPHAN = b"/registry/example.org/things/x"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(at_rotation, "ASK_SECONDS", 0.02)


@asynccontextmanager
async def served(
    tmp_path: Path,
    *providers: dict[str, Any],
    resources: tuple[str, ...] = ("secrets", "*.example.org"),
    configure: Callable[[Config], None] = lambda _: None,
) -> AsyncIterator[tuple[Plane, Path]]:
    """A server on SQLite with one secret, encrypted by these providers."""
    file = write_config(tmp_path / "encryption.yaml", rule(*providers, resources=resources))
    config = plane_config(tmp_path, store=f"sqlite:{tmp_path / 'store.db'}")
    config.encryption_config_file, config.encryption_reload = str(file), True
    configure(config)
    async with plane_of(config) as plane:
        lease = plane.control_plane.presence.lease
        assert lease is not None
        await lease.written()
        body = json.dumps({"metadata": {"name": "s"}, "data": {"a": "MQ=="}}).encode()
        assert (await plane.client().request("POST", SECRETS, body=body)).status == 201
        yield plane, file


async def rotate(plane: Plane, file: Path, *, wait_seconds: float = 30.0, name: str = "new") -> list[str]:
    """Rotate; what was said."""
    said: list[str] = []
    store = Store(plane.control_plane.config.store, KVOptions(), b"/registry/")
    await Rotation(
        plane.client(), file, store, key_name=name, clock=SystemClock(), say=said.append, wait_seconds=wait_seconds
    ).run()
    return said


def key_names(file: Path) -> list[str]:
    provider = yaml.loads(file.read_bytes())["resources"][0]["providers"][0]
    return [key["name"] for content in provider.values() for key in content["keys"]]


@pytest.mark.parametrize("resources", [("secrets",), ("*.*",)])
def test_a_rotation_from_begin_to_end(resources: tuple[str, ...], tmp_path: Path) -> None:
    async def main() -> None:
        providers = keys("secretbox", old=new_secret()), IDENTITY
        async with served(tmp_path, *providers, resources=resources) as (plane, file):
            file.chmod(0o640)
            left = file.with_name(f".{file.name}.1.tmp")
            left.write_text("by a rotation that was killed as it wrote keys")
            said = await rotate(plane, file)
            assert not left.exists()
            assert [line[:6] for line in said if line[1:6] == " of 5"] == [f"{n} of 5" for n in range(1, 6)]
            assert key_names(file) == ["new"]
            assert file.stat().st_mode & 0o777 == 0o640
            heads = dict(stored_heads(tmp_path / "store.db", 30))
            assert heads[b"/registry/secrets/default/s"].startswith(b"k8s:enc:secretbox:v1:new:")
            assert (await plane.client().request("GET", f"{SECRETS}/s")).status == 200
            listed = await plane.client().request(
                "GET", "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
            )
            body = listed.body if isinstance(listed.body, bytes) else b"".join(listed.body)
            assert json.loads(body)["items"] == [], "the command cleans up after itself"
            assert not file.with_name("encryption.yaml.rotation").exists()

    run(main())


def test_the_old_key_stays_as_long_as_the_raw_store_has_something_under_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, keys("aesgcm", old=new_secret())) as (plane, file):
            kv = plane.control_plane.kv
            await kv.put(ORPHAN, b"k8s:enc:aesgcm:v1:old:something that nobody serves", expect=0)
            with pytest.raises(
                RotationFailed, match=r"the old key stays: 1 of things\.example\.org under aesgcm:old in the"
            ):
                await rotate(plane, file)
            assert key_names(file) == ["new", "old"]
            (orphan,) = (await kv.range(ORPHAN, b"")).items
            await kv.delete(ORPHAN, expect=orphan.mod_revision)
            said = await rotate(plane, file, name="another")
            assert said[0] == "going on with the rotation to key new"
            assert key_names(file) == ["new"]

    run(main())


def test_servers_that_do_not_take_up_the_file_are_named(tmp_path: Path) -> None:
    def no_reload(config: Config) -> None:
        config.encryption_reload = False

    async def main() -> None:
        async with served(tmp_path, keys("aesgcm", old=new_secret()), configure=no_reload) as (plane, file):
            with pytest.raises(RotationFailed, match=r"not in force within 1 s on apiserver-.*automatic-reload"):
                await rotate(plane, file, wait_seconds=1.0)
            assert key_names(file) == ["old", "new"], "the new key is not promoted before all can read it"

    run(main())


def test_a_server_that_was_killed_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "GONE_SECONDS", 1.5)
    lease = {
        "metadata": {
            "name": "apiserver-killed",
            "namespace": "kube-system",
            "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"},
            "annotations": {ENCRYPTION_HASH_ANNOTATION: "sha256:before"},
        },
        "spec": {
            "holderIdentity": "killed",
            "leaseDurationSeconds": 3600,
            "renewTime": rfc3339_micro(SystemClock().now()),
        },
    }

    async def main() -> None:
        async with served(tmp_path, keys("aesgcm", old=new_secret())) as (plane, file):
            path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
            made = await plane.client().request("POST", path, body=json.dumps(lease).encode())
            assert made.status == 201
            said = await rotate(plane, file)
            assert any("waiting until" in line and "apiserver-killed" in line for line in said)
            assert "apiserver-killed does not renew its lease: gone" in said[-1]

    run(main())


def test_two_commands_do_not_rotate_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, keys("aesgcm", old=new_secret())) as (plane, file):
            with file.with_name("encryption.yaml.rotation").open("w") as note:
                fcntl.flock(note, fcntl.LOCK_EX)
                with pytest.raises(RotationFailed, match="another rotate-keys works on this file: it holds"):
                    await rotate(plane, file)
            await rotate(plane, file)

    run(main())


def test_what_cannot_be_rotated(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, IDENTITY, keys("aesgcm", old=new_secret())) as (plane, file):
            with pytest.raises(RotationFailed, match="nothing is written under a key that stands in it"):
                await rotate(plane, file)
            write_config(file, rule(keys("aesgcm", old=new_secret()), IDENTITY, resources=("secrets",)))
            with pytest.raises(RotationFailed, match="has a key old already: give another --key-name"):
                await rotate(plane, file, name="old")
            write_config(
                file,
                rule(keys("aesgcm", old=new_secret()), IDENTITY, resources=("secrets",)),
                rule(keys("aesgcm", other=new_secret()), IDENTITY),
            )
            with pytest.raises(RotationFailed, match="has a key other already: give another --key-name"):
                await rotate(plane, file, name="other")
            file.with_name("encryption.yaml.rotation").write_text("nonsense")
            with pytest.raises(RotationFailed, match="is no note of a rotation"):
                await rotate(plane, file)
            file.write_text("kind: Nonsense")
            with pytest.raises(RotationFailed, match="must be EncryptionConfiguration"):
                await rotate(plane, file)

    run(main())


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ([], "--encryption-provider-config: must be given"),
        (["--encryption-provider-config=a"], "--kubeconfig: must be given"),
        (
            ["--encryption-provider-config=a", "--kubeconfig=b"],
            "--store or --etcd-servers: must be given, since the raw",
        ),
        (["--encryption-provider-config=a", "--kubeconfig=b", "--store=memory:"], "there is nothing to rotate"),
        (
            ["--encryption-provider-config=a", "--kubeconfig=b", "--store=sqlite:c", "--key-name=A b"],
            "--key-name: 'A b': a lowercase RFC 1123 label must consist of",
        ),
    ],
)
def test_the_command_says_what_it_lacks(argv: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rotate_command(argv, program="x") == 2
    assert why in capsys.readouterr().err
