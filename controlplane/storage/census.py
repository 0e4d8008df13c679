"""What a store holds: how many objects of each resource, in which version, under which key.

Counted from the mirror's entries, which say how their bytes are stored, or from a raw store that nobody serves; either
way at one revision, and whether or not anybody serves what is counted. Our own bookkeeping is no object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from controlplane.apimachinery.codec.protobuf.envelope import open_envelope
from controlplane.apimachinery.codec.protobuf.wire import MalformedProtobuf
from controlplane.apimachinery.identity import GroupResource, GroupVersion
from controlplane.storage.cache.entry import Entry, Origin
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.slices import Slices
from controlplane.storage.kv.api import KV, prefix_end
from controlplane.storage.transform import ENCRYPTED, Transformer

__all__ = ["Census", "Form", "count_mirror", "count_store"]

_BOOKKEEPING = b"controlplane/"
_NOBODY = ("", "")
_CHUNK = 500
"""Entries counted before a look at the clock: half a millisecond at most."""
_PAGE = 1000
_PROTOBUF = b"k8s\x00"
_KEY_NAMED = re.compile(rb"k8s:enc:(aescbc|aesgcm|secretbox|kms):v[0-9]+:([ -9;-~]{1,253}):")
"""Provider and key of an encrypted value. What looks like no name is not shown: it may be what was encrypted."""


class Form(NamedTuple):
    """How objects are stored. ``api_version``: ``""`` if they cannot be read. ``key_id``: of the encryption key, ``""``
    for none, ``?`` if that cannot be told. ``stale``: the same object would be stored otherwise now, be it in its
    layout or under another key."""

    api_version: str
    key_id: str
    stale: bool


class Census(NamedTuple):
    """``forms``: by resource, how many objects there are in each form. ``revision``: of which all this is true."""

    revision: int
    forms: Mapping[GroupResource, Mapping[Form, int]]


class _Counts:
    """Counts while they are made; ``root`` is the prefix of all keys."""

    def __init__(self, intake: Intake, root: bytes) -> None:
        self._intake, self._root = intake, len(root)
        self.forms: dict[GroupResource, Counter[Form]] = {}

    def add(self, key: bytes, value: bytes, origin: Origin, name: tuple[str, str], objects: int = 1) -> None:
        """Count objects that came from one place. ``value``: as stored, where it cannot be read; ``name``: group and
        resource, both ``""`` if nobody serves them."""
        form = self._form(key, value, origin)
        if not name[1]:
            if key.startswith(_BOOKKEEPING, self._root):
                return
            name = self._guessed(key, form.api_version)
        self.forms.setdefault(GroupResource(*name), Counter())[form] += objects

    def _form(self, key: bytes, value: bytes, origin: Origin) -> Form:
        if origin.poison:
            return _unreadable(value)
        return Form(origin.api_version, origin.key_id, self._intake.would_differ(key, origin))

    def _guessed(self, key: bytes, api_version: str) -> tuple[str, str]:
        """Group and resource of a key of which nobody knows whose it is: the group stands in it, or in the object."""
        first, _, rest = key[self._root :].decode(errors="replace").partition("/")
        if "." in first:
            return first, rest.partition("/")[0]
        return (GroupVersion.parse(api_version).group if api_version.count("/") <= 1 else ""), first


async def count_mirror(mirror: Mirror, gr: GroupResource | None = None) -> Census:
    """Count what a mirror holds, in slices; of one resource if it is named (and served). Does not ask the store: wait
    for ``mirror.fresh(None)`` before, to count all that was acknowledged."""
    intake, revision, slices = mirror.intake, mirror.revision, Slices()
    counts = _Counts(intake, mirror.prefix)
    for name, entries in _parts(mirror, gr):
        alike: dict[Origin, int] = {}
        for start in range(0, len(entries), _CHUNK):
            for entry in entries[start : start + _CHUNK]:
                origin = entry.origin
                if origin.unread:  # to look into an encrypted one takes as long as to count a few dozen
                    origin = intake.look(entry)
                    if slices.due():
                        await slices.rest()
                if origin.poison or not name[1]:
                    counts.add(entry.key, entry.data, origin, name)
                else:
                    alike[origin] = alike.get(origin, 0) + 1
            if slices.due():
                await slices.rest()
        for origin, objects in alike.items():
            counts.add(entries[0].key, b"", origin, name, objects)
    return Census(revision, counts.forms)


def _parts(mirror: Mirror, gr: GroupResource | None) -> list[tuple[tuple[str, str], list[Entry]]]:
    """All entries of one moment, by the resource that they are of; what is between resources is nobody's."""
    index, at = mirror.image.index, mirror.prefix
    parts: list[tuple[tuple[str, str], list[Entry]]] = []
    for collection in sorted(mirror.image.collections.all(), key=lambda one: one.prefix):
        if gr is None:
            parts.append((_NOBODY, index.scan(at, collection.prefix)))
            at = collection.end
        if gr in (None, collection.name):
            parts.append((collection.name, index.scan(collection.prefix, collection.end)))
    if gr is None:
        parts.append((_NOBODY, index.scan(at, prefix_end(mirror.prefix))))
    return parts


async def count_store(
    kv: KV, prefix: bytes, transformer: Transformer, name_of: Callable[[bytes], tuple[str, str]]
) -> Census:
    """Count what a raw store holds below ``prefix``, at its present revision. ``name_of``: group and resource of a key,
    both ``""`` where they can only be guessed.

    Raises:
        Unavailable.
    """
    intake = Intake(transformer)
    counts = _Counts(intake, prefix)
    start, end, revision = prefix, prefix_end(prefix), 0
    while True:
        page = await kv.range(start, end, revision=revision, limit=_PAGE)
        revision = revision or page.revision
        if fetching := intake.fetch(page.items):
            await fetching
        for item in page.items:
            counts.add(item.key, item.value, intake.look_into(item.key, item.value), name_of(item.key))
        if not page.more:
            return Census(revision, counts.forms)
        start = page.items[-1].key + b"\0"


def _unreadable(value: bytes) -> Form:
    """What a value that cannot be read says of itself: another encoding its version, an encrypted one its key."""
    if value.startswith(_PROTOBUF):
        try:
            return Form(open_envelope(value).api_version, "", stale=True)
        except MalformedProtobuf:
            return Form("", "", stale=True)
    if value.startswith(ENCRYPTED):
        key = _KEY_NAMED.match(value)
        return Form("", f"{key[1].decode()}:{key[2].decode()}" if key else "?", stale=True)
    return Form("", "", stale=True)
