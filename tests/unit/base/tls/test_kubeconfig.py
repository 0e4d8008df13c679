"""The kubeconfig: private, readable by YAML, written only over itself."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest
import yaml

from controlplane.base.tls.kubeconfig import KubeconfigError, kubeconfig, write_kubeconfig

TEXT = kubeconfig(server="https://127.0.0.1:6443", ca_pem=b"CA", cert_pem=b"CERT", key_pem=b"KEY", token="T" * 32)


def test_it_is_a_kubeconfig() -> None:
    config = yaml.safe_load(TEXT)
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]) == b"CA"
    users = {user["name"]: user["user"] for user in config["users"]}
    certificate = users["admin-certificate"]
    assert base64.b64decode(certificate["client-certificate-data"]) == b"CERT"
    assert base64.b64decode(certificate["client-key-data"]) == b"KEY"
    cluster = config["clusters"][0]["name"]
    contexts = {context["name"]: context["context"] for context in config["contexts"]}
    assert contexts[f"{cluster}-certificate"] == {"cluster": cluster, "user": "admin-certificate"}


def test_its_current_context_shows_a_token_and_no_certificate() -> None:
    """A certificate would come before the tokens that ``kubectl --token`` sends."""
    config = yaml.safe_load(TEXT)
    (current,) = (one["context"] for one in config["contexts"] if one["name"] == config["current-context"])
    assert {user["name"]: user["user"] for user in config["users"]}[current["user"]] == {"token": "T" * 32}


def test_it_is_private_and_written_only_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "admin.conf"
    assert write_kubeconfig(path, TEXT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    inode = path.stat().st_ino
    path.chmod(0o644)
    assert not write_kubeconfig(path, TEXT)
    assert path.stat().st_ino == inode
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write_kubeconfig(path, TEXT.replace("6443", "7443"))
    assert os.listdir(path.parent) == ["admin.conf"]


def test_what_kubectl_has_changed_in_it_is_kept(tmp_path: Path) -> None:
    """``kubectl config set-context --current --namespace=shop`` rewrites the file, without comments."""
    path = tmp_path / "admin.conf"
    config = yaml.safe_load(TEXT)
    config["contexts"] = [one for one in config["contexts"] if one["name"] == config["current-context"]]
    config["contexts"][0]["context"]["namespace"] = "shop"
    config["clusters"].append({"name": "other", "cluster": {"server": "https://other"}})
    path.write_text(yaml.safe_dump(config))
    assert write_kubeconfig(path, TEXT.replace("6443", "7443").replace("T" * 32, "N" * 32))
    written = yaml.safe_load(path.read_text())
    assert [one["cluster"]["server"] for one in written["clusters"]] == ["https://127.0.0.1:7443", "https://other"]
    assert {"name": "admin", "user": {"token": "N" * 32}} in written["users"]
    current, certificate = written["contexts"]
    assert current["context"] == {"cluster": "controlplane", "user": "admin", "namespace": "shop"}
    assert certificate["name"] == "controlplane-certificate"
    assert not write_kubeconfig(path, TEXT.replace("6443", "7443").replace("T" * 32, "N" * 32))


@pytest.mark.parametrize(
    "content",
    [
        "apiVersion: v1\n",
        "no: [yaml",
        "just text",
        "clusters: 5",
        "clusters: [{name: controlplane}]",
        "clusters: [{name: controlplane, cluster: {certificate-authority-data: eA==}}]",
    ],
)
def test_somebody_elses_file_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(KubeconfigError, match="config: exists and was not written by this program"):
        write_kubeconfig(path, TEXT)
    assert path.read_text() == content


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KubeconfigError, match="file"):
        write_kubeconfig(tmp_path / "file" / "admin.conf", TEXT)
