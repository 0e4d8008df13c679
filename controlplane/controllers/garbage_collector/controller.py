"""The garbage collector: objects whose owners are gone go too, and deletions that concern dependents are carried out.

``GarbageCollector`` is monitors (what there is), an observer (the graph), and two queues of work. Its state is derived
from the server alone, so it may be stopped anywhere and started again.

Source: behaviour of kubernetes ``pkg/controller/garbagecollector`` and ``cmd/kube-controller-manager/app/core.go``.
"""

from __future__ import annotations

import asyncio
import sys

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.base import logs, metrics
from controlplane.base.tasks import TaskGroup
from controlplane.client.discovery import APIResource
from controlplane.client.watch import WatchEvent
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor, definition_watches
from controlplane.controllers.garbage_collector.collect import Collector
from controlplane.controllers.garbage_collector.graph import Identity, Node
from controlplane.controllers.garbage_collector.live import LiveObjects
from controlplane.controllers.garbage_collector.observed import Observer
from controlplane.reconcile.controller import Controller, Result, Watch
from controlplane.reconcile.events import EventRecorder
from controlplane.reconcile.monitors import MonitorSet

__all__ = ["DESCRIPTOR", "GarbageCollector"]

NAME = "garbage-collector"
ACCOUNT = "generic-garbage-collector"
COMPONENT = "garbage-collector-controller"
WORKERS = 20
_NODES_PER_TURN = 4096
"""Of the whole graph looked at before others get a turn of the loop: about 1 ms."""

_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
"""Events neither own nor are owned, and there are many."""

SYNC_ERRORS = metrics.counter(
    "garbagecollector_controller_resources_sync_error_total", "Number of garbage collector resources sync errors"
)

log = logs.get(__name__)


class GarbageCollector:
    """Runs like a ``Controller``: ``run`` until cancelled, ``working`` while it does."""

    def __init__(self, context: ControllerContext) -> None:
        self.name = NAME
        self.watches: tuple[Watch[str], ...] = definition_watches(context, self._look)
        self.working = asyncio.Event()
        self._begin = asyncio.Event()
        """Work waits until all that exists has been seen."""
        client = context.client_for(NAME)
        self._events = EventRecorder(client, COMPONENT, clock=context.clock)
        self._say: asyncio.Queue[tuple[Node, str]] = asyncio.Queue()
        self.observer = Observer(
            delete=self._want_delete,
            orphan=self._want_orphan,
            misplaced=lambda node, uid: self._say.put_nowait((node, uid)),
        )
        self.monitors = MonitorSet(
            NAME,
            client,
            wanted=_wanted,
            monitor=lambda resource: _GraphMonitor(resource, self.observer),
            clock=context.clock,
            on_failure=SYNC_ERRORS.inc,
            on_change=self._kinds_changed,
        )
        self._collector = Collector(
            self.observer,
            LiveObjects(client, self.monitors),
            whole=self.monitors.whole,
            again=self._want_delete,
        )
        self._deleter: Controller[str] = Controller(
            "garbage_collector_attempt_to_delete",
            watches=(),
            reconcile=self._delete,
            workers=WORKERS,
            clock=context.clock,
        )
        self._orphaner: Controller[str] = Controller(
            "garbage_collector_attempt_to_orphan",
            watches=(),
            reconcile=self._orphan,
            workers=WORKERS,
            clock=context.clock,
        )

    async def run(self) -> None:
        """Learn what there is, then work until cancelled. What was known before is forgotten."""
        self.observer.graph.clear()
        self._begin.clear()
        for watch in self.watches:
            await watch.informer.synced.wait()
        try:
            async with TaskGroup(NAME) as group:
                for controller in (self._deleter, self._orphaner):
                    group.start(controller.run(), name=controller.name)
                    await controller.working.wait()
                group.start(self._tell(), name="events")
                group.start(self.monitors.run(), name="monitors")
                await self.monitors.synced()
                self._begin.set()
                self.working.set()
                await asyncio.get_running_loop().create_future()
        finally:
            self.working.clear()

    def _want_delete(self, uid: str) -> None:
        self._deleter.add(uid)

    def _want_orphan(self, uid: str) -> None:
        self._orphaner.add(uid)

    def _look(self) -> None:
        self.monitors.look()

    async def _delete(self, uid: str) -> Result | None:
        await self._begin.wait()
        return await self._collector.delete(uid)

    async def _orphan(self, uid: str) -> Result | None:
        await self._begin.wait()
        return await self._collector.orphan(uid)

    def _kinds_changed(self) -> None:
        waiting, self._collector.unmapped = self._collector.unmapped, set()
        for uid in waiting:
            self._deleter.add(uid)

    async def _tell(self) -> None:
        """Say of an object that it names an owner where there is none."""
        while True:
            node, uid = await self._say.get()
            identity = node.identity
            owner = next((o for o in node.owners if o.uid == uid), None)
            if owner is None:
                continue
            involved = {"kind": identity.kind, "apiVersion": identity.api_version, "name": identity.name}
            involved |= {"namespace": identity.namespace} if identity.namespace else {}
            message = f'ownerRef {owner.at(identity.namespace)} does not exist in namespace "{identity.namespace}"'
            await self._events.event(
                {**involved, "uid": identity.uid}, reason="OwnerRefInvalidNamespace", message=message, type="Warning"
            )


