"""JSON patch and merge patch: they edit the object's JSON and know nothing of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import apply_json_patch
from controlplane.apimachinery.patch.merge_patch import apply_merge_patch
from controlplane.apimachinery.status import bad_request, not_found, request_entity_too_large
from controlplane.apiserver.endpoints.body import decode_patched, parse_json, read_body
from controlplane.apiserver.endpoints.changes.api import Change, Edit
from controlplane.apiserver.endpoints.changes.refused import not_applicable
from controlplane.client.negotiation import JSON_PATCH, MERGE_PATCH

__all__ = ["json_patch", "merge_patch", "patch_function"]

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})


async def json_patch(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no JSON, 413."""
    value, problems = parse_json(await read_body(edit.request))
    problems = [f"json patch {problem}" for problem in [*problems, *_unknown_members(value)]]
    return _change(edit, patch_function(JSON_PATCH, value), problems)


async def merge_patch(edit: Edit) -> Change:
    """Raises APIError: 400 for what is no JSON, 413."""
    value, problems = parse_json(await read_body(edit.request))
    return _change(edit, patch_function(MERGE_PATCH, value), problems)


def patch_function(kind: str, value: Any) -> Callable[[Obj], bytes]:
    """How a patch changes an object: into JSON. The function raises APIError for a patch that does not fit."""
    apply = apply_json_patch if kind == JSON_PATCH else apply_merge_patch

    def patched(old: Obj) -> bytes:
        try:
            return dumps(apply(old, value))
        except MalformedPatch as error:
            raise bad_request(f"error decoding patch: {error}") from error
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
        obj = decode_patched(loads(patched), served, problems, directive, edit.warn, shown=patched.decode)
        edit.fields.update(old, obj, edit.manager)
        return obj

    return change


def _unknown_members(operations: Any) -> list[str]:
    """Members that operations of a JSON patch have and should not, as strict decoding words them."""
    if not isinstance(operations, list):
        return []
    return [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]
