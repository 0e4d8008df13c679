"""Files that flags name and that cannot be used: the server does not start, and says which flag and which file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_controlplane.main import configure
from sample_controlplane.options import SampleOptions

from controlplane.base.options import load
from controlplane.base.tls.pki import ensure_pki
from controlplane.generic.controller_manager import ManagerFailed, controller_manager
from controlplane.generic.manager_options import ManagerOptions
from controlplane.generic.server import StartError, open_plane
from tests.aio import run


def none_there(file: Path) -> None:
    assert not file.exists()


def a_folder(file: Path) -> None:
    file.mkdir()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def no_text(file: Path) -> None:
    file.write_bytes(b"\xff\x00garbage: [")


WAYS = (none_there, a_folder, empty, no_text)

OF_SERVERS: tuple[tuple[str, ...], ...] = (
    ("--client-ca-file",),
    ("--requestheader-client-ca-file", "--requestheader-username-headers=X-Remote-User"),
    ("--service-account-key-file",),
    ("--service-account-signing-key-file",),
    ("--authentication-config",),
    ("--authentication-token-webhook-config-file",),
    ("--authorization-config",),
    ("--authorization-webhook-config-file", "--authorization-mode=Webhook"),
    ("--admission-control-config-file",),
    ("--oidc-ca-file", "--oidc-issuer-url=https://issuer", "--oidc-client-id=me"),
    ("--encryption-provider-config",),
    ("--peer-ca-file", "--peer-proxy"),
    ("--tls-cert-file", "--tls-private-key-file={file}"),
    ("--proxy-client-cert-file", "--proxy-client-key-file={file}"),
    ("--etcd-cafile", "--etcd-servers=https://127.0.0.1:1"),
    ("--etcd-certfile", "--etcd-keyfile={file}", "--etcd-servers=https://127.0.0.1:1"),
)
OF_MANAGERS: tuple[tuple[str, ...], ...] = (
    ("--root-ca-file",),
    ("--service-account-private-key-file",),
    ("--cluster-signing-cert-file", "--cluster-signing-key-file={file}"),
)
KUBECONFIG = """
current-context: a
contexts: [{name: a, context: {cluster: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    ensure_pki(directory, ["localhost"])
    return directory


def given(flags: tuple[str, ...], file: Path) -> list[str]:
    return [f"{flags[0]}={file}", *(flag.format(file=file) for flag in flags[1:])]


def refusal(flags: tuple[str, ...], way: Callable[[Path], None], file: Path, start: Callable[[], Any]) -> None:
    way(file)
    with pytest.raises((StartError, ManagerFailed)) as refused:
        start()
    assert flags[0] in str(refused.value)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flags", OF_SERVERS, ids=[flags[0] for flags in OF_SERVERS])
def test_a_server_does_not_start(
    keys: Path, tmp_path: Path, flags: tuple[str, ...], way: Callable[[Path], None]
) -> None:
    file = tmp_path / "given"
    store = [] if "etcd" in flags[0] else ["--store=memory:"]
    argv = ["--secure-port=0", f"--cert-dir={keys}", *store, *given(flags, file)]

    async def start() -> None:
        async with open_plane(configure(load(SampleOptions, argv, environ={}).options).complete()):
            pytest.fail("it starts")

    refusal(flags, way, file, lambda: run(start()))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flags", OF_MANAGERS, ids=[flags[0] for flags in OF_MANAGERS])
def test_a_controller_manager_does_not_start(
    tmp_path: Path, flags: tuple[str, ...], way: Callable[[Path], None]
) -> None:
    file, kubeconfig = tmp_path / "given", tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)

    async def start() -> None:
        options = load(ManagerOptions, [f"--kubeconfig={kubeconfig}", *given(flags, file)], environ={}).options
        async with controller_manager(options):
            pytest.fail("it starts")

    refusal(flags, way, file, lambda: run(start()))


def test_the_authority_of_a_kubeconfig_is_no_certificate(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.replace(':1"', ':1", certificate-authority-data: AAAA'))

    async def start() -> None:
        async with controller_manager(load(ManagerOptions, [f"--kubeconfig={kubeconfig}"], environ={}).options):
            pytest.fail("it starts")

    with pytest.raises(
        ManagerFailed, match=r"--kubeconfig: https://127.0.0.1:1: authority, .* holds no PEM certificate"
    ):
        run(start())
