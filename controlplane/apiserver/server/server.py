"""The API server: wired, but not listening; then prepared, its routes closed; then run.

``Server`` is made from a ``CompletedServerConfig`` alone, ``PreparedServer`` from a ``Server``. Between the two an
embedding program adds hooks and health checks, and may already use the loopback client.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.filters.chain import FilterConfig, build_chain
from controlplane.apiserver.filters.drain import DrainGate
from controlplane.apiserver.server.config import CompletedServerConfig
from controlplane.apiserver.server.health import LOG, PING, HealthCheck, HealthEndpoint, delayed
from controlplane.apiserver.server.hooks import HookContext, Hooks
from controlplane.apiserver.server.lifecycle import Lifecycle
from controlplane.apiserver.server.listen import Listener, ListenerConfig
from controlplane.apiserver.server.metrics import BUILD_INFO
from controlplane.apiserver.server.routes import Route, Router, index_route, metrics_routes, version_routes
from controlplane.apiserver.server.statusz import statusz_route
from controlplane.base import logs
from controlplane.base.tasks import Owner, TaskGroup
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Handler, Request, Response

__all__ = ["PreparedServer", "Server", "ServerFailed"]

log = logs.get(__name__)

_LAST_SECONDS = 2.0
"""What connections get to finish after everything is drained, as upstream's HTTP shutdown."""


_READY_POLL_SECONDS = 0.005


class ServerFailed(Exception):
    """A task that the server cannot do without has failed; the cause says how."""


class Server:
    """Wired, not listening. ``handler`` is the whole chain; it answers from the start (the loopback client uses it)."""

    def __init__(self, config: CompletedServerConfig) -> None:
        self.config = config
        self.lifecycle = Lifecycle()
        self.hooks = Hooks(disabled=config.disabled_hooks)
        self.gate = DrainGate()
        self._live: list[HealthCheck] = list(config.live_checks)
        self._ready: list[HealthCheck] = list(config.ready_checks)
        self._not_live: list[HealthCheck] = []
        self._router: Router | None = None
        self.prepared = False
        self.handler: Handler = build_chain(self._route, self._filter_config(), config.filters)

    def loopback(self, user: UserInfo) -> LoopbackClient:
        """A client of this server in this process, as ``user``: authorization and admission apply."""
        return LoopbackClient(self.handler, user, clock=self.config.clock)

    def add_live_check(self, check: HealthCheck) -> None:
        """A check of ``/healthz``, ``/livez`` and ``/readyz``.

        Raises:
            ValueError: the server is prepared already.
        """
        self._not_prepared(check.name)
        self._live.append(check)

    def add_health_check(self, check: HealthCheck) -> None:
        """A check of ``/healthz`` and ``/readyz``, for what a restart does not mend; raises as ``add_live_check``."""
        self._not_prepared(check.name)
        self._not_live.append(check)

    def add_ready_check(self, check: HealthCheck) -> None:
        """A check of ``/readyz`` alone; raises as ``add_live_check``."""
        self._not_prepared(check.name)
        self._ready.append(check)

    async def ready(self) -> None:
        """Wait until the server is ready: hooks have finished, all checks pass (those are asked again and again)."""
        await self.hooks.finished()
        while any(check.probe() is not None for check in (*self._live, *self._not_live, *self._ready)):
            await self.config.clock.sleep(_READY_POLL_SECONDS)

    def prepare(self) -> PreparedServer:
        """Close the routes. Once."""
        return PreparedServer(self)

    def install(self, routes: list[Route]) -> None:
        """``PreparedServer``'s part: the routes are these, and no more."""
        config = self.config
        self._router = Router(
            routes,
            resources=config.resources,
            discovery=config.discovery,
            complete=config.complete_sources,
            catch_up=config.catch_up,
            elsewhere=config.elsewhere,
        )

    def health_checks(self) -> tuple[list[HealthCheck], list[HealthCheck], list[HealthCheck]]:
        """Checks of every endpoint, those of all but ``/livez``, and those of readiness alone."""
        return [PING, LOG, *self._live], list(self._not_live), list(self._ready)

    def _route(self, request: Request) -> Awaitable[Response]:
        router = self._router
        if router is None:
            raise ServerFailed("a request was made before the server was prepared")
        return router.handle(request)

    def _filter_config(self) -> FilterConfig:
        config = self.config
        return FilterConfig(
            authenticator=config.authenticator,
            identity_headers=config.identity_headers,
            barrier=config.barrier,
            authorizer=config.authorizer,
            serves=config.serves,
            gate=self.gate,
            request_seconds=config.request_seconds,
            reading=config.reading_requests,
            changing=config.changing_requests,
            watches_per_user=config.watches_per_user,
            connections_per_user=config.connections_per_user,
            send_retry_after=config.shutdown_send_retry_after,
            hsts_directives=config.hsts_directives,
            cors_origins=config.cors_origins,
        )

    def _not_prepared(self, name: str) -> None:
        if self.prepared:
            raise ValueError(f"health check {name!r} comes too late: the server is prepared already")


