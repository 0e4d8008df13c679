"""The schemas of kinds, as a server publishes them: found by discovery, read from OpenAPI v3.

Source: kubernetes/apiserver ``pkg/cel/openapi/resolver``, kubernetes/apimachinery ``pkg/api/meta/restmapper.go`` (the
kinds of a resource without a group).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource, discover, resources
from controlplane.client.results import object_of, raise_for_status, read

__all__ = ["Schemas"]

_REFERENCE = "#/components/schemas/"
_ANYTHING: Obj = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}


class Schemas:
    """Reads what is served now; made for one pass, in which each document is read once."""

    def __init__(self, client: APIClient) -> None:
        self._client = client
        self._discovered: Sequence[APIResource] | None = None
        self._kinds: dict[GroupVersion, Mapping[str, str]] = {}
        self._documents: dict[GroupVersion, Mapping[str, Obj]] = {}

    async def kinds(self, gv: GroupVersion, plural: str) -> list[GVK]:
        """The kinds of a resource, none if it is not served. As to clients' mappers, no group stands for all of them:
        the core's ``events`` are those of ``events.k8s.io`` too."""
        if not gv.group:
            if self._discovered is None:
                self._discovered = (await discover(self._client)).resources
            return [
                GVK(found.gvr.group, found.gvr.version, found.kind)
                for found in self._discovered
                if (found.gvr.version, found.gvr.resource) == (gv.version, plural)
            ]
        if gv not in self._kinds:
            try:
                found = await resources(self._client, gv)
            except APIError as error:
                if error.code != 404:
                    raise
                found = []
            self._kinds[gv] = {resource.gvr.resource: resource.kind for resource in found}
        kind = self._kinds[gv].get(plural)
        return [] if kind is None else [GVK(gv.group, gv.version, kind)]

    async def schema(self, gvk: GVK) -> Obj | None:
        """A kind's schema, without references; None if there is none."""
        gv = GroupVersion(gvk.group, gvk.version)
        if gv not in self._documents:
            self._documents[gv] = await self._document(gv)
        schemas = self._documents[gv]
        wanted = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
        for name, schema in schemas.items():
            if wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
                found: Obj = _inlined(schema, schemas, (name,))
                return found
        return None

    async def _document(self, gv: GroupVersion) -> Mapping[str, Obj]:
        path = f"/openapi/v3/apis/{gv}" if gv.group else f"/openapi/v3/api/{gv}"
        response = await self._client.request("GET", path)
        if response.status == 404:
            return {}
        raise_for_status(response, "GET")
        schemas: Mapping[str, Obj] = ((await read(response, object_of)).get("components") or {}).get("schemas") or {}
        return schemas


def _inlined(schema: Any, schemas: Mapping[str, Obj], above: tuple[str, ...]) -> Any:
    """A schema with what it refers to in its place; where it comes back to itself, anything may be."""
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    alternatives = schema.get("allOf")
    if reference is None and isinstance(alternatives, list) and len(alternatives) == 1:
        reference = alternatives[0].get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix(_REFERENCE)
        if name in above or name not in schemas:
            return _ANYTHING
        return _inlined(schemas[name], schemas, (*above, name))
    made = dict(schema)
    properties = schema.get("properties")
    if properties:
        made["properties"] = {name: _inlined(inner, schemas, above) for name, inner in properties.items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            made[key] = _inlined(schema[key], schemas, above)
    return made
