"""Aggregation as a server takes it in: a source of resources, post-start hooks, a health check.

Hooks and check have upstream's names, since they are seen in ``/readyz?verbose`` and named by probes.

Source: kubernetes/kube-aggregator ``pkg/apiserver/apiserver.go``, kubernetes
``pkg/controlplane/apiserver/aggregator.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from controlplane.aggregator.autoregister import APISERVICES, AutoRegistration, built_in, custom
from controlplane.aggregator.availability import LocalAvailability, RemoteAvailability
from controlplane.aggregator.config import AggregationConfig
from controlplane.aggregator.discovery import REFRESH_SECONDS, RemoteDiscovery
from controlplane.aggregator.openapi import RemoteOpenAPI
from controlplane.aggregator.proxy import Proxy
from controlplane.aggregator.source import APIServiceSource
from controlplane.aggregator.transport import BackendTransport
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.registry.sources import SourceServices
from controlplane.apiserver.registry.table import ResourceTable
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext, PostStartHook
from controlplane.base.clock import Clock
from controlplane.client.loopback import LoopbackClient
from controlplane.client.resources import ResourceClient
from controlplane.client.webhook import ServiceResolver
from controlplane.reconcile.controller import Controller, Resync

__all__ = ["Aggregator"]

DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")

RESYNC_SECONDS = 30.0
"""Services are tried this often, whatever happens."""
WORKERS = 5
DISCOVERY_WORKERS = 2


class Aggregator:
    """Aggregation of one server. ``source`` is at work from the start; what the hooks start, after that.

    Args:
        priorities: of built-in groups. ``user``: as whom API services are made and changed. ``writable``: waits until
            that is possible.
    """

    def __init__(
        self,
        config: AggregationConfig,
        services: SourceServices,
        *,
        resolver: ServiceResolver,
        priorities: Mapping[str, int],
        user: UserInfo,
        writable: Callable[[], Awaitable[None]],
    ) -> None:
        self._config, self._tables, self._peers = config, services.tables, services.peers
        self._user, self._writable = user, writable
        self._clock: Clock = services.registry.clock
        self._built_in = built_in(services.tables.current, priorities)
        self._missing = set(self._built_in)
        self._wanted: dict[str, Obj] = {**self._built_in, **custom(services.tables.current, self._built_in)}
        self._controllers: list[Controller[str]] = []
        self._transport = BackendTransport(resolver, cert_file=config.proxy_cert_file, key_file=config.proxy_key_file)
        proxy = Proxy(self._transport, reject_redirects=config.reject_redirects, unreachable=self._changed)
        self._remote_discovery: RemoteDiscovery | None = None
        self.source = APIServiceSource(services, self._transport, proxy, self._changed)
        self._openapi = RemoteOpenAPI(self.source.remotes, self._transport, self.source.learn)
        self._at_start = frozenset(self.source.registrations)
        self._stop = services.tables.subscribe(self._look_at_table)

    def hooks(self) -> list[tuple[str, PostStartHook]]:
        """Post-start hooks by name, in their order."""
        named: list[tuple[str, PostStartHook]] = [
            ("start-kube-aggregator-informers", _nothing),
            ("apiservice-registration-controller", _nothing),
            ("apiservice-status-local-available-controller", self._say_local),
            ("apiservice-wait-for-first-sync", _nothing),
            ("apiservice-discovery-controller", self._discover),
            ("apiservice-openapi-controller", self._fetch_swagger),
            ("apiservice-openapiv3-controller", self._fetch_hashes),
            ("kube-apiserver-autoregistration", self._register),
        ]
        if self._config.probes:
            named.append(("apiservice-status-remote-available-controller", self._try_remote))
        if self._config.proxy_cert_file:
            named.append(("aggregator-reload-proxy-client-cert", self._follow_certificate))
        return named

    def check(self) -> HealthCheck:
        """Whether everything that is built in has been seen registered and available once."""
        return HealthCheck("autoregister-completion", self._why_incomplete)

    async def close(self) -> None:
        """Close connections. Idempotent; the source is closed by whoever took it."""
        await self._transport.close()

    def _changed(self, name: str) -> None:
        """An API service has changed, or did not answer: all who work on it look again."""
        if self._remote_discovery is not None:
            self._remote_discovery.mark(name)
        for controller in self._controllers:
            controller.add(name)

    def _look_at_table(self, table: ResourceTable) -> None:
        wanted = {**self._built_in, **custom(table, self._built_in)}
        before, self._wanted = self._wanted, wanted
        for name in before.keys() ^ wanted.keys():
            self._changed(name)

    def _why_incomplete(self) -> str | None:
        if self._missing:
            seen = self.source.registrations
            self._missing = {name for name in self._missing if name not in seen or not seen[name].available}
        return f"missing APIService: [{' '.join(sorted(self._missing))}]" if self._missing else None

    def _start(
        self,
        context: HookContext,
        name: str,
        reconcile: Callable[[str], Coroutine[Any, Any, Any]],
        names: Callable[[], list[str]],
        *,
        workers: int = WORKERS,
        resync_seconds: float = RESYNC_SECONDS,
        writes: bool = False,
    ) -> None:
        """``writes``: what it does is of no use before that is possible."""
        controller = Controller[str](
            name,
            watches=(),
            reconcile=reconcile,
            workers=workers,
            resync=Resync(resync_seconds, names),
            clock=self._clock,
        )
        self._controllers.append(controller)
        context.start(self._when_writable(controller) if writes else controller.run(), name=name)

    async def _when_writable(self, controller: Controller[str]) -> None:
        await self._writable()
        await controller.run()

    def _client(self, context: HookContext) -> ResourceClient:
        loopback: LoopbackClient = context.loopback(self._user)
        return ResourceClient(loopback, APISERVICES, namespaced=False)

    async def _say_local(self, context: HookContext) -> None:
        local = LocalAvailability(self._client(context), lambda: self.source.registrations, self._clock)
        self._start(
            context,
            "LocalAvailabilityController",
            local.reconcile,
            lambda: list(self.source.registrations),
            writes=True,
        )

    async def _try_remote(self, context: HookContext) -> None:
        remote = RemoteAvailability(self._client(context), self.source.remotes, self._transport, self._clock)
        self._start(
            context, "RemoteAvailabilityController", remote.reconcile, lambda: list(self.source.remotes()), writes=True
        )

    async def _discover(self, context: HookContext) -> None:
        """Done when every version has been asked for once, so that a server that is ready lists them all."""
        discovery = self._remote_discovery = RemoteDiscovery(
            self.source.remotes, self._transport, self._learn_discovered, self._clock
        )
        await asyncio.gather(*(discovery.reconcile(name) for name in self.source.remotes()))
        self._start(
            context,
            "discovery-manager",
            discovery.reconcile,
            lambda: list(self.source.remotes()),
            workers=DISCOVERY_WORKERS,
            resync_seconds=REFRESH_SECONDS,
        )

    def _learn_discovered(self, name: str, document: Obj) -> None:
        self.source.learn(name, discovered=document)

    async def _fetch_swagger(self, context: HookContext) -> None:
        names = lambda: list(self.source.remotes())  # noqa: E731
        self._start(
            context, "open_api_aggregation_controller", self._openapi.swagger, names, resync_seconds=REFRESH_SECONDS
        )

    async def _fetch_hashes(self, context: HookContext) -> None:
        names = lambda: list(self.source.remotes())  # noqa: E731
        self._start(
            context, "open_api_v3_aggregation_controller", self._openapi.hash, names, resync_seconds=REFRESH_SECONDS
        )

    async def _register(self, context: HookContext) -> None:
        registration = AutoRegistration(
            self._client(context),
            lambda: self._wanted,
            lambda: self.source.registrations,
            self._at_start,
            elsewhere=self._served_elsewhere,
            knows_custom=self._tables.current.lookup(*DEFINITIONS) is not None,
            awaited=lambda name: name in self._missing,
        )
        self._start(context, "autoregister", registration.reconcile, registration.names, writes=True)

    def _served_elsewhere(self, gv: GroupVersion) -> bool | None:
        """Whether another live server serves a version; None: one of them has not said what it serves."""
        elsewhere = self._tables.current.elsewhere
        servers = elsewhere.servers if elsewhere is not None else {}
        if any(server.has(gv) for server in servers.values()):
            return True
        return None if self._peers.peers.keys() - servers.keys() else False

    async def _follow_certificate(self, context: HookContext) -> None:
        context.start(self._transport.follow_certificate(self._clock), name="proxy-client-certificate")


async def _nothing(_context: HookContext) -> None:
    """What upstream waits for here is true from the start: the source is fed with the mirror's own steps."""
