"""How one resource reads the entries of its collection: which bytes it serves, in which version.

A view belongs to one generation of a resource; what it derives (other versions' bytes) is cached on the entry under
that generation, so a new generation outdates it. Where the stored version is the served one, the entry's own bytes
are served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.codec.objects import encode_revised
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.storage.api import Encoding
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.remote import Flights, RemoteConversion
from controlplane.storage.errors import Unreadable

__all__ = ["RELABEL", "ByObject", "Conversion", "View"]


class Conversion(Protocol):
    """From stored to served bytes. ``as_stored``: bytes stored in the version asked for are served as they are.
    ``keeps_metadata``: whatever is converted, the metadata stays as it is."""

    @property
    def as_stored(self) -> bool: ...

    @property
    def keeps_metadata(self) -> bool: ...

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        """An entry's data in another version; ``stored`` and ``wanted`` are apiVersions. Synchronous, without I/O.

        The same bytes, if nothing changes.

        Raises:
            Unreadable: it cannot be converted.
        """

    def to_storage(self, obj: Obj) -> Obj:
        """An object of any served version as it is stored, its kind and apiVersion aside; ``obj`` is not changed."""


class _Relabel:
    """Versions that differ by name alone."""

    as_stored = keeps_metadata = True

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        # the head comes first, so its apiVersion is the first one
        return data.replace(b'"apiVersion":"%b"' % stored.encode(), b'"apiVersion":"%b"' % wanted.encode(), 1)

    def to_storage(self, obj: Obj) -> Obj:
        return obj


RELABEL: Conversion = _Relabel()


class ByObject:
    """Forms that differ in their fields: each entry is decoded, converted and encoded, and the outcome kept.
    ``stored``: the apiVersion that is written."""

    as_stored, keeps_metadata = True, False

    def __init__(self, convert: Callable[[Obj, str], Obj], stored: str) -> None:
        self._convert, self._stored = convert, stored

    def to_storage(self, obj: Obj) -> Obj:
        return self._convert(obj, self._stored)

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        obj: Obj = loads(data)
        revision = int(obj["metadata"]["resourceVersion"])
        gv = GroupVersion.parse(wanted)
        return encode_revised(self._convert(obj, wanted), GVK(gv.group, gv.version, obj["kind"]), revision)


_NOTHING: dict[str, bytes | None] = {}


class View:
    """One generation of a resource over a collection. ``is_remote``: somebody else may have to convert, so ``ready``
    must be awaited before entries are served or decoded."""

    __slots__ = (
        "_api_versions",
        "_as_kept",
        "_as_stored",
        "_conversion",
        "_flights",
        "_intake",
        "_late",
        "collection",
        "is_remote",
        "resource",
    )

    def __init__(
        self, resource: Resource, collection: Collection, intake: Intake, conversion: Conversion, flights: Flights
    ) -> None:
        self.resource, self.collection = resource, collection
        self._intake, self._conversion, self._as_stored = intake, conversion, conversion.as_stored
        self._flights, self.is_remote = flights, isinstance(conversion, RemoteConversion)
        self._late: dict[Entry, dict[str, bytes | None]] = {}
        collection.newest = resource.generation
        self._api_versions = {v.name: resource.gvk(v.name).api_version for v in resource.versions}
        self._as_kept: dict[str, tuple[str, dict[str, bytes | None]]] = {
            version: (resource.generation, {version: None}) for version in self._api_versions.values()
        }

    def api_version(self, version: str) -> str:
        return self._api_versions[version]

    async def ready(self, entries: Sequence[Entry], version: str) -> None:
        """Have somebody else convert those of the entries that cannot be served yet; the outcome is kept on them. They
        are ready when this returns, and as long as the caller does not wait for anything.

        Raises:
            ConversionFailed; Unreadable: one of them cannot be read.
        """
        conversion = self._conversion
        if not isinstance(conversion, RemoteConversion):
            return
        wanted = self._api_versions[version]
        for entry in entries:
            self.prepare(entry)
        # again: a newer generation may have taken the place on an entry before this task has run on
        while missing := [entry for entry in entries if not self.is_ready(entry, version)]:
            await self._flights.convert(conversion, missing, wanted, self._keep)

    def is_ready(self, entry: Entry, version: str) -> bool:
        """Whether an entry can be served as it is."""
        conversion, wanted = self._conversion, self._api_versions[version]
        return (
            not isinstance(conversion, RemoteConversion)
            or not conversion.needs(entry.origin.api_version, wanted)
            or wanted in self._forms(entry)
        )

    def is_made(self, entry: Entry, version: str, encoding: Encoding | None = None) -> bool:
        """Whether the bytes of an entry are kept, so that to serve it takes no work."""
        if encoding is not None:
            return self._form_name(version, encoding) in self._forms(entry)
        wanted = self._api_versions[version]
        return (self._as_stored and entry.origin.api_version == wanted) or wanted in self._forms(entry)

    def served(self, entry: Entry, version: str) -> bytes:
        """The bytes of an entry in a served version; remote ones must be ready.

        Raises:
            Unreadable: the stored value cannot be read.
        """
        if self._as_stored and entry.origin.api_version == self._api_versions[version]:
            return entry.data
        return self._derived(entry, version)

    def with_metadata(self, entry: Entry, version: str) -> bytes:
        """Bytes that have the metadata of an entry as it is served: not converted, if nothing of it would change.
        Raises as ``served``."""
        if self._conversion.keeps_metadata:
            self.prepare(entry)
            return entry.data
        return self.served(entry, version)

    def encoded(self, entry: Entry, version: str, encoding: Encoding | None) -> bytes:
        """The bytes of an entry in a served version, in an encoding (None: JSON). Made once, and kept on the entry.

        Raises:
            Unreadable: the stored value cannot be read, or has no such form.
        """
        if encoding is None:
            return self.served(entry, version)
        key = self._form_name(version, encoding)
        made = self._forms(entry).get(key)
        if made is None:
            try:
                made = encoding.encode(self.served(entry, version))
            except ValueError as error:
                raise Unreadable(entry.key, str(error)) from error
            self._keep(entry, key, made)
        return made

    def served_as_kept(
        self, entries: Sequence[Entry], version: str, encoding: Encoding | None = None
    ) -> list[bytes] | None:
        """The bytes of many entries at once, if all are served as they are kept; else None."""
        if encoding is not None:
            key, generation = self._form_name(version, encoding), self.resource.generation
            forms = [entry.forms for entry in entries]
            made = [form[1].get(key) for form in forms if form is not None and form[0] == generation]
            found = [data for data in made if data is not None]
            return found if len(found) == len(entries) else None
        api_version = self._api_versions[version]
        kept = [entry.data for entry in entries if entry.origin.api_version == api_version]
        return kept if self._as_stored and len(kept) == len(entries) else None

    def decode(self, entry: Entry, version: str) -> Obj:
        """A fresh object. Raises as ``served``."""
        obj: Obj = loads(self.served(entry, version))
        return obj

    def prepare(self, entry: Entry) -> None:
        """Read a raw entry, which needs an owner to be read.

        Raises:
            Unreadable: it cannot be read.
        """
        if entry.origin.unread:
            self._intake.read_of(self.collection, entry)
        entry.require_readable()

    def _derived(self, entry: Entry, version: str) -> bytes:
        self.prepare(entry)
        stored, wanted = entry.origin.api_version, self._api_versions[version]
        if self._as_stored and stored == wanted:
            return entry.data
        known = self._forms(entry)
        if wanted in known:
            form = known[wanted]
            return entry.data if form is None else form
        data = self._conversion.convert(entry.data, stored, wanted)
        self._keep(entry, wanted, data)
        return data

    def _form_name(self, version: str, encoding: Encoding) -> str:
        return f"{self._api_versions[version]};{encoding.name}"

    def _forms(self, entry: Entry) -> dict[str, bytes | None]:
        """What this generation has made of an entry."""
        forms = entry.forms
        if forms is not None and forms[0] == self.resource.generation:
            return forms[1]
        return self._late.get(entry, _NOTHING) if self._late else _NOTHING

    def _keep(self, entry: Entry, wanted: str, data: bytes) -> None:
        """Remember a form. What somebody else has converted is not taken away by a generation that is over: that keeps
        its own forms to itself, as long as somebody uses it."""
        known, generation = self._forms(entry), self.resource.generation
        if self.is_remote and self.collection.newest != generation:
            self._late[entry] = {**known, wanted: None if data is entry.data else data}
        elif not known and data is entry.data and wanted in self._as_kept:
            entry.forms = self._as_kept[wanted]  # one for all entries of which this is true
        else:
            entry.forms = (generation, {**known, wanted: None if data is entry.data else data})

    def to_storage(self, obj: Obj) -> Obj:
        """An object as it is stored, where nobody else has to convert it."""
        return self._conversion.to_storage(obj)

    async def converted(self, obj: Obj, version: str) -> Obj:
        """An object that is not stored yet, of any served version, in another one.

        Raises:
            ConversionFailed.
        """
        given, wanted = obj["apiVersion"], self._api_versions[version]
        conversion = self._conversion
        if isinstance(conversion, RemoteConversion) and conversion.needs(given, wanted):
            (data,) = await conversion.convert_batch([(dumps(obj), given)], wanted)
            made: Obj = loads(data)
            return made
        if self.resource.convert is not None and given != wanted:
            return self.resource.convert(obj, wanted)
        return {**obj, "apiVersion": wanted}

    async def to_storage_remote(self, obj: Obj) -> Obj:
        """An object as it is stored.

        Raises:
            ConversionFailed.
        """
        conversion = self._conversion
        if isinstance(conversion, RemoteConversion):
            return await conversion.to_storage_remote(obj)
        return conversion.to_storage(obj)
