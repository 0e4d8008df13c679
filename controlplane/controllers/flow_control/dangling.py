"""Says of every flow schema whether its priority level exists.

Source: behaviour of kubernetes/apiserver ``pkg/util/flowcontrol`` (type, reasons, texts, field manager).
"""

from __future__ import annotations

from datetime import UTC, datetime

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import Clock
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.flow_control.bootstrap import FLOW_SCHEMAS, PRIORITY_LEVELS
from controlplane.reconcile.controller import Controller, Watch, own_key
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "flow-control-conditions"
FIELD_MANAGER = "api-priority-and-fairness-config-consumer-v1"


class DanglingConditions:
    """``reconcile`` works on one flow schema."""

    def __init__(self, client: ResourceClient, schemas: Informer, levels: Informer, clock: Clock) -> None:
        self._client, self._schemas, self._levels, self._clock = client, schemas.store, levels.store, clock

    async def reconcile(self, key: Key) -> None:
        """Apply the condition, where it is not there as it should be."""
        schema = self._schemas.get(key)
        if schema is None:
            return
        condition = self._condition(_level_of(schema))
        for present in (schema.get("status") or {}).get("conditions") or ():
            if {**condition, "lastTransitionTime": present.get("lastTransitionTime")} == present:
                return
        now = meta.format_time(datetime.fromtimestamp(self._clock.now(), UTC))
        applied: Obj = {
            "apiVersion": schema["apiVersion"],
            "kind": schema["kind"],
            "metadata": {"name": key.name},
            "status": {"conditions": [{**condition, "lastTransitionTime": now}]},
        }
        try:
            await self._client.patch(
                key, applied, PatchType.APPLY, subresource="status", field_manager=FIELD_MANAGER, force=True
            )
        except APIError as error:
            if error.reason != "NotFound":
                raise

    def keys_of_level(self, old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
        """The flow schemas of a priority level that has come or gone."""
        level = old or new
        if level is None or (old is not None and new is not None):
            return ()
        name = meta.name(level)
        return tuple(meta.key_of(schema) for schema in self._schemas if _level_of(schema) == name)

    def _condition(self, level: str) -> Obj:
        about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        if Key("", level) in self._levels:
            return {"type": "Dangling", "status": "False", "reason": "Found", "message": f"{about} and it exists"}
        return {
            "type": "Dangling",
            "status": "True",
            "reason": "NotFound",
            "message": f"{about} but there is no such object",
        }


def _level_of(schema: Obj) -> str:
    return str(schema["spec"]["priorityLevelConfiguration"]["name"])


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching both kinds."""
    schemas = context.informers.get(FLOW_SCHEMAS, namespaced=False)
    levels = context.informers.get(PRIORITY_LEVELS, namespaced=False)
    client = ResourceClient(context.client_for(NAME), FLOW_SCHEMAS, namespaced=False)
    conditions = DanglingConditions(client, schemas, levels, context.clock)
    return Controller(
        NAME,
        watches=[Watch(schemas, own_key), Watch(levels, conditions.keys_of_level)],
        reconcile=conditions.reconcile,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(FLOW_SCHEMAS.gr, PRIORITY_LEVELS.gr),
    in_server=True,
    after_ready=True,
    hook="priority-and-fairness-config-consumer",
)
