"""The generic control plane: composition, no mechanism.

``ControlPlane`` is made from a ``CompletedConfig`` by ``open_plane``, which opens the store and reads the keys; it is
wired, but not listening. ``prepare()`` closes its routes, ``serving()`` or ``run()`` serves. Everything is closed in
reverse order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from controlplane.aggregator.aggregator import Aggregator
from controlplane.apimachinery.identity import GroupVersion
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.apiregistration.apiservices import API_SERVICES
from controlplane.apiserver.authentication.serviceaccounts.documents import IssuerDocuments
from controlplane.apiserver.authentication.serviceaccounts.legacy import LAST_USED
from controlplane.apiserver.discovery.handler import Discovery
from controlplane.apiserver.endpoints.dispatch import APIEndpoints
from controlplane.apiserver.identity.presence import Presence
from controlplane.apiserver.identity.records import PeerRecords
from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.registry.settings import RegistrySettings
from controlplane.apiserver.registry.sources import HookedSource, Source, SourceKind, SourceServices
from controlplane.apiserver.registry.stored_forms import StoredForms
from controlplane.apiserver.registry.table import TableHolder, build_table
from controlplane.apiserver.server.config import ServerConfig
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.hooks import HookContext
from controlplane.apiserver.server.routes import Route, issuer_routes, openapi_routes
from controlplane.apiserver.server.server import PreparedServer, Server
from controlplane.base import logs
from controlplane.base.tls.context import TLSFilesError
from controlplane.base.tls.kubeconfig import KubeconfigError
from controlplane.base.tls.upkeep import keep_up
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Request
from controlplane.client.request_info import RequestInfo
from controlplane.client.webhook import WebhookTransport
from controlplane.controllers import garbage_collector
from controlplane.controllers.garbage_collector.graph import Graph
from controlplane.generic.access import build_access, policy_of
from controlplane.generic.authentication import build_authenticator, build_tokens
from controlplane.generic.config import CompletedConfig
from controlplane.generic.controllers import SERVER_USER, ControllerHost, selected, served_resources
from controlplane.generic.credentials import (
    prepare_credentials,
    server_url,
    serves_accounts,
    write_admin_kubeconfig,
)
from controlplane.generic.debug import graph_route, storage_report_route
from controlplane.generic.encryption import add_encryption
from controlplane.generic.hooks import done, names_of_what_is_done
from controlplane.generic.identity import identity_of, keeps_lease
from controlplane.generic.parts import Parts, open_parts
from controlplane.generic.remote_tokens import RemoteTokens
from controlplane.generic.starting import StartError
from controlplane.generic.storage_versions import REPORTS_HOOK, ReportsHook, reports_of
from controlplane.plugins.admission.api import PluginConfigurationError, PluginServices
from controlplane.plugins.admission.building import build_chain
from controlplane.plugins.admission.policies.parameter_checks import ParameterChecks
from controlplane.plugins.authorization.bootstrap.reconcile import make_policy_true
from controlplane.plugins.calls.api import CallServices
from controlplane.storage.api import Storage
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.liveness import Liveness

__all__ = ["ControlPlane", "PreparedControlPlane", "RunningControlPlane", "StartError", "open_plane"]

log = logs.get(__name__)


@asynccontextmanager
async def open_plane(config: CompletedConfig) -> AsyncIterator[ControlPlane]:
    """Open what the config names: address, keys, store. Leaving the block closes it.

    Raises:
        StartError: something cannot be used.
    """
    async with AsyncExitStack() as stack:
        parts = await open_parts(config, stack)
        try:
            plane = ControlPlane(config, parts)
        except PluginConfigurationError as error:
            raise StartError(f"--admission-control-config-file: {error}") from error
        except TLSFilesError as error:
            raise StartError(str(error)) from error
        stack.push_async_callback(plane.webhooks.close)
        stack.push_async_callback(plane.remote_tokens.close)
        stack.push_async_callback(plane.close_access)
        stack.push_async_callback(plane.close_sources)
        await plane.check_stored_forms()
        yield plane


def _storage(mirror: Mirror, kind: SourceKind) -> Storage | None:
    return mirror.storage(kind.resource, conversion=kind.conversion) if kind.resource.stored else None


class ControlPlane:
    """Wired, not listening. Hooks and health checks may be added to ``server``. ``presence``: who this server is, and
    who else is on its store."""

    def __init__(self, config: CompletedConfig, parts: Parts) -> None:
        self.config, self._parts = config, parts
        self.mirror, self.kv = parts.mirror, parts.kv
        self.port: int = parts.listening[0].getsockname()[1]
        self.url = server_url(config, self.port)
        kinds = [SourceKind(resource) for resource in config.resources]
        kinds += [SourceKind(version, kind.conversion) for kind in config.declared for version in kind.versions]
        kinds += [kind for source in config.sources for kind in source.kinds]
        table = build_table(
            [(kind.resource, _storage(parts.mirror, kind)) for kind in kinds],
            group_priorities=config.group_priorities,
        )
        self.tables = TableHolder(table, complete=True)
        self._stored_forms = StoredForms(parts.mirror, self.tables)
        self.webhooks = WebhookTransport(resolver=config.service_resolver)
        identity, shared_store = identity_of(config, self.port), parts.kv.revision_nowait() is None
        records = PeerRecords(parts.mirror, identity.id)
        services = SourceServices(
            mirror=parts.mirror,
            tables=self.tables,
            registry=RegistrySettings(clock=config.clock, garbage_collection=config.garbage_collection),
            webhooks=self.webhooks,
            on_failure=lambda error: None if parts.failed.done() else parts.failed.set_result(error),
            peers=records,
        )
        self._sources: list[Source] = [source.start(services) for source in config.sources]
        self.aggregator = self._aggregation(services)
        self.remote_tokens = RemoteTokens(config, parts.identities.remote, config.service_accounts.own_audiences)
        self._access = build_access(config, parts.access, parts.mirror)
        self._reports = reports_of(config, identity)
        self.server = self._server()
        self.presence = Presence(
            identity,
            config.identity,
            records=records,
            mirror=parts.mirror,
            client_as=self.loopback,
            user=SERVER_USER,
            keep_lease=keeps_lease(config),
            shared=shared_store,
            clock=config.clock,
            ready=self.server.ready,
            lease_at_once=self._reports is not None,
        )
        self._roles_made = asyncio.Event()
        for name in names_of_what_is_done(config):
            self.server.hooks.add_post_start(name, done, by=__name__)
        if parts.access.by_roles:
            self.server.hooks.add_post_start("rbac/bootstrap-roles", self._make_roles, by=__name__)
        else:
            self._roles_made.set()
        self._controllers = ControllerHost(
            config,
            self.server.loopback,
            parts.identities.controller_keys,
            allowed=self._may_work,
            ready=self.server.ready,
            shared_store=shared_store,
        )
        self.server.add_ready_check(self._controllers.ready_check())
        self.server.hooks.add_post_start("start-system-namespaces-controller", self._controllers.start, by=__name__)
        for name, hook in self._controllers.hooks():
            self.server.hooks.add_post_start(name, hook, by=__name__)
        if self.aggregator is not None:
            self.server.add_live_check(self.aggregator.check())
            for name, hook in self.aggregator.hooks():
                self.server.hooks.add_post_start(name, hook, by=__name__)
        for source in self._sources:
            if isinstance(source, HookedSource):
                for name, source_hook in source.hooks():
                    self.server.hooks.add_post_start(name, source_hook, by=type(source).__module__)
        self.presence.install(self.server.hooks)
        if self._reports is not None:
            self.server.hooks.add_post_start(REPORTS_HOOK, ReportsHook(self._reports, self.presence), by=__name__)
        self.server.hooks.add_post_start("watch-storage", self._watch_storage, by=__name__)
        if parts.access.file is not None:
            self.server.hooks.add_post_start("watch-authorization-config", self._watch_access, by=__name__)
        if config.openapi_prewarm:
            self.server.hooks.add_post_start("openapi-prewarm", self._prewarm_openapi, by=__name__)
        self.server.hooks.add_post_start("watch-certificates", self._watch_certificates, by=__name__)
        add_encryption(self.server, config, parts.encryption)
        if self.remote_tokens.follows_file:
            self.server.hooks.add_post_start(
                "start-authentication-config-controller", self._follow_authentication, by=__name__
            )

    def loopback(self, user: UserInfo) -> LoopbackClient:
        """A client in this process, as ``user``."""
        return self.server.loopback(user)

    async def close_access(self) -> None:
        """Close connections to those who decide. Idempotent."""
        await self._access.authorizer.close()

    async def close_sources(self) -> None:
        """Stop what follows the store: indexes, and what changes the table. Idempotent."""
        self._access.index.close()
        self._admission.close()
        while self._sources:
            await self._sources.pop().close()
        self.presence.close()
        if self.aggregator is not None:
            await self.aggregator.close()

    async def check_stored_forms(self) -> None:
        """Refuse a store that holds what this build could not give to anybody. Of a custom resource, whose versions are
        data rather than code, a line in the log says the same.

        Raises:
            StartError: the message names the resource, the version, how many there are, and what to do.
        """
        own, refused = served_resources(self.config), []
        for unknown in await self._stored_forms.unknown():
            if unknown.gr in own:
                refused.append(str(unknown))
            else:
                log.warning("objects are stored in a version that their definition does not have", stored=str(unknown))
        if refused:
            raise StartError(
                f"{'; '.join(refused)}, which this build does not know: start a build that does, migrate there "
                "(storage version migration, see docs/upgrades.md), then start this one again"
            )

    def prepare(self) -> PreparedControlPlane:
        """Close routes, hooks and health checks. Once."""
        return PreparedControlPlane(self, self.server.prepare(), self._parts)

    def _aggregation(self, services: SourceServices) -> Aggregator | None:
        """Speaking for others, where there are API services to say for whom."""
        config = self.config
        if all(resource.gr != API_SERVICES.gr for resource in config.resources):
            return None
        aggregator = Aggregator(
            config.aggregation,
            services,
            resolver=config.service_resolver,
            priorities=config.group_priorities,
            user=SERVER_USER,
            writable=self._writable,
        )
        self._sources.append(aggregator.source)
        return aggregator

    def _server(self) -> Server:
        config, parts = self.config, self._parts
        authorizer = self._access.authorizer
        self._admission = admission = build_chain(
            config.admission,
            PluginServices(
                storage_of=self._storage_of,
                clock=config.clock,
                mirror=parts.mirror,
                tables=self.tables,
                authorizer=authorizer,
                webhooks=self.webhooks,
            ),
            served={str(resource.gr) for resource in config.resources},
            configurations=parts.admission,
        )
        tokens = build_tokens(config, parts.identities, self._storage_of, self.remote_tokens, self._mark_used)
        calls = CallServices(
            tokens=tokens,
            issuer=parts.identities.issuer,
            service_accounts=config.service_accounts,
            authorizer=authorizer,
            storage_of=self._storage_of,
            clock=config.clock,
        )
        endpoints = APIEndpoints(
            tables=self.tables,
            admission=admission,
            authorizer=authorizer,
            calls={call.key: call.build(calls) for call in config.calls},
            guards=self._access.guards,
            checks=ParameterChecks(authorizer, self.tables).checks(),
            clock=config.clock,
            min_request_timeout_seconds=config.min_watch_seconds,
            garbage_collection=config.garbage_collection,
            sources=self._sources,
        )
        discovery = Discovery(self.tables, lambda: self.url.removeprefix("https://"))
        openapi = self._openapi = OpenAPI(
            self.tables,
            product=config.version.release,
            clock=config.clock,
            aggregated=self.aggregator is not None,
        )
        liveness = Liveness(parts.kv, config.clock)
        store = HealthCheck(
            "etcd",
            lambda: parts.mirror.not_ready_reason or parts.kv.problem_nowait() or liveness.problem or None,
            group="etcd",
            ask=liveness.ask,
        )
        return Server(
            ServerConfig(
                authenticator=build_authenticator(config, parts.identities, tokens),
                identity_headers=config.front_proxy_headers,
                barrier=self._reports,
                authorizer=authorizer,
                resources=endpoints.handle,
                discovery=discovery.handle,
                paths=discovery.paths,
                serves=self._serves,
                complete_sources=lambda: self.tables.complete,
                catch_up=self._catch_up,
                elsewhere=discovery.elsewhere,
                tls=parts.identities.credentials.tls.context,
                filters=config.filters,
                routes=[*config.routes, *openapi_routes(openapi), *self._issuer_routes(), *self._debug_routes()],
                prepare_metrics=self._stored_forms.prepare_metrics,
                live_checks=[store],
                ready_checks=[store._replace(name="etcd-readiness")],
                version=config.version,
                request_seconds=config.request_seconds,
                reading_requests=config.reading_requests,
                changing_requests=config.changing_requests,
                watches_per_user=config.watches_per_user,
                connections=config.connections,
                connections_per_address=config.connections_per_address,
                connections_per_user=config.connections_per_user,
                livez_grace_seconds=config.livez_grace_seconds,
                shutdown_delay_seconds=config.shutdown_delay_seconds,
                shutdown_send_retry_after=config.shutdown_send_retry_after,
                hsts_directives=config.hsts_directives,
                cors_origins=config.cors_origins,
                clock=config.clock,
            ).complete()
        )

    async def _mark_used(self, namespace: str, name: str, day: str) -> None:
        """Note on a secret when its token was last used; a failure is logged, since the token is good all the same."""
        patch = json.dumps({"metadata": {"labels": {LAST_USED: day}}}).encode()
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        response = await self.server.loopback(SERVER_USER).request(
            "PATCH", path, body=patch, content_type="application/merge-patch+json"
        )
        if response.status >= 300:
            log.warning("cannot note the use of a token", secret=name, namespace=namespace, status=response.status)

    def _issuer_routes(self) -> list[Route]:
        config = self.config
        if not serves_accounts(config):
            return []
        issuer = self._parts.identities.issuer
        address = self.url.removeprefix("https://")
        return issuer_routes(IssuerDocuments(config.service_accounts, issuer, address=lambda: address))

    def _debug_routes(self) -> list[Route]:
        """Of what is stored, and of what runs in this process."""
        routes = [storage_report_route(self._stored_forms)]
        if any(descriptor.name == garbage_collector.DESCRIPTOR.name for descriptor in selected(self.config)):
            empty = Graph()
            routes.append(
                graph_route(lambda: c.observer.graph if (c := self._controllers.collector) is not None else empty)
            )
        return routes

    def _storage_of(self, group: str, plural: str) -> Storage | None:
        return self.tables.current.storage_of(group, plural)

    async def _catch_up(self, request: Request) -> bool:
        """Whether all sources have caught up with the store."""
        caught_up = True
        for source in self._sources:
            caught_up = await source.catch_up(request) and caught_up
        return caught_up

    def _serves(self, info: RequestInfo) -> bool:
        remote = self.tables.current.remotes.get(GroupVersion(info.group, info.version))
        if remote is not None:
            return remote.has(info.resource)
        served = self.tables.current.lookup(info.group, info.version, info.resource)
        if served is not None and (not info.subresource or served.resource.subresource(info.subresource) is not None):
            return True
        elsewhere = self.tables.current.elsewhere
        return elsewhere is not None and elsewhere.serves(info)

    async def make_roles(self) -> None:
        """Make the roles and bindings that every server has, where they are missing or lack something; nothing where
        roles are not served.

        Raises:
            APIError, ClientError, TimeoutError: it has not worked for half a minute.
        """
        if self._parts.access.by_roles:
            await make_policy_true(policy_of(self.config), self.loopback(SERVER_USER), self.config.clock)

    async def _watch_access(self, context: HookContext) -> None:
        file = self._parts.access.file
        assert file is not None
        follow = self._access.authorizer.follow(self.config.authorization_config_file, file)
        context.start(follow, name="authorization-config")

    async def _make_roles(self, _context: HookContext) -> None:
        await self._writable()
        await self.make_roles()
        self._roles_made.set()

    async def _writable(self) -> None:
        """Wait until all writes are taken: before, those of what is not reported yet are refused."""
        if self._reports is not None:
            await self._reports.completed.wait()

    async def _may_work(self) -> None:
        """Wait until controllers may."""
        await self._roles_made.wait()
        await self._writable()

    async def _watch_storage(self, context: HookContext) -> None:
        """A mirror that has failed is no longer true: the server ends rather than serve it."""

        async def raise_failure() -> None:
            raise await self._parts.failed

        context.start(raise_failure(), name="storage")

    async def _prewarm_openapi(self, context: HookContext) -> None:
        from controlplane.apiserver.openapi.prewarm import keep_warm  # late: off by default

        context.start(keep_warm(self._openapi, self.tables, self.config.clock), name="openapi-prewarm")

    async def _watch_certificates(self, context: HookContext) -> None:
        config, credentials = self.config, self._parts.identities.credentials
        renew = (lambda: prepare_credentials(config)) if credentials.pki is not None else None
        upkeep = keep_up(credentials.tls, clock=config.clock, renew=renew, on_change=self._take_authorities)
        context.start(upkeep, name="certificates")

    async def _follow_authentication(self, context: HookContext) -> None:
        context.start(self.remote_tokens.follow(), name="authentication-configuration")

    async def _take_authorities(self) -> None:
        """Let changed client authorities decide on open connections too, not on new ones alone."""
        loop, identities = asyncio.get_running_loop(), self._parts.identities
        try:
            take = await loop.run_in_executor(self._parts.thread, identities.take_authorities)
        except TLSFilesError as error:
            log.warning("client authorities changed and cannot be used; the old ones stay in use", error=error)
            return
        take()


class PreparedControlPlane:
    """Ready to serve."""

    def __init__(self, plane: ControlPlane, server: PreparedServer, parts: Parts) -> None:
        self._plane, self._server, self._parts = plane, server, parts

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set, then shut down in order. Raises as ``serving``."""
        async with self.serving():
            await stop.wait()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[RunningControlPlane]:
        """Serve inside the block, which begins once the port is listened on.

        Raises:
            StartError: the kubeconfig cannot be written. ServerFailed: a task of the server's own has failed.
        """
        plane, loop = self._plane, asyncio.get_running_loop()
        async with self._server.serving(*self._parts.listening):
            try:
                written = await loop.run_in_executor(
                    self._parts.thread,
                    write_admin_kubeconfig,
                    plane.config,
                    self._parts.identities.credentials,
                    plane.port,
                )
            except KubeconfigError as error:
                raise StartError(f"--write-kubeconfig: {error}") from error
            yield RunningControlPlane(plane, kubeconfig=plane.config.kubeconfig if written else None)


class RunningControlPlane:
    """A control plane that serves. ``kubeconfig``: the administrator's, if one was written."""

    def __init__(self, plane: ControlPlane, *, kubeconfig: Path | None) -> None:
        self._plane, self.kubeconfig = plane, kubeconfig

    @property
    def url(self) -> str:
        return self._plane.url

    @property
    def port(self) -> int:
        return self._plane.port

    def loopback(self, user: UserInfo) -> LoopbackClient:
        """A client in this process, as ``user``."""
        return self._plane.loopback(user)

    async def ready(self) -> None:
        """Wait until ``/readyz`` passes."""
        await self._plane.server.ready()
