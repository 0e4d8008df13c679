"""Whether a bound token still holds: its times, its service account, the object it is bound to.

Source: kubernetes' ``pkg/serviceaccount/claims.go`` (its texts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.serviceaccounts import metrics
from controlplane.apiserver.authentication.serviceaccounts.claims import Bound
from controlplane.apiserver.authentication.serviceaccounts.objects import LiveObjects

__all__ = ["LEEWAY_SECONDS", "check_bound", "check_times"]

LEEWAY_SECONDS = 60.0
"""For clocks that differ, and for programs that finish while their account or secret is being deleted."""

INVALIDATED = "service account token has been invalidated"
UNREADABLE = "service account token claims could not be validated due to unexpected validation error"


def check_times(claims: Mapping[str, Any], now: float) -> None:
    """Raise BadCredentials unless the token is good at the time ``now`` (seconds since 1970)."""
    expires, not_before, issued = (claims.get(name) for name in ("exp", "nbf", "iat"))
    if not all(isinstance(value, (int, float, type(None))) for value in (expires, not_before, issued)):
        raise BadCredentials(UNREADABLE)
    if not_before is not None and now + LEEWAY_SECONDS < not_before:
        raise BadCredentials("service account token is not valid yet")
    if expires is not None and now - LEEWAY_SECONDS > expires:
        raise BadCredentials("service account token has expired")
    if issued is not None and now + LEEWAY_SECONDS < issued:
        raise BadCredentials(UNREADABLE)


async def check_bound(bound: Bound, claims: Mapping[str, Any], objects: LiveObjects, now: Callable[[], float]) -> None:
    """Check a token whose signature is good.

    Raises:
        BadCredentials.
    """
    time = now()
    check_times(claims, time)
    namespace, (name, uid) = bound.namespace, bound.account
    ended = time - LEEWAY_SECONDS
    account = await objects.account(namespace, name, uid=uid)
    if account is None:
        raise BadCredentials(f'serviceaccount "{name}" not found')
    if account.deleted_at is not None and account.deleted_at < ended:
        raise BadCredentials(f"service account {namespace}/{name} has been deleted")
    if account.uid != uid:
        raise BadCredentials(f"service account UID ({account.uid}) does not match claim ({uid})")
    if bound.secret is not None:
        secret = await objects.secret(namespace, bound.secret.name, uid=bound.secret.uid)
        if secret is None or (secret.deleted_at is not None and secret.deleted_at < ended):
            raise BadCredentials(INVALIDATED)
        if secret.uid != bound.secret.uid:
            raise BadCredentials(
                f"secret UID ({secret.uid}) does not match service account secret ref claim ({bound.secret.uid})"
            )
    if bound.pod is not None or bound.node is not None:
        raise BadCredentials(INVALIDATED)  # there are no pods and no nodes here, so the object is gone
    if bound.warn_after:
        (metrics.STALE_TOKENS if time > bound.warn_after else metrics.VALID_TOKENS).inc()
