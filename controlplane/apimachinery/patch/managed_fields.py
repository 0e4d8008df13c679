"""``metadata.managedFields``: read it, bring it up to date with every write, write it back.

One ``FieldManager`` serves one path of one version (a resource or a subresource). An update never fails for its managed
fields: where they cannot be brought up to date the stored ones are kept.

Source: behaviour of kubernetes/apimachinery ``pkg/util/managedfields``, its order of steps included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.structured.beside import Beside
from controlplane.apimachinery.patch.structured.check import check_type
from controlplane.apimachinery.patch.structured.compare import compare
from controlplane.apimachinery.patch.structured.elements import escape_html
from controlplane.apimachinery.patch.structured.errors import Conflict, ConflictError, Manager
from controlplane.apimachinery.patch.structured.fieldset import Fields, decode, difference, has, union
from controlplane.apimachinery.patch.structured.types import Type
from controlplane.apimachinery.patch.structured.updater import Managers, OwnedSet, Updater
from controlplane.apimachinery.patch.structured.walks import fields_of
from controlplane.apimachinery.validation.metadata import TOTAL_ANNOTATION_BYTES, total_annotation_bytes
from controlplane.base.values import dataclass

__all__ = ["LAST_APPLIED", "UPDATE_MANAGERS_LIMIT", "FieldManager", "is_reset", "keep_times", "problem_of"]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
UPDATE_MANAGERS_LIMIT = 10
"""Entries of updates that are kept; the oldest beyond them are joined into one of ``ancient-changes`` per version."""

APPLY, UPDATE = "Apply", "Update"
_BEFORE_FIRST_APPLY = "before-first-apply"
_SELF = Manager("\0current-operation", UPDATE)
_UNOWNED: Fields = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        f"f:{name}": {}
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    },
}
"""What nobody owns."""


@dataclass(slots=True)
class Managed:
    """Managed fields in hand: who owns what, and when each wrote last (RFC 3339).

    ``entries`` are those that were read, with the set that each gave: one that says the same afterwards is written as
    it is. They tell that an object is tracked, even if all its owners' versions are gone.
    """

    managers: Managers
    times: dict[Manager, str]
    entries: dict[Manager, tuple[Obj, Fields | None]]


class FieldManager:
    """Keeps managed fields for writes through one path.

    Args:
        types, convert, reset: as for ``Updater``.
        api_version: the version of the objects that come and go here.
        now: gives the time as objects carry it.
        blank: the object that a create begins with: what it has, nobody has set. It has metadata, and is not changed.
    """

    __slots__ = ("_blank", "_creations", "_now", "_subresource", "_updater", "_version")

    def __init__(
        self,
        api_version: str,
        *,
        types: Mapping[str, Type],
        convert: Callable[[Obj, str], Obj],
        reset: Mapping[str, Fields],
        subresource: str,
        now: Callable[[], str],
        blank: Obj,
    ) -> None:
        self._updater = Updater(types=types, convert=convert, reset=reset, unowned=_UNOWNED)
        self._version, self._subresource, self._now, self._blank = api_version, subresource, now, blank
        self._creations: Beside | None = None  # a large type is made when it is first needed

    def load(self) -> None:
        """Make the type of the objects that come and go here, which for a large schema takes milliseconds."""
        self._updater.types[self._version]

    def update(self, live: Obj | None, new: Obj, manager: str) -> None:
        """Set the managed fields of ``new``, written by ``manager`` over ``live`` (None: it is created)."""
        if live is None:
            if "managedFields" not in new["metadata"]:
                self._create(new, manager)
                return
            live = self._blank
        managed = self._sent_or_stored(live, new)
        if not managed.entries and live["metadata"].get("uid"):
            _put(new, None)  # nobody began to track this object: an apply will
            return
        try:
            managed = self._update(live, new, managed, manager)
        except ValueError:
            _put(new, None)
            return
        _put(new, encode(managed))

    def apply(self, live: Obj | None, applied: Obj, manager: str, *, force: bool) -> Obj:
        """Merge ``applied`` into ``live`` (None: it is created); the result has its managed fields set. Neither is
        changed, but parts of both stand in the result.

        Raises:
            ConflictError: somebody else owns a field with another value, and not ``force``.
            FormError: it cannot be had in a version in which somebody owns fields.
            TypeMismatch: ``applied`` does not fit its type.
            ValueError: the stored object or its managed fields do not fit, so that nothing can be merged into it.
        """
        check_type(applied, self._updater.types[self._version])
        if live is None:
            live, managed = self._blank, Managed({}, {}, {})
        else:
            managed = self._read(live["metadata"].get("managedFields"))
            if not managed.entries:
                # what was there before anybody applied belongs to one manager, so that it is not lost unnoticed
                managed = self._update(self._blank, live, managed, _BEFORE_FIRST_APPLY)
        try:
            merged = self._apply(live, applied, managed, manager, force=force)
        except ConflictError as err:
            if manager != "kubectl":
                raise
            self._raise_unless_last_applied(err, live)
            merged = self._apply(live, applied, managed, manager, force=True)
        if manager == "kubectl":
            _refresh_last_applied(merged, applied)
        return merged

    def _create(self, new: Obj, name: str) -> None:
        """``update`` of an object that is created and has no managed fields: there is one owner, of all of it."""
        creations = self._creations
        if creations is None:
            creations = self._creations = self._updater.creations(self._blank, self._version)
        try:
            owned = creations.fields_of(new)
        except ValueError:
            return
        if owned:
            manager = name or "unknown"
            entry = _entry(manager, UPDATE, self._version, owned, time=self._now(), subresource=self._subresource)
            new["metadata"]["managedFields"] = [entry]

    def _identify(self, name: str, operation: str) -> Manager:
        version = self._version if operation == UPDATE else ""
        return Manager(name or "unknown", operation, version, self._subresource)

    def _update(self, live: Obj, new: Obj, managed: Managed, name: str) -> Managed:
        managers = self._updater.update(live, new, self._version, managed.managers, _SELF)
        times = managed.times
        mine = managers.pop(_SELF, None)
        if mine is not None:
            manager = self._identify(name, UPDATE)
            before = managers.get(manager)
            managers[manager] = mine if before is None else mine._replace(fields=union(before.fields, mine.fields))
            times = {**times, manager: self._now()}
        return _capped(Managed(managers, times, managed.entries))

    def _apply(self, live: Obj, applied: Obj, managed: Managed, name: str, *, force: bool) -> Obj:
        manager = self._identify(name, APPLY)
        new, managers = self._updater.apply(live, applied, self._version, managed.managers, manager, force=force)
        times = managed.times if new is None else {**managed.times, manager: self._now()}
        merged = dict(live if new is None else new)
        merged["metadata"] = dict(merged.get("metadata") or {})
        _put(merged, encode(Managed(managers, times, managed.entries)))
        return merged

    def _sent_or_stored(self, live: Obj, new: Obj) -> Managed:
        """The managed fields to start from: those sent, if they are usable; ``[]`` or ``[{}]`` resets them."""
        stored = live["metadata"].get("managedFields")
        sent = None if self._subresource else new["metadata"].get("managedFields")
        if sent is None or sent == stored:
            return self._read_or_none(stored)
        if is_reset(sent):
            return Managed({}, {}, {})
        try:
            managed = self._read(sent)
        except ValueError:
            return self._read_or_none(stored)
        return managed if managed.entries else self._read_or_none(stored)

    def _read_or_none(self, entries: Any) -> Managed:
        try:
            return self._read(entries)
        except ValueError:
            return Managed({}, {}, {})

    def _read(self, entries: Any) -> Managed:
        """Managed fields from the wire; of versions that are not served any more only the entries are kept.

        Raises:
            ValueError: an entry of an unknown operation or fields type, or whose fields cannot be read.
        """
        managed = Managed({}, {}, {})
        for index, entry in enumerate(entries or ()):
            manager = _manager_of(entry, index)
            version = entry["apiVersion"]
            fields = self._updater.owned(entry.get("fieldsV1"), version)
            managed.entries[manager] = entry, fields
            if fields is None:
                continue
            managed.managers[manager] = OwnedSet(fields, version, manager.operation == APPLY)
            if entry.get("time"):
                managed.times[manager] = entry["time"]
        return managed

    def _raise_unless_last_applied(self, err: ConflictError, live: Obj) -> None:
        """kubectl takes over, without force, what it had applied on the client side and nobody changed since."""
        allowed = self._unchanged_since_last_applied(live)
        if allowed is None:
            raise err
        left: list[Conflict] = [c for c in err.conflicts if not has(allowed, c.path)]
        if left:
            raise ConflictError(left)

    def _unchanged_since_last_applied(self, live: Obj) -> Fields | None:
        text = (live.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
        try:
            last = orjson.loads(text) if text else None
        except ValueError:
            return None
        if not isinstance(last, dict) or any(last.get(name) != live[name] for name in ("apiVersion", "kind")):
            return None
        type_ = self._updater.types[self._version]
        try:
            check_type(last, type_)
            owned, changes = fields_of(last, type_), compare(last, live, type_)
        except ValueError:
            return None
        for changed in changes:
            owned = difference(owned, changed)
        return owned


def is_reset(entries: Any) -> bool:
    """Whether a client asks for its object's managed fields to be forgotten: by an empty list, or one empty entry."""
    return entries in ([], [{}])


