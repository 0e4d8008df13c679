"""What is kept in memory of each definition: everything but its schemas, which stay text until they are needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from controlplane.apiextensions.definition.conditions import Condition, is_true
from controlplane.apiextensions.definition.storage_form import STORED, unfold
from controlplane.apiextensions.definition.structure import structure_of
from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.storage.cache.entry import Entry

__all__ = ["Definition", "read_definition", "schema_in"]


class Definition:
    """One definition as it is stored; immutable. ``head``: the object in its served form, without schemas;
    ``structure``: what is wrong with them."""

    def __init__(
        self, head: Obj, *, create_revision: int, mod_revision: int, structure: Condition | None = None
    ) -> None:
        self.head, self.structure = head, structure
        self.create_revision, self.mod_revision = create_revision, mod_revision

    @property
    def name(self) -> str:
        name: str = self.head["metadata"]["name"]
        return name

    @property
    def uid(self) -> str:
        return self.head["metadata"].get("uid") or ""

    @property
    def generation(self) -> int:
        return self.head["metadata"].get("generation") or 0

    @property
    def spec(self) -> Obj:
        spec: Obj = self.head["spec"]
        return spec

    @property
    def group(self) -> str:
        return self.spec.get("group") or ""

    @property
    def names(self) -> Obj:
        return self.spec.get("names") or {}

    @property
    def accepted(self) -> Obj:
        """The names it has got."""
        return (self.head.get("status") or {}).get("acceptedNames") or {}

    @property
    def gr(self) -> GroupResource:
        return GroupResource(self.group, self.names.get("plural") or "")

    @property
    def is_deleted(self) -> bool:
        return bool(self.head["metadata"].get("deletionTimestamp"))

    @property
    def finalizers(self) -> list[str]:
        return self.head["metadata"].get("finalizers") or []

    def is_true(self, condition: str) -> bool:
        return is_true(self.head, condition)

    @cached_property
    def is_served(self) -> bool:
        """Whether its resource is there. Once established it stays, whatever becomes of its names. One that has no
        version to store objects in was stored by somebody else, and has no resource."""
        if not any(version.get("storage") for version in self.spec["versions"]):
            return False
        return self.is_true("NamesAccepted") or self.is_true("Established")

    @cached_property
    def is_terminating(self) -> bool:
        return self.is_deleted or self.is_true("Terminating")

    @cached_property
    def shape(self) -> tuple[Any, ...]:
        """Equal as long as what is served is: everything that a resource is made from."""
        if not self.is_served:
            return ()
        accepted = tuple((key, str(value)) for key, value in sorted(self.accepted.items()) if value)
        return (self.uid, self.generation, accepted, self.is_terminating)


def read_definition(entry: Entry) -> Definition | None:
    """The definition of an entry of the mirror; None if it cannot be read."""
    if entry.origin.poison:
        return None
    try:
        obj = loads(entry.data)
    except MalformedJSON:
        return None
    if not isinstance(obj.get("spec"), dict) or not isinstance(obj.get("metadata"), dict):
        return None
    served = unfold(obj["spec"]) if entry.origin.api_version.endswith(f"/{STORED}") else dict(obj["spec"])
    structure = structure_of(served)
    versions = served.get("versions") or ()
    served["versions"] = [{k: v for k, v in version.items() if k != "schema"} for version in versions]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    metadata["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if len(v) < _LONG}
    head = {"metadata": metadata, "spec": served, "status": obj.get("status") or {}}
    return Definition(head, create_revision=entry.create_revision, mod_revision=entry.mod_revision, structure=structure)


_LONG = 1024
"""Annotations over this length (kubectl's last applied configuration) are of no use here."""


def schema_in(entry: Entry, version: str) -> Obj:
    """The schema of one version of an entry's definition; an empty one if it has none."""
    spec = loads(entry.data)["spec"]
    shared = (spec.get("validation") or {}).get("openAPIV3Schema")
    if shared is not None:
        found: Obj = shared
        return found
    for one in spec.get("versions") or ():
        if one.get("name") == version:
            return (one.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}
