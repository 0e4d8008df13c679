"""Key rotation by its one command, with three servers on one etcd under load, and the command killed on its way.

Nothing is unreadable at any moment, no old key is gone before the store holds nothing under it, and in the end the new
one reads everything. CONTROLPLANE_TEST_LONG: 5,000 secrets, and killed three times.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec import yaml
from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.tasks import cancel_and_wait
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.resources import ResourceClient
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.testing.etcd import EtcdProcess
from tests.aio import run
from tests.encrypted import decrypted, keys, new_secret, rule, write_config
from tests.etcd_fixture import needs_etcd
from tests.processes import Plane, sample_plane

SECRETS = GVR("", "v1", "secrets")
LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
COUNT = 5000 if LONG else 200
SERVERS = 3
OLD, NEW = b"k8s:enc:aescbc:v1:first:", b"k8s:enc:aescbc:v1:second:"
FINE = frozenset({404, 409})
"""What clients may be told: deleted by another one, changed by another one."""
KILLED_AFTER = ("takes over", "1 of 5", "2 of 5") if LONG else ("1 of 5",)
"""What the command says last before it is killed, each time. After the third step it may have done the rest before."""


def secret(number: int) -> Obj:
    password = base64.b64encode(f"password-{number}".encode()).decode()
    return {"metadata": {"name": f"s-{number}", "namespace": "default"}, "data": {"password": password}}


@asynccontextmanager
async def servers(directory: Path, store: str, file: Path) -> AsyncIterator[list[Plane]]:
    """Three of them, with one folder of certificates."""
    flags = (
        f"--cert-dir={directory / 'certs'}",
        f"--encryption-provider-config={file}",
        "--encryption-provider-config-automatic-reload",
    )
    with ExitStack() as stack:
        started = []
        for number in range(SERVERS):
            (own := directory / str(number)).mkdir()
            plane = sample_plane(own, store=store, flags=flags)
            started.append(await asyncio.to_thread(stack.enter_context, plane))
        try:
            yield started
        finally:
            await asyncio.to_thread(stack.close)


class Load:
    """Readers, a lister and a writer at each server. ``fatal``: what no client may be told."""

    def __init__(self, clients: list[ResourceClient]) -> None:
        self._clients = clients
        self.fatal: list[str] = []
        self.done: Counter[str] = Counter()

    async def read(self, seed: int) -> None:
        random = Random(seed)
        for client in itertools.cycle(self._clients):
            number = random.randrange(COUNT)
            with self._counted("read"):
                found = await client.get(Key("default", f"s-{number}"))
                if found["data"] != secret(number)["data"]:
                    self.fatal.append(f"s-{number} is another one")
            await asyncio.sleep(0.005)

    async def list(self) -> None:
        for client in itertools.cycle(self._clients):
            with self._counted("list"):
                listed = await client.list("default", limit=500)
                if not listed.items:
                    self.fatal.append("a list is empty")
            await asyncio.sleep(0.05)

    async def write(self, seed: int) -> None:
        random = Random(seed)
        for turn, client in enumerate(itertools.cycle(self._clients)):
            number = random.randrange(COUNT)
            with self._counted("write"):
                found = await client.get(Key("default", f"s-{number}"))
                found["metadata"].setdefault("annotations", {})["turn"] = str(turn)
                await client.update(found)
            with self._counted("write"):
                name = f"passing-{seed}-{turn}"
                await client.create({"metadata": {"name": name, "namespace": "default"}, "data": {}})
                await client.delete(Key("default", name))
            await asyncio.sleep(0.01)

    def _counted(self, what: str) -> _Counted:
        return _Counted(self, what)


class _Counted:
    """Counts what a block does, and notes what it is told that it may not be."""

    def __init__(self, load: Load, what: str) -> None:
        self._load, self._what = load, what

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self._load.done[self._what] += 1
        if isinstance(error, APIError):
            if error.code not in FINE:
                self._load.fatal.append(f"{self._what}: {error.code} {error}")
            return True
        return False


async def rotate(arguments: list[str], *, killed_after: str = "") -> tuple[int, str]:
    """Run the command, to its end or until it has said something; its status and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "sample_controlplane",
        "rotate-keys",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said: list[str] = []
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode():
        said.append(line)
        if killed_after and killed_after in line:
            process.kill()
            break
    await process.stdout.read()
    return await process.wait(), "".join(said)


