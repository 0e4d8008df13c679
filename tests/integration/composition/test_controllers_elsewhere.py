"""Controllers in another process, against our server, under RBAC and as service accounts of their own."""

from __future__ import annotations

import asyncio
import base64
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.controllers.builtin import BUILTIN
from controlplane.generic.config import Config
from controlplane.generic.controllers import service_account
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, found, until
from tests.integration.controllers.test_small_controllers import REQUESTS, approve, signing_request

LEASES = GVR("coordination.k8s.io", "v1", "leases")
LEADER = Key("kube-system", "kube-controller-manager")
SECRETS = GVR("", "v1", "secrets")
ACCOUNTS = GVR("", "v1", "serviceaccounts")
TOKEN = "the-managers-token"


BY_ROLES = ("RBAC",)
BY_GRANTS = ("AlwaysDeny",)
"""Authorization modes: controllers have their roles, or, where there are none, what the server grants them."""


def server_only(directory: Path, modes: tuple[str, ...]) -> Any:
    """A server that runs no controllers, and knows a user for their manager by a token: that of Kubernetes' own; where
    there are no roles, one that may do all."""
    tokens = directory / "tokens.csv"
    groups = "" if modes == BY_ROLES else ",system:masters"
    tokens.write_text(f"{TOKEN},system:kube-controller-manager,manager-uid{groups}\n")

    def configure(config: Config) -> None:
        config.run_controllers = False
        config.controllers = list(BUILTIN)
        config.token_auth_file = str(tokens)
        config.authorization_modes = modes

    return configure


def managers_kubeconfig(plane: Plane, directory: Path) -> Path:
    """The administrator's, with the manager's token instead of the certificate."""
    content = yaml.safe_load(plane.kubeconfig.read_text())
    content["users"] = [{"name": entry["name"], "user": {"token": TOKEN}} for entry in content["users"]]
    file = directory / "manager.conf"
    file.write_text(yaml.safe_dump(content))
    return file


@asynccontextmanager
async def manager_process(kubeconfig: Path, log: Path, *flags: str) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sample_controlplane", "controllers", f"--kubeconfig={kubeconfig}", *flags),
            stdout=out,
            stderr=out,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def holder(objects: Objects) -> str:
    lease = await found(objects.of(LEASES).get(LEADER))
    return str(lease["spec"].get("holderIdentity") or "") if lease is not None else ""


@pytest.mark.parametrize("modes", [pytest.param(BY_ROLES, id="roles"), pytest.param(BY_GRANTS, id="grants")])
def test_controllers_in_another_process(modes: tuple[str, ...], tmp_path: Path) -> None:
    certs = tmp_path / "certs"

    async def main() -> None:
        async with running_plane(tmp_path, cert_dir=certs, configure=server_only(tmp_path, modes)) as plane:
            o = Objects(plane)
            flags = (
                "--use-service-account-credentials",
                f"--root-ca-file={certs / 'serving-ca.crt'}",
                f"--service-account-private-key-file={certs / 'sa.key'}",
                f"--cluster-signing-cert-file={certs / 'client-ca.crt'}",
                f"--cluster-signing-key-file={certs / 'client-ca.key'}",
            )
            owner = await o.make("owner")
            await o.make("dependent", owner)
            await o.delete("owner")
            secret: Obj = {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/service-account-token",
                "metadata": {
                    "name": "t",
                    "namespace": "default",
                    "annotations": {"kubernetes.io/service-account.name": "default"},
                },
            }
            kubeconfig, log = managers_kubeconfig(plane, tmp_path), tmp_path / "manager.log"
            async with manager_process(kubeconfig, log, *flags) as process:
                await o.gone("dependent")

                async def given() -> bool:
                    account = await found(o.of(ACCOUNTS).get(Key("default", "default")))
                    return account is not None and await o.find("kube-root-ca.crt") is not None

                await until(given)
                await o.of(SECRETS).create(secret)

                async def filled() -> bool:
                    return "token" in ((await o.of(SECRETS).get(Key("default", "t"))).get("data") or {})

                await until(filled)
                await is_signed(o, certs / "client-ca.crt")
                await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}})
                await o.make("content", namespace="short")
                await o.namespaces.delete(Key("", "short"))

                async def ended() -> bool:
                    return await found(o.namespaces.get(Key("", "short"))) is None

                await until(ended)
                accounts = {item["metadata"]["name"] for item in (await o.of(ACCOUNTS).list("kube-system")).items}
                assert {"generic-garbage-collector", "namespace-controller", "tokens-controller"} <= accounts
                assert await holder(o)
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
            assert await holder(o) == "", "the lease is given back"
            assert [line for line in log.read_text().splitlines() if line.startswith("E")] == []

    run(main())


async def is_signed(o: Objects, authority: Path) -> None:
    """A request that was approved gets a certificate that the server's authority of clients vouches for."""
    requests = o.of(REQUESTS, namespaced=False)
    await requests.create(signing_request("client", "kubernetes.io/kube-apiserver-client", ["client auth"]))
    await approve(o, "client")

    async def certificate() -> bool:
        return bool(((await requests.get(Key("", "client"))).get("status") or {}).get("certificate"))

    await until(certificate)
    pem = base64.b64decode((await requests.get(Key("", "client")))["status"]["certificate"])
    signed = x509.load_pem_x509_certificate(pem)
    issuer = x509.load_pem_x509_certificate(await asyncio.to_thread(authority.read_bytes))
    signed.verify_directly_issued_by(issuer)


def test_what_it_refuses(tmp_path: Path) -> None:
    async def main() -> None:
        log = tmp_path / "log"
        async with manager_process(tmp_path / "none.conf", log, "--controllers.system-namespaces") as process:
            assert await process.wait() == 2
        assert "--controllers.system-namespaces: belongs to the API server and runs in it" in log.read_text()
        async with manager_process(tmp_path / "none.conf", log) as process:
            assert await process.wait() == 1
        assert "none.conf" in log.read_text().splitlines()[-1]

    run(main())


def test_grants_without_rbac(tmp_path: Path) -> None:
    """Where no roles decide, the controllers' own rules hold for their accounts, also if they run elsewhere."""

    async def main() -> None:
        def configure(config: Config) -> None:
            config.run_controllers = False
            config.authorization_modes = ("AlwaysDeny",)

        async with running_plane(tmp_path, configure=configure) as plane:
            path = "/api/v1/namespaces/default"
            for account, status in (("namespace-controller", 200), ("somebody-else", 403)):
                answer = await plane.client(service_account(account)).request("GET", path)
                assert answer.status == status, account

    run(main())
