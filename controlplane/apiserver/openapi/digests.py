"""Digests of what documents are built from, so that a document's hash is known before it is built.

Every server that serves the same resources, by the same builder and under the same version, has the same digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache

import orjson

from controlplane.apimachinery.codec.json import dumps, dumps_sorted
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apiserver.registry.table import Served

__all__ = ["BUILDER", "Digests", "builder_digest", "combined"]

BUILDER = "1"
"""The version of the builder: raised with every change of what it writes for the same resource (a test tells)."""


@cache
def builder_digest() -> str:
    """The builder's version, and the schema from outside of it that is in every document."""
    return hashlib.sha256(BUILDER.encode() + dumps_sorted(OBJECT_META)).hexdigest()


def combined(parts: Iterable[str]) -> str:
    """One digest of several, as Kubernetes writes hashes: SHA-512 in capital hexadecimals."""
    return hashlib.sha512("\n".join(parts).encode()).hexdigest().upper()


class Digests:
    """Digests of resources. A custom resource's schema is told by its ``generation``, which is that of its definition;
    a kind's that is declared in Python by its ``schema_digest``, since servers may declare other versions beside it; a
    native one's is read, since its generation says nothing of descriptions: once, for native schemas stay as long as
    the process."""

    def __init__(self, product: str) -> None:
        self._product = product
        self._schemas: dict[int, tuple[Obj, str]] = {}

    def of(self, served: Served) -> str:
        """The digest of one resource in one version."""
        memo: str | None = served.memo.get(Digests)
        if memo is None:
            memo = served.memo[Digests] = self._of(served)
        return memo

    def _of(self, served: Served) -> str:
        resource = served.resource
        described = [
            builder_digest(),
            self._product,
            resource.group,
            served.version.name,
            resource.plural,
            resource.kind,
            resource.list_kind,
            resource.namespaced,
            resource.native,
            sorted(resource.verbs),
            sorted((subresource.name, sorted(subresource.verbs)) for subresource in resource.subresources),
            resource.field_labels,
            resource.schema_digest or resource.generation,
            self._schema(served.version.schema) if resource.native else "",
        ]
        return hashlib.sha256(dumps(described)).hexdigest()

    def _schema(self, schema: Obj) -> str:
        found = self._schemas.get(id(schema))
        if found is None:
            found = self._schemas[id(schema)] = (schema, _schema_digest(schema))
        return found[1]


def _schema_digest(schema: Obj) -> str:
    """The digest of a native schema. A schema that is inside itself is given by a function; it counts once."""
    met: set[object] = set()

    def once(function: Callable[[], Obj]) -> Obj:
        if function in met:
            return {}
        met.add(function)
        return function()

    return hashlib.sha256(orjson.dumps(schema, default=once, option=orjson.OPT_SORT_KEYS)).hexdigest()
