"""Operations as they are written in a document, in either dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.operations import Operation, PathOperations
from controlplane.apiserver.openapi.parameters import name_parameter, v2_parameter, v3_parameter

__all__ = ["path_item"]

_UNAUTHORIZED = {"description": "Unauthorized"}


def path_item(found: PathOperations, dialect: Dialect) -> Obj:
    """The value of a path: each operation by its method, and the parameters that all have. It holds orjson
    fragments, so it can be written by orjson alone."""
    common = {"pretty"}
    if len(found.operations) == 1:
        common.update(found.operations[0].parameters)
    names = sorted({*common, *(("namespace",) if found.namespaced else ())})
    shared = _parameters(names, dialect)
    if found.named:
        shared.insert(sum(name < "name" for name in names), _name(found.named, dialect))
    write = _v3_operation if dialect is Dialect.V3 else _v2_operation
    item: Obj = {operation.method.lower(): write(operation, common) for operation in found.operations}
    item["parameters"] = shared
    return item


def _parameters(names: Iterable[str], dialect: Dialect) -> list[Any]:
    one = v3_parameter if dialect is Dialect.V3 else v2_parameter
    return [one(name) for name in names]


def _name(kind: str, dialect: Dialect) -> Obj:
    parameter = name_parameter(kind)
    if dialect is Dialect.V2:
        parameter |= parameter.pop("schema")
    return parameter


def _v3_operation(operation: Operation, common: set[str]) -> Obj:
    answer = Dialect.V3.ref(operation.answer)
    content = {media_type: {"schema": answer} for media_type in operation.produces}
    written: Obj = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "responses": {
            **{str(code): {"description": text, "content": content} for code, text in operation.answers},
            "401": _UNAUTHORIZED,
        },
        **_extensions(operation),
    }
    query = [name for name in operation.parameters if name not in common]
    if query:
        written["parameters"] = _parameters(sorted(query), Dialect.V3)
    body = operation.body
    if body is not None:
        schema = {"schema": Dialect.V3.ref(body.definition)}
        written["requestBody"] = {"content": dict.fromkeys(body.media_types, schema)}
        if body.required:
            written["requestBody"]["required"] = True
    return written


def _v2_operation(operation: Operation, common: set[str]) -> Obj:
    answer = Dialect.V2.ref(operation.answer)
    body = operation.body
    consumes = ["*/*"] if body is None or body.media_types == operation.produces else list(body.media_types)
    written: Obj = {
        "description": operation.description,
        "consumes": consumes,
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
        "responses": {
            **{str(code): {"description": text, "schema": answer} for code, text in operation.answers},
            "401": _UNAUTHORIZED,
        },
        **_extensions(operation),
    }
    given: list[Any] = []
    if body is not None:
        parameter: Obj = {"in": "body", "name": "body", "schema": Dialect.V2.ref(body.definition)}
        if body.required:
            parameter["required"] = True
        given.append(parameter)
    given += _parameters(sorted(name for name in operation.parameters if name not in common), Dialect.V2)
    if given:
        written["parameters"] = given
    return written


def _extensions(operation: Operation) -> Obj:
    extensions: Obj = {}
    if operation.action:
        extensions["x-kubernetes-action"] = operation.action
    if operation.gvk is not None:
        group, version, kind = operation.gvk
        extensions["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return extensions
