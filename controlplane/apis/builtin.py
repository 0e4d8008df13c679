"""The built-in kinds, in the order in which their groups are installed."""

from __future__ import annotations

from controlplane.apimachinery.resource import Resource
from controlplane.apis.apiregistration.apiservices import API_SERVICES
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.events import EVENTS
from controlplane.apis.core.namespaces import NAMESPACES
from controlplane.apis.core.resourcequotas import RESOURCE_QUOTAS
from controlplane.apis.core.secrets import SECRETS
from controlplane.apis.core.serviceaccounts import SERVICE_ACCOUNTS
from controlplane.apis.events.events import NEW_EVENTS

__all__ = ["BUILTIN"]

BUILTIN: tuple[Resource, ...] = (
    API_SERVICES,
    NAMESPACES,
    CONFIGMAPS,
    EVENTS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    NEW_EVENTS,
    LEASES,
)
