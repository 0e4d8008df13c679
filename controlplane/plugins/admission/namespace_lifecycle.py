"""NamespaceLifecycle: nothing is created in a namespace that is missing or going, and three are never deleted.

Namespaces are read from memory. Only where memory would refuse, or shortly after this server began to delete the
namespace, is the store asked for its present state, so a namespace that was just created elsewhere is not taken for
missing, nor one that was just deleted for alive.

Source: kubernetes/apiserver ``pkg/admission/plugin/namespace/lifecycle``.
"""

from __future__ import annotations

from collections import OrderedDict

from controlplane.apimachinery.identity import GVR, GroupResource, Key
from controlplane.apimachinery.status import APIError, forbidden
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.apiserver.registry.translate import translate
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.storage.api import ANY, CONSISTENT, Entry, Storage
from controlplane.storage.errors import StorageError

__all__ = ["IMMORTAL", "PLUGIN"]

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES = GroupResource("", "namespaces")
_ACCESS_REVIEWS = frozenset({GroupResource("authorization.k8s.io", "localsubjectaccessreviews")})
"""What the answer says of a namespace would be a leak."""
_LIVE_LOOKUP_SECONDS = 30.0
"""How long after a deletion began here memory is not believed that the namespace is alive."""
_REMEMBERED_NAMESPACES = 4096
"""Phases kept with the revision they were read at; the oldest go first."""


class _Lifecycle:
    """The state of the plugin: which namespaces are going, as last read."""

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._deleted_at: OrderedDict[str, float] = OrderedDict()
        self._terminating: OrderedDict[str, tuple[int, bool]] = OrderedDict()

    def passes(self, operation: Operation, namespace: str) -> bool:
        """Whether something may be created in a namespace, where memory shows it as it was when it was last looked
        at."""
        if operation is Operation.DELETE:
            return False
        known = self._terminating.get(namespace)
        if known is None or known[1] or namespace in self._deleted_at:
            return False
        storage = self._services.storage_of("", "namespaces")
        return storage is not None and storage.revision_nowait(Key("", namespace)) == known[0]

    async def admit(self, attributes: Attributes) -> None:
        if attributes.operation is Operation.DELETE:
            self._admit_deletion(attributes)
            return
        if not attributes.namespace:
            return
        storage = self._services.storage_of("", "namespaces")
        if storage is None:
            return  # this server keeps no namespaces, so any will do
        name = attributes.namespace
        try:
            entry = await storage.get(Key("", name), ANY)
        except StorageError:  # not in memory, or memory cannot answer
            entry = await self._find_stored(storage, name)
        if self._terminating.get(name) == (entry.mod_revision, False) and name not in self._deleted_at:
            return
        await self._admit_creation(storage, attributes, entry)

    def _admit_deletion(self, attributes: Attributes) -> None:
        if attributes.name in IMMORTAL:
            raise forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
        now = self._services.clock.monotonic()
        self._deleted_at[attributes.name] = now
        self._deleted_at.move_to_end(attributes.name)
        while self._deleted_at and now - next(iter(self._deleted_at.values())) > _LIVE_LOOKUP_SECONDS:
            self._deleted_at.popitem(last=False)

    async def _admit_creation(self, storage: Storage, attributes: Attributes, entry: Entry) -> None:
        name = attributes.namespace
        known = self._terminating.get(name)
        if known is not None and known[0] == entry.mod_revision:
            terminating = known[1]
        else:
            terminating = await self._read_terminating(storage, name, entry)
        if not terminating and name in self._deleted_at and self._deleted_lately(name):
            terminating = await self._read_terminating(storage, name, await self._find_stored(storage, name))
        if terminating:
            raise _refusal(attributes)

    async def _find_stored(self, storage: Storage, name: str) -> Entry:
        try:
            return await storage.get(Key("", name), CONSISTENT)
        except StorageError as error:
            raise translate(error, _NAMESPACES, name, "get") from error

    async def _read_terminating(self, storage: Storage, name: str, entry: Entry) -> bool:
        """Whether an entry's namespace is going; remembered for that revision."""
        try:
            obj = await storage.decode(entry, "v1")
        except StorageError as error:
            raise translate(error, _NAMESPACES, name, "get") from error
        terminating = (obj.get("status") or {}).get("phase") == "Terminating"
        self._terminating[name] = (entry.mod_revision, terminating)
        self._terminating.move_to_end(name)
        if len(self._terminating) > _REMEMBERED_NAMESPACES:
            self._terminating.popitem(last=False)
        return terminating

    def _deleted_lately(self, name: str) -> bool:
        return self._services.clock.monotonic() - self._deleted_at[name] <= _LIVE_LOOKUP_SECONDS


def _refusal(attributes: Attributes) -> APIError:
    namespace = attributes.namespace
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(attributes.resource.gr, attributes.name, why)
    error.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error


def _wants(operation: Operation, resource: GVR, _subresource: str) -> bool:
    """Deletions of namespaces, and whatever is created in one."""
    is_namespace = resource.gr == _NAMESPACES
    return is_namespace if operation is Operation.DELETE else not is_namespace and resource.gr not in _ACCESS_REVIEWS


def _build(services: PluginServices) -> Hooks:
    operations = frozenset({Operation.CREATE, Operation.DELETE})
    lifecycle = _Lifecycle(services)
    return Hooks(operations=operations, mutate=lifecycle.admit, wants=_wants, passes=lifecycle.passes)


PLUGIN = AdmissionPlugin(name="NamespaceLifecycle", default_on=True, build=_build, requires=("namespaces",))
