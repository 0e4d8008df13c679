"""Publishes in kube-system by which authorities clients and the front proxy are known, and mends what others make of
it.

Source: behaviour of kubernetes ``pkg/controlplane/controller/clusterauthenticationtrust``.
"""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.resources import ResourceClient
from controlplane.controllers.cluster_authentication.trust import combined_data
from controlplane.controllers.creation import create_unless_ending
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.keys import ReadTrust
from controlplane.reconcile.controller import Controller, Resync, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR", "PUBLISHED"]

NAME = "cluster-authentication-info"
NAMESPACES = GVR("", "v1", "namespaces")
CONFIGMAPS = GVR("", "v1", "configmaps")
PUBLISHED = Key("kube-system", "extension-apiserver-authentication")
ROUND_SECONDS = 60.0
"""Authorities are files, which may be replaced."""

log = logs.get(__name__)


class AuthenticationInfo:
    """``reconcile`` makes the ConfigMap say what it should."""

    def __init__(self, configmaps: ResourceClient, informer: Informer, trust: ReadTrust, clock: Clock) -> None:
        self._configmaps, self._store, self._trust, self._clock = configmaps, informer.store, trust, clock

    async def reconcile(self, key: Key) -> None:
        """Raises APIError: it cannot be written."""
        found = self._store.get(key)
        trust = await asyncio.to_thread(self._trust)
        existing = (found.get("data") or {}) if found is not None else {}
        try:
            data = combined_data(existing, trust, self._clock.now())
        except ValueError as error:
            log.warning("what was published cannot be read, it is replaced", configmap=str(key), error=error)
            data = combined_data({}, trust, self._clock.now())
        if found is None:
            metadata = {"namespace": key.namespace, "name": key.name}
            obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            await create_unless_ending(self._configmaps, obj)
        elif data != existing:
            try:
                await self._configmaps.update({**found, "data": data})
            except APIError as error:
                if error.reason != "NotFound":  # its deletion brings the next call
                    raise


def _kube_system(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
    """The namespace has come, so the ConfigMap can be made."""
    return tuple(PUBLISHED for key in own_key(old, new) if new is not None and key.name == PUBLISHED.namespace)


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching that ConfigMap and its namespace."""
    assert context.keys.client_trust is not None
    published = context.informers.get(
        CONFIGMAPS, namespaced=True, namespace=PUBLISHED.namespace, field_selector=f"metadata.name={PUBLISHED.name}"
    )
    namespaces = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    client = ResourceClient(context.client_for(NAME), CONFIGMAPS, namespaced=True)
    return Controller(
        NAME,
        watches=[Watch(published, own_key), Watch(namespaces, _kube_system)],
        reconcile=AuthenticationInfo(client, published, context.keys.client_trust, context.clock).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: [PUBLISHED]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(NAMESPACES.gr, CONFIGMAPS.gr),
    usable=lambda keys: keys.client_trust is not None,
    in_server=True,
    hook="start-cluster-authentication-info-controller",
)
