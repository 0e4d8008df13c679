"""Names of what a quota may bound, and which scopes go with them.

Source: the sets of kubernetes' core API helpers.
"""

from __future__ import annotations

from controlplane.apimachinery.validation.names import qualified_name

__all__ = [
    "SCOPES",
    "is_counted_whole",
    "is_standard",
    "is_standard_for_quota",
    "scope_fits",
]

_COMPUTE = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_EPHEMERAL = frozenset({"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_FOR_QUOTA = _COMPUTE | _EPHEMERAL | _COUNTED | {"requests.storage"}
_STANDARD = _FOR_QUOTA | {"storage"}

SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    }
)
_BOUNDED_BY_SCOPE = {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_standard(name: str) -> bool:
    """Whether a name without a prefix is known at all."""
    return name in _STANDARD or name.startswith(_HUGE_PAGES)


def is_standard_for_quota(name: str) -> bool:
    return name in _FOR_QUOTA or name.startswith(_HUGE_PAGES)


def is_counted_whole(name: str) -> bool:
    """Whether only whole numbers of it make sense: objects, and extended resources (``example.com/gpus``)."""
    if name in _COUNTED:
        return True
    extended = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
    return extended and not qualified_name("requests." + name)


def scope_fits(scope: str, name: str) -> bool:
    """Whether a quota of this scope can bound a standard resource; an unknown scope fits all."""
    if scope not in SCOPES:
        return True
    return name in _BOUNDED_BY_SCOPE.get(scope, _COMPUTE | {"pods"})
