"""The keys of service account tokens: read from PEM files, RSA or ECDSA, named by what is in them.

A key's id is the SHA-256 of its public part, so that a token says which key it was signed with and nobody can make a
key from the id.

Reading takes 50 ms the first time (it imports ``cryptography``): in a thread, and for keys that the server has made
itself only when the first token is given or shown.

Source: kubernetes' ``pkg/serviceaccount/jwt.go`` and client-go ``util/keyutil``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from controlplane.apiserver.authentication.jws import VerifyingKey, base64url, prepare
from controlplane.base.values import dataclass

__all__ = ["KeyFileError", "KeySet", "SigningKey", "read_keys"]

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


class KeyFileError(Exception):
    """A file cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """``key`` is a private key of ``cryptography``."""

    key_id: str
    key: Any
    algorithm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySet:
    """``signing``: None if no tokens are given. ``verifying``: all keys, that of ``signing`` first."""

    signing: SigningKey | None
    verifying: tuple[VerifyingKey, ...]

    def named(self, key_id: str) -> Sequence[VerifyingKey]:
        """The keys of an id; all if ``""``."""
        return [key for key in self.verifying if key.key_id == key_id] if key_id else self.verifying


def read_keys(*, signing_file: str, key_files: Sequence[str]) -> KeySet:
    """Read the files; ``signing_file`` ``""``: no tokens are given. Blocks.

    Raises:
        KeyFileError.
    """
    prepare()
    signing = _read_signing(signing_file) if signing_file else None
    verifying = [_verifying(signing_file, signing.key.public_key())] if signing is not None else []
    for file in key_files:
        keys = [_public(file, label, block) for label, block in _blocks(file)]
        verifying += [_verifying(file, key) for key in keys if key is not None]
        if not any(keys):
            raise KeyFileError(f"{file}: holds no RSA or ECDSA key in PEM")
    unique = {key.key_id: key for key in reversed(verifying)}
    return KeySet(signing=signing, verifying=tuple(key for key in verifying if unique.pop(key.key_id, None)))


def _blocks(file: str) -> list[tuple[str, bytes]]:
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise KeyFileError(f"{file}: {error.strerror or error}") from error
    return [(match[1].decode(), match[0] + b"\n") for match in _BLOCK.finditer(content)]


def _read_signing(file: str) -> SigningKey:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    for label, block in _blocks(file):
        if not label.endswith("PRIVATE KEY"):
            continue
        try:
            key = load_pem_private_key(block, None)
        except (ValueError, TypeError) as error:
            raise KeyFileError(f"{file}: cannot be read: {error}") from error
        public = _verifying(file, key.public_key())
        return SigningKey(public.key_id, key, public.algorithms[0])
    raise KeyFileError(f"{file}: holds no private key in PEM")


def _public(file: str, label: str, block: bytes) -> Any:
    """The public key of a block; None: a block that holds no key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        if label.endswith("PRIVATE KEY"):
            return serialization.load_pem_private_key(block, None).public_key()
        if label.endswith("PUBLIC KEY"):
            return serialization.load_pem_public_key(block)
        if label == "CERTIFICATE":
            return x509.load_pem_x509_certificate(block).public_key()
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"{file}: cannot be read: {error}") from error
    return None


def _verifying(file: str, key: Any) -> VerifyingKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        algorithms: tuple[str, ...] = ("RS256", "RS384", "RS512")
    elif isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        algorithms = (_CURVES[key.curve.name],)
    else:
        raise KeyFileError(f"{file}: holds a key that is neither RSA nor ECDSA with the curve P-256, P-384 or P-521")
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    key_id = base64url(sha256(key.public_bytes(serialization.Encoding.DER, form)).digest())
    return VerifyingKey(key_id, key, algorithms)
