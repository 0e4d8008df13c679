"""Which servers live, and which encryption configuration each has in force: as their identity leases say."""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR
from controlplane.apimachinery.server_identity import ENCRYPTION_HASH_ANNOTATION, IDENTITY_NAMESPACE, IDENTITY_SELECTOR
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient

__all__ = ["LiveServer", "Servers"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
GONE_SECONDS = 45.0
"""A server renews its lease every ten seconds and removes it when it ends; one that was killed leaves it behind. How
long a lease must be seen not to change: clocks of several machines are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """``digest`` of the configuration in force, ``""`` if the server says none. ``gone``: its lease is not renewed."""

    id: str
    digest: str
    gone: bool


class Servers:
    """The servers on one store."""

    def __init__(self, client: APIClient, clock: Clock) -> None:
        self._leases = ResourceClient(client, LEASES, namespaced=True)
        self._clock = clock
        self._renewed: dict[str, tuple[str, float]] = {}
        """By server, the last renewal and when it was first seen here."""

    async def now(self) -> list[LiveServer]:
        """What the leases say.

        Raises:
            APIError, ClientError.
        """
        listed = await self._leases.list(IDENTITY_NAMESPACE, label_selector=IDENTITY_SELECTOR)
        now, found = self._clock.monotonic(), []
        for lease in listed.items:
            server, renewed = meta.name(lease), str((lease.get("spec") or {}).get("renewTime"))
            known = self._renewed.get(server)
            if known is None or known[0] != renewed:
                known = self._renewed[server] = renewed, now
            digest = meta.annotations(lease).get(ENCRYPTION_HASH_ANNOTATION, "")
            found.append(LiveServer(id=server, digest=digest, gone=now - known[1] >= GONE_SECONDS))
        return found
