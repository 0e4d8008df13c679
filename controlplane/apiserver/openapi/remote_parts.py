"""What another server's OpenAPI document says of one version: its paths, and the definitions that these need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.registry.remote import RemoteSwagger

__all__ = ["NotOpenAPI", "hash_in", "needed_by", "part_of", "product_of"]

_SHOWN_CHARACTERS = 80
_REFERENCES = ("#/definitions/", "#/components/schemas/")
"""Of Swagger 2.0, and of OpenAPI 3.0."""


class NotOpenAPI(ValueError):
    """A document is not what it should be; the text says where."""


def hash_in(root: Obj, path: str) -> str:
    """By which hash a root document of OpenAPI 3.0 names a version's document; empty if it does not. ``path``: of the
    version, as ``/apis/apps/v1``.

    Raises:
        NotOpenAPI.
    """
    entry = _object(_object(root.get("paths"), "paths").get(path.removeprefix("/")), path)
    _, _, query = str(entry.get("serverRelativeURL") or "").partition("?")
    return parse_qs(query).get("hash", [""])[0]


def product_of(document: Obj) -> str:
    """Of which version of its program a document says that it is.

    Raises:
        NotOpenAPI.
    """
    return str(_object(document.get("info"), "info").get("version") or "")


def part_of(document: Obj, prefix: str, digest: str) -> RemoteSwagger:
    """The paths of a document below ``prefix``, and their definitions (in OpenAPI 3.0: component schemas).

    Raises:
        NotOpenAPI.
    """
    paths = {
        path: _object(item, path)
        for path, item in _object(document.get("paths"), "paths").items()
        if path.startswith(prefix)
    }
    components = _object(document.get("components"), "components")
    every = _object(document.get("definitions") or components.get("schemas"), "definitions")
    return RemoteSwagger(digest, paths, needed_by(paths, every))


def needed_by(paths: Obj, every: Mapping[str, Obj]) -> dict[str, Obj]:
    """Of ``every`` definition those that paths refer to, themselves or by another one.

    Raises:
        NotOpenAPI.
    """
    definitions: dict[str, Obj] = {}
    pending = list(_references(paths))
    while pending:
        name = pending.pop()
        if name in every and name not in definitions:
            definitions[name] = _object(every[name], name)
            pending += _references(every[name])
    return definitions


def _object(value: Any, place: str) -> Obj:
    """A part of a document; empty where there is none. Raises NotOpenAPI."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotOpenAPI(f"{place}: {repr(value)[:_SHOWN_CHARACTERS]} is not an object")
    return value


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
