"""Who owns which fields, after an update and after an apply.

An update takes what it changes from all others. An apply states what it wants to own: it is merged into the object;
what it stated last time and states no longer is removed unless somebody else owns it; and to change what another owns
is a conflict unless forced.

Owners may have written through different versions of a resource; each set is compared in its own version.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``merge``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.structured.beside import Beside
from controlplane.apimachinery.patch.structured.check import check_type
from controlplane.apimachinery.patch.structured.compare import Changes, compare
from controlplane.apimachinery.patch.structured.errors import Conflict, ConflictError, FormError, Manager
from controlplane.apimachinery.patch.structured.fieldset import (
    Fields,
    decode,
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
    fields_of,
    reconcile,
    remove,
    with_named_fields,
)

__all__ = ["Managers", "OwnedSet", "Updater", "Versioned"]


_NONE: Fields = {}
_PRUNING = "failed to prune fields: "
_REMEMBERED_SETS = 64
_REMEMBERED_BYTES = 2048
"""Most objects of a kind are written by the same programs, which set the same fields: to find a set by its text costs a
third of checking it. So many are remembered for each path of a resource, none longer than this."""


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


class Updater:
    """The rules for one resource.

    ``types``: each served version's type, by apiVersion; owners of other versions are forgotten.
    ``convert``: an object in another of these versions (never called for its own); a ValueError says why it cannot be.
    ``reset``: by version, fields that clients of this path cannot own (a main resource's ``status``).
    ``unowned``: fields that nobody owns: changes of them are not looked for.
    """

    __slots__ = ("_ignored", "_reset", "_sets", "convert", "types")

    def __init__(
        self,
        *,
        types: Mapping[str, Type],
        convert: Callable[[Obj, str], Obj],
        reset: Mapping[str, Fields],
        unowned: Fields = _NONE,
    ) -> None:
        self.types, self.convert, self._reset = types, convert, reset
        self._ignored = {version: union(reset.get(version, _NONE), unowned) for version in types}
        self._sets: dict[tuple[str, bytes], Fields] = {}

    def update(self, live: Obj, new: Obj, version: str, managers: Managers, manager: Manager) -> Managers:
        """Ownership after ``manager`` wrote ``new`` over ``live``, both in ``version``. ``managers`` is not changed.

        Raises:
            FormError.
        """
        self._check_forms(Versioned(live, version), managers)
        changes = compare(live, new, self.types[version], self._ignored[version])
        mine = union(changes.modified, changes.added)
        if not managers:  # a new object, nearly always
            return {manager: OwnedSet(mine, version, applied=False)} if mine else {}
        before = managers.get(manager)
        if before is not None:
            managers = {name: owned for name, owned in managers.items() if name != manager}
            kept = union(difference(before.fields, changes.removed), mine)
            mine = recursive_difference(kept, self._ignored[version])
        managers = self._take(live, new, version, managers, changes, force=True)
        if mine:
            managers[manager] = OwnedSet(mine, version, applied=False)
        return managers

    def creations(self, blank: Obj, version: str) -> Beside:
        """Tells what creations set, but for what nobody can own here. ``blank``: what objects have that nobody has
        set."""
        return Beside(blank, self.types[version], self._ignored[version])

    def apply(
        self, live: Obj, config: Obj, version: str, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[Obj | None, Managers]:
        """Merge what ``manager`` applies.

        Returns:
            The new object, None if it equals ``live``; and the ownership.

        Raises:
            ConflictError: without ``force``, every field that somebody else owns with another value.
            FormError.
        """
        self._check_forms(Versioned(live, version), managers)
        type_, ignored = self.types[version], self._ignored[version]
        last = managers.get(manager)
        mine = OwnedSet(fields_of(config, type_, ignored), version, applied=True)
        new = merge(live, config, type_)
        if last is not None and not _covers(mine, last):
            # what nobody owns is stated all the same, and so are the parts that it stands in
            whole = mine._replace(
                fields=recursive_difference(fields_of(config, type_), self._reset.get(version, _NONE))
            )
            new = self._prune(new, version, {**managers, manager: whole}, last)
        changes = self._changes(Versioned(live, version), Versioned(new, version), version)
        managers = {name: owned for name, owned in managers.items() if name != manager}
        managers = self._take(live, new, version, managers, changes, force=force)
        if mine.fields:
            managers[manager] = mine
        return (None if equal(live, new) else new), managers

    def owned(self, raw: Any, version: str) -> Fields | None:
        """A set from ``fieldsV1``, in terms of the present schema of its version; None if that is not served any more.

        Equal sets may be one object.

        Raises:
            ValueError: not a set of fields.
        """
        type_ = self.types.get(version)
        if type_ is None:
            decode(raw)
            return None
        key = (version, orjson.dumps(raw))
        known = self._sets.get(key)
        if known is None:
            known = reconcile(decode(raw), type_)
            if len(key[1]) <= _REMEMBERED_BYTES:
                if len(self._sets) >= _REMEMBERED_SETS:
                    self._sets.clear()
                self._sets[key] = known
        return known

    def _in(self, versioned: Versioned, version: str, doing: str = "") -> Obj:
        """An object in a version. ``doing``: what the error begins with. Raises FormError."""
        if versioned.version == version:
            return versioned.obj
        try:
            obj = self.convert(versioned.obj, version)
            check_type(obj, self.types[version])
        except ValueError as error:
            raise FormError(f"{doing}{error}") from error
        return obj

    def _check_forms(self, live: Versioned, managers: Managers) -> None:
        """What is stored must fit all versions in which somebody owns a part of it. Raises FormError."""
        for version in {owned.version for owned in managers.values()} - {live.version}:
            self._in(live, version)

    def _take(self, old: Obj, new: Obj, version: str, managers: Managers, changes: Changes, *, force: bool) -> Managers:
        """Take what changed from everybody. Raises ConflictError."""
        by_version = {version: changes}
        kept: Managers = {}
        conflicts: list[Conflict] = []
        for name, owned in managers.items():
            theirs = by_version.get(owned.version)
            if theirs is None:
                theirs = self._changes(Versioned(old, version), Versioned(new, version), owned.version)
                by_version[owned.version] = theirs
            taken = union(theirs.modified, theirs.added)
            if not force:
                conflicts += [Conflict(name, path) for path in paths(intersection(owned.fields, taken))]
            fields = difference(difference(owned.fields, taken), theirs.removed)
            if fields:
                kept[name] = owned if fields is owned.fields else owned._replace(fields=fields)
        if conflicts:
            raise ConflictError(conflicts)
        return kept

    def _changes(self, old: Versioned, new: Versioned, version: str) -> Changes:
        ignored = self._ignored[version]
        after = self._in(new, version, "failed to convert new object: ")
        return compare(self._in(old, version), after, self.types[version], ignored)

    def _prune(self, merged: Obj, version: str, managers: Managers, last: OwnedSet) -> Obj:
        """Remove what the manager applied last time and nobody owns now."""
        if not last.fields:
            return merged
        type_ = self.types[last.version]
        doing = f"{_PRUNING}failed to convert merged object to last applied version: "
        whole = self._in(Versioned(merged, version), last.version, doing)
        named = with_named_fields(last.fields, type_)
        pruned: Any = remove(whole, named, type_) or {}
        whole_now = Versioned(whole, last.version)
        pruned_now = self._add_back_owned(whole_now, Versioned(pruned, last.version), managers)
        pruned = self._in(pruned_now, last.version, _PRUNING)
        gone = difference(
            with_named_fields(fields_of(whole, type_), type_), with_named_fields(fields_of(pruned, type_), type_)
        )
        pruned = remove(whole, intersection(gone, named), type_) or {}
        return self._in(Versioned(pruned, last.version), version, _PRUNING)

    def _add_back_owned(self, merged: Versioned, pruned: Versioned, managers: Managers) -> Versioned:
        """Put back what pruning took although somebody owns it, version by version, the pruned one first."""
        owned_in: dict[str, Fields] = {}
        for owned in managers.values():
            owned_in[owned.version] = union(owned_in.get(owned.version, {}), owned.fields)
        for version in sorted(owned_in, key=lambda v: v != pruned.version):
            type_ = self.types[version]
            failed = f"{_PRUNING}failed add back owned items: failed to convert %s object at version {version}: "
            whole = self._in(merged, version, failed % "merged")
            rest = self._in(pruned, version, failed % "pruned")
            kept = union(with_named_fields(fields_of(rest, type_), type_), with_named_fields(owned_in[version], type_))
            gone = difference(with_named_fields(fields_of(whole, type_), type_), kept)
            pruned = Versioned(remove(whole, gone, type_) or {}, version)
        return pruned


def _covers(wanted: OwnedSet, last: OwnedSet) -> bool:
    """Whether all that was applied last is applied again, so that there is nothing to remove."""
    return wanted.version == last.version and not difference(last.fields, wanted.fields)
