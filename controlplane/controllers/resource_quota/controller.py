"""Counts what is there for each resource quota, after every deletion of something that a quota counts.

Creations are charged by admission; this controller makes the counts true: when a quota is new or changed, when
something that it counts is gone, and every five minutes. Only resources that some quota counts are watched, and objects
are counted by the server (a list of one item says how many follow), so an unused controller costs nothing.

Source: behaviour of kubernetes ``pkg/controller/resourcequota``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, Key, Obj
from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.quota_names import counted_resource
from controlplane.base.tasks import TaskGroup
from controlplane.client.discovery import APIResource
from controlplane.client.resources import ResourceClient
from controlplane.client.watch import WatchEvent
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor, definition_watches
from controlplane.reconcile.controller import Controller, Resync, Watch, own_key
from controlplane.reconcile.monitors import MonitorSet

__all__ = ["DESCRIPTOR", "ResourceQuotas"]

NAME = "resource-quota"
ACCOUNT = "resourcequota-controller"
QUOTAS = GVR("", "v1", "resourcequotas")
ROUND_SECONDS = 300.0
WORKERS = 5
_QUOTABLE = frozenset({"create", "delete", "list", "watch"})
"""The verbs of a resource whose objects can be counted."""


class ResourceQuotas:
    """Runs like a ``Controller``: ``run`` until cancelled, ``working`` while it does."""

    def __init__(self, context: ControllerContext) -> None:
        self.name = NAME
        self._client = context.client_for(NAME)
        self._quotas = ResourceClient(self._client, QUOTAS, namespaced=True)
        informer = context.informers.get(QUOTAS, namespaced=True)
        self._known = informer.store
        informer.add_handler(self._quota_changed)
        self._counted: dict[GroupResource, dict[Key, None]] = defaultdict(dict)
        self._controller: Controller[Key] = Controller(
            NAME,
            watches=[Watch(informer, _asked)],
            reconcile=self._reconcile,
            workers=WORKERS,
            resync=Resync(ROUND_SECONDS, lambda: [meta.key_of(quota) for quota in self._known]),
            clock=context.clock,
        )
        self._monitors = MonitorSet(
            NAME,
            self._client,
            wanted=lambda resource: resource.gvr.gr in self._counted and resource.verbs >= _QUOTABLE,
            monitor=lambda resource: _Deletions(resource, self._object_gone),
            clock=context.clock,
            on_change=self._count_all,
        )
        self.watches = (*self._controller.watches, *definition_watches(context, self._look))
        self.working = self._controller.working

    async def run(self) -> None:
        """Count until cancelled."""
        async with TaskGroup(NAME) as group:
            group.start(self._monitors.run(), name="monitors")
            await self._monitors.begun.wait()
            await self._controller.run()

    async def _reconcile(self, key: Key) -> None:
        quota = self._known.get(key)
        if quota is None:
            return
        hard = quota["spec"].get("hard") or {}
        status = quota.get("status") or {}
        before = status.get("used") or {}
        used = {name: before[name] for name in hard if name in before}  # what cannot be counted now stays as it was
        for name in hard:
            count = await self._count(name, key.namespace)
            if count is not None:
                used[name] = str(count)
        if (status.get("hard") or {}) == hard and before == used:
            return
        told = {name: value for name, value in (("hard", hard), ("used", used)) if value}
        await self._quotas.update_status({**quota, "status": told})

    async def _count(self, name: str, namespace: str) -> int | None:
        """How many objects a name stands for; None for a name that nobody here can count."""
        wanted = counted_resource(name)
        if wanted is None:
            return None
        resource = self._monitors.of_resource(wanted)
        if resource is None or not resource.namespaced:
            return None
        first = await ResourceClient(self._client, resource.gvr, namespaced=True).list(
            namespace, limit=1, metadata_only=True
        )
        return len(first.items) + (first.remaining or 0)

    def _quota_changed(self, old: Obj | None, new: Obj | None) -> None:
        """Keep which resources are counted by which quotas."""
        key = meta.key_of(new if new is not None else old or {})
        before = set(self._counted)
        for quotas in self._counted.values():
            quotas.pop(key, None)
        for name in (new or {}).get("spec", {}).get("hard") or ():
            resource = counted_resource(name)
            if resource is not None:
                self._counted[resource][key] = None
        for resource in [resource for resource, quotas in self._counted.items() if not quotas]:
            del self._counted[resource]
        if set(self._counted) != before:
            self._look()

    def _object_gone(self, resource: GroupResource, namespace: str) -> None:
        for key in self._counted.get(resource, ()):
            if key.namespace == namespace:
                self._controller.add(key)

    def _count_all(self) -> None:
        for quota in self._known:
            self._controller.add(meta.key_of(quota))

    def _look(self) -> None:
        self._monitors.look()


def _asked(old: Obj | None, new: Obj | None) -> tuple[Key, ...]:
    """A quota is counted when it asks for something else, as upstream. Not when its status is written: admission does
    that just before it lets an object be stored, which a count would miss and take back."""
    if old is not None and new is not None and _hard(old) == _hard(new):
        return ()
    return own_key(old, new)


def _hard(quota: Obj) -> Obj:
    hard: Obj = (quota.get("spec") or {}).get("hard") or {}
    return hard


class _Deletions:
    """Hears of one resource's deletions. After a gap in the watch, anything may have gone."""

    def __init__(self, resource: APIResource, gone: Callable[[GroupResource, str], None]) -> None:
        self.synced = asyncio.Event()
        self._resource, self._gone = resource.gvr.gr, gone
        self._namespaces: set[str] = set()

    def begin_load(self) -> None:
        """What was there before is remembered: it may be gone."""

    def load(self, obj: Obj) -> None:
        self._namespaces.add(meta.namespace(obj))

    def unload(self, obj: Obj) -> None:
        """Loads end with a count of every namespace."""

    async def end_load(self) -> None:
        self.synced.set()
        for namespace in self._namespaces:
            self._gone(self._resource, namespace)

    def apply(self, event: WatchEvent) -> None:
        namespace = meta.namespace(event.object)
        self._namespaces.add(namespace)
        if event.type == "DELETED":
            self._gone(self._resource, namespace)

    def removed(self) -> None:
        for namespace in self._namespaces:
            self._gone(self._resource, namespace)


def build(context: ControllerContext) -> ResourceQuotas:
    """The controller, watching quotas and what they count."""
    return ResourceQuotas(context)


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(QUOTAS.gr,),
    account=ACCOUNT,
    rules=(
        PolicyRule(("list", "watch"), (ALL,), (ALL,)),
        PolicyRule(("update",), ("",), ("resourcequotas/status",)),
        PolicyRule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)),
    ),
)
