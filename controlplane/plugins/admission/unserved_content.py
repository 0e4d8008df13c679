"""Nothing is given up for whose sake objects are in the store that no server here can show.

Servers of several versions may be on one store. What one of them alone serves is not in discovery while it is away, so
nobody who goes by discovery can know of it: neither namespace deletion, which would find a namespace empty that is not,
nor the garbage collector, which would let an owner go before its dependents. So the server that stores the last step
looks at the store itself, and refuses it as long as something is left:

* the finalizer ``kubernetes`` stays in the spec of a namespace that has objects under keys of no resource known here;
* the finalizers ``orphan`` and ``foregroundDeletion`` stay on an owner of such objects.

That holds for every client. Upstream has nothing like it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GVR, GroupResource, Obj
from controlplane.apimachinery.status import conflict, timeout
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.base.values import dataclass
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.storage.cache.mirror import Mirror

__all__ = ["UNSERVED_CONTENT", "UnservedContent"]

NAMESPACES = GroupResource("", "namespaces")
NAMESPACE_FINALIZER = "kubernetes"
COLLECTOR_FINALIZERS = frozenset({"orphan", "foregroundDeletion"})
_OWN_KEYS = b"controlplane/"
"""Below the store's prefix: what servers keep for themselves."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an entry says of its object. ``namespace`` None: it cannot be read, and its key has to do."""

    revision: int
    namespace: str | None
    owners: frozenset[str]


class UnservedContent:
    """Objects of resources that are not served here, by what the mirror has of them. Each is read once."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._seen: dict[bytes, _Seen] = {}

    def in_namespace(self, namespace: str) -> Counter[str]:
        """How many there are in a namespace, by resource."""
        return self._count(lambda parts, seen: (parts[-2] if seen.namespace is None else seen.namespace) == namespace)

    def owned_by(self, uid: str) -> Counter[str]:
        """How many name this object their owner, by resource."""
        return self._count(lambda _parts, seen: uid in seen.owners)

    def _count(self, matches: Callable[[list[str], _Seen], bool]) -> Counter[str]:
        found: Counter[str] = Counter()
        for parts, seen in self._look():
            if matches(parts, seen):
                found[_resource_of(parts, seen)] += 1
        return found

    def _look(self) -> Iterator[tuple[list[str], _Seen]]:
        """All of them: the parts of the key, and what is seen of it."""
        before, self._seen = self._seen, {}
        prefix = self._mirror.prefix
        for entry in self._mirror.unclaimed():
            key = entry.key.removeprefix(prefix)
            parts = key.decode(errors="replace").split("/")
            if len(parts) < 3 or key.startswith(_OWN_KEYS):  # at least a resource, a namespace or group, and a name
                continue
            seen = before.get(entry.key)
            if seen is None or seen.revision != entry.mod_revision:
                seen = _read(self._mirror.peek(entry), entry.mod_revision)
            self._seen[entry.key] = seen
            yield parts, seen


def _read(data: bytes, revision: int) -> _Seen:
    try:
        obj = loads(data)
        metadata = obj["metadata"]
        owners = frozenset(str(ref["uid"]) for ref in metadata.get("ownerReferences") or ())
        return _Seen(revision, str(metadata.get("namespace") or ""), owners)
    except (MalformedJSON, KeyError, TypeError, AttributeError):
        return _Seen(revision, None, frozenset())


def _resource_of(parts: list[str], seen: _Seen) -> str:
    """The resource as its key names it: ``plural.group``."""
    return ".".join(reversed(parts[: -1 if seen.namespace == "" else -2]))


def _build(services: PluginServices) -> Hooks:
    content, mirror = UnservedContent(services.mirror), services.mirror

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
                _refuse(attributes, content.in_namespace(attributes.name), "in this namespace")
        elif COLLECTOR_FINALIZERS.intersection(set(meta.finalizers(old)).difference(meta.finalizers(new))):
            await fresh()
            _refuse(attributes, content.owned_by(meta.uid(old)), "owned by this object")

    return Hooks(operations=frozenset({Operation.UPDATE}), validate=validate, wants=_wants)


def _wants(_operation: Operation, resource: GVR, subresource: str) -> bool:
    return not subresource or (resource.gr == NAMESPACES and subresource == "finalize")


def _keeps_namespace(namespace: Obj) -> bool:
    return NAMESPACE_FINALIZER in ((namespace.get("spec") or {}).get("finalizers") or ())


def _refuse(attributes: Attributes, left: Counter[str], where: str) -> None:
    """Raises APIError if something is left."""
    if left:
        listed = ", ".join(f"{resource} ({count})" for resource, count in sorted(left.items()))
        raise conflict(
            attributes.resource.gr,
            attributes.name,
            f"objects {where} are in the store that this server does not serve, so they cannot be seen to here: "
            f"{listed}. A server that serves them must be there, or they must be removed from the store",
        )


UNSERVED_CONTENT = AdmissionPlugin(name="UnservedContent", default_on=True, build=_build)
"""Added where other servers may serve what this one does not (``generic.peers``)."""
