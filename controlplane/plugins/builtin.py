"""The admission plugins that come with the project, in the order in which they run.

The order is a security property: a plugin sees what those before it have made of the object.

Source: kubernetes ``pkg/kubeapiserver/options/plugins.go`` (AllOrderedPlugins); UnservedContent is ours.
"""

from __future__ import annotations

from controlplane.plugins.admission import (
    always,
    certificates,
    event_rate_limit,
    namespace_lifecycle,
    owner_references,
    service_account,
    unserved_content,
)
from controlplane.plugins.admission.api import AdmissionPlugin
from controlplane.plugins.admission.policies import mutating as mutating_policies
from controlplane.plugins.admission.policies import validating as validating_policies
from controlplane.plugins.admission.quota import plugin as resource_quota
from controlplane.plugins.admission.webhooks import mutating as mutating_webhooks
from controlplane.plugins.admission.webhooks import validating as validating_webhooks

__all__ = ["ORDERED"]

ORDERED: tuple[AdmissionPlugin, ...] = (
    always.ALWAYS_ADMIT,
    namespace_lifecycle.PLUGIN,
    service_account.PLUGIN,
    event_rate_limit.PLUGIN,
    owner_references.PLUGIN,
    certificates.APPROVAL,
    certificates.SIGNING,
    certificates.SUBJECT_RESTRICTION,
    mutating_policies.PLUGIN,
    mutating_webhooks.PLUGIN,
    validating_policies.PLUGIN,
    validating_webhooks.PLUGIN,
    unserved_content.PLUGIN,
    resource_quota.PLUGIN,
    always.ALWAYS_DENY,
)
