"""JSON patch and merge patch: they edit the object's JSON and know nothing of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.codec.json_errors import json_kind
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import apply_json_patch
from controlplane.apimachinery.patch.merge_patch import INVALID_PATCH, apply_merge_patch
from controlplane.apimachinery.schema.strict import json_patch_problems
from controlplane.apimachinery.status import bad_request, not_found, request_entity_too_large
from controlplane.apimachinery.validation.field import go_json
from controlplane.apiserver.endpoints.body import decode_patched, parse, read_body
from controlplane.apiserver.endpoints.changes.api import Change, Edit
from controlplane.apiserver.endpoints.changes.refused import not_applicable
from controlplane.client.negotiation import JSON_PATCH, MERGE_PATCH

__all__ = ["json_patch", "merge_patch", "patch_function"]

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})
_OPERATION_TEXTS = ("op", "path", "from")


async def json_patch(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no JSON patch, 413."""
    raw, checked = await read_body(edit.request), edit.options.field_validation != "Ignore"
    try:
        value, problems = await parse(raw)
        operations = _operations(value, checked=checked)
    except (MalformedJSON, _WrongType) as error:
        raise bad_request(f"error decoding patch: {error}" if checked else str(error)) from error
    if problems or any(operation.keys() - _OPERATION_FIELDS for operation in operations):
        problems = [f"json patch {problem}" for problem in json_patch_problems(raw)]
    return _change(edit, patch_function(JSON_PATCH, operations), problems)


async def merge_patch(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no merge patch, 413."""
    raw, checked = await read_body(edit.request), edit.options.field_validation != "Ignore"
    try:
        value, problems = await parse(raw)
    except MalformedJSON as error:
        raise bad_request(f"error decoding patch: {error}" if checked else INVALID_PATCH) from error
    if not isinstance(value, dict):
        if checked and value is not None:
            raise bad_request(f"error decoding patch: {_WrongType(value, 'value of type map[string]interface {}')}")
        raise bad_request(INVALID_PATCH)
    return _change(edit, patch_function(MERGE_PATCH, value), problems)


def patch_function(kind: str, value: Any) -> Callable[[Obj], bytes]:
    """How a patch changes an object: into JSON. The function raises APIError for a patch that does not fit."""
    apply = apply_json_patch if kind == JSON_PATCH else apply_merge_patch

    def patched(old: Obj) -> bytes:
        try:
            return dumps(apply(old, value))
        except MalformedPatch as error:
            raise bad_request(str(error)) from error
        except TooManyOperations as error:
            raise request_entity_too_large(str(error)) from error
        except PatchNotApplicable as error:
            raise not_applicable() from error

    return patched


def _change(edit: Edit, apply: Callable[[Obj], bytes], problems: list[str]) -> Change:
    served, directive = edit.target.served, edit.options.field_validation

    def change(old: Obj | None) -> Obj:
        if old is None:
            raise not_found(served.gr, edit.target.name)
        patched = apply(old)
        shown = patched.decode if served.resource.native else lambda: go_json(loads(patched))
        obj = decode_patched(loads(patched), served, problems, directive, edit.warn, shown=shown)
        edit.fields.update(old, obj, edit.manager)
        return obj

    return change


class _WrongType(ValueError):
    """A value that Go cannot read into what it should be."""

    def __init__(self, value: Any, wanted: str) -> None:
        super().__init__(f"json: cannot unmarshal {json_kind(value)} into Go {wanted}")


def _operations(value: Any, *, checked: bool) -> list[Obj]:
    """The operations of a JSON patch; null is none. ``checked``: their members' types are looked at before they are
    applied.

    Raises:
        _WrongType.
    """
    if value is None:
        return []
    patch, one = (
        ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
        if checked
        else (
            "jsonpatch.Patch",
            "jsonpatch.Operation",
        )
    )
    if not isinstance(value, list):
        raise _WrongType(value, f"value of type {patch}")
    for operation in value:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise _WrongType(operation, f"value of type {one}")
        for name in _OPERATION_TEXTS if checked else ():
            if not isinstance(given := operation.get(name, ""), (str, type(None))):
                raise _WrongType(given, f"struct field jsonPatchOp.{name} of type string")
    return [operation or {} for operation in value]
