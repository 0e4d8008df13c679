"""The built-in kinds, in the order in which their groups are installed."""

from __future__ import annotations

from controlplane.apimachinery.resource import Resource
from controlplane.apis.admissionregistration.mutatingadmissionpolicies import MUTATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.mutatingadmissionpolicybindings import MUTATING_ADMISSION_POLICY_BINDINGS
from controlplane.apis.admissionregistration.mutatingwebhookconfigurations import MUTATING_WEBHOOK_CONFIGURATIONS
from controlplane.apis.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.validatingadmissionpolicybindings import (
    VALIDATING_ADMISSION_POLICY_BINDINGS,
)
from controlplane.apis.admissionregistration.validatingwebhookconfigurations import VALIDATING_WEBHOOK_CONFIGURATIONS
from controlplane.apis.apiregistration.apiservices import API_SERVICES
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS
from controlplane.apis.authentication.selfsubjectreviews import SELF_SUBJECT_REVIEWS
from controlplane.apis.authentication.tokenreviews import TOKEN_REVIEWS
from controlplane.apis.authorization.localsubjectaccessreviews import LOCAL_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.selfsubjectaccessreviews import SELF_SUBJECT_ACCESS_REVIEWS
from controlplane.apis.authorization.selfsubjectrulesreviews import SELF_SUBJECT_RULES_REVIEWS
from controlplane.apis.authorization.subjectaccessreviews import SUBJECT_ACCESS_REVIEWS
from controlplane.apis.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.events import EVENTS
from controlplane.apis.core.namespaces import NAMESPACES
from controlplane.apis.core.resourcequotas import RESOURCE_QUOTAS
from controlplane.apis.core.secrets import SECRETS
from controlplane.apis.core.serviceaccounts import SERVICE_ACCOUNTS
from controlplane.apis.events.events import NEW_EVENTS
from controlplane.apis.flowcontrol.flowschemas import FLOW_SCHEMAS
from controlplane.apis.flowcontrol.prioritylevelconfigurations import PRIORITY_LEVEL_CONFIGURATIONS
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.apis.storagemigration.storageversionmigrations import STORAGE_VERSION_MIGRATIONS

__all__ = ["BUILTIN"]

BUILTIN: tuple[Resource, ...] = (
    NAMESPACES,
    CONFIGMAPS,
    EVENTS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    NEW_EVENTS,
    TOKEN_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
    CERTIFICATE_SIGNING_REQUESTS,
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    LEASES,
    FLOW_SCHEMAS,
    PRIORITY_LEVEL_CONFIGURATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    MUTATING_ADMISSION_POLICIES,
    MUTATING_ADMISSION_POLICY_BINDINGS,
    STORAGE_VERSION_MIGRATIONS,
    STORAGE_VERSIONS,
    API_SERVICES,
)
