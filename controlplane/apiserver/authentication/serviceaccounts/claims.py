"""What service account tokens say: bound tokens, and those that are kept in secrets.

Source: kubernetes' ``pkg/serviceaccount/claims.go`` and ``legacy.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from controlplane.apimachinery.service_accounts import username_of

__all__ = ["LEGACY_ISSUER", "LEGACY_PREFIX", "Bound", "Reference", "bound_claims", "secret_claims"]

LEGACY_ISSUER = "kubernetes/serviceaccount"
LEGACY_PREFIX = "kubernetes.io/serviceaccount/"
"""Of the claims of tokens that are kept in secrets."""


class Reference(NamedTuple):
    """An object that a token is bound to."""

    name: str
    uid: str

    @classmethod
    def read(cls, value: Any) -> Reference | None:
        """From a claim; None: there is none.

        Raises:
            ValueError: not of this form.
        """
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ValueError("a reference is an object")
        name, uid = value.get("name", ""), value.get("uid", "")
        if not isinstance(name, str) or not isinstance(uid, str):
            raise ValueError("name and uid are texts")
        return cls(name, uid)


class Bound(NamedTuple):
    """What a bound token says in its claim ``kubernetes.io``."""

    namespace: str
    account: Reference
    secret: Reference | None
    pod: Reference | None
    node: Reference | None
    warn_after: float

    @classmethod
    def read(cls, claims: Any) -> Bound:
        """Raises ValueError: not of this form."""
        value = claims.get("kubernetes.io") or {}
        if not isinstance(value, dict):
            raise ValueError("kubernetes.io is an object")
        namespace, warn_after = value.get("namespace", ""), value.get("warnafter", 0)
        if not isinstance(namespace, str) or not isinstance(warn_after, (int, float)):
            raise ValueError("namespace is a text and warnafter a time")
        return cls(
            namespace,
            Reference.read(value.get("serviceaccount")) or Reference("", ""),
            Reference.read(value.get("secret")),
            Reference.read(value.get("pod")),
            Reference.read(value.get("node")),
            warn_after,
        )


def secret_claims(namespace: str, account: Reference, secret_name: str) -> dict[str, Any]:
    """What a token says that is kept in a secret."""
    return {
        "iss": LEGACY_ISSUER,
        "sub": username_of(namespace, account.name),
        f"{LEGACY_PREFIX}namespace": namespace,
        f"{LEGACY_PREFIX}secret.name": secret_name,
        f"{LEGACY_PREFIX}service-account.name": account.name,
        f"{LEGACY_PREFIX}service-account.uid": account.uid,
    }


def bound_claims(
    *,
    namespace: str,
    account: Reference,
    secret: Reference | None,
    audiences: list[str],
    issuer: str,
    now_seconds: int,
    seconds: int,
    new_id: Callable[[], str],
) -> dict[str, Any]:
    """The claims of a new token, good from now on."""
    private: dict[str, Any] = {"namespace": namespace, "serviceaccount": account._asdict()}
    if secret is not None:
        private["secret"] = secret._asdict()
    return {
        "aud": audiences,
        "exp": now_seconds + seconds,
        "iat": now_seconds,
        "iss": issuer,
        "jti": new_id(),
        "kubernetes.io": private,
        "nbf": now_seconds,
        "sub": username_of(namespace, account.name),
    }
