"""API services for what is served here: one for each version of each group, made and kept by the server itself.

Those of built-in groups are made once a start and are then anybody's to change; those of custom resources are kept as
they should be, and go with the last resource of their version. An object without the label is nobody's but its owner's.

Upstream's servers sweep away at their start what they do not serve, a newer server's on the same store among it. Here
what another live server serves stays, and so does what it may serve as long as it has not said.

Source: kubernetes/kube-aggregator ``pkg/controllers/autoregister`` (its table of cases), kubernetes
``pkg/controlplane/apiserver/aggregator.go`` and ``pkg/controlplane/controller/crdregistration``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from controlplane.aggregator.registration import Registration
from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupVersion, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.table import ResourceTable, ServedGroup
from controlplane.client.resources import ResourceClient

__all__ = ["APISERVICES", "MANAGED", "AutoRegistration", "Managed", "Step", "built_in", "custom", "next_step"]

APISERVICES = GVR("apiregistration.k8s.io", "v1", "apiservices")
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
CUSTOM_GROUP_PRIORITY, CUSTOM_VERSION_PRIORITY = 1000, 100
VERSION_PRIORITY = 15
"""Of built-in versions, but for these."""
VERSION_PRIORITIES: Mapping[GroupVersion, int] = {
    GroupVersion("", "v1"): 1,
    GroupVersion("flowcontrol.apiserver.k8s.io", "v1"): 21,
    GroupVersion("internal.apiserver.k8s.io", "v1alpha1"): 9,
    GroupVersion("storagemigration.k8s.io", "v1beta1"): 9,
}
"""Source: kubernetes/kubernetes ``pkg/controlplane/apiserver/aggregator.go``."""


class Managed(Enum):
    """The label's values: how an object wants to be kept."""

    ON_START = "onstart"
    ALWAYS = "true"


class Step(Enum):
    """What is to be done about one object."""

    NOTHING = "nothing"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


def built_in(table: ResourceTable, priorities: Mapping[str, int]) -> dict[str, Obj]:
    """The API services of what a server has from its start, by name. ``priorities``: of groups; one without any is
    listed as custom groups are. The group of API services itself has none: it is served here in any case."""
    return {
        obj["metadata"]["name"]: obj
        for group in table.local_groups
        if group.name != APISERVICES.group
        for version in group.versions
        for obj in (
            _api_service(
                GroupVersion(group.name, version.name),
                priorities.get(group.name, CUSTOM_GROUP_PRIORITY),
                VERSION_PRIORITIES.get(GroupVersion(group.name, version.name), VERSION_PRIORITY),
                Managed.ON_START,
            ),
        )
    }


def custom(table: ResourceTable, beside: Mapping[str, Obj]) -> dict[str, Obj]:
    """The API services of what has come since, by name: those of custom resources."""
    found: dict[str, Obj] = {}
    for group in table.local_groups:
        if group.name != APISERVICES.group:
            found.update(_custom_in(group))
    for name in beside:
        found.pop(name, None)
    return found


def _custom_in(group: ServedGroup) -> dict[str, Obj]:
    """The API services of a custom group, by name; made once, whatever the number of tables that it is in."""
    made: dict[str, Obj] | None = group.memo.get("api-services")
    if made is None:
        versions = [GroupVersion(group.name, version.name) for version in group.versions]
        made = group.memo["api-services"] = {
            _name(gv): _api_service(gv, CUSTOM_GROUP_PRIORITY, CUSTOM_VERSION_PRIORITY, Managed.ALWAYS)
            for gv in versions
        }
    return made


def next_step(desired: Obj | None, current: Obj | None, *, synced: bool, at_start: bool) -> Step:
    """What to do. ``synced``: it has been seen to once; ``at_start``: it was there when the server started."""
    if current is None and desired is None:
        return Step.NOTHING
    if _managed(desired) is Managed.ON_START and synced:
        return Step.NOTHING
    if current is None:
        return Step.CREATE
    kept = _managed(current)
    if kept is None or (kept is Managed.ON_START and (synced or not at_start)):
        return Step.NOTHING
    if desired is None:
        return Step.DELETE
    return Step.NOTHING if current["spec"] == desired["spec"] else Step.UPDATE


