"""Stored objects in the version asked for, converted by functions of the program: by way of the version that is stored.

The seam is that of all conversions (``storage.cache.view.Conversion``). What a function returns is checked and pruned
by the schema of its version, so nothing half converted is served or stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.storage.errors import Unreadable

__all__ = ["Functions", "PythonConversion"]


class Functions(NamedTuple):
    """From an object of one version to the one of the storage version, and back. They may change and return what they
    are given; the apiVersion is set for them."""

    to_storage: Callable[[Obj], Obj]
    from_storage: Callable[[Obj], Obj]


class PythonConversion:
    """See ``storage.cache.view.Conversion``. ``functions``: of the versions that differ from ``storage_version`` in
    more than their name."""

    as_stored = keeps_metadata = False

    def __init__(
        self, schemas: VersionSchemas, group: str, storage_version: str, functions: Mapping[str, Functions]
    ) -> None:
        self._schemas, self._group, self._storage_version = schemas, group, storage_version
        self._functions = functions

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        try:
            obj: Obj = loads(data)
        except MalformedJSON as error:
            raise Unreadable(b"", str(error)) from error
        changed = self._schemas.of(_version(stored)).read(obj)
        if stored == wanted:
            return dumps(obj) if changed else data
        return dumps(self._converted(obj, _version(stored), _version(wanted)))

    def to_storage(self, obj: Obj) -> Obj:
        version = _version(obj["apiVersion"])
        if version == self._storage_version:
            return obj
        return self._converted(loads(dumps(obj)), version, self._storage_version)

    def form(self, obj: Obj, api_version: str) -> Obj:
        """An object in another version; ``obj`` is not changed.

        Raises:
            ValueError: what came of it does not fit that version.
        """
        try:
            return self._converted(loads(dumps(obj)), _version(obj["apiVersion"]), _version(api_version))
        except Unreadable as error:
            raise ValueError(str(error)) from error

    def _converted(self, obj: Obj, stored: str, wanted: str) -> Obj:
        metadata, kind = obj["metadata"], obj["kind"]
        if stored in self._functions:
            obj = self._functions[stored].to_storage(obj)
        if wanted in self._functions:
            obj = self._functions[wanted].from_storage(obj)
        api_version = f"{self._group}/{wanted}"
        content = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
        made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
        try:
            self._schemas.of(wanted).decode(made)
        except DecodeError as error:
            raise Unreadable(b"", f"cannot be converted to {api_version}: {error}") from error
        return made


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
