"""The built-in kinds, in the order in which their groups are installed."""

from __future__ import annotations

from controlplane.apimachinery.resource import Resource
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.namespaces import NAMESPACES

__all__ = ["BUILTIN"]

BUILTIN: tuple[Resource, ...] = (NAMESPACES, CONFIGMAPS, LEASES)