class AutoRegistration:
    """``reconcile`` sees to one API service, by its name.

    Args:
        wanted: those that there should be now. ``current``: those that there are.
        at_start: the names of those that there were when the server started.
        elsewhere: whether another live server serves a version; None: somebody has not said.
        knows_custom: whether custom resources are served here, so that one that is not is nobody's.
        awaited: whether one is still to be seen by this server, which is not ready before: it is made again if a
            server of another version, which does not serve it, has just swept it away.
    """

    def __init__(
        self,
        client: ResourceClient,
        wanted: Callable[[], Mapping[str, Obj]],
        current: Callable[[], Mapping[str, Registration]],
        at_start: frozenset[str],
        *,
        elsewhere: Callable[[GroupVersion], bool | None] = lambda _gv: False,
        knows_custom: bool = True,
        awaited: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self._client, self._wanted, self._current, self._awaited = client, wanted, current, awaited
        self._elsewhere, self._knows_custom = elsewhere, knows_custom
        self._at_start, self._synced = at_start, set[str]()

    def names(self) -> list[str]:
        """All that may want work."""
        return sorted({*self._wanted(), *self._current()})

    async def reconcile(self, name: str) -> None:
        """Do the next step, if there is one.

        Raises:
            APIError: it could not be done.
        """
        desired, registration = self._wanted().get(name), self._current().get(name)
        current = registration.obj if registration is not None else None
        synced = name in self._synced and not (current is None and self._awaited(name))
        step = next_step(desired, current, synced=synced, at_start=name in self._at_start)
        if step is Step.DELETE and registration is not None:
            served_elsewhere = self._elsewhere(registration.gv)
            if served_elsewhere is None and not (_managed(current) is Managed.ALWAYS and self._knows_custom):
                return  # to be looked at again
            if served_elsewhere:
                step = Step.NOTHING
        try:
            await self._do(step, desired, current)
        except APIError as error:  # made, changed or deleted meanwhile: that brings the next call
            if error.reason not in _MEANWHILE[step]:
                raise
        self._synced.add(name)

    async def _do(self, step: Step, desired: Obj | None, current: Obj | None) -> None:
        if step is Step.CREATE and desired is not None:
            await self._client.create(desired)
        elif step is Step.UPDATE and desired is not None and current is not None:
            await self._client.update({**current, "spec": desired["spec"]})
        elif step is Step.DELETE and current is not None:
            await self._client.delete(Key("", meta.name(current)), uid=meta.uid(current))


_MEANWHILE: Mapping[Step, frozenset[str]] = {
    Step.NOTHING: frozenset(),
    Step.CREATE: frozenset({"AlreadyExists"}),
    Step.UPDATE: frozenset({"NotFound", "Conflict"}),
    Step.DELETE: frozenset({"NotFound", "Conflict"}),
}


def _managed(obj: Obj | None) -> Managed | None:
    """How an object wants to be kept; None: it is not the server's."""
    label = meta.labels(obj).get(MANAGED) if obj is not None else None
    return next((managed for managed in Managed if managed.value == label), None)


def _name(gv: GroupVersion) -> str:
    return f"{gv.version}.{gv.group}"


def _api_service(gv: GroupVersion, group_priority: int, version_priority: int, managed: Managed) -> Obj:
    group = {"group": gv.group} if gv.group else {}
    return {
        "apiVersion": f"{APISERVICES.group}/{APISERVICES.version}",
        "kind": "APIService",
        "metadata": {"name": _name(gv), "labels": {MANAGED: managed.value}},
        "spec": {
            **group,
            "version": gv.version,
            "groupPriorityMinimum": group_priority,
            "versionPriority": version_priority,
        },
    }
