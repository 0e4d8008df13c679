"""Everything that an operator can say to the generic control plane.

A program with more to say subclasses ``GenericOptions`` and adds fields or groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.resource import Resource
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS
from controlplane.apis.builtin import BUILTIN
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rules import GROUP as RBAC_GROUP
from controlplane.apiserver.options import (
    RBAC,
    AggregationOptions,
    AuthenticationOptions,
    AuthorizationOptions,
    IdentityOptions,
    LogOptions,
    OIDCOptions,
    RequestHeaderOptions,
    RequestOptions,
    ServiceAccountOptions,
    ServingOptions,
    StorageOptions,
)
from controlplane.base.options import Duration, OptionGroup, Problem, group, option
from controlplane.generic.controller_options import CONTROLLER_TOGGLES, ControllerOptions
from controlplane.generic.feature_gates import PEERS_GATE, SWITCHES, feature_gate_problems, gate_of, given_gate
from controlplane.generic.runtime_config import RuntimeConfig, runtime_config_problems
from controlplane.generic.toggles import Resolved, Toggle, resolve, toggle_problems
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.builtin import ORDERED
from controlplane.storagemigration.settings import MigrationOptions

__all__ = ["TOGGLES", "AdmissionOptions", "ControllerOptions", "GenericOptions", "ResourceOptions", "toggle_of"]


class ResourceOptions(OptionGroup):
    """Which built-in resources are served. What is off is gone: routes, discovery, controllers."""

    apiservices: bool | None = option(None, description="serve apiservices (default true)")
    namespaces: bool | None = option(None, description="serve namespaces (default true)")
    configmaps: bool | None = option(None, description="serve configmaps (default true)")
    events: bool | None = option(None, description="serve events, in both groups (default true)")
    resourcequotas: bool | None = option(None, description="serve resourcequotas (default true)")
    secrets: bool | None = option(None, description="serve secrets (default true)")
    serviceaccounts: bool | None = option(None, description="serve serviceaccounts (default true)")
    tokenreviews: bool | None = option(None, description="serve tokenreviews (default true)")
    selfsubjectreviews: bool | None = option(None, description="serve selfsubjectreviews (default true)")
    subjectaccessreviews: bool | None = option(None, description="serve subjectaccessreviews (default true)")
    localsubjectaccessreviews: bool | None = option(None, description="serve localsubjectaccessreviews (default true)")
    selfsubjectaccessreviews: bool | None = option(None, description="serve selfsubjectaccessreviews (default true)")
    selfsubjectrulesreviews: bool | None = option(None, description="serve selfsubjectrulesreviews (default true)")
    certificatesigningrequests: bool | None = option(
        None, description="serve certificatesigningrequests (default true)"
    )
    rbac: bool | None = option(None, description="serve roles and bindings of all four kinds (default true)")
    roles: bool | None = option(None, description="serve roles (default true)")
    rolebindings: bool | None = option(None, description="serve rolebindings (default true)")
    clusterroles: bool | None = option(None, description="serve clusterroles (default true)")
    clusterrolebindings: bool | None = option(None, description="serve clusterrolebindings (default true)")
    leases: bool | None = option(None, description="serve leases (default true)")
    customresourcedefinitions: bool | None = option(
        None, description="serve customresourcedefinitions and what they define (default true)"
    )
    flowschemas: bool | None = option(None, description="serve flowschemas (default true)")
    prioritylevelconfigurations: bool | None = option(
        None, description="serve prioritylevelconfigurations (default true)"
    )
    validatingwebhookconfigurations: bool | None = option(
        None, description="serve validatingwebhookconfigurations (default true)"
    )
    mutatingwebhookconfigurations: bool | None = option(
        None, description="serve mutatingwebhookconfigurations (default true)"
    )
    validatingadmissionpolicies: bool | None = option(
        None, description="serve validatingadmissionpolicies (default true)"
    )
    validatingadmissionpolicybindings: bool | None = option(
        None, description="serve validatingadmissionpolicybindings (default true)"
    )
    mutatingadmissionpolicies: bool | None = option(None, description="serve mutatingadmissionpolicies (default true)")
    mutatingadmissionpolicybindings: bool | None = option(
        None, description="serve mutatingadmissionpolicybindings (default true)"
    )
    storageversionmigrations: bool | None = option(None, description="serve storageversionmigrations (default true)")
    storageversions: bool | None = option(
        None,
        description="serve storageversions, and report in which form this server stores what "
        "(default: as the feature gate StorageVersionAPI, false)",
    )


class AdmissionOptions(OptionGroup):
    """Which admission plugins are on, each by its name or by its own flag. What a plugin needs and is off takes it
    with it."""

    enable_admission_plugins: tuple[str, ...] = option(
        (), flag="enable-admission-plugins", description="admission plugins that are on beside those on by default"
    )
    disable_admission_plugins: tuple[str, ...] = option(
        (), flag="disable-admission-plugins", description="admission plugins that are off"
    )
    admission_control_config_file: str = option(
        "",
        flag="admission-control-config-file",
        description="file with an AdmissionConfiguration (apiserver.config.k8s.io/v1): what plugins are configured by",
    )
    always_admit: bool | None = option(None, description="run AlwaysAdmit (default false)")
    namespace_lifecycle: bool | None = option(None, description="run NamespaceLifecycle (default true)")
    service_account: bool | None = option(None, description="run ServiceAccount (default true)")
    event_rate_limit: bool | None = option(None, description="run EventRateLimit (default false)")
    owner_references_permission_enforcement: bool | None = option(
        None, description="run OwnerReferencesPermissionEnforcement (default false)"
    )
    certificate_approval: bool | None = option(None, description="run CertificateApproval (default true)")
    certificate_signing: bool | None = option(None, description="run CertificateSigning (default true)")
    certificate_subject_restriction: bool | None = option(
        None, description="run CertificateSubjectRestriction (default true)"
    )
    mutating_admission_policy: bool | None = option(None, description="run MutatingAdmissionPolicy (default true)")
    mutating_admission_webhook: bool | None = option(None, description="run MutatingAdmissionWebhook (default true)")
    validating_admission_policy: bool | None = option(None, description="run ValidatingAdmissionPolicy (default true)")
    validating_admission_webhook: bool | None = option(
        None, description="run ValidatingAdmissionWebhook (default true)"
    )
    unserved_content: bool | None = option(None, description="run UnservedContent (default true)")
    resource_quota: bool | None = option(None, description="run ResourceQuota (default true)")
    always_deny: bool | None = option(None, description="run AlwaysDeny (default false)")

    def problems(self) -> Iterator[Problem]:
        known = {plugin.name: _field(plugin.name) for plugin in ORDERED}
        flags = {"enable_admission_plugins": True, "disable_admission_plugins": False}
        for flag, wanted in flags.items():
            for name in getattr(self, flag):
                if name not in known:
                    yield Problem(flag, f"unknown admission plugin {name!r}; known: {', '.join(known)}")
                elif getattr(self, known[name]) is (not wanted):
                    own = known[name].replace("_", "-")
                    yield Problem(flag, f"{name} is also named by --admission.{own}, which says otherwise")
        for name in sorted(set(self.enable_admission_plugins) & set(self.disable_admission_plugins)):
            yield Problem("disable_admission_plugins", f"{name} is also in --enable-admission-plugins")

    def given(self, plugin: AdmissionPlugin) -> bool | None:
        """What was said of a plugin; False, if nothing was and it is off by default."""
        own: bool | None = getattr(self, _field(plugin.name))
        if own is not None:
            return own
        if plugin.name in self.disable_admission_plugins:
            return False
        if plugin.name in self.enable_admission_plugins:
            return True
        return None if plugin.default_on else False


def _field(name: str) -> str:
    """The option's name of a plugin: ``ResourceQuota`` as ``resource_quota``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def toggle_of(name: str) -> str:
    """The path of the boolean of an admission plugin."""
    return f"admission.{_field(name)}"


