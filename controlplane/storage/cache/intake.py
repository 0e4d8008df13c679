"""From stored values to entries: decrypt, check, splice the revision in.

A value is decoded once, when it comes in, to prove that it can be and that it has the types of its kind; what was
decoded is dropped. A value that cannot be read poisons its own entry and raises nothing; one that lacks what our own
have is laid out with it. Bytes that we have encoded ourselves are not checked again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

import orjson

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.codec.objects import splice_revision, strip_revision
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.as_decoded import metadata_as_decoded
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.entry import RAW, SPLICED, Entry, Origin, origin_of, poisoned
from controlplane.storage.errors import Unreadable
from controlplane.storage.kv.api import KeyValue
from controlplane.storage.transform import IDENTITY, Transformer

__all__ = ["Intake"]

_METADATA = b'"metadata":{'
_REVISION = b'"resourceVersion":'
_END = ord("}")
_PROTOBUF = b"k8s\x00"
_NOT_TRANSFORMABLE = "data from the storage is not transformable"
_HEADS_REMEMBERED = 4096
_OURS_REMEMBERED = 1024
"""Values under way; over this many at once the rest are simply checked."""


class Intake:
    """Makes entries. One to a mirror; ``decode_errors`` counts poisoned values."""

    def __init__(self, transformer: Transformer) -> None:
        self._transformer = transformer
        self._heads: dict[bytes, tuple[str, str]] = {}
        self._ours: dict[bytes, bytes] = {}
        self._written: dict[bytes, Entry] = {}
        self.decode_errors = 0

    def raw(self, kv: KeyValue) -> Entry:
        """An entry that is not looked into: whoever serves it first reads it in place.

        Where the layout allows, the revision goes in now. Done when 100,000 objects are first read, a slightly longer
        copy of each would find no room where its shorter original was, and leave the heap half empty.
        """
        if self._transformer is IDENTITY:
            spliced = splice_revision(kv.value, kv.mod_revision)
            if spliced is not None:
                return Entry(kv.key, spliced, kv.mod_revision, kv.create_revision, SPLICED)
        return Entry(kv.key, kv.value, kv.mod_revision, kv.create_revision, RAW)

    def read(self, kv: KeyValue, collection: Collection | None = None) -> Entry:
        """An entry ready to be served, or a poisoned one; of a write whose outcome has been told, the very entry of
        that. ``collection``: the one that its key lies in; without it nothing but its metadata is checked."""
        written = self._written.pop(kv.key, None)
        if written is not None and written.mod_revision == kv.mod_revision and self._ours.get(kv.key) == kv.value:
            del self._ours[kv.key]
            return written
        data, origin = self._read(kv.key, kv.value, kv.mod_revision, collection)
        return Entry(kv.key, data, kv.mod_revision, kv.create_revision, origin)

    def read_in_place(self, entry: Entry, collection: Collection | None = None) -> None:
        """Make an unread entry ready (or poisoned); ``collection`` as for ``read``."""
        if entry.origin is SPLICED:
            try:
                _, mended = _checked(entry.data, collection)
                origin = RAW if mended else origin_of(*self._head(entry.data), "", False)
            except MalformedJSON:
                origin = RAW
            if origin is RAW:  # poisoned or mended below, as what was stored
                stored = strip_revision(entry.data)
                assert stored is not None  # the layout is our own
                entry.data = stored
            entry.origin = origin
        if entry.origin is RAW:
            entry.data, entry.origin = self._read(entry.key, entry.data, entry.mod_revision, collection)

    def peek(self, entry: Entry) -> bytes:
        """An entry's data if it has been read, else as they were stored, decrypted; ``b""`` if they cannot be.
        Nothing is checked, changed or counted."""
        if entry.origin is not RAW:
            return entry.data
        try:
            return self._transformer.from_storage(entry.key, entry.data)[0]
        except Unreadable:
            return b""

    def read_of(self, collection: Collection, entry: Entry) -> None:
        """Make an entry of a collection ready (or poisoned), if it is unread, and count it so."""
        if entry.origin.unread:
            self.read_in_place(entry, collection)
            collection.raw -= 1
            collection.poisoned += bool(entry.origin.poison)

    def reread_in_place(self, entry: Entry, collection: Collection) -> bool:
        """Try again to decrypt an entry that could not be; whether it is ready now."""
        if not entry.origin.poison.startswith(_NOT_TRANSFORMABLE):
            return False
        data, origin = self._read(entry.key, entry.data, entry.mod_revision, collection)
        if origin.poison:
            return False
        entry.data, entry.origin = data, origin
        return True

    def is_stale(self, entry: Entry) -> bool:
        """Whether an entry is stored otherwise than it would be now: in another layout, or under another key."""
        return self.would_differ(entry.key, entry.origin)

    def would_differ(self, key: bytes, origin: Origin) -> bool:
        """The same of whatever is stored at a key and came from there."""
        return origin.stale or origin.key_id != self._transformer.write_key_id(key)

    def look(self, entry: Entry) -> Origin:
        """The origin that an entry has or would have if it was read; an unread one stays as it is."""
        origin = entry.origin
        if origin is SPLICED:
            try:
                return origin_of(*self._head(entry.data), "", False)
            except MalformedJSON as malformed:
                return poisoned(str(malformed))
        return self.look_into(entry.key, entry.data) if origin is RAW else origin

    def look_into(self, key: bytes, value: bytes) -> Origin:
        """The origin of a stored value, from its head alone where that tells; it makes no entry and counts nothing."""
        try:
            plain, key_id, stale = self._transformer.from_storage(key, value)
            if splice_revision(plain, 1) is None:
                obj = _loaded(plain)
                plain, stale = _laid_out(obj, 1), stale or _foreign_layout(obj)
            return origin_of(*self._head(plain), key_id, stale)
        except Unreadable as unreadable:
            return poisoned(unreadable.why)
        except MalformedJSON as malformed:
            return poisoned(str(malformed))

    def fetch(self, values: Iterable[KeyValue | None]) -> Awaitable[None] | None:
        """Get what is needed to read these values, if somebody else has it; None: nothing is missing."""
        if not self._transformer.remote:
            return None
        return self._transformer.fetch(kv.value for kv in values if kv is not None)

    def written(self, key: bytes, plain: bytes, revision: int, create_revision: int) -> Entry:
        """The entry of plain bytes that we have just encoded and stored."""
        ready = self._spliced(plain, revision) if self._transformer is IDENTITY else None
        if ready is not None:
            entry = Entry(key, ready[0], revision, create_revision, ready[1])
            if key in self._ours:  # its event is still to come
                self._written[key] = entry
            return entry
        data = self.data_of(plain, revision)
        api_version, kind = self._head(data)
        key_id = self._transformer.write_key_id(key)
        return Entry(key, data, revision, create_revision, origin_of(api_version, kind, key_id, False))

    def data_of(self, plain: bytes, revision: int) -> bytes:
        """What an entry of these plain bytes, encoded by us, has as its data."""
        data = splice_revision(plain, revision)
        return data if data is not None else _laid_out(loads(plain), revision)

    def to_storage(self, key: bytes, plain: bytes) -> bytes:
        """The value to store. Its plain bytes are taken for sound when they come back."""
        if len(self._ours) >= _OURS_REMEMBERED:
            self._ours.clear()
            self._written.clear()
        self._ours[key] = plain
        return self._transformer.to_storage(key, plain)

    def _spliced(self, plain: bytes, revision: int) -> tuple[bytes, Origin] | None:
        """What an entry has that was encoded by us and is stored unencrypted, of a kind that has been met; None: look
        closer. One search for where the metadata begin tells the kind and where the revision goes."""
        at = plain.find(_METADATA)
        known = self._heads.get(plain[:at])
        at += len(_METADATA)
        if known is None or plain[at] == _END or plain.find(_REVISION, at) >= 0:
            return None
        return plain[:at] + b'"resourceVersion":"%d",' % revision + plain[at:], origin_of(*known, "", False)

    def _read(self, key: bytes, value: bytes, revision: int, collection: Collection | None) -> tuple[bytes, Origin]:
        if self._transformer is IDENTITY and self._ours.get(key) == value:
            ready = self._spliced(value, revision)
            if ready is not None:
                del self._ours[key]
                return ready
        try:
            plain, key_id, stale = self._transformer.from_storage(key, value)
            data = splice_revision(plain, revision)
            if data is None:
                # another layout than ours: served in ours, and written in ours by the next update
                obj, mended = _checked(plain, collection)
                data, stale = _laid_out(obj, revision), stale or mended or _foreign_layout(obj)
            elif self._ours.pop(key, None) != plain:
                obj, mended = _checked(plain, collection)
                if mended:
                    data, stale = _laid_out(obj, revision), True
            api_version, kind = self._head(data)
        except Unreadable as unreadable:
            self.decode_errors += 1
            return value, poisoned(f"{_NOT_TRANSFORMABLE} revision={revision}: {unreadable.why}")
        except MalformedJSON as malformed:
            self.decode_errors += 1
            why = "protobuf values are not supported, store JSON" if value.startswith(_PROTOBUF) else str(malformed)
            return value, poisoned(f"object not decodable revision={revision}: {why}")
        return data, origin_of(api_version, kind, key_id, stale)

    def _head(self, data: bytes) -> tuple[str, str]:
        """The stored apiVersion and kind of laid-out data, remembered by its head.

        Raises:
            MalformedJSON: they are not there.
        """
        head = data[: data.index(_METADATA)]
        known = self._heads.get(head)
        if known is None:
            fields = loads(head[:-1] + b"}")
            known = str(fields.get("apiVersion") or ""), str(fields.get("kind") or "")
            if not all(known):
                raise MalformedJSON("apiVersion or kind is missing")
            if len(self._heads) < _HEADS_REMEMBERED:
                self._heads[head] = known
        return known


def _loaded(plain: bytes) -> Obj:
    """Decode, to prove that it can be.

    Raises:
        MalformedJSON.
    """
    try:
        obj = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise MalformedJSON(str(error)) from error
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        raise MalformedJSON("not a JSON object with metadata")
    return obj


def _checked(plain: bytes, collection: Collection | None) -> tuple[Obj, bool]:
    """Decode, to prove that it can be and has the types of its kind: what is of others would come up in whoever follows
    objects, long after its writer has gone.

    Returns:
        The object, and whether something had to be put right.

    Raises:
        MalformedJSON.
    """
    obj = _loaded(plain)
    try:
        settled = metadata_as_decoded(obj, plain) if collection is None else collection.forms.as_decoded(obj, plain)
    except DecodeError as error:
        raise MalformedJSON(str(error)) from error
    return settled, settled is not obj


def _laid_out(obj: Obj, revision: int) -> bytes:
    """Encode in the layout that entries have: kind, apiVersion, then metadata with its resource version first."""
    metadata = obj["metadata"]
    if not isinstance(metadata, dict):
        raise MalformedJSON("metadata is not an object")
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str)):
        raise MalformedJSON("apiVersion or kind is missing")
    head = {"kind": kind, "apiVersion": api_version}
    inside = {"resourceVersion": str(revision)}
    inside |= {k: v for k, v in metadata.items() if k not in ("resourceVersion", "selfLink")}
    return dumps(head | {"metadata": inside} | {k: v for k, v in obj.items() if k not in (*head, "metadata")})


def _foreign_layout(obj: Obj) -> bool:
    """Whether stored bytes differ from what we would store for a reason other than a field named resourceVersion that
    belongs to the object (an event's involved object has one)."""
    metadata = obj["metadata"]
    fields = list(obj)
    return not isinstance(metadata, dict) or "resourceVersion" in metadata or fields.index("metadata") != 2
