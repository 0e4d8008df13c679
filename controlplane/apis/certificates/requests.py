"""Requests for certificates and certificates themselves, as PEM: whether they can be read.

Source: what kubernetes' certificates API checks of them, in its words where they are its own; what Go's x509 package
finds wrong is told in fewer words here.
"""

from __future__ import annotations

import base64
import binascii
import re

from controlplane.apis.certificates.der import der_problem

__all__ = ["certificate_problem", "request_organizations", "request_problem"]

_BLOCK = re.compile(
    rb"^-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n(.*?)^-----END \1-----[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_REQUEST = b"CERTIFICATE REQUEST"


def request_problem(pem: bytes) -> str:
    """What is wrong with a request; ``""`` if nothing is."""
    # heavy, and needed by requests alone
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import load_der_x509_csr

    block = _BLOCK.search(pem)
    der = _der(block[2]) if block is not None and block[1] == _REQUEST else None
    if der is None:
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = load_der_x509_csr(der)
        if request.is_signature_valid:
            return ""
    except (ValueError, UnsupportedAlgorithm):
        return der_problem(der) or "x509: malformed certificate request"
    return _unsigned(request.public_key())


def _der(body: bytes) -> bytes | None:
    """What the lines of a block stand for, None if nothing; those with headers go before an empty one."""
    _, _, lines = body.replace(b"\r", b"").rpartition(b"\n\n")
    try:
        return base64.b64decode(b"".join(lines.split()), validate=True)
    except binascii.Error:
        return None


def _unsigned(key: object) -> str:
    """The signature is not that of the key."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        return "crypto/rsa: verification error"
    return f"x509: {'ECDSA' if isinstance(key, ec.EllipticCurvePublicKey) else 'Ed25519'} verification failure"


def request_organizations(pem: bytes) -> list[str]:
    """The organizations of a request's subject, which are the groups of whoever gets the certificate.

    Raises:
        ValueError: it cannot be read.
    """
    from cryptography.x509 import NameOID, load_pem_x509_csr

    problem = request_problem(pem)
    block = _BLOCK.search(pem)
    if problem or block is None:
        raise ValueError(problem)
    named = load_pem_x509_csr(block[0]).subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [value.decode() if isinstance(value := attribute.value, bytes) else value for attribute in named]


def certificate_problem(pem: bytes) -> str:
    """What is wrong with a chain of certificates; ``""`` if nothing is."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import load_pem_x509_certificate

    blocks = list(_BLOCK.finditer(pem))
    for block in blocks:
        if b":" in block[2].partition(b"\n")[0]:
            return "no PEM block headers are permitted"
        if block[1] != b"CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block[1].decode(errors="replace")}"'
        try:
            load_pem_x509_certificate(block[0])
        except (ValueError, UnsupportedAlgorithm):
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"
