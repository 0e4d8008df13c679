"""From options to the parts of a generic control plane: resolved, editable, then complete and frozen.

``config_of`` is a pure function: it reads no file and opens nothing. Between it and ``complete()`` an embedding program
adds resources, admission plugins, controllers, filters, routes, authenticators and authorizers to the lists.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from controlplane.aggregator.config import AggregationConfig
from controlplane.apiextensions.source import CUSTOM_RESOURCES
from controlplane.apimachinery.resource import Resource
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS
from controlplane.apis.builtin import BUILTIN
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apiserver.authentication.api import Authenticator, TokenAuthenticator
from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS, IdentityHeaders
from controlplane.apiserver.authentication.jwt.config import JWTConfig
from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.apiserver.authentication.webhook import TokenWebhookConfig
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.endpoints.calls import CallKey
from controlplane.apiserver.filters.chain import FILTERS, Filter
from controlplane.apiserver.identity.config import IdentityConfig
from controlplane.apiserver.options import (
    CONNECTIONS,
    CONNECTIONS_PER_USER,
    RBAC,
    WATCHES_PER_USER,
    WEBHOOK,
    AuthorizationOptions,
    kv_options,
    oidc_config,
    service_account_config,
    store_url,
    token_webhook_config,
)
from controlplane.apiserver.registry.sources import SourceDescriptor
from controlplane.apiserver.server.completed import Frozen
from controlplane.apiserver.server.routes import Route
from controlplane.apiserver.server.version import VersionInfo
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.webhook import DNS, ServiceResolver
from controlplane.controllers import garbage_collector
from controlplane.controllers.descriptor import ControllerDescriptor
from controlplane.generic.builtin import CONTROLLERS, built_in_controllers
from controlplane.generic.controller_options import controller_toggle
from controlplane.generic.options import GenericOptions, toggle_of
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.authorization.webhook.config import WebhookConfig
from controlplane.plugins.builtin import ORDERED
from controlplane.plugins.calls.api import CallDescriptor
from controlplane.plugins.calls.builtin import CALLS
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import KVOptions

if TYPE_CHECKING:  # imported with the first definition: it is large
    from controlplane.apiextensions.custom.resource import CustomResources

__all__ = ["GROUP_PRIORITIES", "SOURCES", "CompletedConfig", "Config", "ConfigError", "config_of"]

GROUP_PRIORITIES: Mapping[str, int] = {
    "apiregistration.k8s.io": 20001,
    "": 18000,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "certificates.k8s.io": 17300,
    "rbac.authorization.k8s.io": 17000,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "coordination.k8s.io": 16500,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "storagemigration.k8s.io": 15800,
}
"""Order of groups in discovery; kube-apiserver's own numbers."""


ROLE_KINDS = frozenset({CLUSTER_ROLES.gr, CLUSTER_ROLE_BINDINGS.gr})
"""What the mode RBAC cannot be without."""

SOURCES: tuple[SourceDescriptor, ...] = (CUSTOM_RESOURCES,)
"""Who else describes resources, each by kinds of its own."""


class ConfigError(ValueError):
    """The parts contradict each other; the message says which and what to do."""


