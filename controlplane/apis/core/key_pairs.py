"""Whether a TLS secret's certificate and key belong together, in the words of Go's ``tls.X509KeyPair``.

What is wrong is only warned of: such a secret is stored all the same.
"""

from __future__ import annotations

import re

__all__ = ["key_pair_problem"]

_BLOCK = re.compile(
    rb"^-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n(.*?)^-----END \1-----[ \t]*\r?$", re.DOTALL | re.MULTILINE
)


def key_pair_problem(certificate: bytes, key: bytes) -> str:
    """What keeps a certificate and a key, both in PEM, from being used; ``""`` if nothing does."""
    types = _block_types(certificate)
    if "CERTIFICATE" not in types:
        if not types:
            return "tls: failed to find any PEM data in certificate input"
        if len(types) == 1 and types[0].endswith("PRIVATE KEY"):
            return (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs "
                "may have been switched"
            )
        return (
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
            f"following types: [{' '.join(types)}]"
        )
    types = _block_types(key)
    if not any(name == "PRIVATE KEY" or name.endswith(" PRIVATE KEY") for name in types):
        if not types:
            return "tls: failed to find any PEM data in key input"
        if types == ["CERTIFICATE"]:
            return "tls: found a certificate rather than a key in the PEM for the private key"
        return (
            'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of '
            f"the following types: [{' '.join(types)}]"
        )
    return _mismatch(certificate, key)


def _block_types(text: bytes) -> list[str]:
    return [name.decode(errors="replace") for name, _ in _BLOCK.findall(text)]


def _mismatch(certificate: bytes, key: bytes) -> str:
    # heavy, and needed by TLS secrets alone
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )
    from cryptography.x509 import load_pem_x509_certificate

    try:
        public = load_pem_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        own = load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if own.public_bytes(*form) != public.public_bytes(*form):
        return "tls: private key does not match public key"
    return ""
