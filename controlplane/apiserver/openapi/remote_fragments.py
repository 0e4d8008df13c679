"""What other servers add to a document: to that of Swagger 2.0, or of OpenAPI 3.0. Their definitions keep their names
where these are free or mean the same here; else they get a number at the end, and whoever refers to them does so by the
new name.

Source: kubernetes/kube-openapi ``pkg/aggregator`` (MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.fragments import Encoder, Fragment
from controlplane.apiserver.openapi.names import META
from controlplane.apiserver.openapi.remote_parts import needed_by
from controlplane.apiserver.openapi.steps import Steps
from controlplane.apiserver.registry.remote import RemoteSwagger
from controlplane.base import logs

__all__ = ["peer_part", "remote_fragments"]

_REFERENCES = ("#/definitions/", "#/components/schemas/")
"""Of Swagger 2.0, and of OpenAPI 3.0."""


_ILL_FORMED = (AttributeError, KeyError, TypeError, ValueError)
"""What comes of a document whose parts have other types than OpenAPI says."""

log = logs.get(__name__)

_OF_ALL_VERSIONS = frozenset({META + "DeleteOptions", META + "WatchEvent"})
"""Definitions that name all versions of a document: a document of several servers has its own."""


def peer_part(swagger: RemoteSwagger) -> RemoteSwagger:
    """What a server on the same store says, without what this server says of both."""
    kept = {name: schema for name, schema in swagger.definitions.items() if name not in _OF_ALL_VERSIONS}
    return RemoteSwagger(swagger.digest, swagger.paths, kept)


def remote_fragments(
    swaggers: Sequence[RemoteSwagger], before: Sequence[Fragment], encoder: Encoder
) -> Steps[list[Fragment]]:
    """The fragments of others, in order, to be joined after ``before``: their paths, where these are free, and the
    definitions that those need."""
    taken: dict[str, bytes] = {}
    paths: set[str] = set()
    for fragment in before:
        for name, encoded in fragment.definitions.items():
            taken.setdefault(name, encoded)
        paths.update(fragment.paths)
    made: list[Fragment] = []
    for swagger in swaggers:
        kept = {path: item for path, item in swagger.paths.items() if path not in paths}
        needed = swagger.definitions if len(kept) == len(swagger.paths) else needed_by(kept, swagger.definitions)
        yield None
        renamed: dict[str, str] = {}
        for name, schema in needed.items():
            if name not in taken:
                continue
            try:
                same = (yield from encoder.definition(name, schema)) == taken[name]
            except _ILL_FORMED:
                same = False  # it is left out below
            if not same:
                renamed[name] = _free(name, taken, swagger.definitions)
        definitions: dict[str, bytes] = {}
        for name, schema in needed.items():
            new = renamed.get(name, name)
            try:
                definitions[new] = yield from encoder.definition(new, _renamed(schema, renamed))
            except _ILL_FORMED as error:
                log.info("a definition of another server's OpenAPI is left out", name=name, error=repr(error))
        encoded_paths: dict[str, bytes] = {}
        for path, item in kept.items():
            try:
                encoded_paths[path] = encoder.path(path, _renamed(item, renamed))
            except _ILL_FORMED as error:
                log.info("a path of another server's OpenAPI is left out", path=path, error=repr(error))
            yield None
        paths.update(encoded_paths)
        taken = {**definitions, **taken}
        made.append(Fragment(encoded_paths, definitions))
    return made


def _free(name: str, *taken: Mapping[str, Any]) -> str:
    number = 2
    while any(f"{name}_v{number}" in names for names in taken):
        number += 1
    return f"{name}_v{number}"


def _renamed(value: Obj, names: Mapping[str, str]) -> Obj:
    """A part of a document with other references; itself if there are none to change."""
    return _rename(value, names) if names else value


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        made = {key: _rename(one, names) for key, one in value.items()}
        reference = made.get("$ref")
        if isinstance(reference, str):
            prefix = next((one for one in _REFERENCES if reference.startswith(one)), "")
            if prefix and (new := names.get(reference.removeprefix(prefix))):
                made["$ref"] = prefix + new
        return made
    return [_rename(one, names) for one in value] if isinstance(value, list) else value
