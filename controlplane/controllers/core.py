"""The core resources that several controllers watch, and the keys that their changes ask for."""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Obj

__all__ = ["ACCOUNTS", "CONFIGMAPS", "NAMESPACES", "SECRETS", "name_of_change", "namespace_of_change"]

NAMESPACES = GVR("", "v1", "namespaces")
CONFIGMAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")
ACCOUNTS = GVR("", "v1", "serviceaccounts")


def name_of_change(old: Obj | None, new: Obj | None) -> tuple[str, ...]:
    """Of a watch on namespaces whose controller works on one namespace at a time."""
    obj = new if new is not None else old
    return () if obj is None else (meta.name(obj),)


def namespace_of_change(old: Obj | None, new: Obj | None) -> tuple[str, ...]:
    """The same of a watch on what is in namespaces."""
    obj = new if new is not None else old
    return () if obj is None else (meta.namespace(obj),)
