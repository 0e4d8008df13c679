"""The identity lease: one ``coordination.k8s.io/v1`` Lease a server in ``kube-system``, under the server's id, by which
people and controllers see which servers there are. A server's liveness is its peer record, not this.

Source: behaviour of kubernetes ``pkg/controlplane/apiserver`` (labels, times, deletion at start and end) and
kubernetes/component-helpers ``apimachinery/lease`` (renewal).
"""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.server_identity import (
    COMPONENT,
    COMPONENT_LABEL,
    HOSTNAME_LABEL,
    IDENTITY_NAMESPACE,
    PEER_ADDRESS_ANNOTATION,
)
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation.metadata import validate_labels
from controlplane.apiserver.identity.config import ServerIdentity
from controlplane.apiserver.identity.upkeep import REMOVE_SECONDS, Upkeep
from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339_micro
from controlplane.base.live import LiveMapping
from controlplane.base.waiting import within
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient

__all__ = ["IdentityLease"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
LEASE_SECONDS = 3600
RENEW_SECONDS = 10.0
RENEW_JITTER = 0.04
LONGEST_PAUSE_SECONDS = 7.0
DELETE_SECONDS = 10.0

log = logs.get(__name__)


class IdentityLease:
    """The lease of one server. ``show_address``: with where peers reach it."""

    def __init__(
        self,
        client: APIClient,
        server: ServerIdentity,
        *,
        annotations: LiveMapping,
        show_address: bool,
        clock: Clock,
    ) -> None:
        self._leases = ResourceClient(client, LEASES, namespaced=True)
        self._server, self._annotations, self._clock = server, annotations, clock
        self._key = Key(IDENTITY_NAMESPACE, server.id)
        self._address = {PEER_ADDRESS_ANNOTATION: server.peer_address} if show_address else {}
        self._labels = {COMPONENT_LABEL: COMPONENT, HOSTNAME_LABEL: server.hostname}
        if validate_labels(self._labels, "labels"):  # a host name may be longer than a label's value
            del self._labels[HOSTNAME_LABEL]
        self._lease: Obj | None = None
        self._annotated: frozenset[str] = frozenset()
        self._upkeep = Upkeep(
            f"identity lease {self._key}",
            self._write,
            annotations=annotations,
            interval_seconds=RENEW_SECONDS,
            longest_pause_seconds=LONGEST_PAUSE_SECONDS,
            jitter=RENEW_JITTER,
            clock=clock,
        )

    async def run(self) -> None:
        """Remove what an earlier process has left, then keep the lease until ``stop``."""
        try:
            await within(self._clock, DELETE_SECONDS, self._delete())
        except (APIError, ClientError, TimeoutError) as error:
            log.warning("cannot remove the lease of an earlier process", lease=str(self._key), error=error)
        await self._upkeep.run()

    async def written(self) -> None:
        """Wait until there is a lease."""
        await self._upkeep.written.wait()

    async def stop(self) -> None:
        """Renew no more, and remove the lease; if that cannot be done in ``REMOVE_SECONDS``, it runs out by itself."""
        await self._upkeep.stop()
        try:
            await within(self._clock, REMOVE_SECONDS, self._delete())
        except (APIError, ClientError, TimeoutError) as error:
            log.warning("the identity lease is not removed, and runs out", lease=str(self._key), error=error)

    async def _delete(self) -> None:
        try:
            await self._leases.delete(self._key)
        except APIError as error:
            if error.reason != "NotFound":
                raise

    async def _write(self) -> None:
        """Renew the lease as last seen; read it anew after a failure, and create it where there is none."""
        seen, self._lease = self._lease, None
        if seen is None:
            seen = await self._read()
        now = rfc3339_micro(self._clock.now())
        annotations = {**self._annotations, **self._address}
        if seen is None:
            self._lease = await self._leases.create(self._renewed({}, now, annotations))
        else:
            self._lease = await self._leases.update(self._renewed(seen, now, annotations))
        self._annotated = frozenset(annotations)

    async def _read(self) -> Obj | None:
        try:
            return await self._leases.get(self._key)
        except APIError as error:
            if error.reason == "NotFound":
                return None
            raise

    def _renewed(self, lease: Obj, now: str, annotations: dict[str, str]) -> Obj:
        """The lease with our holder and now; annotations that are no longer set are gone, those of others stay."""
        gone = self._annotated.difference(annotations)
        kept = {name: value for name, value in meta.annotations(lease).items() if name not in gone} if lease else {}
        metadata = dict(meta.metadata(lease)) if lease else {}
        metadata |= {"name": self._key.name, "namespace": self._key.namespace}
        metadata["labels"] = {**(meta.labels(lease) if lease else {}), **self._labels}
        metadata["annotations"] = {**kept, **annotations}
        spec = {"holderIdentity": self._server.holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {**(lease.get("spec") or {}), **spec},
        }
