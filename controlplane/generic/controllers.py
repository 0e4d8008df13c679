"""The controllers that run in the server's process, over its loopback client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apiserver.authentication.api import authenticated
from controlplane.apiserver.filters.monitor import APISERVER_USER
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext
from controlplane.client.api import APIClient
from controlplane.client.loopback import LoopbackClient
from controlplane.controllers.descriptor import DISCOVERY_RULES, ControllerContext, ControllerDescriptor
from controlplane.controllers.system_namespaces.controller import NAMESPACES, SYSTEM_NAMESPACES
from controlplane.generic.config import CompletedConfig
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.manager import Manager

__all__ = ["SERVER_USER", "ControllerHost", "controller_grants", "service_account"]

SERVER_USER = authenticated(UserInfo(name=APISERVER_USER, groups=(MASTERS_GROUP,)))
"""The server itself, through its loopback client."""


def service_account(name: str) -> UserInfo:
    """The identity of a controller that is not the server's own."""
    return authenticated(
        UserInfo(
            name=f"system:serviceaccount:kube-system:{name}",
            groups=("system:serviceaccounts", "system:serviceaccounts:kube-system"),
        )
    )


def served_resources(config: CompletedConfig) -> frozenset[GroupResource]:
    """The resources that the server has by itself."""
    built_in = {resource.gr for resource in config.resources}
    return frozenset(built_in | {kind.resource.gr for source in config.sources for kind in source.kinds})


def selected(config: CompletedConfig) -> list[ControllerDescriptor]:
    """The controllers that run: what they need is served, and they are the server's own or wanted."""
    served = served_resources(config)
    return [
        descriptor
        for descriptor in config.controllers
        if served.issuperset(descriptor.needs) and (descriptor.in_server or config.run_controllers)
    ]


def controller_grants(config: CompletedConfig) -> dict[str, tuple[PolicyRule, ...]]:
    """What the controllers that run may do, by user name."""
    return {
        service_account(descriptor.account).name: (*descriptor.rules, *DISCOVERY_RULES)
        for descriptor in selected(config)
        if descriptor.account
    }


class ControllerHost:
    """Builds the controllers at once, runs them when the server has begun to listen."""

    def __init__(
        self,
        config: CompletedConfig,
        loopback: Callable[[UserInfo], LoopbackClient],
        *,
        allowed: asyncio.Event,
    ) -> None:
        """``allowed``: set once the controllers have their roles."""
        self._allowed = allowed
        descriptors = selected(config)
        users = {d.name: SERVER_USER if d.in_server else service_account(d.account) for d in descriptors}
        self._informers = InformerSet(loopback(SERVER_USER), clock=config.clock)
        self._manager = Manager("controllers")

        def client_for(name: str) -> APIClient:
            return loopback(users[name])

        context = ControllerContext(
            client_for=client_for,
            informers=self._informers,
            served=served_resources(config),
            clock=config.clock,
        )
        for descriptor in descriptors:
            self._manager.add(descriptor.build(context))
        self._namespaces_exist = self._watch_system_namespaces(descriptors)

    def ready_check(self) -> HealthCheck:
        """Upstream's name: the informers of the process have their first state, and the controllers work."""
        return HealthCheck("informer-sync", self._why_not_ready)

    async def start(self, context: HookContext) -> None:
        """The post-start hook: done once the namespaces that every client counts on are there. The controllers begin
        once they may work."""
        await self._allowed.wait()
        context.start(self._manager.run(), name="controllers")
        await self._namespaces_exist.wait()

    def _why_not_ready(self) -> str | None:
        missing = [condition for condition in self._manager.conditions() if not condition.ready]
        return "; ".join(f"{condition.name} {condition.message}" for condition in missing) or None

    def _watch_system_namespaces(self, descriptors: Iterable[ControllerDescriptor]) -> asyncio.Event:
        exist = asyncio.Event()
        if all(descriptor.name != "system-namespaces" for descriptor in descriptors):
            exist.set()
            return exist
        informer = self._informers.get(NAMESPACES, namespaced=False, metadata_only=True)
        keys = [Key("", name) for name in SYSTEM_NAMESPACES]

        def look(_old: Obj | None, _new: Obj | None) -> None:
            if all(key in informer.store for key in keys):
                exist.set()

        informer.add_handler(look)
        return exist
