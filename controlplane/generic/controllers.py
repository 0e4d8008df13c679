"""The controllers that run in the server's process, over its loopback client."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from controlplane.apimachinery.identity import GVR, GroupResource, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.service_accounts import groups_of, username_of
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apiserver.authentication.api import authenticated
from controlplane.apiserver.filters.monitor import APISERVER_USER
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext, PostStartHook
from controlplane.client.api import APIClient
from controlplane.client.loopback import LoopbackClient
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import NAMESPACES
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.garbage_collector import GarbageCollector
from controlplane.controllers.keys import ControllerKeys
from controlplane.controllers.system_namespaces.controller import SYSTEM_NAMESPACES
from controlplane.generic.config import CompletedConfig
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.leader import LeaderElector
from controlplane.reconcile.manager import Manager

__all__ = ["SERVER_USER", "ControllerHost", "controller_rules", "served_resources", "service_account"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
LEADER = Key("kube-system", "kube-controller-manager")
"""The lease by which servers on one store agree on who runs the controllers; Kubernetes' own manager takes part."""

SERVER_USER = authenticated(UserInfo(name=APISERVER_USER, groups=(MASTERS_GROUP,)))
"""The server itself, through its loopback client."""


def service_account(name: str) -> UserInfo:
    """The identity of a controller that is not the server's own."""
    return authenticated(UserInfo(name=username_of("kube-system", name), groups=groups_of("kube-system")))


def served_resources(config: CompletedConfig) -> frozenset[GroupResource]:
    """The resources that the server has by itself."""
    built_in = {resource.gr for resource in config.resources} | {kind.stored.gr for kind in config.declared}
    return frozenset(built_in | {kind.resource.gr for source in config.sources for kind in source.kinds})


def wanted(config: CompletedConfig) -> list[ControllerDescriptor]:
    """The controllers that run here or may run in another process: what they need is served."""
    served = served_resources(config)
    return [descriptor for descriptor in config.controllers if served.issuperset(descriptor.needs)]


def selected(config: CompletedConfig, keys: ControllerKeys | None = None) -> list[ControllerDescriptor]:
    """The controllers that run here: they are the server's own or to run in its process, and, where ``keys`` are
    given, can work with these."""
    return [
        descriptor
        for descriptor in wanted(config)
        if (descriptor.in_server or config.run_controllers) and (keys is None or descriptor.usable(keys))
    ]


def controller_rules(config: CompletedConfig) -> dict[str, tuple[PolicyRule, ...]]:
    """What the controllers may do, by account, also those that another process runs; besides what everybody may read of
    discovery."""
    rules: dict[str, tuple[PolicyRule, ...]] = {}
    for descriptor in wanted(config):
        if descriptor.account:  # several controllers may share one
            rules[descriptor.account] = (*rules.get(descriptor.account, ()), *descriptor.rules)
    return rules


class ControllerHost:
    """Builds the controllers at once, runs them when the server has begun to listen. ``collector``: the garbage
    collector, if it is among them.

    ``shared_store``: other servers may be on the same store, so those that are not the server's own run where the
    leader is.
    """

    def __init__(
        self,
        config: CompletedConfig,
        loopback: Callable[[UserInfo], LoopbackClient],
        keys: ControllerKeys,
        *,
        allowed: Callable[[], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
        shared_store: bool,
    ) -> None:
        """``allowed``: waits until the controllers have their roles, and their writes are taken. ``ready``: waits until
        the server is."""
        self._allowed, self._ready = allowed, ready
        descriptors = selected(config, keys)
        users = {d.name: SERVER_USER if d.in_server else service_account(d.account) for d in descriptors}
        self._informers = InformerSet(loopback(SERVER_USER), clock=config.clock)
        self._namespaces_exist = asyncio.Event()
        elector = self._elector(config, loopback(SERVER_USER)) if shared_store else None
        self._manager = Manager("controllers", elector=elector, stand_after=self._namespaces_exist)
        self._later = Manager("controllers-after-ready")

        def client_for(name: str) -> APIClient:
            return loopback(users[name])

        context = ControllerContext(
            client_for=client_for,
            informers=self._informers,
            served=served_resources(config),
            keys=keys,
            clock=config.clock,
        )
        self.collector: GarbageCollector | None = None
        self._hooks: list[tuple[str, asyncio.Event | None]] = []
        for descriptor in descriptors:
            controller = descriptor.build(context)
            if isinstance(controller, GarbageCollector):
                self.collector = controller
            if descriptor.hook:
                self._hooks.append((descriptor.hook, None if descriptor.after_ready else controller.working))
            if descriptor.after_ready:
                self._later.add(controller)
            else:
                self._manager.add(controller, leader_elected=elector is not None and not descriptor.in_server)
        self._watch_system_namespaces(descriptors)

    def ready_check(self) -> HealthCheck:
        """Upstream's name: the informers of the process have their first state, and the controllers work."""
        return HealthCheck("informer-sync", self._why_not_ready)

    def hooks(self) -> list[tuple[str, PostStartHook]]:
        """The post-start hooks of single controllers: done once they work; at once where the server is ready before."""
        return [(name, partial(_wait, working)) for name, working in self._hooks]

    async def start(self, context: HookContext) -> None:
        """The post-start hook of all: done once the namespaces that every client counts on are there. The controllers
        begin once they may work."""
        await self._allowed()
        context.start(self._manager.run(), name="controllers")
        context.start(self._run_later(), name="controllers-after-ready")
        await self._namespaces_exist.wait()

    async def _run_later(self) -> None:
        await self._ready()
        await self._later.run()

    def _why_not_ready(self) -> str | None:
        missing = [condition for condition in self._manager.conditions() if not condition.ready]
        return "; ".join(f"{condition.name} {condition.message}" for condition in missing) or None

    def _elector(self, config: CompletedConfig, client: APIClient) -> LeaderElector | None:
        """On a store that several servers may share, one of them runs the controllers; None: there are no leases."""
        if LEASES.gr not in served_resources(config):
            return None
        return LeaderElector(
            ResourceClient(client, LEASES, namespaced=True),
            LEADER,
            f"{socket.gethostname()}_{uuid.uuid4()}",
            clock=config.clock,
        )

    def _watch_system_namespaces(self, descriptors: Iterable[ControllerDescriptor]) -> None:
        """Set ``_namespaces_exist`` once all are there; at once where nobody makes them."""
        if all(descriptor.name != "system-namespaces" for descriptor in descriptors):
            self._namespaces_exist.set()
            return
        informer = self._informers.get(NAMESPACES, namespaced=False, metadata_only=True)
        keys = [Key("", name) for name in SYSTEM_NAMESPACES]

        def look(_old: Obj | None, _new: Obj | None) -> None:
            if all(key in informer.store for key in keys):
                self._namespaces_exist.set()

        informer.add_handler(look)


async def _wait(working: asyncio.Event | None, _context: HookContext) -> None:
    if working is not None:
        await working.wait()
