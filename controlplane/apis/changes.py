"""What updates of many kinds have in common: fields that a write may not touch, and counting what it changes.

Source: the strategies of kubernetes' native kinds, which reset the status on writes of the object and the rest on
writes of the status.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import Obj

__all__ = ["clear", "count_from_one", "counting", "keep", "keep_metadata"]


def keep(*fields: str) -> Callable[[Obj, Obj], None]:
    """Makes a ``prepare_for_update`` that takes these fields from the stored object, or leaves them out as it does."""

    def prepare(obj: Obj, old: Obj) -> None:
        for field in fields:
            if field in old:
                obj[field] = old[field]
            else:
                obj.pop(field, None)

    return prepare


def keep_metadata(obj: Obj, old: Obj) -> None:
    """A ``prepare_for_update``, of a status that has no say in the metadata beyond who manages which fields."""
    managed = obj["metadata"].get("managedFields")
    obj["metadata"] = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
    if managed:
        obj["metadata"]["managedFields"] = managed


def clear(obj: Obj) -> None:
    """A ``prepare_for_create``: a new object has an empty status."""
    obj["status"] = {}


def count_from_one(obj: Obj) -> None:
    """A ``prepare_for_create``: the first generation, whatever the client says."""
    obj["metadata"]["generation"] = 1


def counting(*fields: str) -> Callable[[Obj, Obj], None]:
    """Makes a ``prepare_for_update`` that counts a generation when one of these fields changes. The registry has set
    the generation to the stored one before."""

    def prepare(obj: Obj, old: Obj) -> None:
        if any(obj.get(field) != old.get(field) for field in fields):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    return prepare
