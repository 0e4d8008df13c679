"""Which requests a signer of Kubernetes' own signs, and which it refuses.

Source: the rules and texts of kubernetes ``pkg/controller/certificates/signer/signer.go`` and
``pkg/apis/certificates/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

__all__ = ["SIGNERS", "common_name", "refusal"]

_NODES = "system:nodes"
_NODE_PREFIX = "system:node:"

_NO_RSA = frozenset({"key encipherment"})
"""What keys other than RSA do without."""


def refusal(signer: str, request_pem: bytes, usages: Sequence[str]) -> str:
    """Why a signer refuses a request; ``""`` if it signs it."""
    from cryptography.x509 import load_pem_x509_csr  # heavy, and needed by requests alone

    return SIGNERS[signer](load_pem_x509_csr(request_pem), usages)


def common_name(request_pem: bytes) -> str:
    """The common name that a request asks for."""
    from cryptography.x509 import load_pem_x509_csr  # heavy, and needed by requests alone

    return _subject(load_pem_x509_csr(request_pem))[1]


def _api_server_client(_request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _kubelet_client(request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    organizations, common_name = _subject(request)
    names, addresses, emails, uris = _alternatives(request)
    if organizations != [_NODES]:
        return "subject organization is not system:nodes"
    for found, what in ((names, "DNS"), (emails, "Email"), (addresses, "IP"), (uris, "URI")):
        if found:
            return f"{what} subjectAltNames are not allowed"
    if not common_name.startswith(_NODE_PREFIX):
        return f"subject common name does not begin with {_NODE_PREFIX}"
    return _usages_refused(usages, "client auth", "digital signature", "key encipherment")


def _kubelet_serving(request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    organizations, common_name = _subject(request)
    names, addresses, emails, uris = _alternatives(request)
    if organizations != [_NODES]:
        return "subject organization is not system:nodes"
    if not names and not addresses:
        return "DNS or IP subjectAltName is required"
    if emails:
        return "Email subjectAltNames are not allowed"
    if uris:
        return "URI subjectAltNames are not allowed"
    refused = _usages_refused(usages, "digital signature", "key encipherment", "server auth")
    if refused or common_name.startswith(_NODE_PREFIX):
        return refused
    return f"subject common name does not begin with {_NODE_PREFIX}"


def _usages_refused(usages: Sequence[str], *wanted: str) -> str:
    if set(usages) in (set(wanted), set(wanted) - _NO_RSA):
        return ""
    return f"usages did not match [{' '.join(wanted)}]"


def _anything(_request: CertificateSigningRequest, _usages: Sequence[str]) -> str:
    return ""


def _subject(request: CertificateSigningRequest) -> tuple[list[str], str]:
    from cryptography.x509.oid import NameOID

    organizations = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return [str(o.value) for o in organizations], str(names[-1].value) if names else ""


def _alternatives(request: CertificateSigningRequest) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """The request's alternative names: DNS, IP, email, URI."""
    from cryptography import x509

    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], [], [], []
    return (
        names.get_values_for_type(x509.DNSName),
        names.get_values_for_type(x509.IPAddress),
        names.get_values_for_type(x509.RFC822Name),
        names.get_values_for_type(x509.UniformResourceIdentifier),
    )


SIGNERS: dict[str, Callable[[CertificateSigningRequest, Sequence[str]], str]] = {
    "kubernetes.io/kube-apiserver-client": _api_server_client,
    "kubernetes.io/kube-apiserver-client-kubelet": _kubelet_client,
    "kubernetes.io/kubelet-serving": _kubelet_serving,
    "kubernetes.io/legacy-unknown": _anything,
}
