"""Definitions for tests: small ones, and the real ones of the shared data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controlplane.apimachinery.codec.yaml import loads
from controlplane.apimachinery.identity import Obj

__all__ = ["DEFINITIONS_PATH", "definition", "real_definitions", "sample_of", "storage_schema"]

DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SHARED = Path("shared", "data", "crds")


def definition(
    plural: str = "foos",
    *,
    group: str = "example.com",
    scope: str = "Namespaced",
    properties: Obj | None = None,
    version: Obj | None = None,
    names: Obj | None = None,
) -> Obj:
    """A definition of one version; ``version`` and ``names`` replace parts of it."""
    kind = plural[:-1].capitalize()
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties or {}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, **(names or {})},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **(version or {}),
                }
            ],
        },
    }


def real_definitions(folder: str = "") -> Iterator[Obj]:
    """The definitions of the shared data beside the checkout, or of one folder of it; none if it is not there."""
    root = next((p / _SHARED for p in Path(__file__).resolve().parents if (p / _SHARED).is_dir()), Path("missing"))
    for file in sorted((root / folder).rglob("*.yaml")):
        value = loads(file.read_bytes())
        if isinstance(value, dict) and value.get("kind") == "CustomResourceDefinition":
            yield value


def storage_schema(crd: Obj) -> tuple[str, Obj]:
    """The name and schema of the version that is stored."""
    version = next(version for version in crd["spec"]["versions"] if version["storage"])
    return version["name"], version["schema"]["openAPIV3Schema"]


def sample_of(schema: Obj) -> Any:
    """A value with what the schema requires, simple enough that most schemas accept it."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties") or {}
            needed = list(schema.get("required") or ())
            for keyword in ("oneOf", "anyOf"):
                needed += next(iter(schema.get(keyword) or [{}])).get("required") or []
            return {name: sample_of(properties.get(name) or {}) for name in needed}
        case "array":
            return [sample_of(schema.get("items") or {})] * (schema.get("minItems") or 0)
        case "integer" | "number":
            return schema.get("minimum") or 1
        case "boolean":
            return True
    return "a" * max(1, schema.get("minLength") or 0)
