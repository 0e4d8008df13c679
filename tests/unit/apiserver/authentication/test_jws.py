"""Signed tokens: nothing but a good signature by an allowed algorithm is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.apiserver.authentication.jws import (
    BadSignature,
    VerifyingKey,
    base64url,
    sign,
    unverified,
    verify,
)

KEY = ec.generate_private_key(ec.SECP256R1())
PUBLIC = VerifyingKey("k", KEY.public_key(), ("ES256",))
CLAIMS = {"iss": "https://issuer", "sub": "jane"}


def forged(header: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(part).encode() for part in (header, CLAIMS))
    return ".".join((*map(base64url, parts), base64url(signature)))


def test_a_signed_token_is_verified() -> None:
    token = sign(CLAIMS, KEY, algorithm="ES256", key_id="k")
    said = unverified(token)
    assert said is not None
    assert (said.issuer, said.key_id, dict(said.claims)) == ("https://issuer", "k", CLAIMS)
    assert said.header == {"alg": "ES256", "kid": "k"}
    verify(token, PUBLIC)


def of_public_key_as_secret() -> str:
    """The old trick: the public key, which everybody has, as the secret of a symmetric signature."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    head = forged({"alg": "HS256"}).rpartition(".")[0]
    made = hmac.HMAC(KEY.public_key().public_bytes(serialization.Encoding.PEM, form), hashes.SHA256())
    made.update(head.encode())
    return f"{head}.{base64url(made.finalize())}"


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(forged({"alg": "none"}), id="not signed"),
        pytest.param(forged({"alg": "ES256"}, b"x" * 64), id="forged"),
        pytest.param(forged({"alg": "ES384"}, b"x" * 64), id="another algorithm"),
        pytest.param(forged({}), id="no algorithm"),
        pytest.param(of_public_key_as_secret(), id="the public key as a secret"),
        pytest.param(
            sign(CLAIMS, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", key_id="k"), id="another key"
        ),
    ],
)
def test_what_is_not_signed_by_the_key_is_refused(token: str) -> None:
    with pytest.raises(BadSignature, match="error in cryptographic primitive"):
        verify(token, PUBLIC)


@pytest.mark.parametrize(
    "token",
    ["", "a.b", "a.b.c", "....", f"{base64url(b'[]')}.{base64url(b'{}')}.", f"{base64url(b'{}')}.{base64url(b'x')}.",
     f"{base64url(b'{}')}.{base64url(b'{' + b'[' * 40_000)}.", f"{base64url(b'{}')}.e30=.",
     f"{base64url(b'{}')}.{base64url(b'{' + chr(34).encode() + b'exp' + chr(34).encode() + b': NaN}')}."],
)  # fmt: skip
def test_what_is_no_token_is_nobodys(token: str) -> None:
    assert unverified(token) is None
