"""NamespaceLifecycle: nothing is created in a namespace that is missing or going, and three are never deleted.

Namespaces are read from memory. Only where memory would refuse, or shortly after this server began to delete the
namespace, is the store asked for its present state, so a namespace that was just created elsewhere is not taken for
missing, nor one that was just deleted for alive.

Source: kubernetes/apiserver ``pkg/admission/plugin/namespace/lifecycle``.
"""

from __future__ import annotations

from collections import OrderedDict

from controlplane.apimachinery.identity import GroupResource, Key
from controlplane.apimachinery.status import APIError, forbidden, not_found
from controlplane.apiserver.admission.api import AdmissionPlugin, Attributes, Hooks, Operation, PluginServices
from controlplane.apiserver.registry.translate import translate
from controlplane.storage.api import ANY, CONSISTENT, Entry, Freshness, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

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

    async def admit(self, attributes: Attributes) -> None:
        group_resource = attributes.resource.gr
        if attributes.operation is Operation.DELETE:
            if group_resource == _NAMESPACES:
                self._admit_deletion(attributes)
            return
        if not attributes.namespace or group_resource == _NAMESPACES or group_resource in _ACCESS_REVIEWS:
            return
        storage = self._services.storage_of("", "namespaces")
        if storage is None:
            return  # this server keeps no namespaces, so any will do
        await self._admit_creation(storage, attributes)

    def _admit_deletion(self, attributes: Attributes) -> None:
        if attributes.name in IMMORTAL:
            raise forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
        now = self._services.clock.monotonic()
        self._deleted_at[attributes.name] = now
        self._deleted_at.move_to_end(attributes.name)
        while self._deleted_at and now - next(iter(self._deleted_at.values())) > _LIVE_LOOKUP_SECONDS:
            self._deleted_at.popitem(last=False)

    async def _admit_creation(self, storage: Storage, attributes: Attributes) -> None:
        name = attributes.namespace
        entry = await self._find(storage, name, ANY)
        if entry is None:
            entry = await self._find(storage, name, CONSISTENT)
        if entry is None:
            raise not_found(_NAMESPACES, name)
        terminating = await self._is_terminating(storage, name, entry)
        if not terminating and self._deleted_lately(name):
            entry = await self._find(storage, name, CONSISTENT)
            if entry is None:
                raise not_found(_NAMESPACES, name)
            terminating = await self._is_terminating(storage, name, entry)
        if terminating:
            raise _refusal(attributes)

    async def _find(self, storage: Storage, name: str, fresh: Freshness) -> Entry | None:
        try:
            return await storage.get(Key("", name), fresh)
        except KeyNotFound:
            return None
        except StorageError as error:
            raise translate(error, _NAMESPACES, name, "get") from error

    async def _is_terminating(self, storage: Storage, name: str, entry: Entry) -> bool:
        known = self._terminating.get(name)
        if known is not None and known[0] == entry.mod_revision:
            return known[1]
        obj = await storage.decode(entry, "v1")
        terminating = (obj.get("status") or {}).get("phase") == "Terminating"
        self._terminating[name] = (entry.mod_revision, terminating)
        self._terminating.move_to_end(name)
        if len(self._terminating) > _REMEMBERED_NAMESPACES:
            self._terminating.popitem(last=False)
        return terminating

    def _deleted_lately(self, name: str) -> bool:
        deleted_at = self._deleted_at.get(name)
        return deleted_at is not None and self._services.clock.monotonic() - deleted_at <= _LIVE_LOOKUP_SECONDS


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


def _build(services: PluginServices) -> Hooks:
    return Hooks(operations=frozenset({Operation.CREATE, Operation.DELETE}), mutate=_Lifecycle(services).admit)


PLUGIN = AdmissionPlugin(name="NamespaceLifecycle", default_on=True, build=_build, requires=("namespaces",))
