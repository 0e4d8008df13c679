"""Makes the namespaces that every server has, and makes them again if they go.

Source: behaviour of kubernetes ``pkg/controlplane/controller/systemnamespaces`` (the names, and a round every minute);
here a deletion is also answered at once.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import NAMESPACES
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Resync, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR", "SYSTEM_NAMESPACES", "SystemNamespaces"]

NAME = "system-namespaces"
SYSTEM_NAMESPACES = ("kube-system", "kube-public", "default")
ROUND_SECONDS = 60.0

log = logs.get(__name__)


class SystemNamespaces:
    """``reconcile`` makes one system namespace if it is missing."""

    def __init__(self, namespaces: ResourceClient, informer: Informer) -> None:
        self._namespaces, self._store = namespaces, informer.store

    async def reconcile(self, key: Key) -> None:
        """Make the namespace unless it exists. One that is being deleted exists."""
        if key in self._store:
            return
        try:
            await self._namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.name}})
        except APIError as e:
            if e.reason != "AlreadyExists":
                raise
        else:
            log.info("system namespace created", namespace=key.name)


def _system_key(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
    return tuple(key for key in own_key(old, new) if key.name in SYSTEM_NAMESPACES)


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, reading namespaces by their metadata alone."""
    informer = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    client = ResourceClient(context.client_for(NAME), NAMESPACES, namespaced=False)
    return Controller(
        NAME,
        watches=[Watch(informer, _system_key)],
        reconcile=SystemNamespaces(client, informer).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: [Key("", name) for name in SYSTEM_NAMESPACES]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(name=NAME, build=build, needs=(NAMESPACES.gr,), in_server=True)
