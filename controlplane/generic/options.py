"""Everything that an operator can say to the generic control plane.

A program with more to say subclasses ``GenericOptions`` and adds fields or groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.resource import Resource
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.options import (
    AuthenticationOptions,
    AuthorizationOptions,
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
from controlplane.generic.feature_gates import feature_gate_problems
from controlplane.generic.runtime_config import RuntimeConfig, runtime_config_problems
from controlplane.generic.toggles import Resolved, Toggle, resolve, toggle_problems

__all__ = ["TOGGLES", "ControllerOptions", "GenericOptions", "ResourceOptions"]


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


_NAMESPACES = "resources.namespaces"

TOGGLES = (
    Toggle(_NAMESPACES),
    *(
        Toggle(f"resources.{plural}", needs=(_NAMESPACES,) if namespaced else ())
        for plural, namespaced in {resource.plural: resource.namespaced for resource in BUILTIN}.items()
        if plural != "namespaces"
    ),
    Toggle("resources.customresourcedefinitions"),
    *CONTROLLER_TOGGLES,
)
"""Each after what it needs: what is in namespaces needs them. Resources of one name in two groups share one."""

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
    requests: RequestOptions = group(RequestOptions)
    resources: ResourceOptions = group(ResourceOptions)
    controllers: ControllerOptions = group(ControllerOptions)
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
        if self.authentication.authentication_config and self.oidc.issuer_url:
            yield Problem(
                "authentication.authentication_config",
                "--authentication-config and the --oidc- flags exclude each other: put the issuer into the file",
            )

    def kinds(self) -> list[Resource]:
        """The built-in kinds that are served, in the versions that are."""
        on, runtime = self.toggles().on, RuntimeConfig(self.runtime_config)
        served = [kind for kind in BUILTIN if f"resources.{kind.plural}" in on]
        asked = {kind.plural for kind in served if getattr(self.resources, kind.plural) is not None}
        return [
            kind if kind.plural in asked else runtime.narrowed(kind)
            for kind in served
            if kind.plural in asked or runtime.serves(kind)
        ]

    def given(self) -> Callable[[str], bool | None]:
        """What was said of a boolean, by its path: its own option, or for a kind what --runtime-config makes of it."""
        runtime = RuntimeConfig(self.runtime_config)
        configured = {kind.plural for kind in _KINDS if runtime.serves(kind)}

        def given(path: str) -> bool | None:
            owner, name = path.split(".")
            value: bool | None = getattr(getattr(self, owner), name)
            return False if value is None and owner == "resources" and name not in configured else value

        return given