_NAMESPACES = "resources.namespaces"
_STORAGE_VERSIONS = f"resources.{STORAGE_VERSIONS.plural}"
_LEASE = "identity.lease"
_RBAC = "resources.rbac"


def _needs(resource: Resource) -> tuple[str, ...]:
    return (
        *((_NAMESPACES,) if resource.namespaced else ()),
        *((_RBAC,) if resource.group == RBAC_GROUP else ()),
    )


TOGGLES = (
    Toggle(_NAMESPACES),
    Toggle(_RBAC),
    *(
        Toggle(f"resources.{plural}", needs=needs)
        for plural, needs in {resource.plural: _needs(resource) for resource in BUILTIN}.items()
        if f"resources.{plural}" not in (_NAMESPACES, _STORAGE_VERSIONS)
    ),
    Toggle(_LEASE, needs=("resources.leases",)),
    Toggle("identity.peer_record"),
    Toggle(_STORAGE_VERSIONS, needs=(_LEASE,), default=False),
    Toggle("resources.customresourcedefinitions"),
    *(
        Toggle(toggle_of(plugin.name), tuple(f"resources.{name.partition('.')[0]}" for name in plugin.requires))
        for plugin in ORDERED
    ),
    *CONTROLLER_TOGGLES,
)
"""Each after what it needs: what is in namespaces needs them. Resources of one name in two groups share one."""

ROLES_NEED = tuple(f"resources.{kind.plural}" for kind in (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS))
"""What the mode RBAC cannot be without."""


_PLUGINS = {toggle_of(plugin.name): plugin for plugin in ORDERED}

_KINDS: tuple[Resource, ...] = (*BUILTIN, DEFINITIONS)


