"""Makes the flow schemas and priority levels that come with a server, and keeps them as they should be.

What is mandatory is always made true. What is suggested is left alone once an operator has changed it, or says so by
the annotation ``apf.kubernetes.io/autoupdate-spec``; an object of an earlier release that nobody has taken over is
removed.

Source: behaviour of kubernetes ``pkg/registry/flowcontrol/{rest,ensurer}`` (order, conditions, field manager, a round
every minute: what an operator removes stays away until then).
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apis.flowcontrol.mandatory import MANDATORY_FLOW_SCHEMAS, MANDATORY_PRIORITY_LEVELS
from controlplane.base import logs
from controlplane.base.tasks import TaskGroup
from controlplane.client.resources import ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.flow_control.suggested import SUGGESTED_FLOW_SCHEMAS, SUGGESTED_PRIORITY_LEVELS
from controlplane.reconcile.controller import Controller, Resync, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["AUTOUPDATE", "DESCRIPTOR", "FLOW_SCHEMAS", "PRIORITY_LEVELS"]

NAME = "flow-control-bootstrap"
GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS = GVR(GROUP, "v1", "flowschemas")
PRIORITY_LEVELS = GVR(GROUP, "v1", "prioritylevelconfigurations")
AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"
FIELD_MANAGER = "api-priority-and-fairness-config-producer-v1"
ROUND_SECONDS = 60.0

_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""What the annotation's value may be."""

log = logs.get(__name__)


class _Kind(NamedTuple):
    """One of the two kinds, and what there should be of it: specs by name."""

    kind: str
    client: ResourceClient
    informer: Informer
    suggested: Mapping[str, Obj]
    mandatory: Mapping[str, Obj]


class BootstrapObjects:
    """``reconcile`` is one round over all objects."""

    def __init__(self, flow_schemas: _Kind, priority_levels: _Kind) -> None:
        self._kinds = (flow_schemas, priority_levels)

    async def reconcile(self, _round: str) -> None:
        """Raises APIError: something cannot be written; what comes after it in the order is then left for the next
        round."""
        for kind in self._kinds:
            await _together(_ensure(kind, name, spec, always=False) for name, spec in kind.suggested.items())
        for kind in self._kinds:
            await _together(_ensure(kind, name, spec, always=True) for name, spec in kind.mandatory.items())
        for kind in self._kinds:
            await _together(_remove(kind, obj) for obj in _left_over(kind))


async def _together(work: Iterator[Coroutine[Any, Any, None]]) -> None:
    """Writes that wait together share a commit of the store."""
    async with TaskGroup(NAME) as group:
        for task in [group.start(one, name="object") for one in work]:
            await task


async def _ensure(kind: _Kind, name: str, spec: Obj, *, always: bool) -> None:
    """Make or mend one object. ``always``: its spec is not the operator's to change."""
    present = kind.informer.store.get(Key("", name))
    if present is None:
        metadata = {"name": name, "annotations": {AUTOUPDATE: "true"}}
        made: Obj = {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, "metadata": metadata, "spec": spec}
        try:
            await kind.client.create(made, field_manager=FIELD_MANAGER)
        except APIError as error:
            if error.reason != "AlreadyExists":  # another replica's
                raise
        return
    ours = always or _is_ours(present)
    wanted = {**present, "spec": _as_it_should_be(name, spec, present["spec"])} if ours else dict(present)
    if _BOOLEANS.get(meta.annotations(present).get(AUTOUPDATE, "")) is not ours:
        annotations = {**meta.annotations(present), AUTOUPDATE: str(ours).lower()}
        wanted["metadata"] = {**present["metadata"], "annotations": annotations}
    if wanted != present:
        await kind.client.update(wanted, field_manager=FIELD_MANAGER)
        log.info("brought a flow control object up to date", kind=kind.kind, name=name)


def _is_ours(present: Obj) -> bool:
    """Whether a suggested object follows the server: its annotation says it; where that says nothing, nobody has
    changed its spec."""
    said = _BOOLEANS.get(meta.annotations(present).get(AUTOUPDATE, ""))
    return meta.generation(present) == 1 if said is None else said


def _as_it_should_be(name: str, spec: Obj, present: Obj) -> Obj:
    """The figures of the exempt level are the operator's."""
    figures: Any = present.get("exempt")
    return {**spec, "exempt": figures} if name == "exempt" and "exempt" in spec and figures is not None else spec


def _left_over(kind: _Kind) -> Iterator[Obj]:
    for obj in kind.informer.store:
        name = meta.name(obj)
        if name in kind.suggested or name in kind.mandatory:
            continue
        if _BOOLEANS.get(meta.annotations(obj).get(AUTOUPDATE, "")):
            yield obj


async def _remove(kind: _Kind, obj: Obj) -> None:
    try:
        await kind.client.delete(meta.key_of(obj), uid=meta.uid(obj), resource_version=meta.resource_version(obj))
    except APIError as error:
        if error.reason != "NotFound":
            raise
        return
    log.info("removed a flow control object that no longer comes with the server", kind=kind.kind, name=meta.name(obj))


def build(context: ControllerContext) -> Controller[str]:
    """The controller; changes of the objects wait for the next round."""

    def kind(name: str, gvr: GVR, suggested: Mapping[str, Obj], mandatory: Mapping[str, Obj]) -> _Kind:
        client = ResourceClient(context.client_for(NAME), gvr, namespaced=False)
        return _Kind(name, client, context.informers.get(gvr, namespaced=False), suggested, mandatory)

    kinds = (
        kind("FlowSchema", FLOW_SCHEMAS, SUGGESTED_FLOW_SCHEMAS, MANDATORY_FLOW_SCHEMAS),
        kind("PriorityLevelConfiguration", PRIORITY_LEVELS, SUGGESTED_PRIORITY_LEVELS, MANDATORY_PRIORITY_LEVELS),
    )
    return Controller(
        NAME,
        watches=[Watch(one.informer, lambda _old, _new: ()) for one in kinds],
        reconcile=BootstrapObjects(*kinds).reconcile,
        resync=Resync(ROUND_SECONDS, lambda: ["round"]),
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(FLOW_SCHEMAS.gr, PRIORITY_LEVELS.gr),
    in_server=True,
    after_ready=True,
    hook="priority-and-fairness-config-producer",
)