async def raw(store: str) -> dict[bytes, bytes]:
    """All secrets, as they are stored."""
    kv = await open_kv(store)
    try:
        prefix = b"/registry/secrets/"
        page = await kv.range(prefix, prefix_end(prefix))
        return {item.key: item.value for item in page.items}
    finally:
        await kv.close()


@pytest.mark.etcd
@pytest.mark.timeout(600)
def test_rotation_under_load(tmp_path: Path) -> None:
    needs_etcd()
    first = new_secret()
    file = write_config(tmp_path / "encryption.yaml", rule(keys("aescbc", first=first), resources=("secrets",)))

    async def main() -> None:
        async with EtcdProcess(tmp_path / "etcd") as etcd:
            store = f"etcd:{etcd.endpoint}"
            async with servers(tmp_path, store, file) as planes, AsyncExitStack() as stack:
                clients = [
                    ResourceClient(
                        await stack.enter_async_context(HTTPClient(load_kubeconfig(plane.kubeconfig))),
                        SECRETS,
                        namespaced=True,
                    )
                    for plane in planes
                ]
                await rotation(store, planes, clients)

    async def rotation(store: str, planes: list[Plane], clients: list[ResourceClient]) -> None:
        for start in range(0, COUNT, 50):
            made = (clients[n % SERVERS].create(secret(n)) for n in range(start, min(start + 50, COUNT)))
            await asyncio.gather(*made)
        load = Load(clients)
        tasks = [
            asyncio.create_task(load.read(1)),
            asyncio.create_task(load.list()),
            asyncio.create_task(load.write(2)),
        ]
        arguments = [
            f"--encryption-provider-config={file}",
            f"--kubeconfig={planes[0].kubeconfig}",
            f"--store={store}",
            "--key-name=second",
            "--wait=120s",
        ]
        try:
            for killed_after in KILLED_AFTER:
                _, said = await rotate(arguments, killed_after=killed_after)
                assert killed_after in said, said
                assert "first" in file.read_text(), "the old key stays until nothing is under it"
            status, said = await rotate(arguments)
            assert status == 0, said
            assert "going on with the rotation to key second" in said
            assert "none is under aescbc:first" in said
            done = Counter(load.done)
            async with asyncio.timeout(60):
                while any(load.done[what] < done[what] + 3 for what in done):  # noqa: ASYNC110  # load goes on
                    await asyncio.sleep(0.05)
        finally:
            await cancel_and_wait(tasks)
        assert load.fatal == []
        assert min(load.done[what] for what in ("read", "list", "write")) > 10, load.done
        await proved(store, clients)

    async def proved(store: str, clients: list[ResourceClient]) -> None:
        document = yaml.loads(file.read_bytes())
        (key,) = document["resources"][0]["providers"][0]["aescbc"]["keys"]
        assert key["name"] == "second"
        assert not file.with_name("encryption.yaml.rotation").exists()
        stored = await raw(store)
        assert not [name for name, value in stored.items() if value.startswith(OLD)]
        assert len([name for name in stored if b"/s-" in name]) == COUNT
        for number in (0, COUNT // 2, COUNT - 1):
            where = f"/registry/secrets/default/s-{number}".encode()
            plain = decrypted("aescbc", "second", base64.b64decode(key["secret"]), where, stored[where])
            assert loads(plain)["data"] == secret(number)["data"]
        for client in clients:
            listed = await client.list("default")
            assert {meta.name(item) for item in listed.items} >= {f"s-{number}" for number in range(COUNT)}

    run(main(), seconds=580)