def _wanted(resource: APIResource) -> bool:
    return resource.gvr.gr not in _IGNORED and resource.verbs >= {"delete", "list", "watch"}


class _GraphMonitor:
    """One resource's objects on their way into the graph."""

    def __init__(self, resource: APIResource, observer: Observer) -> None:
        self.synced = asyncio.Event()
        self._observer = observer
        self._api_version, self._kind = sys.intern(str(resource.gvr.gv)), sys.intern(resource.kind)
        self._loaded: set[str] = set()

    def begin_load(self) -> None:
        self._loaded.clear()

    def load(self, obj: Obj) -> None:
        if not self._observer.concerns(obj):
            return
        identity = self._identity(obj)
        self._observer.seen(identity, obj)
        if self._observer.graph.get(identity.uid) is not None:
            self._loaded.add(identity.uid)

    def unload(self, obj: Obj) -> None:
        identity = self._identity(obj)
        self._loaded.discard(identity.uid)
        self._observer.gone(identity)

    async def end_load(self) -> None:
        """What the graph has of this resource and was not loaded may be gone: a live read will tell."""
        for seen, node in enumerate(self._observer.graph, start=1):
            if self._is_mine(node) and node.uid not in self._loaded:
                self._observer.unsure(node)
            if seen % _NODES_PER_TURN == 0:
                await asyncio.sleep(0)
        self._loaded.clear()
        self.synced.set()

    def skips(self, line: bytes) -> bool:
        """See ``SkipsUnread``."""
        return self._observer.is_unconcerned(line)

    def apply(self, event: WatchEvent) -> None:
        if not self._observer.concerns(event.object):
            return
        identity = self._identity(event.object)
        if event.type == "DELETED":
            self._observer.gone(identity)
        else:
            self._observer.seen(identity, event.object)

    def removed(self) -> None:
        """What is no longer served is not gone: it can only not be seen any more."""
        for node in self._observer.graph:
            if self._is_mine(node):
                self._observer.unsure(node)

    def _is_mine(self, node: Node) -> bool:
        identity = node.identity
        return identity.kind == self._kind and identity.api_version == self._api_version and not node.virtual

    def _identity(self, obj: Obj) -> Identity:
        namespace = sys.intern(meta.namespace(obj))
        return Identity(self._api_version, self._kind, namespace, meta.name(obj), meta.uid(obj))


def build(context: ControllerContext) -> GarbageCollector:
    """The garbage collector, reading everything that it can by its metadata."""
    return GarbageCollector(context)


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    account=ACCOUNT,
    rules=(
        PolicyRule(("get", "list", "patch", "update", "watch", "delete"), ("*",), ("*",)),
        PolicyRule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)),
    ),
)