class GenericOptions(OptionGroup):
    """The options of a generic control plane."""

    serving: ServingOptions = group(ServingOptions)
    storage: StorageOptions = group(StorageOptions)
    authentication: AuthenticationOptions = group(AuthenticationOptions)
    oidc: OIDCOptions = group(OIDCOptions)
    request_headers: RequestHeaderOptions = group(RequestHeaderOptions)
    service_accounts: ServiceAccountOptions = group(ServiceAccountOptions)
    authorization: AuthorizationOptions = group(AuthorizationOptions)
    aggregation: AggregationOptions = group(AggregationOptions)
    identity: IdentityOptions = group(IdentityOptions)
    requests: RequestOptions = group(RequestOptions)
    resources: ResourceOptions = group(ResourceOptions)
    admission: AdmissionOptions = group(AdmissionOptions)
    controllers: ControllerOptions = group(ControllerOptions)
    storage_migration: MigrationOptions = group(MigrationOptions)
    logs: LogOptions = group(LogOptions)
    runtime_config: Mapping[str, str] = option(
        {},
        flag="runtime-config",
        description="what is served, by group/version=BOOL, group/version/resource=BOOL, api/all=BOOL, api/ga=BOOL, "
        "api/beta=BOOL, api/alpha=BOOL; a --resources flag decides before it",
    )
    feature_gates: Mapping[str, str] = option(
        {},
        flag="feature-gates",
        description="Kubernetes' feature gates as name=BOOL; each is known at what this server does, and refused else",
    )
    event_ttl: Duration = option(
        3600.0, flag="event-ttl", ge=0, description="how long an event is kept after its last write; 0 is forever"
    )
    openapi_prewarm: bool = option(
        False,
        flag="openapi-prewarm",
        description="build the merged OpenAPI document ahead, whenever what is served has not changed for 2 s",
    )
    write_kubeconfig: str = option(
        "",
        flag="write-kubeconfig",
        description="where the admin's kubeconfig is written; empty is admin.conf in --cert-dir",
    )

    def toggles(self) -> Resolved:
        """Which of the booleans with requirements are on."""
        return resolve(TOGGLES, self.given())

    def problems(self) -> Iterator[Problem]:
        yield from toggle_problems(TOGGLES, self.given())
        for why in runtime_config_problems(self.runtime_config, _KINDS):
            yield Problem("runtime_config", why)
        for why in feature_gate_problems(self.feature_gates):
            yield Problem("feature_gates", why)
        yield from self._gate_problems()
        missing = [path for path in ROLES_NEED if path not in self.toggles().on]
        if missing and RBAC in self.authorization.authorization_mode:
            yield Problem("authorization.authorization_mode", f"{RBAC} needs --{missing[0]}, which is off")
        if self.authentication.authentication_config and self.oidc.issuer_url:
            yield Problem(
                "authentication.authentication_config",
                "--authentication-config and the --oidc- flags exclude each other: put the issuer into the file",
            )

    def _gate_problems(self) -> Iterator[Problem]:
        """Gates and booleans that contradict each other; flags of what a gate has switched off."""
        for gate, (_, path) in SWITCHES.items():
            said, (owner, name) = given_gate(self.feature_gates, gate), path.split(".")
            own = getattr(getattr(self, owner), name)
            if said is not None and own is not None and own is not said:
                yield Problem(path, f"contradicts --feature-gates={gate}={str(said).lower()}")
        if "identity.peer_record" not in self.toggles().on:
            for name in ("peer_advertise_ip", "peer_advertise_port"):
                if getattr(self.identity, name):
                    yield Problem(f"identity.{name}", f"requires {PEERS_GATE} feature to be turned on")

    def kinds(self) -> list[Resource]:
        """The built-in kinds that are served, in the versions that are."""
        on, runtime = self.toggles().on, RuntimeConfig(self.runtime_config)
        served = [kind for kind in BUILTIN if f"resources.{kind.plural}" in on]
        asked = {kind.plural for kind in served if getattr(self.resources, kind.plural) is not None}
        asked |= {kind.plural for kind in served if gate_of(f"resources.{kind.plural}") is not None}
        return [
            kind if kind.plural in asked else runtime.narrowed(kind)
            for kind in served
            if kind.plural in asked or runtime.serves(kind)
        ]

    def given(self) -> Callable[[str], bool | None]:
        """What was said of a boolean, by its path: its own option, or for a kind what --runtime-config makes of it."""
        runtime = RuntimeConfig(self.runtime_config)
        not_configured = {k.plural for k in _KINDS} - {k.plural for k in _KINDS if runtime.serves(k)}
        turned_off = {k.plural for k in _KINDS if runtime.refuses(k)}

        def given(path: str) -> bool | None:
            if path in _PLUGINS:
                return self.admission.given(_PLUGINS[path])
            owner, name = path.split(".")
            value: bool | None = getattr(getattr(self, owner), name)
            gate = gate_of(path)
            if value is None and gate is not None:
                return False if name in turned_off else given_gate(self.feature_gates, gate)
            return False if value is None and owner == "resources" and name in not_configured else value

        return given