def problem_of(entries: Any) -> str:
    """What makes managed fields unusable, ``""`` if nothing does."""
    try:
        for index, entry in enumerate(entries or ()):
            _manager_of(entry, index)
            decode(entry.get("fieldsV1"))
    except ValueError as error:
        return str(error)
    return ""


def keep_times(new: Obj, old: Obj) -> None:
    """Give ``new`` the times of ``old``'s managed fields if these times are all that differs: then nothing is written.

    A manager's time is set before it is known what admission and strategy leave of its change.
    """
    for name in new.keys() | old.keys():
        if name != "metadata" and new.get(name) != old.get(name):
            return
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or len(entries) != len(before) or entries == before:
        return
    if (
        all(map(_same_but_for_time, entries, before))
        and {**new["metadata"], "managedFields": before} == old["metadata"]
    ):
        new["metadata"]["managedFields"] = before


def _same_but_for_time(entry: Obj, other: Obj) -> bool:
    return entry == other or {**entry, "time": ""} == {**other, "time": ""}


def _put(obj: Obj, entries: list[Obj] | None) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _manager_of(entry: Obj, index: int) -> Manager:
    """Whom an entry of managed fields is of.

    Raises:
        ValueError: an unknown operation or fields type, or no version.
    """
    operation, version, kind = entry.get("operation"), entry.get("apiVersion", ""), entry.get("fieldsType", "")
    if operation not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not version:
        raise ValueError("apiVersion must not be empty")
    if not kind:
        raise ValueError(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise ValueError(f'invalid fieldsType "{kind}" in managed fields entry {index}')
    return Manager(
        entry.get("manager", ""), operation, version if operation == UPDATE else "", entry.get("subresource", "")
    )


def encode(managed: Managed) -> list[Obj]:
    """The entries for the wire: applies before updates, then by time, name, version and subresource."""
    times = managed.times
    items = list(managed.managers.items())
    if len(items) > 1:
        items.sort(key=lambda i: (i[0].operation, times.get(i[0], ""), i[0].name, i[1].version, i[0].subresource))
    entries = []
    for manager, owned in items:
        known, time = managed.entries.get(manager), times.get(manager)
        if known is not None and known[1] is owned.fields and known[0].get("time") == time:
            entries.append(known[0])
            continue
        name, operation = manager.name, manager.operation
        entries.append(_entry(name, operation, owned.version, owned.fields, time=time, subresource=manager.subresource))
    return entries


def _entry(
    manager: str, operation: str, api_version: str, fields: Fields, *, time: str | None, subresource: str
) -> Obj:
    entry: Obj = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if subresource:
        entry["subresource"] = subresource
    return entry


def _capped(managed: Managed) -> Managed:
    """Join the oldest updates until no more than the limit are left."""
    if len(managed.managers) <= UPDATE_MANAGERS_LIMIT:
        return managed
    updates = [m for m, owned in managed.managers.items() if not owned.applied]
    if len(updates) <= UPDATE_MANAGERS_LIMIT:
        return managed
    updates.sort(key=lambda m: (managed.times.get(m, ""), m.identifier))
    managers, times, left = dict(managed.managers), dict(managed.times), len(updates)
    first_of: dict[str, Manager] = {}
    for manager in updates:
        if left <= UPDATE_MANAGERS_LIMIT:
            break
        owned = managers[manager]
        first = first_of.setdefault(owned.version, manager)
        if first == manager:
            continue
        bucket = Manager("ancient-changes", UPDATE, owned.version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        joined = union(owned.fields, managers[bucket].fields)
        managers[bucket] = owned._replace(fields=joined)
        if manager != bucket:
            del managers[manager]
        left -= 1
        if manager in times:
            times[bucket] = times[manager]
    return Managed(managers, times, managed.entries)


def _refresh_last_applied(merged: Obj, applied: Obj) -> None:
    """Where kubectl's annotation of client-side apply is, keep it in step with what is applied now."""
    annotations = merged["metadata"].get("annotations")
    if not annotations or not annotations.get(LAST_APPLIED):
        return
    meta = dict(applied.get("metadata") or {})
    if LAST_APPLIED in (meta.get("annotations") or {}):
        meta["annotations"] = {k: v for k, v in meta["annotations"].items() if k != LAST_APPLIED}
    text = orjson.dumps({**applied, "metadata": meta}, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE).decode()
    refreshed = {**annotations, LAST_APPLIED: escape_html(text)}
    if total_annotation_bytes(refreshed) > TOTAL_ANNOTATION_BYTES:
        del refreshed[LAST_APPLIED]  # it must not be what makes them too many
    merged["metadata"]["annotations"] = refreshed
