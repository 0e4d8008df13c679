"""A certificate and its key, made for real."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from controlplane.apis.core.key_pairs import key_pair_problem


def pem(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def test_a_pair_must_belong_together() -> None:
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    own = certificate(key)
    assert key_pair_problem(own, pem(key)) == ""
    assert key_pair_problem(own + own, b"text before\n" + pem(key)) == ""
    assert key_pair_problem(own, pem(other)) == "tls: private key does not match public key"
    other_type = pem(ed25519.Ed25519PrivateKey.generate())
    assert key_pair_problem(own, other_type) == "tls: private key type does not match public key type"
    broken = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
    assert key_pair_problem(own, broken) == "tls: failed to parse private key"
