"""Paths into objects, checked against a schema: ``.spec.list[0].name`` or ``.spec['odd name']``.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/cel/validation.go`` (ValidFieldPath).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from controlplane.apimachinery.identity import Obj

__all__ = ["FieldPathError", "resolve_field_path"]

_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")


class FieldPathError(ValueError):
    """The path is malformed or leads nowhere; the message says which."""


def resolve_field_path(path: str, schema: Obj, *, array_notation: bool = True) -> tuple[tuple[str, ...], Obj]:
    """Follow a path.

    Args:
        array_notation: whether ``['name']`` is allowed.

    Returns:
        The names on the way, and the schema at the end.

    Raises:
        FieldPathError.
    """
    names: list[str] = []
    pieces = iter(_PIECE.findall(path))
    for piece in pieces:
        if piece == "[":
            if not array_notation:
                raise FieldPathError("array notation is not allowed")
            name = _next(pieces)
            if len(name) < 2 or name[0] != "'" or name[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {name}")
            names.append(_unescaped(name[1:-1]))
            schema = _below(schema, names[-1])
            if (closing := _next(pieces)) != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif piece == ".":
            names.append(_next(pieces))
            schema = _below(schema, names[-1])
        else:
            raise FieldPathError(f"expected [ or . but got: {piece}")
    return tuple(names), schema


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def _unescaped(text: str) -> str:
    def meant(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", meant, text)


def _next(pieces: Iterator[str]) -> str:
    piece = next(pieces, "")
    if not piece:
        raise FieldPathError("unexpected end of JSON path")
    return piece


def _below(schema: Obj, name: str) -> Obj:
    properties, extra = schema.get("properties"), schema.get("additionalProperties")
    if properties:
        if name in properties:
            inner: Obj = properties[name]
            return inner
    elif isinstance(extra, dict):
        return extra
    raise FieldPathError("does not refer to a valid field")
