"""Published custom resource definitions as resources, for tests and benches that need real schemas."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy, Subresource

__all__ = ["CRDS", "published_crds", "resource_of"]

_PLACES = [parent / "shared" / "data" / "crds" for parent in Path(__file__).parents]
CRDS = next((place for place in _PLACES if place.is_dir()), None)
"""The folder of real input, beside the project or further up; None where it is absent."""


class _Loader(yaml.CSafeLoader):
    """Reads ``=`` as the text it is, as YAML 1.2 has it."""


_Loader.add_constructor("tag:yaml.org,2002:value", _Loader.construct_yaml_str)  # type: ignore[type-var]  # stubs


def published_crds(area: str = "*") -> Iterator[dict[str, Any]]:
    """The definitions of one area (``kcc``), or of all; none where the folder is absent."""
    for path in sorted(CRDS.glob(f"{area}/*.yaml") if CRDS is not None else ()):
        for document in yaml.load_all(path.read_text(), _Loader):
            if document and document["kind"] == "CustomResourceDefinition":
                yield document


def resource_of(crd: dict[str, Any]) -> Resource:
    """A definition as a resource: what is published of it, without its rules."""
    spec = crd["spec"]
    names = spec["names"]
    versions = tuple(
        ResourceVersion(
            name=version["name"],
            schema=(version.get("schema") or {}).get("openAPIV3Schema", {}),
            served=version["served"],
        )
        for version in spec["versions"]
    )
    given = {name for version in spec["versions"] for name in version.get("subresources", {})}
    return Resource(
        group=spec["group"],
        plural=names["plural"],
        singular=names.get("singular", names["kind"].lower()),
        kind=names["kind"],
        list_kind=names.get("listKind", ""),
        namespaced=spec["scope"] == "Namespaced",
        versions=versions,
        storage_version=next(version["name"] for version in spec["versions"] if version["storage"]),
        key_prefix=f"{spec['group']}/{names['plural']}",
        subresources=tuple(Subresource(name=name, strategy=Strategy()) for name in sorted(given)),
        native=False,
        generation=hashlib.sha256(repr(crd).encode()).hexdigest(),
    )
