"""Documents of given resources, decoded, and a custom resource with all that schemas can say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy, Subresource
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.registry.table import TableHolder
from controlplane.client.request import Request, Response
from controlplane.storage.cache.mirror import Mirror
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.plane import running_plane

__all__ = ["PRODUCT", "WIDGETS", "WIDGET_SCHEMA", "ask", "get", "get_json", "references", "serving", "widgets"]

PRODUCT = "v1.36.0"
WIDGET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A widget.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["n", "s"],
            "properties": {
                "n": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9.5, "default": 2},
                "s": {"type": "string", "nullable": True, "enum": ["a", None], "maxLength": 5, "pattern": "^a"},
                "port": {"x-kubernetes-int-or-string": True},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"x": {}}},
                "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"kind": {}}},
                "either": {"type": "object", "oneOf": [{"required": ["a"]}, {"not": {"required": ["a"]}}]},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
                },
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "lists": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            },
        }
    },
}


def widgets(schema: dict[str, Any] | None = None, **changes: Any) -> Resource:
    """A custom resource with status and scale."""
    fields: dict[str, Any] = {
        "group": "shop.example.com",
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "namespaced": True,
        "versions": (ResourceVersion(name="v1", schema=WIDGET_SCHEMA if schema is None else schema),),
        "storage_version": "v1",
        "key_prefix": "shop.example.com/widgets",
        "subresources": (
            Subresource(name="status", strategy=Strategy()),
            Subresource(name="scale", strategy=Strategy()),
        ),
        "field_labels": ("metadata.name", "metadata.namespace", "spec.n"),
        "native": False,
        "generation": json.dumps(schema),
        **changes,
    }
    return Resource(**fields)


WIDGETS = widgets()


async def get(openapi: OpenAPI, url: str, headers: dict[str, str] | None = None) -> Response:
    """One request, as the router would pass it on."""
    path, _, query = url.partition("?")
    request = Request("GET", path, query_string=query, headers=headers)
    if path == "/openapi/v2":
        return await openapi.swagger(request)
    if path == "/openapi/v3":
        return await openapi.root(request)
    return await openapi.document(request)


@asynccontextmanager
async def serving(*resources: Resource) -> AsyncIterator[tuple[TableHolder, OpenAPI, Mirror]]:
    """A server of these resources, whose table may be swapped."""
    async with running_plane(resources) as plane:
        yield plane.tables, OpenAPI(plane.tables, product=PRODUCT, clock=FakeClock()), plane.mirror


def ask(url: str, *resources: Resource, headers: dict[str, str] | None = None, product: str = PRODUCT) -> Response:
    """The answer of a fresh server."""

    async def scenario() -> Response:
        async with running_plane(resources or (*BUILTIN, WIDGETS)) as plane:
            return await get(OpenAPI(plane.tables, product=product, clock=FakeClock()), url, headers)

    return run(scenario())


def get_json(url: str, *resources: Resource) -> Any:
    """The document that a fresh server answers."""
    answer = ask(url, *resources)
    assert answer.status == 200
    return json.loads(answer.content())


def references(value: Any) -> Iterator[str]:
    """All ``$ref`` in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for child in value.values():
            yield from references(child)
    elif isinstance(value, list):
        for child in value:
            yield from references(child)
