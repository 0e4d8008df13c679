"""Managed fields of an object and of a subresource that shows one of its fields in another kind (scale).

While the subresource is changed its owners are those who own that field of the object, in the terms of the other kind.
Afterwards who owns it there owns it in the object, and who does not has lost it.

What is written so has no time, and an update's entry stands beside the one that it came from: so it is upstream, whose
identities of updates name their version.

Source: kubernetes/apimachinery ``pkg/util/managedfields/scalehandler.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.structured.errors import Manager
from controlplane.apimachinery.patch.structured.fieldset import Fields, decode, difference, has

__all__ = ["ProjectedField", "object_entries", "shown_entries"]

Path = tuple[str, ...]


class ProjectedField(NamedTuple):
    """One field, twice.

    ``shown``: its path in the kind that is shown, as elements of field sets (``f:spec``); ``shown_version``: that
    kind's apiVersion. ``places``: its path in the object, for each version of it by apiVersion; None: that version has
    none.
    """

    shown: Path
    shown_version: str
    places: Mapping[str, Path | None]


def shown_entries(entries: Iterable[Obj], field: ProjectedField) -> list[Obj]:
    """The managed fields of what is shown of an object that has these.

    Raises:
        ValueError: an entry has no set of fields.
    """
    shown = []
    for entry in _by_manager(entries).values():
        path = field.places.get(entry["apiVersion"])
        if path is not None and has(decode(entry.get("fieldsV1")), path):
            shown.append({**entry, "apiVersion": field.shown_version, "fieldsV1": _only(field.shown)})
    return shown


def object_entries(entries: Iterable[Obj], shown: Iterable[Obj], field: ProjectedField, version: str) -> list[Obj]:
    """The managed fields of an object that had ``entries``, after a change that has left ``shown`` on what is shown of
    it. ``version``: in which version of the object it was changed. Entries of versions that are not known are dropped.

    Raises:
        ValueError: as ``shown_entries``.
    """
    before, theirs = _by_manager(entries), _by_manager(shown)
    kept: dict[Manager, Obj] = {}
    for manager, entry in before.items():
        if entry["apiVersion"] not in field.places:
            continue
        path, fields = field.places[entry["apiVersion"]], decode(entry.get("fieldsV1"))
        if path is None or not has(fields, path):
            kept[manager] = entry
        elif manager in theirs:
            kept[manager] = entry
            del theirs[manager]
        elif left := difference(fields, _only(path)):
            kept[manager] = {**entry, "fieldsV1": left}
    place = field.places[version]
    for manager, entry in theirs.items():
        if place is not None and has(decode(entry.get("fieldsV1")), field.shown):
            kept[manager] = _written(entry, before.get(manager), version, _only(place))
    return sorted(kept.values(), key=_order)


def _written(entry: Obj, before: Obj | None, version: str, fields: Fields) -> Obj:
    written = {k: v for k, v in entry.items() if k != "time"}
    if before is not None and before.get("time"):
        written["time"] = before["time"]
    return {**written, "apiVersion": version, "fieldsV1": fields}


def _by_manager(entries: Iterable[Obj]) -> dict[Manager, Obj]:
    """Of two entries of one manager the later counts. Appliers are known without their version."""
    return {
        Manager(
            entry.get("manager") or "",
            entry["operation"],
            entry["apiVersion"] if entry["operation"] == "Update" else "",
            entry.get("subresource") or "",
        ): entry
        for entry in entries
    }


def _only(path: Path) -> Fields:
    fields: Fields = {}
    for element in reversed(path):
        fields = {element: fields}
    return fields


def _order(entry: Obj) -> tuple[str, ...]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager") or "",
        entry["apiVersion"],
        entry.get("subresource") or "",
    )