@dataclass(kw_only=True)
class Config:
    """The parts. Durations are seconds; empty texts are "none".

    ``cert_dir``: where self-made files are kept. ``cert_file``, ``key_file``: the operator's own serving certificate.
    ``kubeconfig``: where the admin's is written, None for nowhere. ``prefix``: of all keys, ending in a slash.
    ``encryption_config_file``: how objects are encrypted at rest; ``encryption_reload``: taken up when it changes.
    ``open_store``: opens the store, instead of what ``store`` names (which is still its name in messages).
    ``declared``: kinds declared in Python (``generic.declare``). ``sources``: who changes what is served while the
    server runs. ``calls``: who answers what is created and not kept.
    ``anonymous`` None: as the authentication configuration has it, else allowed.
    ``authenticators``, ``token_authenticators`` and ``authorizers`` are asked before the built-in ones.
    ``authorization_modes``: which of those, in order; None is RBAC where roles are served, else none.
    ``authorization_webhook``: of the mode Webhook. ``authorization_config_file``: says it all instead of modes.
    ``admission``: the plugins that run, in order; ``admission_config_file`` has what some of them are configured by.
    ``run_controllers``: also those that are not the server's own. ``whole_process``: the process is this server and
    nothing else, so what is loaded may be taken out of the garbage collector's sight.
    ``service_resolver``: where webhooks and other API servers are that are named as services. ``aggregation``: how
    other API servers are spoken for, where API services are served at all. ``identity``: how the server is known to
    others on its store. ``peer_bind``: where to listen for those, too. ``make_front_proxy``: the front proxy's files
    are in ``cert_dir``, and made if they are missing. ``notes``: lines to show at the start.
    """

    host: str
    port: int
    cert_dir: Path
    store: str
    cert_file: str = ""
    key_file: str = ""
    tls_min_version: str = "VersionTLS12"
    external_hostname: str = ""
    advertise_address: str = ""
    kubeconfig: Path | None = None
    kv: KVOptions = field(default_factory=KVOptions)
    open_store: Callable[[], Awaitable[KV]] | None = None
    prefix: bytes = b"/registry/"
    storage_initialization_seconds: float = 60.0
    encryption_config_file: str = ""
    encryption_reload: bool = False
    client_ca_file: str = ""
    front_proxy_ca_file: str = ""
    front_proxy_names: tuple[str, ...] = ()
    front_proxy_headers: IdentityHeaders = STANDARD_HEADERS
    token_auth_file: str = ""
    anonymous: bool | None = None
    bootstrap_tokens: bool = False
    authentication_config_file: str = ""
    oidc: JWTConfig | None = None
    oidc_ca_file: str = ""
    token_webhook: TokenWebhookConfig | None = None
    service_accounts: ServiceAccountConfig = field(default_factory=ServiceAccountConfig)
    authorization_modes: tuple[str, ...] | None = None
    authorization_webhook: WebhookConfig | None = None
    authorization_config_file: str = ""
    authenticators: list[Authenticator] = field(default_factory=list)
    token_authenticators: list[TokenAuthenticator] = field(default_factory=list)
    authorizers: list[Authorizer] = field(default_factory=list)
    resources: list[Resource] = field(
        default_factory=lambda: [kind for kind in BUILTIN if kind is not STORAGE_VERSIONS]
    )
    declared: list[CustomResources] = field(default_factory=list)
    sources: list[SourceDescriptor] = field(default_factory=lambda: list(SOURCES))
    calls: list[CallDescriptor] = field(default_factory=lambda: list(CALLS))
    group_priorities: dict[str, int] = field(default_factory=lambda: dict(GROUP_PRIORITIES))
    admission: list[AdmissionPlugin] = field(default_factory=lambda: [p for p in ORDERED if p.default_on])
    admission_config_file: str = ""
    controllers: list[ControllerDescriptor] = field(default_factory=lambda: list(CONTROLLERS))
    run_controllers: bool = True
    filters: tuple[Filter, ...] = FILTERS
    routes: list[Route] = field(default_factory=list)
    version: VersionInfo = field(default_factory=VersionInfo)
    request_seconds: float = 60.0
    min_watch_seconds: float = 1800.0
    reading_requests: int = 400
    changing_requests: int = 200
    watches_per_user: int = WATCHES_PER_USER
    connections: int = CONNECTIONS
    connections_per_address: int = 0
    connections_per_user: int = CONNECTIONS_PER_USER
    openapi_prewarm: bool = False
    livez_grace_seconds: float = 0.0
    shutdown_delay_seconds: float = 0.0
    shutdown_send_retry_after: bool = False
    hsts_directives: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    whole_process: bool = False
    notes: list[str] = field(default_factory=list)
    service_resolver: ServiceResolver = DNS
    aggregation: AggregationConfig = field(default_factory=AggregationConfig)
    peer_bind: tuple[str, int] | None = None
    make_front_proxy: bool = False
    identity: IdentityConfig = field(default_factory=IdentityConfig)
    clock: Clock = field(default_factory=SystemClock)

    @property
    def garbage_collection(self) -> bool:
        """Whether a garbage collector is to work here or elsewhere, so that its finalizers are set."""
        return any(controller.name == garbage_collector.DESCRIPTOR.name for controller in self.controllers)

    def complete(self) -> CompletedConfig:
        """Check and freeze.

        Raises:
            ConfigError: two resources under one name, one that nobody answers, RBAC without roles, a certificate
                without its key.
        """
        declared = [str(kind.stored.gr) for kind in self.declared]
        _check_unique("resource", [*(str(resource.gr) for resource in self.resources), *declared])
        own = [resource.key_prefix for resource in self.resources if resource.stored and resource.stored_group is None]
        _check_unique("store key prefix", own)
        _check_unique("answer to calls", [str(call.key) for call in self.calls])
        unanswered = sorted(set(_calls_of(self.resources)) - {call.key for call in self.calls})
        if unanswered:
            raise ConfigError(f"nobody answers {', '.join(map(str, unanswered))}: add to calls, or leave the kind out")
        missing = sorted(ROLE_KINDS - {resource.gr for resource in self.resources})
        if missing and RBAC in (self.authorization_modes or ()):
            raise ConfigError(f"authorization_modes has {RBAC}, which needs {', '.join(map(str, missing))}")
        if self.authorization_config_file and self.authorization_modes:
            raise ConfigError("authorization_modes and authorization_config_file exclude each other")
        if (WEBHOOK in (self.authorization_modes or ())) != (self.authorization_webhook is not None):
            raise ConfigError(f"the mode {WEBHOOK} and authorization_webhook go together")
        _check_unique("admission plugin", [plugin.name for plugin in self.admission])
        _check_unique("controller", [controller.name for controller in self.controllers])
        if bool(self.cert_file) != bool(self.key_file):
            raise ConfigError("cert_file and key_file must be given together")
        if bool(self.aggregation.proxy_cert_file) != bool(self.aggregation.proxy_key_file):
            raise ConfigError("aggregation: proxy_cert_file and proxy_key_file must be given together")
        if not self.prefix.endswith(b"/"):
            raise ConfigError(f"prefix must end in a slash, is {self.prefix!r}")
        return CompletedConfig.freeze(self)

    @property
    def serves_roles(self) -> bool:
        """Whether there are roles to go by."""
        return ROLE_KINDS.issubset({resource.gr for resource in self.resources})


