"""The field managers of what is served: one for each path (main resource or subresource) of each version.

Each is made on first use and kept as long as the version is served as it is.

Source: how kubernetes/apiserver ``pkg/endpoints/installer.go`` sets one up for each path, and ``GetResetFields`` of its
strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.managed_fields import FieldManager
from controlplane.apimachinery.patch.structured.fieldset import Fields
from controlplane.apimachinery.patch.structured.types import Type, object_type
from controlplane.apimachinery.resource import Resource, Subresource
from controlplane.apiserver.registry.remote_forms import fetched_form
from controlplane.apiserver.registry.table import Served

__all__ = ["field_manager"]


def field_manager(served: Served, subresource: Subresource | None, now: Callable[[], str]) -> FieldManager:
    """The field manager of the main resource, or of a subresource. ``now``: the time as objects carry it; whoever asks
    first gives it."""
    name = subresource.name if subresource is not None else ""
    known: FieldManager | None = served.memo.get(("fields", name))
    if known is None:
        known = served.memo["fields", name] = _make(served, subresource, now)
    return known


def _make(served: Served, subresource: Subresource | None, now: Callable[[], str]) -> FieldManager:
    resource = served.resource
    types = _Types(resource)
    reset = _field_set(_reset_fields(resource, subresource))
    return FieldManager(
        served.gvk.api_version,
        types=types,
        convert=_form_of(resource),
        reset=dict.fromkeys(types, reset),
        subresource=subresource.name if subresource is not None else "",
        now=now,
        blank=_blank(served),
    )


class _Types(Mapping[str, Type]):
    """The types of a resource's versions by apiVersion; of a custom resource also of those that are not served at
    present. Each is made when somebody owns fields in it: a schema may be large."""

    def __init__(self, resource: Resource) -> None:
        known = [v for v in resource.versions if v.served or not resource.native]
        self._versions = {resource.gvk(v.name).api_version: v for v in known}
        self._others = resource.other_forms
        self._made: dict[str, Type] = {}

    def __getitem__(self, api_version: str) -> Type:
        known = self._made.get(api_version)
        if known is None:
            version = self._versions.get(api_version)
            schema = self._others[api_version] if version is None else version.schema
            known = self._made[api_version] = object_type(schema)
        return known

    def __iter__(self) -> Iterator[str]:
        yield from self._versions
        yield from self._others

    def __len__(self) -> int:
        return len(self._versions) + len(self._others)


def _form_of(resource: Resource) -> Callable[[Obj, str], Obj]:
    if resource.fetch_form is not None:
        return fetched_form
    return resource.owned_form or resource.convert or _relabel


def _reset_fields(resource: Resource, subresource: Subresource | None) -> Sequence[str]:
    """What nobody can own through a path: as its strategy says; custom resources are all alike."""
    if not resource.native:
        if subresource is None:
            return ("status",) if resource.subresource("status") is not None else ()
        return ("metadata", "spec") if subresource.name == "status" else ()
    return (resource.strategy if subresource is None else subresource.strategy).reset_fields


def _blank(served: Served) -> Obj:
    """An object of which nothing is known but its kind: a native one has its parts that always exist."""
    blank: Obj = {"metadata": {}}
    if served.resource.native:
        served.decoder.decode(blank)
    blank["apiVersion"], blank["kind"] = served.gvk.api_version, served.gvk.kind
    return blank


def _relabel(obj: Obj, api_version: str) -> Obj:
    """How versions that differ by name alone are converted."""
    return {**obj, "apiVersion": api_version}


def _field_set(paths: Iterable[str]) -> Fields:
    fields: dict[str, Any] = {}
    for path in paths:
        node = fields
        for name in path.split("."):
            node = node.setdefault("f:" + name, {})
    return fields
