"""What an API server is made of: editable first, then complete and frozen.

``ServerConfig`` is filled by a program (or by ``generic``), which may change anything in it; ``complete()`` checks the
whole and gives the only thing a ``Server`` is made from.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from controlplane.apiserver.authentication.api import Authenticator
from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS, IdentityHeaders
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.filters.chain import FILTERS, Filter
from controlplane.apiserver.filters.storage_versions import StorageVersionBarrier
from controlplane.apiserver.server.completed import Frozen
from controlplane.apiserver.server.health import HealthCheck
from controlplane.apiserver.server.listen import BODY_LIMIT_BYTES
from controlplane.apiserver.server.routes import Route
from controlplane.apiserver.server.version import VersionInfo
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.request import Handler, Request, Response
from controlplane.client.request_info import RequestInfo

__all__ = ["CompletedServerConfig", "ConfigError", "ServerConfig"]


_NOT_NEGATIVE = (
    "reading_requests",
    "changing_requests",
    "watches_per_user",
    "connections",
    "connections_per_address",
    "connections_per_user",
    "livez_grace_seconds",
    "shutdown_delay_seconds",
)


class ConfigError(ValueError):
    """The parts do not make a server; the message says which."""


@dataclass(kw_only=True)
class ServerConfig:
    """The parts of an API server.

    ``resources``: answers resource requests. ``discovery``: answers discovery's paths, None for others.
    ``paths``: discovery's paths now, for ``/``. ``serves``: whether a resource request names something that exists.
    ``complete_sources``: whether all sources of resources have been heard.
    ``catch_up``: waits until discovery is no older than the request; see ``Router``. ``elsewhere``: which paths of
    discovery another server answers. Of requests, watches and connections at a time 0 is no limit.
    ``prepare_metrics``: brings those up to date that are counted when asked for.
    ``identity_headers``: of front proxies, besides the standard ones. ``barrier``: see ``FilterConfig``.
    ``tls`` None is plain HTTP. Durations are seconds.
    """

    authenticator: Authenticator
    authorizer: Authorizer
    resources: Handler
    discovery: Callable[[Request], Response | None]
    paths: Callable[[], list[str]]
    serves: Callable[[RequestInfo], bool]
    complete_sources: Callable[[], bool]
    tls: ssl.SSLContext | None
    identity_headers: IdentityHeaders = STANDARD_HEADERS
    barrier: StorageVersionBarrier | None = None
    catch_up: Callable[[Request], Awaitable[bool]] | None = None
    elsewhere: Callable[[str], Handler | None] | None = None
    filters: tuple[Filter, ...] = FILTERS
    routes: list[Route] = field(default_factory=list)
    prepare_metrics: Callable[[], Awaitable[None]] | None = None
    live_checks: list[HealthCheck] = field(default_factory=list)
    ready_checks: list[HealthCheck] = field(default_factory=list)
    disabled_hooks: frozenset[str] = frozenset()
    version: VersionInfo = field(default_factory=VersionInfo)
    body_limit_bytes: int = BODY_LIMIT_BYTES
    request_seconds: float = 60.0
    reading_requests: int = 400
    changing_requests: int = 200
    watches_per_user: int = 0
    connections: int = 0
    connections_per_address: int = 0
    connections_per_user: int = 0
    livez_grace_seconds: float = 0.0
    shutdown_delay_seconds: float = 0.0
    shutdown_send_retry_after: bool = False
    hsts_directives: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    clock: Clock = field(default_factory=SystemClock)

    def complete(self) -> CompletedServerConfig:
        """Check and freeze.

        Raises:
            ConfigError: what is wrong.
        """
        if self.request_seconds <= 0:
            raise ConfigError(f"request_seconds must be greater than 0, is {self.request_seconds}")
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must not be negative, is {getattr(self, name)}")
        return CompletedServerConfig.freeze(self)


class CompletedServerConfig(Frozen, ServerConfig):
    """``ServerConfig`` checked and frozen; made by ``ServerConfig.complete`` alone."""
