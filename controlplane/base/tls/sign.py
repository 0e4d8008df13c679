"""Sign what somebody asks for: a certificate from a request, with a CA's key.

Imported only when a certificate is signed: ``cryptography`` takes 50 ms and 8 MB.

Source: the permissive policy of kubernetes ``pkg/controller/certificates/authority`` (backdating, and what of a request
is taken over: subject and alternative names, and nothing else).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

__all__ = ["sign_request"]

BACKDATED = timedelta(minutes=5)
SHORT = timedelta(hours=8)
"""A certificate that lives less is good for the whole time from now on; for others the backdating is part of it."""

_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}


def sign_request(
    request_pem: bytes, ca: tuple[bytes, bytes], *, usages: Iterable[str], seconds: int, now_seconds: float
) -> bytes:
    """The certificate (PEM), good for ``seconds``, never longer than the CA's own.

    Args:
        ca: certificate and key, PEM. usages: as certificate requests name them.

    Raises:
        ValueError: a request, certificate or key that cannot be used, or a usage that is not known.
    """
    request = x509.load_pem_x509_csr(request_pem)
    issuer = x509.load_pem_x509_certificate(ca[0])
    key = serialization.load_pem_private_key(ca[1], None)
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise ValueError("the CA's key is neither RSA nor ECDSA")
    now, life = datetime.fromtimestamp(int(now_seconds), UTC), timedelta(seconds=seconds)
    ends = now + life if life < SHORT else now + life - BACKDATED
    if now >= issuer.not_valid_after_utc:
        raise ValueError("the signer has expired: NotAfter=" + issuer.not_valid_after_utc.isoformat())
    plain, extended = _split(usages)
    builder = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(issuer.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(min(ends, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    if plain is not None:
        builder = builder.add_extension(plain, critical=True)
    if extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    for extension in request.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            builder = builder.add_extension(extension.value, critical=extension.critical)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _split(usages: Iterable[str]) -> tuple[x509.KeyUsage | None, list[x509.ObjectIdentifier]]:
    flags = dict.fromkeys(_USAGES.values(), False)
    extended: list[x509.ObjectIdentifier] = []
    for usage in usages:
        if usage in _USAGES:
            flags[_USAGES[usage]] = True
        elif usage in _EXTENDED:
            if _EXTENDED[usage] not in extended:
                extended.append(_EXTENDED[usage])
        else:
            raise ValueError(f"unrecognized usage: {usage}")
    return (x509.KeyUsage(**flags) if any(flags.values()) else None), extended
