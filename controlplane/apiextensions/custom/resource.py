"""From a definition to resources: one for each served version, since versions may differ in all but their storage.

Pure: the same definition gives the same resources, on every replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from controlplane.apiextensions.custom.columns import columns_of
from controlplane.apiextensions.custom.conversion import NoneConversion
from controlplane.apiextensions.custom.scale import ScaleProjection
from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apiextensions.custom.strategy import CustomRules
from controlplane.apiextensions.custom.webhook import Caller, WebhookConversion
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apimachinery.identity import GVK, Obj
from controlplane.apimachinery.jsonpath import JSONPath, JSONPathError
from controlplane.apimachinery.resource import (
    STANDARD_VERBS,
    DeferredVersion,
    Resource,
    Subresource,
    object_attributes,
)
from controlplane.apimachinery.validation.field import go_value
from controlplane.apiserver.registry.versions import version_order
from controlplane.base.clock import Clock
from controlplane.storage.cache.view import Conversion

__all__ = ["CustomResources", "plain_resources", "resources_of"]


_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
"""What discovery shows while a definition is being deleted."""


class CustomResources(NamedTuple):
    """``versions``: a resource for each served version, in which that version alone is served. ``stored``: the one of
    the version that is stored, served or not. ``conversion``: between what is stored and them."""

    versions: tuple[Resource, ...]
    stored: Resource
    conversion: Conversion


def resources_of(
    definition: Definition, load_schema: Callable[[str], Obj], *, caller: Caller, clock: Clock
) -> CustomResources:
    """The resources of a served definition. ``load_schema``: the schema of a version by its name, each time anew.
    ``caller`` calls conversion webhooks."""
    made, schemas = plain_resources(definition, load_schema)
    by = definition.spec.get("conversion") or {}
    if by.get("strategy") == "Webhook":
        stored = f"{definition.group}/{made.stored.storage_version}"
        conversion = WebhookConversion(schemas, stored, by, name=definition.name, caller=caller, clock=clock)
        made = made._replace(
            versions=tuple(replace(resource, fetch_form=conversion.fetch_form) for resource in made.versions),
            conversion=conversion,
        )
    return made


def plain_resources(
    definition: Definition, load_schema: Callable[[str], Obj]
) -> tuple[CustomResources, VersionSchemas]:
    """The resources of a definition whose versions differ by name alone, and their schemas."""
    spec = definition.spec
    versions = spec.get("versions") or ()
    schemas = VersionSchemas(load_schema, keep_unknown=bool(spec.get("preserveUnknownFields")))
    storage = next(version["name"] for version in versions if version.get("storage"))
    made = {
        version["name"]: _resource(definition, version, schemas, storage)
        for version in versions
        if version.get("served") or version["name"] == storage
    }
    served = tuple(made[version["name"]] for version in versions if version.get("served"))
    return CustomResources(served, made[storage], NoneConversion(schemas, storage)), schemas


def _resource(definition: Definition, version: Obj, schemas: VersionSchemas, storage: str) -> Resource:
    accepted, name = definition.accepted, version["name"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    namespaced = definition.spec.get("scope") == "Namespaced"
    rules = CustomRules(
        schemas,
        GVK(definition.group, name, definition.names["kind"]),
        definition.gr,
        namespaced=namespaced,
        has_status=subresources.get("status") is not None,
        scale=scale,
        terminating=definition.is_terminating,
    )
    strategy = rules.strategy()
    parts: list[Subresource] = []
    if subresources.get("status") is not None:
        parts.append(Subresource(name="status", strategy=rules.status_strategy()))
    if scale is not None:
        parts.append(
            Subresource(name="scale", strategy=strategy, projection=ScaleProjection(scale, _scales(definition)))
        )
    fields = _selectable(version)
    group, plural = definition.group, definition.names["plural"]
    return Resource(
        group=group,
        plural=plural,
        singular=accepted.get("singular") or "",
        kind=definition.names["kind"],
        list_kind=definition.names.get("listKind") or "",
        namespaced=namespaced,
        short_names=tuple(accepted.get("shortNames") or ()),
        categories=tuple(accepted.get("categories") or ()),
        key_prefix=f"{group}/{plural}",
        verbs=_TERMINATING_VERBS if definition.is_terminating else STANDARD_VERBS,
        storage_version=storage,
        versions=tuple(
            DeferredVersion(
                name=one["name"],
                load_schema=_loader(schemas, one["name"]),
                served=one["name"] == name,
                columns=columns_of(one.get("additionalPrinterColumns") or ()) if one["name"] == name else (),
                deprecation_warning=_deprecation_warning(definition, one),
                make_decoder=_decoder(schemas, one["name"]),
            )
            for one in definition.spec.get("versions") or ()
        ),
        strategy=strategy,
        subresources=tuple(parts),
        attributes=_attributes(fields) if fields else object_attributes,
        field_labels=("metadata.name", *(("metadata.namespace",) if namespaced else ()), *fields),
        native=False,
        generation=f"{definition.uid}/{definition.generation}",
    )


def _scales(definition: Definition) -> dict[str, Obj | None]:
    """The scale subresources of all versions, by apiVersion."""
    return {
        f"{definition.group}/{one['name']}": (one.get("subresources") or {}).get("scale")
        for one in definition.spec.get("versions") or ()
    }


def _loader(schemas: VersionSchemas, version: str) -> Callable[[], Obj]:
    return lambda: schemas.load(version)


def _decoder(schemas: VersionSchemas, version: str) -> Callable[[], Any]:
    return lambda: schemas.of(version)


def _selectable(version: Obj) -> dict[str, JSONPath]:
    """The selectable fields of a version by the names that selectors use."""
    fields: dict[str, JSONPath] = {}
    for one in version.get("selectableFields") or ():
        path = one.get("jsonPath") or ""
        try:
            fields[path.removeprefix(".")] = JSONPath(path)
        except JSONPathError:
            continue  # a stored definition may be older than the rule against it
    return fields


def _attributes(fields: Mapping[str, JSONPath]) -> Callable[[Obj], Mapping[str, str]]:
    def attributes(obj: Obj) -> Mapping[str, str]:
        values = dict(object_attributes(obj))
        for name, path in fields.items():
            found = path.find(obj)
            values[name] = go_value(found[0]) if found and found[0] is not None else ""
        return values

    return attributes


def _deprecation_warning(definition: Definition, version: Obj) -> str:
    """What those who use a deprecated version are told; ``""`` for others."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        text: str = version["deprecationWarning"]
        return text
    group, kind, name = definition.group, definition.names["kind"], version["name"]
    better = [
        one["name"]
        for one in definition.spec.get("versions") or ()
        if one.get("served") and not one.get("deprecated") and version_order(one["name"]) < version_order(name)
    ]
    text = f"{group}/{name} {kind} is deprecated"
    return f"{text}; use {group}/{min(better, key=version_order)} {kind}" if better else text
