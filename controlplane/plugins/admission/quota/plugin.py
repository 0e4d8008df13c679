"""ResourceQuota: no more is created in a namespace than its quotas allow.

A creation is charged to ``status.used`` of every quota that counts the resource, under the condition that the quota has
not changed meanwhile. What is deleted is given back by the counting controller, which also fills ``status.hard``;
nothing is bounded that it has not looked at yet. A dry run is refused like any other request, and charges nothing.

Source: kubernetes/apiserver ``pkg/admission/plugin/resourcequota``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakValueDictionary

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GVR, GroupResource, Key, Obj
from controlplane.apimachinery.quota_names import UNCOUNTED, quota_names
from controlplane.apis.core.resourcequotas import RESOURCE_QUOTAS
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation, refused
from controlplane.apiserver.registry.translate import translate
from controlplane.base import logs
from controlplane.plugins.admission.api import AdmissionPlugin, PluginConfigurationError, PluginServices
from controlplane.plugins.admission.quota.charges import (
    LimitedResource,
    charged,
    has_scopes,
    problem_of,
    unknown_of,
)
from controlplane.plugins.admission.reading import read_configuration
from controlplane.storage.api import Entry as StoredEntry
from controlplane.storage.api import Keep, Storage
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.ring import Change
from controlplane.storage.errors import KeyNotFound, StorageError, Unreadable

__all__ = ["PLUGIN"]

log = logs.get(__name__)

_Change = Callable[[Obj, StoredEntry], Awaitable[Obj | Keep]]

_QUOTAS = RESOURCE_QUOTAS.gr
_API_VERSIONS = frozenset({"apiserver.config.k8s.io/v1", "resourcequota.admission.k8s.io/v1beta1"})


class _Quotas:
    """The quotas there are, by namespace, as the mirror has them; told of every change in the step that applies it."""

    def __init__(self, services: PluginServices) -> None:
        self._mirror, self._outdate = services.mirror, services.outdate
        self._prefix = len(self._mirror.prefix) + len(RESOURCE_QUOTAS.key_prefix) + 1
        self._by_namespace: dict[str, dict[str, Obj]] = {}
        self.stop = self._mirror.observe(RESOURCE_QUOTAS, self)

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def of(self, namespace: str) -> Sequence[Obj]:
        """The quotas of a namespace, by name."""
        found = self._by_namespace.get(namespace)
        return [found[name] for name in sorted(found)] if found else ()

    def changed(self, change: Change) -> None:
        self._put(change.key, change.entry)

    def replaced(self) -> None:
        self._by_namespace.clear()
        self._outdate()
        for entry in self._mirror.entries(RESOURCE_QUOTAS):
            self._put(entry.key, entry)

    def step(self) -> None:
        """Nothing is put off."""

    def _put(self, key: bytes, entry: Entry | None) -> None:
        namespace, _, name = key[self._prefix :].decode().partition("/")
        were_some = bool(self)
        quotas = self._by_namespace.setdefault(namespace, {})
        quotas.pop(name, None)
        if entry is not None:
            try:
                entry.require_readable()
                quotas[name] = loads(entry.data)
            except (Unreadable, MalformedJSON) as error:
                log.warning("a quota cannot be read, and bounds nothing", namespace=namespace, name=name, error=error)
        if not quotas:
            del self._by_namespace[namespace]
        if bool(self) != were_some:
            self._outdate()


class _Quota:
    """The plugin."""

    def __init__(self, services: PluginServices, limited: Sequence[LimitedResource]) -> None:
        self._services, self._limited = services, limited
        self.quotas = _Quotas(services)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def wants(self, _operation: Operation, resource: GVR, subresource: str) -> bool:
        return bool(self.quotas or self._limited) and not subresource and resource.gr not in UNCOUNTED

    async def validate(self, attributes: Attributes) -> None:
        namespace, resource = attributes.namespace, attributes.resource.gr
        if not namespace or resource == ("", "namespaces"):
            return
        storage = self._services.storage_of(_QUOTAS.group, _QUOTAS.resource)
        served = self._services.storage_of(resource.group, resource.resource)
        if storage is None or served is None:  # what is not stored does not count
            return
        names = quota_names(resource)
        quotas = [quota for quota in self.quotas.of(namespace) if _counts(quota, names)]
        for quota in quotas:
            if unknown_of(quota, names):
                await self._check_stored(attributes, storage, quota, names)
        self._check_covered(attributes, names, quotas)
        for quota in quotas:
            if problem_of(quota, names):
                await self._check_stored(attributes, storage, quota, names)
        if attributes.dry_run or not quotas:
            return
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        async with lock:  # one after the other, rather than each against all others
            for quota in quotas:
                await self._charge(attributes, storage, quota["metadata"]["name"], names)

    def _check_covered(self, attributes: Attributes, names: Sequence[str], quotas: Sequence[Obj]) -> None:
        bounded = {name for quota in quotas for name in names if name in (quota.get("status") or {}).get("hard", {})}
        needed = {
            name
            for limited in self._limited
            if limited.resource == attributes.resource.gr
            for name in names
            if any(part in name for part in limited.match)
        }
        if missing := sorted(needed - bounded):
            raise refused(attributes, f"insufficient quota to consume: {','.join(missing)}")

    async def _check_stored(self, attributes: Attributes, storage: Storage, quota: Obj, names: Sequence[str]) -> None:
        """Refuse, if the quota as it is stored refuses, too."""

        async def look(stored: Obj, _entry: StoredEntry) -> Keep:
            if _counts(stored, names) and (problem := problem_of(stored, names)):
                raise refused(attributes, problem)
            return Keep.KEEP

        await self._update(attributes, storage, quota["metadata"]["name"], look)

    async def _charge(self, attributes: Attributes, storage: Storage, name: str, names: Sequence[str]) -> None:
        async def charge(stored: Obj, _entry: StoredEntry) -> Obj | Keep:
            if not _counts(stored, names):
                return Keep.KEEP
            if problem := problem_of(stored, names):
                raise refused(attributes, problem)
            stored["status"]["used"] = charged(stored, names)
            return stored

        await self._update(attributes, storage, name, charge)

    async def _update(self, attributes: Attributes, storage: Storage, name: str, change: _Change) -> None:
        try:
            await storage.update(Key(attributes.namespace, name), change, version="v1")
        except KeyNotFound:
            return  # it has been deleted meanwhile, and bounds nothing
        except StorageError as error:
            raise translate(error, _QUOTAS, name, "update") from error


def _counts(quota: Obj, names: Sequence[str]) -> bool:
    hard = (quota.get("status") or {}).get("hard") or {}
    return any(name in hard for name in names) and not has_scopes(quota)


def _limited(configuration: Obj | None) -> list[LimitedResource]:
    if configuration is None:
        return []
    kinds = {"ResourceQuotaConfiguration", "Configuration"}
    kind = configuration.get("kind") if configuration.get("kind") in kinds else "ResourceQuotaConfiguration"
    part = read_configuration(configuration, kind=str(kind), api_versions=_API_VERSIONS)
    limited = []
    for entry in part.parts("limitedResources"):
        resource = GroupResource(entry.text("apiGroup"), entry.text("resource"))
        if not resource.resource:
            raise PluginConfigurationError(f"{entry.at('resource')}: Required value")
        limited.append(LimitedResource(resource, entry.texts("matchContains")))
        entry.done()  # matchScopes among it: there is nothing here that is in a scope
    part.done()
    return limited


def _build(services: PluginServices) -> Hooks:
    quota = _Quota(services, _limited(services.configuration))
    return Hooks(
        operations=frozenset({Operation.CREATE}),
        validate=quota.validate,
        wants=quota.wants,
        close=quota.quotas.stop,
    )


PLUGIN = AdmissionPlugin(
    name="ResourceQuota", default_on=True, build=_build, requires=("resourcequotas",), configurable=True
)
