"""What others need to verify our tokens by themselves: the OpenID configuration and the keys.

Source: kubernetes' ``pkg/serviceaccount/openidmetadata.go``; OpenID Connect Discovery 1.0 section 3; RFC 7517.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from controlplane.apiserver.authentication.jws import VerifyingKey, base64url
from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer

__all__ = ["CONFIGURATION_PATH", "JWKS_PATH", "MAX_AGE_SECONDS", "IssuerDocuments"]

CONFIGURATION_PATH = "/.well-known/openid-configuration"
JWKS_PATH = "/openid/v1/jwks"
MAX_AGE_SECONDS = 3600
"""How long either may be kept by who has read it."""

_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


class IssuerDocuments:
    """Made when they are first asked for. ``address``: host and port of the server."""

    __slots__ = ("_address", "_config", "_issuer", "_keys")

    def __init__(self, config: ServiceAccountConfig, issuer: TokenIssuer, *, address: Callable[[], str]) -> None:
        self._config, self._issuer, self._address = config, issuer, address
        self._keys: list[dict[str, Any]] | None = None

    @property
    def available(self) -> bool:
        """Whether the issuer's name is a URL that such documents may be found under."""
        url = urlsplit(self._config.issuers[0])
        return url.scheme == "https" and not url.query and not url.fragment

    async def configuration(self) -> bytes:
        """The OpenID configuration, JSON. Raises KeyFileError."""
        keys = await self._jwks()
        return _json(
            {
                "issuer": self._config.issuers[0],
                "jwks_uri": self._config.jwks_uri or f"https://{self._address()}{JWKS_PATH}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": sorted({key["alg"] for key in keys}),
            }
        )

    async def jwks(self) -> bytes:
        """The keys, JSON. Raises KeyFileError."""
        return _json({"keys": await self._jwks()})

    async def _jwks(self) -> list[dict[str, Any]]:
        if self._keys is None:
            self._keys = [_jwk(key) for key in (await self._issuer.keys()).verifying]
        return self._keys


def _jwk(key: VerifyingKey) -> dict[str, Any]:
    head = {"use": "sig", "kid": key.key_id, "alg": key.algorithms[0]}
    numbers = key.key.public_numbers()
    if hasattr(numbers, "n"):
        return {**head, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
    size_bytes = (key.key.curve.key_size + 7) // 8
    point = {"x": _number(numbers.x, size_bytes), "y": _number(numbers.y, size_bytes)}
    return {**head, "kty": "EC", "crv": _CURVES[key.key.curve.name], **point}


def _number(value: int, size_bytes: int = 0) -> str:
    return base64url(value.to_bytes(size_bytes or (value.bit_length() + 7) // 8, "big"))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
