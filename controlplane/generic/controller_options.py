"""Which controllers run in the server's process: one boolean each, beside the one for all."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.base.options import OptionGroup, Problem, option
from controlplane.generic.builtin import CONTROLLERS
from controlplane.generic.toggles import Toggle

__all__ = ["CONTROLLER_TOGGLES", "ControllerBooleans", "ControllerOptions", "controller_toggle"]


class ControllerBooleans(OptionGroup):
    """One for each controller."""

    system_namespaces: bool | None = option(
        None, description="make the namespaces that every server has, and default (default true)"
    )
    cluster_authentication_info: bool | None = option(
        None,
        description="publish in kube-system whom aggregated API servers may believe (default true)",
    )
    namespace_deletion: bool | None = option(
        None, description="empty namespaces that are being deleted, then let them go (default true)"
    )
    garbage_collector: bool | None = option(
        None, description="delete objects whose owners are gone, and set its finalizers (default true)"
    )
    service_accounts: bool | None = option(
        None, description="give every namespace the service account default (default true)"
    )
    service_account_tokens: bool | None = option(
        None, description="fill secrets of service accounts with tokens (default true)"
    )
    lease_garbage_collection: bool | None = option(
        None, description="remove the identity leases of servers that have gone (default true)"
    )
    storage_version_garbage_collection: bool | None = option(
        None, description="take servers that have gone out of storage versions (default true)"
    )
    legacy_token_tracking: bool | None = option(
        None, description="note since when the use of tokens in secrets is recorded (default true)"
    )
    legacy_token_cleaner: bool | None = option(
        None, description="invalidate, then delete tokens in secrets that nobody uses (default true)"
    )
    root_ca_certificate_publisher: bool | None = option(
        None, description="give every namespace the ConfigMap kube-root-ca.crt (default true)"
    )
    cluster_role_aggregation: bool | None = option(
        None, description="keep cluster roles that are the sum of others (default true)"
    )
    resource_quota: bool | None = option(None, description="count what resource quotas limit (default true)")
    certificate_approval: bool | None = option(
        None, description="approve certificate requests of nodes for themselves (default true)"
    )
    certificate_signing: bool | None = option(None, description="sign approved certificate requests (default true)")
    validating_admission_policy_status: bool | None = option(
        None, description="check the types in validating policies (default true)"
    )
    certificate_cleaner: bool | None = option(
        None, description="remove certificate requests that are done (default true)"
    )
    flow_control_bootstrap: bool | None = option(
        None, description="flow schemas and priority levels that come with the server (default true)"
    )
    flow_control_conditions: bool | None = option(None, description="conditions of flow schemas (default true)")
    storage_version_migrator: bool | None = option(
        None, description="carry out storage version migrations (default true)"
    )
    storage_version_trigger: bool | None = option(
        None,
        description="start a migration when all servers have come to agree on another storage version (default true)",
    )


class ControllerOptions(ControllerBooleans):
    """Which loops run. What is off runs nowhere; ``enabled`` false leaves them to another process."""

    enabled: bool = option(
        True,
        description="run the controller manager's controllers in this process; the server's own loops run in any case",
    )

    def problems(self) -> Iterator[Problem]:
        if self.enabled:
            return
        for controller in CONTROLLERS:
            name = _field(controller.name)
            if getattr(self, name) and not controller.in_server:
                yield Problem(name, "needs --controllers.enabled, which is off")


def _field(name: str) -> str:
    return name.replace("-", "_")


def controller_toggle(name: str) -> str:
    """The path of the boolean of a controller."""
    return f"controllers.{_field(name)}"


CONTROLLER_TOGGLES = tuple(
    Toggle(controller_toggle(controller.name), tuple(f"resources.{gr.resource}" for gr in controller.needs))
    for controller in CONTROLLERS
)
"""Each needs the resources without which it has nothing to do."""
