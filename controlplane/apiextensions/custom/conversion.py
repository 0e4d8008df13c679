"""Stored custom objects in the version asked for, where versions differ by name alone.

Reading brings an object, which may be older than the schema, into the form of the schema it was stored in (pruned, with
defaults), and prunes it by the one it is served in. Nothing is encoded if nothing changes.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/customresource_handler.go`` (crdConversionRESTOptionsGetter)
and ``pkg/apiserver/conversion/nop_converter.go``.
"""

from __future__ import annotations

from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.storage.errors import Unreadable

__all__ = ["NoneConversion"]


class NoneConversion:
    """See ``storage.cache.view.Conversion``. ``storage_version``: the name of the version that is stored."""

    as_stored = keeps_metadata = False

    def __init__(self, schemas: VersionSchemas, storage_version: str) -> None:
        self._schemas, self._storage_version = schemas, storage_version

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        try:
            obj: Obj = loads(data)
        except MalformedJSON as error:
            raise Unreadable(b"", str(error)) from error
        changed = self._schemas.of(_version(stored)).read(obj)
        if stored != wanted:
            changed = True
            obj["apiVersion"] = wanted
            self._prune(obj, wanted)
        return dumps(obj) if changed else data

    def to_storage(self, obj: Obj) -> Obj:
        api_version: str = obj["apiVersion"]
        if _version(api_version) == self._storage_version:
            return obj
        copy: Obj = loads(dumps(obj))
        self._prune(copy, self._storage_version)
        return copy

    def _prune(self, obj: Obj, api_version: str) -> None:
        try:
            self._schemas.of(_version(api_version)).decode(obj)
        except DecodeError as error:
            raise Unreadable(b"", f"cannot be converted to {api_version}: {error}") from error


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
