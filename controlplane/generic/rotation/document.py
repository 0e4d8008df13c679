"""What a rotation makes of an EncryptionConfiguration, one step at a time.

Rotated are the rules whose writes are under a key that stands in the file (aescbc, aesgcm, secretbox): each gets a new
key of one name, first beside the key that writes, then in front of it, and in the end the others of that provider go.
Other providers (identity to read what was plain, a KMS) stay. Which step is next can be seen in the document itself, so
whoever was stopped goes on where it was.

Pure: documents in, documents out.
"""

from __future__ import annotations

import base64
import copy
import os
from collections.abc import Collection, Iterator
from enum import Enum
from typing import Any, NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.storage.encryption.configuration import AESCBC, AESGCM, SECRETBOX
from controlplane.storage.encryption.providers import PREFIXES

__all__ = [
    "OldKey",
    "Place",
    "is_taken",
    "new_key_added",
    "new_key_first",
    "old_keys",
    "old_keys_removed",
    "place_of",
    "rotated",
]

_KEYED = (AESCBC, AESGCM, SECRETBOX)
KEY_BYTES = 32


class Place(Enum):
    """Where the new key stands."""

    ABSENT = "absent"
    BEHIND = "behind"
    FIRST = "first"
    ALONE = "alone"


class OldKey(NamedTuple):
    """A key that goes. ``prefix``: of the values under it."""

    kind: str
    name: str

    @property
    def prefix(self) -> bytes:
        return PREFIXES[self.kind] + self.name.encode() + b":"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def rotated(document: Obj) -> list[str]:
    """The kinds of providers that are rotated, a rule each; empty: nothing is written under a key of the file."""
    return [kind for kind, _ in _writers(document)]


def place_of(document: Obj, name: str) -> Place:
    """Where the key ``name`` stands in the rules that are rotated: in the least advanced of them."""
    places = [_place(keys, name) for _, keys in _writers(document)]
    return min(places, key=list(Place).index)


def is_taken(document: Obj, name: str) -> bool:
    """Whether any provider of the file has a key of this name: it could not be told from a new one."""
    return any(
        key["name"] == name
        for rule in document["resources"]
        for provider in rule["providers"]
        for kind in _KEYED
        for key in (provider.get(kind) or {}).get("keys") or ()
    )


def new_key_added(document: Obj, name: str) -> Obj:
    """With the new key as the second of its provider, where it is not there."""
    changed = copy.deepcopy(document)
    for _, keys in _writers(changed):
        if _place(keys, name) is Place.ABSENT:
            keys.insert(1, {"name": name, "secret": base64.b64encode(os.urandom(KEY_BYTES)).decode()})
    return changed


def new_key_first(document: Obj, name: str) -> Obj:
    """With the new key first in its provider."""
    changed = copy.deepcopy(document)
    for _, keys in _writers(changed):
        keys.sort(key=lambda key: key["name"] != name)
    return changed


def old_keys(document: Obj, name: str) -> list[OldKey]:
    """The keys that the new one stands for."""
    return list(
        dict.fromkeys(
            OldKey(kind, key["name"]) for kind, keys in _writers(document) for key in keys if key["name"] != name
        )
    )


def old_keys_removed(document: Obj, olds: Collection[OldKey]) -> Obj:
    """Without these keys in the providers that write."""
    changed = copy.deepcopy(document)
    for kind, keys in _writers(changed):
        keys[:] = [key for key in keys if OldKey(kind, key["name"]) not in olds]
    return changed


def _writers(document: Obj) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Kind and keys of each provider that writes by a key of the file."""
    for rule in document["resources"]:
        first = rule["providers"][0]
        for kind in _KEYED:
            if first.get(kind) is not None:
                yield kind, first[kind]["keys"]


def _place(keys: list[dict[str, Any]], name: str) -> Place:
    names = [key["name"] for key in keys]
    if name not in names:
        return Place.ABSENT
    if names[0] != name:
        return Place.BEHIND
    return Place.FIRST if len(names) > 1 else Place.ALONE
