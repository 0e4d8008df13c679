"""Documents in JSON: values as text, and the join of fragments, in pieces to be sent one after another.

Source: the frame of kubernetes/kube-openapi ``pkg/builder`` and ``pkg/builder3``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.custom_schemas import published_level
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.fragments import Fragment, gathered
from controlplane.apiserver.openapi.parameters import shared_parameters
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["JSONEncoder"]

_BEARER = {"BearerToken": {"description": "A bearer token.", "in": "header", "name": "authorization", "type": "apiKey"}}
_NODES_PER_STEP = 100
_ENTRIES_PER_STEP = 1000
_BELOW = ("items", "additionalProperties")


class JSONEncoder:
    """Encodes one dialect as JSON."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def path(self, path: str, item: Obj) -> bytes:
        return orjson.dumps(item)

    def definition(self, name: str, schema: Obj) -> Steps[bytes]:
        text = orjson.dumps(schema)
        yield None
        return text

    def custom_definition(self, name: str, schema: Obj) -> Steps[bytes]:
        text = bytearray()
        pieces: list[bytes] = []
        pending: list[Obj | bytes] = []
        _write(schema, pieces, pending)
        nodes = 0
        while pending:
            following = pending.pop()
            if isinstance(following, bytes):
                pieces.append(following)
                continue
            _write(published_level(following, self.dialect), pieces, pending)
            nodes += 1
            if nodes % _NODES_PER_STEP == 0:
                text += b"".join(pieces)
                pieces.clear()
                yield None
        text += b"".join(pieces)
        return bytes(text)

    def join(self, fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
        paths, definitions = yield from gathered(fragments)
        info = orjson.dumps({"title": "Kubernetes", "version": product})
        if self.dialect is Dialect.V3:
            pieces = [b'{"openapi":"3.0.0","info":', info, b',"paths":{']
            yield from _join(paths, pieces)
            pieces.append(b'},"components":{"schemas":{')
            yield from _join(definitions, pieces)
            pieces += [b'},"securitySchemes":', orjson.dumps(_BEARER), b"}}"]
            return pieces
        pieces = [b'{"swagger":"2.0","info":', info, b',"paths":{']
        yield from _join(paths, pieces)
        pieces.append(b'},"definitions":{')
        yield from _join(definitions, pieces)
        pieces += [b'},"parameters":', orjson.dumps(shared_parameters())]
        pieces += [b',"securityDefinitions":', orjson.dumps(_BEARER), b',"security":[{"BearerToken":[]}]}']
        return pieces


def _write(level: Obj, pieces: list[bytes], pending: list[Obj | bytes]) -> None:
    """Write what can be written of a level now, and put the rest on the stack."""
    below: list[tuple[str, Obj]] = [(key, level[key]) for key in _BELOW if isinstance(level.get(key), dict)]
    properties: Obj | None = level.get("properties")
    if not below and properties is None:
        pieces.append(orjson.dumps(level))
        return
    apart = {"properties", *(key for key, _ in below)}
    plain: dict[str, Any] = {key: value for key, value in level.items() if key not in apart}
    pieces.append(orjson.dumps(plain)[:-1])
    comma = b"," if plain else b""
    rest: list[Obj | bytes] = []
    for key, schema in below:
        rest += (b'%b"%b":' % (comma, key.encode()), schema)
        comma = b","
    if properties is not None:
        rest.append(comma + b'"properties":{')
        comma = b""
        for name, schema in properties.items():
            rest += (b"%b%b:" % (comma, orjson.dumps(name)), schema)
            comma = b","
        rest.append(b"}")
    rest.append(b"}")
    rest.reverse()
    pending += rest


def _join(found: Mapping[str, bytes], pieces: list[bytes]) -> Steps[None]:
    """Write entries as the members of an object."""
    for index, name in enumerate(found):
        pieces += (_entry(name, first=not index), found[name])
        if index % _ENTRIES_PER_STEP == 0:
            yield None


def _entry(name: str, *, first: bool) -> bytes:
    """The key of an entry; names have nothing that JSON escapes."""
    return f'{"" if first else ","}"{name}":'.encode()
