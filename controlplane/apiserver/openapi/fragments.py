"""What one resource, in one version, adds to a document: its paths and its definitions, encoded.

Documents are joined from fragments; the join decodes nothing and encodes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.openapi.custom_schemas import custom_kind, is_published_as_given
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.discovery_operations import discovery_path, discovery_schemas
from controlplane.apiserver.openapi.names import META, kind_name
from controlplane.apiserver.openapi.native_schemas import API_VERSION, KIND, NativeSchemas
from controlplane.apiserver.openapi.operations import PathOperations, resource_operations
from controlplane.apiserver.openapi.paths import path_item
from controlplane.apiserver.openapi.shared import (
    GVK_EXTENSION,
    gvk_extension,
    scale_definitions,
    shared_definitions,
)
from controlplane.apiserver.openapi.steps import Steps
from controlplane.apiserver.registry.table import Served
from controlplane.base.aside import LONG_BYTES, free
from controlplane.base.values import dataclass

__all__ = ["Encoder", "Fragment", "discovery_fragment", "gathered", "resource_fragment", "shared_fragment"]

_FRAGMENTS_PER_STEP = 20
_SELECTABLE = "x-kubernetes-selectable-fields"
_ALWAYS_SELECTABLE = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Fragment:
    """Encoded values by name."""

    paths: Mapping[str, bytes]
    definitions: Mapping[str, bytes]


class Encoder(Protocol):
    """One encoding of one dialect."""

    @property
    def dialect(self) -> Dialect: ...

    def path(self, path: str, item: Obj) -> bytes:
        """A path; ``item`` is as ``paths.path_item`` makes it."""

    def definition(self, name: str, schema: Obj) -> Steps[bytes]:
        """A definition as it is to be published."""

    def custom_definition(self, name: str, schema: Obj) -> Steps[bytes]:
        """A definition of which the topmost level is published; ``custom_schemas.published_level`` gives the others."""

    def join(self, fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
        """A document, in pieces, of what is ``gathered``."""


def gathered(fragments: Sequence[Fragment]) -> Steps[tuple[dict[str, bytes], dict[str, bytes]]]:
    """All paths and all definitions, each in the order of names, as in Go's documents: whoever has them, in whatever
    order, writes the same. Of two of one name the first counts; they are the same."""
    paths: dict[str, bytes] = {}
    definitions: dict[str, bytes] = {}
    for index, fragment in enumerate(fragments):
        for found, more in ((paths, fragment.paths), (definitions, fragment.definitions)):
            for name, value in more.items():
                found.setdefault(name, value)
        if index % _FRAGMENTS_PER_STEP == 0:
            yield None
    in_order = [dict(sorted(found.items())) for found in (paths, definitions)]
    yield None
    return in_order[0], in_order[1]


def resource_fragment(served: Served, encoder: Encoder) -> Steps[Fragment]:
    """The fragment of a resource."""
    operations = resource_operations(served)
    yield None
    paths = yield from _paths(operations, encoder)
    definitions: dict[str, bytes] = {}
    resource, gvk, dialect = served.resource, served.gvk, encoder.dialect
    selectable = _selectable(served)
    extensions = {GVK_EXTENSION: gvk_extension([gvk]), **selectable}
    name = kind_name(gvk, native=resource.native)
    others: dict[str, Obj] = {}
    if resource.native:
        schemas = NativeSchemas(gvk.gv, dialect)
        others[name] = {**schemas.kind(served.version.schema), **extensions}
        others |= schemas.found
        yield None
    else:
        definitions[name] = yield from _custom_definition(name, served, extensions, encoder)
    if "list" in resource.verbs:
        list_gvk = GVK(gvk.group, gvk.version, resource.list_kind)
        listed = {**_list(name, served, dialect), GVK_EXTENSION: gvk_extension([list_gvk]), **selectable}
        others[kind_name(list_gvk, native=resource.native)] = listed
    if resource.subresource("scale") is not None:
        others |= scale_definitions(dialect)
    for subresource in resource.subresources:
        if subresource.request is not None:
            others |= _request_definitions(subresource.request, dialect)
    definitions |= yield from _definitions(others, encoder)
    return Fragment(paths, definitions)


def _custom_definition(name: str, served: Served, extensions: Obj, encoder: Encoder) -> Steps[bytes]:
    schema, as_given = yield partial(_parsed, served, encoder.dialect)
    encode = encoder.definition if as_given else encoder.custom_definition
    text = yield from encode(name, custom_kind(schema, extensions, encoder.dialect))
    if len(text) >= LONG_BYTES:  # so is what it was made from, and to let go of it takes long, too
        parsed = [schema]
        del schema
        free(parsed)
    return text


def _parsed(served: Served, dialect: Dialect) -> tuple[Obj, bool]:
    """A custom kind's schema, and whether it is published as it was given."""
    schema = served.version.schema
    return schema, is_published_as_given(schema, dialect)


def _request_definitions(request: Resource, dialect: Dialect) -> dict[str, Obj]:
    """The definitions of a kind that a subresource takes and nobody stores."""
    gvk = request.storage_gvk
    schemas = NativeSchemas(gvk.gv, dialect)
    kind = {**schemas.kind(request.versions[0].schema), GVK_EXTENSION: gvk_extension([gvk])}
    return {kind_name(gvk, native=request.native): kind, **schemas.found}


def discovery_fragment(key: str, encoder: Encoder) -> Steps[Fragment]:
    """What a path of discovery adds to a document."""
    found = discovery_path(key)
    paths = yield from _paths([found], encoder)
    return Fragment(paths, (yield from _definitions(discovery_schemas(found, encoder.dialect), encoder)))


def shared_fragment(gvs: Iterable[GroupVersion], encoder: Encoder) -> Steps[Fragment]:
    """The definitions that all kinds refer to."""
    shared = shared_definitions(encoder.dialect, gvs)
    yield None
    return Fragment({}, (yield from _definitions(shared, encoder)))


def _paths(found: Iterable[PathOperations], encoder: Encoder) -> Steps[dict[str, bytes]]:
    paths: dict[str, bytes] = {}
    for operations in sorted(found, key=lambda operations: operations.path):
        paths[operations.path] = encoder.path(operations.path, path_item(operations, encoder.dialect))
        yield None
    return paths


def _definitions(schemas: dict[str, Obj], encoder: Encoder) -> Steps[dict[str, bytes]]:
    """Encode definitions; ``schemas`` is empty after it, so that they are freed one by one."""
    definitions: dict[str, bytes] = {}
    for name in sorted(schemas):
        definitions[name] = yield from encoder.definition(name, schemas.pop(name))
    return definitions


def _selectable(served: Served) -> Obj:
    if served.resource.native:
        return {}
    fields = [label for label in served.resource.field_labels if label not in _ALWAYS_SELECTABLE]
    return {_SELECTABLE: [{"fieldPath": field} for field in fields]} if fields else {}


def _list(item: str, served: Served, dialect: Dialect) -> Obj:
    plural = served.resource.plural
    exists_empty = served.resource.native and not served.version.schema.get("required")
    items = dialect.field(item, default={} if exists_empty else None)
    metadata = dialect.field(META + "ListMeta", "Metadata of the list.", default={} if served.resource.native else None)
    return {
        "description": f"A list of {plural}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": API_VERSION,
            "items": {"description": f"The {plural}.", "type": "array", "items": items},
            "kind": KIND,
            "metadata": metadata,
        },
    }
