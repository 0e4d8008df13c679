"""What tests of kinds do with objects: decode and default them as a request would, and list what is wrong with them."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, Strategy
from controlplane.apimachinery.schema.decode import Decoder
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors

__all__ = ["NOW", "Kind"]

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
CREATED = "2026-01-01T00:00:00Z"


class Kind:
    """One version of a resource."""

    def __init__(self, resource: Resource) -> None:
        self.resource, self.strategy = resource, resource.strategy
        self.version = resource.versions[0]
        self._decoder = Decoder(resource.kind, self.version.schema)

    def decoded(self, **fields: Any) -> Obj:
        """An object as it is after decoding and defaulting; ``metadata`` is filled up."""
        given = deepcopy(fields)
        metadata = {"name": "a", "resourceVersion": "1", "creationTimestamp": CREATED, **given.pop("metadata", {})}
        if self.resource.namespaced:
            metadata.setdefault("namespace", "ns")
        gvk = self.resource.gvk(self.version.name)
        obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **given}
        assert self._decoder.decode(obj) == []
        self.strategy.default(obj)
        return obj

    def created(self, **fields: Any) -> Obj:
        """A new object as it is stored."""
        obj = self.decoded(**fields)
        self.strategy.prepare_for_create(obj)
        assert creation_errors(self.resource, obj) == []
        self.strategy.canonicalize(obj)
        return obj

    def refused(self, **fields: Any) -> list[str]:
        """What is wrong with a new object."""
        obj = self.decoded(**fields)
        self.strategy.prepare_for_create(obj)
        return [str(error) for error in creation_errors(self.resource, obj)]

    def changed(self, old: Obj, *, subresource: str = "", **fields: Any) -> tuple[Obj, list[str]]:
        """An update's outcome and what is wrong with it."""
        obj, stored = self.decoded(**fields), deepcopy(old)
        strategy = self._strategy(subresource)
        if generation := old["metadata"].get("generation"):
            obj["metadata"]["generation"] = generation
        strategy.prepare_for_update(obj, old)
        errors = update_errors(self.resource, obj, old, strategy=strategy)
        assert old == stored, "the stored object is never changed"
        return obj, [str(error) for error in errors]

    def row(self, obj: Obj) -> dict[str, Any]:
        """The cells of its table, by column."""
        return {column.name: column.value(obj, NOW) for column in self.version.columns}

    def _strategy(self, subresource: str) -> Strategy:
        if not subresource:
            return self.strategy
        found = self.resource.subresource(subresource)
        assert found is not None
        return found.strategy
