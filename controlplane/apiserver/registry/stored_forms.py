"""What is stored of each resource, beside what would be stored now: as a report, as metrics, and at the start.

A form is current if its version is the resource's storage version and nothing else about it would be written otherwise.
Of what nobody serves that cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource, GroupVersion, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.registry.metrics import STORED_OBJECTS
from controlplane.apiserver.registry.table import TableHolder
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.census import Census, Form, count_mirror

__all__ = ["StoredForms", "UnknownForm", "report_of", "unknown_forms"]

GOOD_FOR_SECONDS = 5.0
"""How old metrics may be: a count is 25 ms of work at 100,000 objects, in slices."""


class UnknownForm(NamedTuple):
    """Objects that the server could not give to anybody, since it knows no such version of their resource."""

    gr: GroupResource
    api_version: str
    objects: int

    def __str__(self) -> str:
        return f"{self.objects} objects of {self.gr} are stored as {self.api_version}"


def report_of(census: Census, resources: Iterable[Resource]) -> Obj:
    """A census as a document. ``resources``: what is served."""
    served = {_stored_gr(resource): resource for resource in resources}
    return {
        "kind": "StorageReport",
        "revision": census.revision,
        "resources": [_resource(gr, census.forms[gr], served.get(gr)) for gr in sorted(census.forms)],
    }


def _resource(gr: GroupResource, forms: Mapping[Form, int], resource: Resource | None) -> Obj:
    wanted = resource.storage_gvk.api_version if resource is not None else ""
    return {
        "group": gr.group,
        "resource": gr.resource,
        "served": resource is not None,
        "storageVersion": _version(wanted),
        "objects": sum(forms.values()),
        "forms": [
            {
                "version": _version(form.api_version),
                "key": form.key_id,
                "objects": forms[form],
                "current": None if resource is None else form.api_version == wanted and not form.stale,
            }
            for form in sorted(forms)
        ],
    }


def unknown_forms(census: Census, resources: Iterable[Resource]) -> Iterator[UnknownForm]:
    """What is stored in a version that its resource does not have (any more). What cannot be read is another matter."""
    for resource in resources:
        gr = _stored_gr(resource)
        known = {resource.gvk(version.name).api_version for version in resource.versions}
        known |= {resource.storage_gvk.api_version, *resource.other_forms}
        objects: dict[str, int] = {}
        for form, count in census.forms.get(gr, {}).items():
            if form.api_version and form.api_version not in known:
                objects[form.api_version] = objects.get(form.api_version, 0) + count
        yield from (UnknownForm(gr, api_version, count) for api_version, count in sorted(objects.items()))


def _stored_gr(resource: Resource) -> GroupResource:
    """The name of what is stored: resources that share their objects share it."""
    return GroupResource(resource.storage_gvk.group, resource.plural)


def _version(api_version: str) -> str:
    return GroupVersion.parse(api_version).version


class StoredForms:
    """What one server's store holds. The gauge is kept to what was counted last."""

    def __init__(self, mirror: Mirror, tables: TableHolder) -> None:
        self._mirror, self._tables = mirror, tables
        self._shown: set[tuple[str, str, str, str]] = set()
        self._counted_at = -GOOD_FOR_SECONDS

    async def report(self, gr: GroupResource | None = None) -> Obj:
        """Of all that was acknowledged before; of one resource if it is named.

        Raises:
            Unavailable: the store does not say what that is.
        """
        await self._mirror.fresh(None)
        resources = self._resources()
        stored_as = {resource.gr: _stored_gr(resource) for resource in resources}
        return report_of(await self._count(gr and stored_as.get(gr, gr)), resources)

    async def unknown(self) -> list[UnknownForm]:
        """See ``unknown_forms``; of what is served now."""
        resources = {_stored_gr(resource): resource for resource in self._resources()}
        return list(unknown_forms(await self._count(None), resources.values()))

    async def prepare_metrics(self) -> None:
        """Count anew, if the last count is no longer good. What another server has just written may not be in yet."""
        now = self._mirror.clock.monotonic()
        if now - self._counted_at >= GOOD_FOR_SECONDS:
            self._counted_at = now
            await self._count(None)

    async def _count(self, gr: GroupResource | None) -> Census:
        census = await count_mirror(self._mirror, gr)
        if gr is None:
            self._show(census)
        return census

    def _resources(self) -> Sequence[Resource]:
        return [served.resource for served in self._tables.current.routes.values() if served.resource.stored]

    def _show(self, census: Census) -> None:
        shown: dict[tuple[str, str, str, str], int] = {}
        for gr, forms in census.forms.items():
            for form, objects in forms.items():
                labels = (gr.group, gr.resource, _version(form.api_version), form.key_id)
                shown[labels] = shown.get(labels, 0) + objects
        for labels in self._shown - shown.keys():
            STORED_OBJECTS.remove(labels)
        for labels, objects in shown.items():
            STORED_OBJECTS.labels_cached(labels).set(objects)
        self._shown = set(shown)
