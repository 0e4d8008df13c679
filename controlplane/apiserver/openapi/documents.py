"""Whole documents, joined from fragments: pieces of JSON, to be sent one after another.

Source: the frame of kubernetes/kube-openapi ``pkg/builder`` and ``pkg/builder3``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import orjson

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.discovery_operations import discovery_path, discovery_schemas
from controlplane.apiserver.openapi.fragments import Fragment, encoded
from controlplane.apiserver.openapi.parameters import shared_parameters
from controlplane.apiserver.openapi.paths import path_item
from controlplane.apiserver.openapi.shared import shared_definitions
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["discovery_fragment", "join_v2", "join_v3", "shared_fragment"]

_BEARER = {"BearerToken": {"description": "A bearer token.", "in": "header", "name": "authorization", "type": "apiKey"}}
_FRAGMENTS_PER_STEP = 20


def discovery_fragment(key: str, dialect: Dialect) -> Fragment:
    """What a path of discovery adds to a document."""
    found = discovery_path(key)
    paths = {found.path: orjson.dumps(path_item(found, dialect))}
    return Fragment(paths, encoded(discovery_schemas(found, dialect)))


def shared_fragment(gvs: Iterable[GroupVersion], dialect: Dialect) -> Fragment:
    """The definitions that all kinds refer to."""
    return Fragment({}, encoded(shared_definitions(dialect, gvs)))


def join_v3(fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
    """One document of OpenAPI 3.0. Of two definitions of one name the first counts; they are the same."""
    pieces = [b'{"openapi":"3.0.0","info":', _info(product), b',"paths":{']
    yield from _join_paths(fragments, pieces)
    pieces.append(b'},"components":{"schemas":{')
    yield from _join_definitions(fragments, pieces)
    pieces += [b'},"securitySchemes":', orjson.dumps(_BEARER), b"}}"]
    return pieces


def join_v2(fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
    """The document of Swagger 2.0."""
    pieces = [b'{"swagger":"2.0","info":', _info(product), b',"paths":{']
    yield from _join_paths(fragments, pieces)
    pieces.append(b'},"definitions":{')
    yield from _join_definitions(fragments, pieces)
    pieces += [b'},"parameters":', orjson.dumps(shared_parameters())]
    pieces += [b',"securityDefinitions":', orjson.dumps(_BEARER), b',"security":[{"BearerToken":[]}]}']
    return pieces


def _info(product: str) -> bytes:
    info: Obj = {"title": "Kubernetes", "version": product}
    return orjson.dumps(info)


def _join_paths(fragments: Sequence[Fragment], pieces: list[bytes]) -> Steps[None]:
    first = True
    for index, fragment in enumerate(fragments):
        for path, value in fragment.paths.items():
            pieces.append(_entry(path, first=first))
            pieces.append(value)
            first = False
        if index % _FRAGMENTS_PER_STEP == 0:
            yield


def _join_definitions(fragments: Sequence[Fragment], pieces: list[bytes]) -> Steps[None]:
    found: dict[str, bytes] = {}
    for index, fragment in enumerate(fragments):
        _add_new(found, fragment.definitions)
        if index % _FRAGMENTS_PER_STEP == 0:
            yield
    first = True
    for index, (name, value) in enumerate(found.items()):
        pieces.append(_entry(name, first=first))
        pieces.append(value)
        first = False
        if index % 1000 == 0:
            yield


def _add_new(found: dict[str, bytes], more: Mapping[str, bytes]) -> None:
    for name, value in more.items():
        found.setdefault(name, value)


def _entry(name: str, *, first: bool) -> bytes:
    """The key of an entry; names have nothing that JSON escapes."""
    return f'{"" if first else ","}"{name}":'.encode()
