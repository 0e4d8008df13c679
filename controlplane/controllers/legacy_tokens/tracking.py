"""Says since when the use of tokens that are kept in secrets is recorded (a label on the secret, with the day).

Source: behaviour of kubernetes ``pkg/controlplane/controller/legacytokentracking``.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from controlplane.apimachinery.identity import Key, Obj
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import ACCOUNTS, CONFIGMAPS, NAMESPACES, SECRETS
from controlplane.controllers.creation import create_unless_ending
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Resync, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR", "TRACKED_SINCE", "day_of", "read_day"]

NAME = "legacy-token-tracking"
TRACKED_SINCE = Key("kube-system", "kube-apiserver-legacy-service-account-token-tracking")
ROUND_SECONDS = 1800.0


def day_of(seconds: float) -> str:
    """A time (seconds since 1970) as labels and the ConfigMap carry it: ``2026-11-30``."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def read_day(text: str) -> date | None:
    """The day that a label or the ConfigMap says; None if it says none."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


class LegacyTokenTracking:
    """``reconcile`` keeps the one ConfigMap."""

    def __init__(self, configmaps: ResourceClient, informer: Informer, context: ControllerContext) -> None:
        self._configmaps, self._known, self._clock = configmaps, informer.store, context.clock

    async def reconcile(self, key: Key) -> None:
        """Make the ConfigMap, or the day in it readable again."""
        today = {"since": day_of(self._clock.now())}
        found = self._known.get(key)
        if found is None:
            metadata = {"namespace": key.namespace, "name": key.name}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": today}
            await create_unless_ending(self._configmaps, obj)
        elif read_day((found.get("data") or {}).get("since") or "") is None:
            await self._configmaps.update({**found, "data": today})


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching the one ConfigMap and its namespace."""
    informer = context.informers.get(
        CONFIGMAPS,
        namespaced=True,
        namespace=TRACKED_SINCE.namespace,
        field_selector=f"metadata.name={TRACKED_SINCE.name}",
    )
    namespaces = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    client = ResourceClient(context.client_for(NAME), CONFIGMAPS, namespaced=True)

    def of_ours(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
        return tuple(key for key in own_key(old, new) if key == TRACKED_SINCE)

    def of_its_namespace(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
        return (TRACKED_SINCE,) if Key("", TRACKED_SINCE.namespace) in own_key(old, new) else ()

    return Controller(
        NAME,
        watches=[Watch(informer, of_ours), Watch(namespaces, of_its_namespace)],
        reconcile=LegacyTokenTracking(client, informer, context).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: [TRACKED_SINCE]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(NAMESPACES.gr, CONFIGMAPS.gr, SECRETS.gr, ACCOUNTS.gr),
    in_server=True,
    hook="start-legacy-token-tracking-controller",
)
