"""Nothing is given up for whose sake objects are in the store that no server here can show.

A store outlives the servers on it: those of several versions may be on it at a time, or one after the other, and a kind
may be turned off. What is not served is not in discovery, so nobody who goes by discovery can know of it: neither
namespace deletion, which would find a namespace empty that is not, nor the garbage collector, which would let an owner
go before its dependents. So the server that stores the last step looks at the store itself, and refuses it as long as
something is left:

* the finalizer ``kubernetes`` stays in the spec of a namespace that has objects under keys of no resource known here;
* for the namespace controller, which has been told to delete all, anything of whatever resource counts: what it went by
  may have been the discovery of another server, or of another time;
* the finalizers ``orphan`` and ``foregroundDeletion`` stay on an owner of such objects.

The first and the last hold for every client; upstream has nothing like it. As there, an administrator may finalize a
namespace whose objects can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, Obj
from controlplane.apimachinery.status import conflict, timeout
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.unserved_objects import UnservedObjects

__all__ = ["PLUGIN"]

NAMESPACES = GroupResource("", "namespaces")
NAMESPACE_FINALIZER = "kubernetes"
NAMESPACE_CONTROLLERS = frozenset(
    {"system:serviceaccount:kube-system:namespace-controller", "system:kube-controller-manager"}
)
"""Who finalizes namespaces: ours and kube-controller-manager's, with and without an account of its own."""
COLLECTOR_FINALIZERS = frozenset({"orphan", "foregroundDeletion"})


def _build(services: PluginServices) -> Hooks:
    objects, mirror = UnservedObjects(services.mirror), services.mirror

    async def fresh() -> None:
        if not await mirror.fresh(None):
            raise timeout("what is in the store could not be proved current", 1)

    async def validate(attributes: Attributes) -> None:
        old, new = attributes.old, attributes.obj
        if old is None or new is None:
            return
        if attributes.subresource:
            if _keeps_namespace(old) and not _keeps_namespace(new):
                await fresh()
                _refuse_unserved(attributes, await objects.in_namespace(attributes.name), "in this namespace")
                if attributes.user.name in NAMESPACE_CONTROLLERS:
                    _refuse_served(attributes, mirror.in_namespace(attributes.name))
        elif (before := meta.finalizers(old)) and COLLECTOR_FINALIZERS & (set(before) - set(meta.finalizers(new))):
            await fresh()
            _refuse_unserved(attributes, await objects.owned_by(meta.uid(old)), "owned by this object")

    return Hooks(operations=frozenset({Operation.UPDATE}), validate=validate, wants=_wants, close=objects.close)


def _wants(_operation: Operation, resource: GVR, subresource: str) -> bool:
    return not subresource or (resource.gr == NAMESPACES and subresource == "finalize")


def _keeps_namespace(namespace: Obj) -> bool:
    return NAMESPACE_FINALIZER in ((namespace.get("spec") or {}).get("finalizers") or ())


def _refuse_unserved(attributes: Attributes, left: Mapping[str, int], where: str) -> None:
    """Raises APIError if something is left."""
    if left:
        raise conflict(
            attributes.resource.gr,
            attributes.name,
            f"objects {where} are in the store that this server does not serve, so they cannot be seen to here: "
            f"{_listed(left)}. A server that serves them must be there, or they must be removed from the store",
        )


def _refuse_served(attributes: Attributes, left: Mapping[str, int]) -> None:
    """Raises APIError if something is left."""
    if left:
        raise conflict(
            attributes.resource.gr,
            attributes.name,
            f"objects in this namespace are in the store still: {_listed(left)}",
        )


def _listed(left: Mapping[str, int]) -> str:
    return ", ".join(f"{resource} ({count})" for resource, count in sorted(left.items()))


PLUGIN = AdmissionPlugin(name="UnservedContent", default_on=True, build=_build)
