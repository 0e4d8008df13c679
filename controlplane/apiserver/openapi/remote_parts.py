"""What another server's OpenAPI document says of one version: its paths, and the definitions that these need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.registry.remote import RemoteSwagger

__all__ = ["hash_in", "part_of"]

_REFERENCES = ("#/definitions/", "#/components/schemas/")
"""Of Swagger 2.0, and of OpenAPI 3.0."""


def hash_in(root: Obj, path: str) -> str:
    """By which hash a root document of OpenAPI 3.0 names a version's document; empty if it does not. ``path``: of the
    version, as ``/apis/apps/v1``."""
    entry = (root.get("paths") or {}).get(path.removeprefix("/")) or {}
    query = parse_qs(urlsplit(str(entry.get("serverRelativeURL") or "")).query)
    return query.get("hash", [""])[0]


def part_of(document: Obj, prefix: str, digest: str) -> RemoteSwagger:
    """The paths of a document below ``prefix``, and their definitions (in OpenAPI 3.0: component schemas)."""
    paths = {path: item for path, item in (document.get("paths") or {}).items() if path.startswith(prefix)}
    every = document.get("definitions") or (document.get("components") or {}).get("schemas") or {}
    definitions: dict[str, Obj] = {}
    pending = list(_references(paths))
    while pending:
        name = pending.pop()
        if name in every and name not in definitions:
            definitions[name] = every[name]
            pending += _references(every[name])
    return RemoteSwagger(digest, paths, definitions)


def _references(value: Any) -> Iterator[str]:
    """The definitions that a part of a document refers to."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str):
                for prefix in _REFERENCES:
                    if reference.startswith(prefix):
                        yield reference.removeprefix(prefix)
            pending += one.values()
        elif isinstance(one, list):
            pending += one