class CompletedConfig(Frozen, Config):
    """``Config`` checked and frozen; made by ``Config.complete`` alone."""

    @property
    def modes(self) -> tuple[str, ...]:
        """The authorization modes in effect."""
        if self.authorization_modes is not None:
            return self.authorization_modes
        return (RBAC,) if self.serves_roles else ()


def config_of(options: GenericOptions) -> Config:
    """What the options say, with everything that they leave open settled."""
    serving, requests, authentication = options.serving, options.requests, options.authentication
    headers, cert_dir = options.request_headers, Path(serving.cert_dir)
    toggles = options.toggles()
    return Config(
        host=serving.bind_address,
        port=serving.secure_port,
        cert_dir=cert_dir,
        store=store_url(options.storage, default=f"sqlite:{cert_dir / 'store.db'}"),
        cert_file=serving.tls_cert_file,
        key_file=serving.tls_private_key_file,
        tls_min_version=serving.tls_min_version,
        external_hostname=serving.external_hostname,
        advertise_address=serving.advertise_address,
        kubeconfig=Path(options.write_kubeconfig) if options.write_kubeconfig else cert_dir / "admin.conf",
        kv=kv_options(options.storage),
        prefix=f"/{options.storage.etcd_prefix.strip('/')}/".encode(),
        encryption_config_file=options.storage.encryption_provider_config,
        encryption_reload=options.storage.encryption_provider_config_automatic_reload,
        client_ca_file=authentication.client_ca_file,
        front_proxy_ca_file=headers.client_ca_file,
        front_proxy_names=headers.allowed_names,
        front_proxy_headers=IdentityHeaders(
            username=headers.username_headers,
            uid=headers.uid_headers,
            group=headers.group_headers,
            extra_prefix=headers.extra_headers_prefix,
        ),
        token_auth_file=authentication.token_auth_file,
        anonymous=authentication.anonymous_auth,
        bootstrap_tokens=authentication.bootstrap_tokens,
        authentication_config_file=authentication.authentication_config,
        oidc=oidc_config(options.oidc),
        oidc_ca_file=options.oidc.ca_file,
        token_webhook=token_webhook_config(authentication),
        service_accounts=service_account_config(options.service_accounts),
        authorization_modes=options.authorization.authorization_mode or None,
        authorization_webhook=_access_webhook(options.authorization),
        authorization_config_file=options.authorization.authorization_config,
        resources=[_adapted(kind, options) for kind in options.kinds()],
        sources=[source for source in SOURCES if f"resources.{source.name}" in toggles.on],
        admission=[plugin for plugin in ORDERED if toggle_of(plugin.name) in toggles.on],
        admission_config_file=options.admission.admission_control_config_file,
        controllers=[
            c for c in built_in_controllers(options.storage_migration) if controller_toggle(c.name) in toggles.on
        ],
        run_controllers=options.controllers.enabled,
        aggregation=AggregationConfig(
            proxy_cert_file=options.aggregation.proxy_client_cert_file,
            proxy_key_file=options.aggregation.proxy_client_key_file,
            reject_redirects=options.aggregation.reject_forwarding_redirect,
            probes=options.aggregation.probes(by_default=options.controllers.enabled),
        ),
        identity=IdentityConfig(
            lease="identity.lease" in toggles.on,
            peer_record="identity.peer_record" in toggles.on,
            advertise_ip=options.identity.peer_advertise_ip,
            advertise_port=options.identity.peer_advertise_port,
        ),
        request_seconds=requests.request_timeout,
        min_watch_seconds=float(requests.min_request_timeout),
        reading_requests=requests.max_requests_inflight,
        changing_requests=requests.max_mutating_requests_inflight,
        watches_per_user=requests.max_watches_per_user,
        connections=requests.max_connections,
        connections_per_address=requests.max_connections_per_address,
        connections_per_user=requests.max_connections_per_user,
        openapi_prewarm=options.openapi_prewarm,
        livez_grace_seconds=requests.livez_grace_period,
        shutdown_delay_seconds=requests.shutdown_delay_duration,
        shutdown_send_retry_after=requests.shutdown_send_retry_after,
        hsts_directives=serving.hsts_directives,
        cors_origins=serving.cors_origins,
        notes=toggles.explain(),
    )


