"""What a request is aimed at, once it has been found."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.resource import Strategy, Subresource
from controlplane.apimachinery.status import bad_request
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apimachinery.validation.names import path_segment_name
from controlplane.apiserver.registry.table import Served

__all__ = ["Shape", "Target"]


class Shape(Enum):
    """What a path names. ``EVERYWHERE`` is a namespaced resource across all namespaces."""

    COLLECTION = "collection"
    EVERYWHERE = "everywhere"
    OBJECT = "object"
    SUBRESOURCE = "subresource"


class Target(NamedTuple):
    """``namespace``: the object's or collection's; ``""`` for cluster-scoped resources and for all namespaces.
    ``name`` is ``""`` for a collection."""

    served: Served
    shape: Shape
    namespace: str
    name: str
    subresource: Subresource | None = None

    @property
    def key(self) -> Key:
        """Where the object is kept.

        Raises:
            APIError: 400, a name that none can have.
        """
        if problems := path_segment_name(self.name):
            raise bad_request(f"Name parameter invalid: {go_quoted(self.name)}: {';'.join(problems)}")
        return Key(self.namespace, self.name)

    @property
    def strategy(self) -> Strategy:
        return self.served.resource.strategy if self.subresource is None else self.subresource.strategy
