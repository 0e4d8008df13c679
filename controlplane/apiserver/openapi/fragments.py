"""What one resource, in one version, adds to a document: its paths and its definitions, as JSON.

Documents are joined from fragments; the join decodes nothing and encodes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from controlplane.apimachinery.identity import GVK, Obj
from controlplane.apiserver.openapi.custom_schemas import custom_kind
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import META, kind_name
from controlplane.apiserver.openapi.native_schemas import API_VERSION, KIND, NativeSchemas
from controlplane.apiserver.openapi.operations import resource_operations
from controlplane.apiserver.openapi.paths import path_item
from controlplane.apiserver.openapi.shared import GVK_EXTENSION, gvk_extension, scale_definitions
from controlplane.apiserver.openapi.steps import Steps
from controlplane.apiserver.registry.table import Served

__all__ = ["Fragment", "build_fragment", "encoded"]

_SELECTABLE = "x-kubernetes-selectable-fields"
_ALWAYS_SELECTABLE = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Fragment:
    """Values by name, each as JSON. Names are sorted."""

    paths: Mapping[str, bytes]
    definitions: Mapping[str, bytes]


def encoded(values: Mapping[str, Obj]) -> dict[str, bytes]:
    """Each value as JSON, sorted by name."""
    return {name: orjson.dumps(values[name]) for name in sorted(values)}


def build_fragment(served: Served, dialect: Dialect) -> Steps[Fragment]:
    """The fragment of a resource."""
    paths: dict[str, bytes] = {}
    for found in sorted(resource_operations(served), key=lambda path: path.path):
        paths[found.path] = orjson.dumps(path_item(found, dialect))
        yield
    return Fragment(paths, (yield from _definitions(served, dialect)))


def _definitions(served: Served, dialect: Dialect) -> Steps[dict[str, bytes]]:
    resource, gvk = served.resource, served.gvk
    selectable = _selectable(served)
    extensions = {GVK_EXTENSION: gvk_extension([gvk]), **selectable}
    name = kind_name(gvk, native=resource.native)
    definitions: dict[str, bytes] = {}
    if resource.native:
        schemas = NativeSchemas(gvk.gv, dialect)
        definitions[name] = orjson.dumps({**schemas.kind(served.version.schema), **extensions})
        definitions.update(encoded(schemas.found))
    else:
        definitions[name] = yield from custom_kind(served.version.schema, extensions, dialect)
    if "list" in resource.verbs:
        list_gvk = GVK(gvk.group, gvk.version, resource.list_kind)
        listed = {**_list(name, served, dialect), GVK_EXTENSION: gvk_extension([list_gvk]), **selectable}
        definitions[kind_name(list_gvk, native=resource.native)] = orjson.dumps(listed)
    if resource.subresource("scale") is not None:
        definitions.update(encoded(scale_definitions(dialect)))
    return dict(sorted(definitions.items()))


def _selectable(served: Served) -> Obj:
    if served.resource.native:
        return {}
    fields = [label for label in served.resource.field_labels if label not in _ALWAYS_SELECTABLE]
    return {_SELECTABLE: [{"fieldPath": field} for field in fields]} if fields else {}


def _list(item: str, served: Served, dialect: Dialect) -> Obj:
    plural = served.resource.plural
    default: Obj | None = {} if served.resource.native else None
    return {
        "description": f"A list of {plural}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": API_VERSION,
            "items": {"description": f"The {plural}.", "type": "array", "items": dialect.field(item, default=default)},
            "kind": KIND,
            "metadata": dialect.field(META + "ListMeta", "Metadata of the list.", default=default),
        },
    }
