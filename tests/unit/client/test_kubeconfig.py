"""Kubeconfigs: what is read from one, and what is refused by name."""

from __future__ import annotations

import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.codec import yaml
from controlplane.base.tls.pki import ensure_pki
from controlplane.client.config import ClientConfig, Impersonation
from controlplane.client.errors import KubeconfigError
from controlplane.client.kubeconfig import load_kubeconfig


def written(
    directory: Path,
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    **top: Any,
) -> Path:
    """A kubeconfig with one cluster, user and context, changed as given."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://h:1/prefix/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "current-context": "x",
        **top,
    }
    path = directory / "kubeconfig"
    path.write_bytes(yaml.dumps(content))
    return path


def test_data_and_files_are_both_read_and_files_are_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"CA")
    path = written(
        tmp_path,
        cluster={"certificate-authority": "ca.crt", "tls-server-name": "other"},
        user={
            "client-certificate-data": b64encode(b"CERT").decode(),
            "client-key-data": b64encode(b"KEY").decode(),
            "tokenFile": "token",
            "as": "alice",
            "as-groups": ["g1", "g2"],
            "as-user-extra": {"scopes": ["s"]},
        },
        context={"namespace": "shop"},
    )
    assert load_kubeconfig(path) == ClientConfig(
        server="https://h:1/prefix",
        ca=b"CA",
        tls_server_name="other",
        certificate=b"CERT",
        key=b"KEY",
        token_file=tmp_path / "token",
        impersonation=Impersonation(user="alice", groups=("g1", "g2"), extra={"scopes": ("s",)}),
        namespace="shop",
    )


def test_another_context_can_be_named(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        contexts=[{"name": "x", "context": {"cluster": "?"}}, {"name": "y", "context": {"cluster": "c"}}],
    )
    assert load_kubeconfig(path, context="y").server == "https://h:1/prefix"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"user": {"exec": {"command": "aws"}}}, "user 'u' has 'exec': exec credential", id="exec"),
        pytest.param({"user": {"auth-provider": {"name": "gcp"}}}, "'auth-provider'", id="auth provider"),
        pytest.param({"user": {"username": "a", "password": "b"}}, "basic authentication", id="password"),
        pytest.param({"cluster": {"proxy-url": "http://p"}}, "'proxy-url'", id="proxy"),
        pytest.param({"cluster": {"server": "h:1"}}, "must be an https or http URL, is 'h:1'", id="no scheme"),
        pytest.param({"current-context": ""}, "has no current-context", id="no context"),
        pytest.param({"current-context": "z"}, "no context 'z'; there is: 'x'", id="unknown context"),
        pytest.param({"context": {"cluster": "z"}}, "no cluster 'z'; there is: 'c'", id="unknown cluster"),
        pytest.param({"context": {"user": "z"}}, "no user 'z'; there is: 'u'", id="unknown user"),
        pytest.param({"cluster": {"certificate-authority-data": "%"}}, "certificate-authority-data", id="no base64"),
        pytest.param({"user": {"client-key": "absent.key"}}, "absent.key", id="no such file"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = written(tmp_path, **change)
    with pytest.raises(KubeconfigError) as caught:
        load_kubeconfig(path)
    assert str(caught.value).startswith(f"kubeconfig {path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"- a\n", b"\tx", b""])
def test_a_file_that_is_no_kubeconfig_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(content)
    with pytest.raises(KubeconfigError, match=str(path)):
        load_kubeconfig(path)
    with pytest.raises(KubeconfigError, match="absent"):
        load_kubeconfig(tmp_path / "absent")


def test_secrets_are_not_shown() -> None:
    shown = repr(ClientConfig(server="https://h", key=b"SECRET", token="SECRET"))
    assert "SECRET" not in shown


def test_certificates_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, ("localhost",))
    certificate, key = (path.read_bytes() for path in pki.admin.files)
    usable = ClientConfig(server="https://h", certificate=certificate, key=key)
    assert usable.ssl_context().verify_mode == ssl.CERT_REQUIRED
    for bad in (
        ClientConfig(server="https://h", ca=b"nonsense"),
        ClientConfig(server="https://h", certificate=b"nonsense", key=key),
        ClientConfig(server="https://h", certificate=certificate, key=pki.serving.files[1].read_bytes()),
    ):
        with pytest.raises(KubeconfigError, match="cannot be used"):
            bad.ssl_context()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"contexts": {"x": 1}}, "contexts is not a list of mappings"),
        ({"contexts": ["x"]}, "contexts is not a list of mappings"),
        ({"clusters": 3}, "clusters is not a list of mappings"),
        ({"contexts": [{"name": "x", "context": "c"}]}, "context 'x' is not a mapping"),
        ({"users": [{"name": "u", "user": ["token"]}]}, "user 'u' is not a mapping"),
        ({"user": {"token": 12}}, "token must be a str, is a int"),
        ({"user": {"client-key": ["k"]}}, "client-key must be a str, is a list"),
        ({"user": {"as": "a", "as-groups": "g"}}, "as-groups must be a list, is a str"),
        ({"cluster": {"server": 1}}, "server must be a str, is a int"),
        ({"cluster": {"insecure-skip-tls-verify": "no"}}, "insecure-skip-tls-verify must be a bool, is a str"),
    ],
)
def test_what_is_of_another_shape_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(KubeconfigError, match=rf"kubeconfig {tmp_path}/kubeconfig: {says}"):
        load_kubeconfig(written(tmp_path, **change))
