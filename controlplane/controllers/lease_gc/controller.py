"""Removes the identity leases of servers that have not renewed them: they ended without being able to give them back.

The times in a lease are by its server's clock, which may be hours from this one. So a lease that has run out by them is
watched first: one that is renewed meanwhile is alive, whatever it says.

Source: behaviour of kubernetes ``pkg/controlplane/controller/apiserverleasegc`` (label, namespace; once an hour there,
here also when a lease would run out; there the times alone decide).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.server_identity import IDENTITY_NAMESPACE, IDENTITY_SELECTOR
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.resources import ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Result, Resync, Watch, own_key

__all__ = ["DESCRIPTOR", "WATCH_SECONDS"]

NAME = "lease-garbage-collection"
LEASES = GVR("coordination.k8s.io", "v1", "leases")
ROUND_SECONDS = 3600.0
WATCH_SECONDS = 60.0
"""How long a lease is watched: servers renew theirs every 10 s, and every 7 s while that fails."""

log = logs.get(__name__)


class _Suspect(NamedTuple):
    """A lease that has run out: what it said when it was first seen so, and when that was."""

    spec: Obj
    since: float


class LeaseGarbageCollection:
    """``reconcile`` works on one lease."""

    def __init__(self, leases: ResourceClient, clock: Clock) -> None:
        self._leases, self._clock = leases, clock
        self._suspects: dict[Key, _Suspect] = {}

    async def reconcile(self, key: Key) -> Result | None:
        """Delete the lease if, read live, it has run out and is not renewed; look again when that may be."""
        try:
            lease = await self._leases.get(key)
            left = self._left(lease)
            if left > 0:
                self._suspects.pop(key, None)
                return Result(left)
            left = self._watched(key, lease)
            if left > 0:
                return Result(left)
            log.info("removing the lease of a server that has gone", lease=str(key))
            await self._leases.delete(key, uid=meta.uid(lease), resource_version=meta.resource_version(lease))
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):
                raise
        self._suspects.pop(key, None)
        return None

    def _watched(self, key: Key, lease: Obj) -> float:
        """Seconds for which a lease that has run out is still to be watched."""
        now, spec = self._clock.monotonic(), lease.get("spec") or {}
        suspect = self._suspects.get(key)
        if suspect is None or suspect.spec != spec:
            if suspect is not None:
                log.warning("a server renews a lease that has run out: clocks differ", lease=str(key))
            self._suspects[key] = suspect = _Suspect(spec, now)
        return suspect.since + WATCH_SECONDS - now

    def _left(self, lease: Obj) -> float:
        """Seconds until it has run out. One without times has."""
        spec = lease.get("spec") or {}
        renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
        if not renewed or seconds is None:
            return 0.0
        return float(meta.parse_time(renewed).timestamp() + seconds - self._clock.now())


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching identity leases by their metadata."""
    informer = context.informers.get(
        LEASES, namespaced=True, namespace=IDENTITY_NAMESPACE, label_selector=IDENTITY_SELECTOR, metadata_only=True
    )
    client = ResourceClient(context.client_for(NAME), LEASES, namespaced=True)
    return Controller(
        NAME,
        watches=[Watch(informer, _new_key)],
        reconcile=LeaseGarbageCollection(client, context.clock).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: [meta.key_of(lease) for lease in informer.store]),
        clock=context.clock,
    )


def _new_key(old: Obj | None, new: Obj | None) -> Iterable[Key]:
    """A lease that has come; that it is renewed, every 10 s, is seen when it would have run out."""
    return own_key(old, new) if old is None else ()


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(LEASES.gr,),
    in_server=True,
    hook="start-kube-apiserver-identity-lease-garbage-collector",
)