class PreparedServer:
    """Routes, hooks and health checks are settled; ``serving`` or ``run`` listens."""

    def __init__(self, server: Server) -> None:
        if server.prepared:
            raise ValueError("the server is prepared already")
        server.prepared = True
        self._server = server
        self._began = server.config.clock.monotonic()
        server.hooks.seal()
        endpoints = self._health_endpoints()
        server.install(self._routes(endpoints))
        info = server.config.version
        BUILD_INFO.labels_cached(
            (
                *(info.major, info.minor, info.git_version, info.git_commit, info.git_tree_state),
                *(info.build_date, info.runtime, info.compiler, info.platform),
            )
        ).set(1)

    @property
    def lifecycle(self) -> Lifecycle:
        return self._server.lifecycle

    async def run(self, listening: socket.socket, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set, then shut down in order.

        Raises:
            ServerFailed: a hook or a task of one has failed; the shutdown has been in order nevertheless.
        """
        async with self.serving(listening):
            await stop.wait()

    @asynccontextmanager
    async def serving(self, *listening: socket.socket) -> AsyncIterator[Listener]:
        """Serve inside the block; leaving it shuts down in order. A failing hook interrupts the block.

        Raises:
            ServerFailed: as ``run``.
        """
        server = self._server
        listener = Listener(
            listening,
            server.handler,
            ListenerConfig(
                tls=server.config.tls,
                body_limit_bytes=server.config.body_limit_bytes,
                most_connections=server.config.connections,
                most_per_address=server.config.connections_per_address,
                clock=server.config.clock,
            ),
        )
        failure: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

        def failed(error: BaseException) -> None:
            if not failure.done():
                failure.set_result(error)

        owner = Owner("server", on_failure=failed)
        try:
            async with TaskGroup("serving") as group:
                group.start(_raise(failure), name="failure")
                listener.start()
                server.hooks.start(HookContext(server.loopback, owner), owner)
                try:
                    yield listener
                finally:
                    await self._shut_down(listener, owner)
        finally:
            await owner.close()

    async def _shut_down(self, listener: Listener, owner: Owner) -> None:
        """Readiness first; then new requests are refused; then what is under way is let finish; then streams end."""
        server, moments, config = self._server, self._server.lifecycle, self._server.config
        moments.shutdown_initiated.reach()
        async with TaskGroup("shutdown") as group:
            hooks = group.start(server.hooks.shut_down(), name="pre-shutdown-hooks")
            if config.shutdown_delay_seconds:
                await config.clock.sleep(config.shutdown_delay_seconds)
            moments.after_shutdown_delay.reach()
            await hooks
        moments.pre_shutdown_hooks_stopped.reach()
        server.gate.close()
        listener.closing = True
        moments.not_accepting_new_requests.reach()
        if not config.shutdown_send_retry_after:
            await listener.stop_accepting()
            moments.stopped_listening.reach()
        listener.end_streams()
        await (
            owner.close()
        )  # before the wait: requests of tasks of ours end with them, whether the store answers or not
        try:
            async with asyncio.timeout(config.request_seconds):
                await server.gate.drained()
        except TimeoutError:
            log.warning("requests are still under way; they are cancelled", requests=server.gate.inside)
        moments.in_flight_drained.reach()
        await listener.close(seconds=_LAST_SECONDS)
        moments.stopped_listening.reach()

    def _health_endpoints(self) -> list[HealthEndpoint]:
        server = self._server
        everywhere, not_live, ready_only = server.health_checks()
        hooks = server.hooks.checks()
        grace, clock = server.config.livez_grace_seconds, server.config.clock
        shutdown = HealthCheck(
            "shutdown", lambda: "process is shutting down" if server.lifecycle.shutdown_initiated.reached else None
        )

        def in_grace() -> bool:
            return clock.monotonic() < self._began + grace

        return [
            HealthEndpoint("healthz", [*everywhere, *not_live, *hooks]),
            HealthEndpoint("livez", [*everywhere, *(delayed(hook, in_grace) for hook in hooks)]),
            HealthEndpoint(
                "readyz",
                [*everywhere, *not_live, *ready_only, *hooks, shutdown],
                on_healthy=server.lifecycle.has_been_ready.reach,
            ),
        ]

    def _routes(self, endpoints: list[HealthEndpoint]) -> list[Route]:
        config = self._server.config
        routes = [*config.routes, *version_routes(config.version), *metrics_routes(config.prepare_metrics)]
        for endpoint in endpoints:
            root = endpoint.paths[0]
            routes.append(Route(root, endpoint.handle))
            routes.append(Route(f"{root}/", endpoint.handle_one, prefix=True, listed=False))
        checks = [path for endpoint in endpoints for path in endpoint.paths[1:]]

        def paths() -> list[str]:
            return [*(route.path for route in routes if route.listed), *checks, *config.paths()]

        routes += index_route(paths)
        routes.append(statusz_route(config.version, paths))
        return routes


async def _raise(failure: asyncio.Future[BaseException]) -> None:
    error = await failure
    raise ServerFailed(str(error)) from error
