"""The built-in controllers, in the order in which they start."""

from __future__ import annotations

from controlplane.controllers import (
    certificates,
    cluster_authentication,
    cluster_role_aggregation,
    flow_control,
    garbage_collector,
    lease_gc,
    legacy_tokens,
    namespace_deletion,
    policy_type_checking,
    resource_quota,
    root_ca,
    service_account_tokens,
    service_accounts,
    storage_versions,
    system_namespaces,
)
from controlplane.controllers.descriptor import ControllerDescriptor

__all__ = ["BUILTIN"]

BUILTIN: tuple[ControllerDescriptor, ...] = (
    system_namespaces.DESCRIPTOR,
    cluster_authentication.DESCRIPTOR,
    namespace_deletion.DESCRIPTOR,
    garbage_collector.DESCRIPTOR,
    service_accounts.DESCRIPTOR,
    service_account_tokens.DESCRIPTOR,
    lease_gc.DESCRIPTOR,
    storage_versions.DESCRIPTOR,
    legacy_tokens.TRACKING,
    legacy_tokens.CLEANER,
    root_ca.DESCRIPTOR,
    cluster_role_aggregation.DESCRIPTOR,
    resource_quota.DESCRIPTOR,
    policy_type_checking.DESCRIPTOR,
    certificates.APPROVER,
    certificates.SIGNER,
    certificates.CLEANER,
    flow_control.BOOTSTRAP,
    flow_control.CONDITIONS,
)
