"""What the objects of one collection have to be like, whoever has stored them.

A compiled-in kind says what types its fields have, and what is always there; whoever follows its objects relies on
that. The fields of a custom resource are nobody's business here but its owners': of those the metadata are looked at.

Source: kubernetes/apiserver decodes what it reads from the store into the kind's own type.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.as_decoded import AsDecoded, metadata_as_decoded
from controlplane.apimachinery.schema.decode import DecodeError

__all__ = ["StoredForms"]

_NAME_FIELD = "metadata.name"
"""What can be selected by name has one; bookkeeping that no API serves (peer records) need not."""

_SCHEMA = attrgetter("schema")


def _itself(schema: Obj) -> Obj:
    return schema


class StoredForms:
    """Those of one collection: none, until a compiled-in resource is known whose objects it has."""

    __slots__ = ("_by_version", "_kind", "_named", "_stored")

    def __init__(self) -> None:
        self._kind = self._stored = ""
        self._named = True
        self._by_version: dict[str, AsDecoded] = {}

    def learn(self, resource: Resource) -> None:
        """Know a resource whose objects these are; several may have the same."""
        if not resource.native:
            return
        self._kind, self._stored = resource.kind, resource.storage_gvk.api_version
        self._named = _NAME_FIELD in resource.field_labels
        forms = [(resource.gvk(version.name).api_version, partial(_SCHEMA, version)) for version in resource.versions]
        forms += [(api_version, partial(_itself, schema)) for api_version, schema in resource.other_forms.items()]
        for api_version, schema_of in forms:
            if api_version not in self._by_version:
                self._by_version[api_version] = AsDecoded(resource.kind, schema_of)

    def as_decoded(self, obj: Obj, text: bytes) -> Obj:
        """See ``AsDecoded.of``. What is of a version that nobody knows is looked at as if it was of the one in which
        objects are stored now, since that is how it is served."""
        if self._named and not obj["metadata"].get("name"):
            raise DecodeError("metadata.name is missing")
        if not self._by_version:
            return metadata_as_decoded(obj, text)
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not (isinstance(api_version, str) and isinstance(kind, str)):
            raise DecodeError("apiVersion or kind is missing")
        if kind != self._kind:
            raise DecodeError(f"it is of kind {kind!r}, not {self._kind!r}")
        return (self._by_version.get(api_version) or self._by_version[self._stored]).of(obj, text)
