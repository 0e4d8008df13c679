"""Which servers live, and which encryption configuration each has in force: as their identity leases say."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Obj
from controlplane.apimachinery.server_identity import ENCRYPTION_HASH_ANNOTATION, IDENTITY_NAMESPACE, IDENTITY_SELECTOR
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient

__all__ = ["ASK_SECONDS", "configurations"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
ASK_SECONDS = 1.0
RENEWED_WITHIN_SECONDS = 60.0
"""A server renews its lease every ten seconds and removes it when it ends; one that was killed leaves it behind."""


async def configurations(client: APIClient, clock: Clock) -> Mapping[str, str]:
    """The hash of the configuration in force by server id, ``""`` for a server that says none.

    Raises:
        APIError, ClientError.
    """
    leases = ResourceClient(client, LEASES, namespaced=True)
    listed = await leases.list(IDENTITY_NAMESPACE, label_selector=IDENTITY_SELECTOR)
    now = clock.now()
    return {
        meta.name(lease): meta.annotations(lease).get(ENCRYPTION_HASH_ANNOTATION, "")
        for lease in listed.items
        if now - _renewed(lease) < RENEWED_WITHIN_SECONDS
    }


def _renewed(lease: Obj) -> float:
    """When, in seconds since 1970; 0: never."""
    at = (lease.get("spec") or {}).get("renewTime")
    return meta.parse_time(at).timestamp() if at else 0.0
