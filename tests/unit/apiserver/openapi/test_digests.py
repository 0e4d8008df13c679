"""The builder's version is raised with what it writes, so that servers of two versions do not give one hash to two
documents."""

from __future__ import annotations

import hashlib
import json

import pytest

from controlplane.apimachinery.resource import Resource, ResourceVersion
from controlplane.apimachinery.schema.native import array, integer, micro_time, pointer, record, string
from controlplane.apiserver.openapi.digests import BUILDER
from tests.unit.apiserver.openapi.published import WIDGETS, get_json

_SPEC = record(
    {
        "name": string("A name."),
        "count": pointer(integer("A count.")),
        "seen": micro_time("A time."),
        "parts": array(record({"k": string()}, "A part.", go_type="v1.Part", required=("k",)), "Parts.", key=("k",)),
    },
    "A spec.",
    go_type="v1.ThingSpec",
    required=("name",),
)
THINGS = Resource(
    group="things.k8s.io",
    plural="things",
    singular="thing",
    kind="Thing",
    namespaced=False,
    versions=(ResourceVersion(name="v1", schema=record({"spec": _SPEC}, "A thing.", go_type="v1.Thing")),),
    storage_version="v1",
    key_prefix="things",
)
WRITTEN = {
    "/openapi/v2": "f6e145c218da2d81",
    "/openapi/v3/apis/things.k8s.io/v1": "2d05428fc5c5b453",
    "/openapi/v3/apis/shop.example.com/v1": "541ec4bb3c5fe3ad",
}
"""What builder ``OF`` writes for fixed resources: SHA-256, the first 16 digits."""
OF = "1"
FROM_OUTSIDE = ("ObjectMeta", "OwnerReference", "ManagedFieldsEntry")
"""Definitions whose schema is part of the digests."""


@pytest.mark.parametrize("path", WRITTEN)
def test_the_builders_version_is_raised_with_what_it_writes(path: str) -> None:
    document = get_json(path, THINGS, WIDGETS)
    definitions = document.get("definitions") or document["components"]["schemas"]
    for name in FROM_OUTSIDE:
        del definitions[f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}"]
    written = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    assert (BUILDER, written) == (OF, WRITTEN[path]), (
        "what is written has changed: raise BUILDER in openapi/digests.py if the change was released, "
        "then put the new version and digests here"
    )
