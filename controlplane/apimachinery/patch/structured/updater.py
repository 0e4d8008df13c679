"""Who owns which fields, after an update and after an apply.

An update takes what it changes from all others. An apply states what it wants to own: it is merged into the object;
what it stated last time and states no longer is removed unless somebody else owns it; and to change what another owns
is a conflict unless forced.

Owners may have written through different versions of a resource; each set is compared in its own version.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``merge``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.structured.errors import Conflict, ConflictError, Manager
from controlplane.apimachinery.patch.structured.fieldset import (
    Fields,
    difference,
    intersection,
    paths,
    recursive_difference,
    union,
)
from controlplane.apimachinery.patch.structured.merge import merge
from controlplane.apimachinery.patch.structured.types import Type
from controlplane.apimachinery.patch.structured.values import equal
from controlplane.apimachinery.patch.structured.walks import (
    Comparison,
    compare,
    fields_of,
    reconcile,
    remove,
    with_named_fields,
)

__all__ = ["Managers", "OwnedSet", "Updater", "Versioned"]


class OwnedSet(NamedTuple):
    """What one manager owns, in the terms of one version; ``applied``: by apply, not by update."""

    fields: Fields
    version: str
    applied: bool


Managers = dict[Manager, OwnedSet]
"""What each manager owns. Never holds an empty set."""


class Versioned(NamedTuple):
    """An object in one version."""

    obj: Obj
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Updater:
    """The rules for one resource.

    ``types``: each served version's type, by apiVersion; owners of other versions are forgotten.
    ``convert``: an object in another of these versions (never called for its own).
    ``reset``: by version, fields that clients of this path cannot own (a main resource's ``status``).
    """

    types: Mapping[str, Type]
    convert: Callable[[Obj, str], Obj]
    reset: Mapping[str, Fields]

    def update(self, live: Obj, new: Obj, version: str, managers: Managers, manager: Manager) -> Managers:
        """Ownership after ``manager`` wrote ``new`` over ``live`` (``{}`` on create), both in ``version``."""
        managers = self._reconciled(Versioned(live, version), managers)
        managers, changes = self._take(live, new, version, managers, manager, force=True)
        mine = managers[manager].fields if manager in managers else {}
        mine = union(union(difference(mine, changes.removed), changes.modified), changes.added)
        mine = recursive_difference(mine, self.reset.get(version, {}))
        managers.pop(manager, None)
        if mine:
            managers[manager] = OwnedSet(mine, version, applied=False)
        return managers

    def apply(
        self, live: Obj, config: Obj, version: str, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[Obj | None, Managers]:
        """Merge what ``manager`` applies.

        Returns:
            The new object, None if it equals ``live``; and the ownership.

        Raises:
            ConflictError: without ``force``, every field that somebody else owns with another value.
        """
        type_ = self.types[version]
        managers = self._reconciled(Versioned(live, version), managers)
        last = managers.get(manager)
        wanted = recursive_difference(fields_of(config, type_), self.reset.get(version, {}))
        managers[manager] = OwnedSet(wanted, version, applied=True)
        new = merge(live, config, type_)
        if last is not None and last.version in self.types:
            new = self._prune(new, version, managers, last)
        managers, _ = self._take(live, new, version, managers, manager, force=force)
        return (None if equal(live, new) else new), managers

    def _in(self, versioned: Versioned, version: str) -> Obj:
        return versioned.obj if versioned.version == version else self.convert(versioned.obj, version)

    def _reconciled(self, live: Versioned, managers: Managers) -> Managers:
        """Ownership in terms of the present schemas; owners of versions that are gone are left out."""
        return {
            name: owned._replace(fields=reconcile(owned.fields, self.types[owned.version]))
            for name, owned in managers.items()
            if owned.version in self.types
        }

    def _take(
        self, old: Obj, new: Obj, version: str, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[Managers, Comparison]:
        """Take what changed from everybody but ``manager``."""
        changes = self._changes(Versioned(old, version), Versioned(new, version), version)
        by_version = {version: changes}
        kept: Managers = {}
        conflicts: list[Conflict] = []
        for name, owned in managers.items():
            if name == manager:
                kept[name] = owned
                continue
            theirs = by_version.get(owned.version)
            if theirs is None:
                theirs = self._changes(Versioned(old, version), Versioned(new, version), owned.version)
                by_version[owned.version] = theirs
            lost = intersection(owned.fields, union(theirs.modified, theirs.added))
            conflicts += [Conflict(name, path) for path in paths(lost)]
            fields = difference(difference(owned.fields, lost), theirs.removed)
            kept[name] = owned._replace(fields=fields)
        if conflicts and not force:
            raise ConflictError(conflicts)
        return {name: owned for name, owned in kept.items() if owned.fields}, changes

    def _changes(self, old: Versioned, new: Versioned, version: str) -> Comparison:
        found = compare(self._in(old, version), self._in(new, version), self.types[version])
        ignored = self.reset.get(version, {})
        if not ignored:
            return found
        return Comparison(*(recursive_difference(part, ignored) for part in found))

    def _prune(self, merged: Obj, version: str, managers: Managers, last: OwnedSet) -> Obj:
        """Remove what the manager applied last time and nobody owns now."""
        if not last.fields:
            return merged
        type_ = self.types[last.version]
        whole = self._in(Versioned(merged, version), last.version)
        named = with_named_fields(last.fields, type_)
        pruned: Any = remove(whole, named, type_) or {}
        whole_now = Versioned(whole, last.version)
        pruned_now = self._add_back_owned(whole_now, Versioned(pruned, last.version), managers)
        pruned = self._in(pruned_now, last.version)
        gone = difference(
            with_named_fields(fields_of(whole, type_), type_), with_named_fields(fields_of(pruned, type_), type_)
        )
        pruned = remove(whole, intersection(gone, named), type_) or {}
        return self._in(Versioned(pruned, last.version), version)

    def _add_back_owned(self, merged: Versioned, pruned: Versioned, managers: Managers) -> Versioned:
        """Put back what pruning took although somebody owns it, version by version, the pruned one first."""
        owned_in: dict[str, Fields] = {}
        for owned in managers.values():
            owned_in[owned.version] = union(owned_in.get(owned.version, {}), owned.fields)
        for version in sorted(owned_in, key=lambda v: v != pruned.version):
            type_ = self.types[version]
            whole, rest = self._in(merged, version), self._in(pruned, version)
            kept = union(with_named_fields(fields_of(rest, type_), type_), with_named_fields(owned_in[version], type_))
            gone = difference(with_named_fields(fields_of(whole, type_), type_), kept)
            pruned = Versioned(remove(whole, gone, type_) or {}, version)
        return pruned