def _access_webhook(options: AuthorizationOptions) -> WebhookConfig | None:
    if not options.webhook_config_file:
        return None
    return WebhookConfig(
        kubeconfig_file=options.webhook_config_file,
        version=options.webhook_version,
        authorized_seconds=options.webhook_cache_authorized_ttl,
        unauthorized_seconds=options.webhook_cache_unauthorized_ttl,
    )


def _adapted(resource: Resource, options: GenericOptions) -> Resource:
    """A built-in kind as the options have it."""
    if resource.plural == "events":
        return _kept_for(options.event_ttl, resource)
    if resource.plural == "serviceaccounts" and not service_account_config(options.service_accounts).signs:
        return replace(resource, subresources=())
    return resource


def _kept_for(seconds: float, resource: Resource) -> Resource:
    """A resource whose objects end by themselves, ``seconds`` after their last write; 0 is never."""
    whole = math.ceil(seconds)
    return replace(resource, strategy=replace(resource.strategy, ttl_seconds=lambda _obj: whole))


def _calls_of(resources: Iterable[Resource]) -> Iterator[CallKey]:
    """What is created and not kept."""
    for resource in resources:
        if not resource.stored:
            yield CallKey(resource.group, resource.plural)
        for subresource in resource.subresources:
            if subresource.request is not None:
                yield CallKey(resource.group, resource.plural, subresource.name)


def _check_unique(what: str, names: list[str]) -> None:
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise ConfigError(f"{what} named twice: {', '.join(doubles)}")
